//! `rep enable`.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use repertoire::Entry;
use repertoire::change::PathStep;
use repertoire::config::DisabledPattern;
use repertoire_clients::Client;
use repertoire_clients::disable::{ClientChanges, DisabledList, matched};
use repertoire_model::Pattern;
use serde_json::{Value, json};

use crate::complete::disabled_names;
use crate::disabling::{ChangeInProgress, ChangeWords, FileArgs, client_changes, lines_json, pattern, show};
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Ui, escape};
use crate::wire::{Library, Workspace, enable_command, kits_in_use};

/// The most disabled skills that an unknown name is answered with.
const MAX_SHOWN: usize = 50;

const WORDS: ChangeWords =
    ChangeWords { link: ("would make again", "made again"), switch: ("would take back", "took back") };

/// Switches skills on again that are disabled
///
/// Takes them out of `disabled` in the user's configuration file, makes the links again that `rep disable`
/// removed, and takes back what it wrote into the configuration of clients, unless that was changed since. A
/// skill that a pattern or another file disables too is reported with the command that enables it.
#[derive(Debug, Args)]
pub(crate) struct EnableArgs {
    /// The skills, as NAME, as SOURCE:NAME, or as a pattern that is in the file
    #[arg(value_name = "NAME", required = true, value_parser = NonEmptyStringValueParser::new(), add = disabled_names())]
    names: Vec<String>,
    #[command(flatten)]
    file: FileArgs,
}

pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &EnableArgs) -> Result<Exit, CliError> {
    let library = workspace.inspect(workspace.settings.policy.clone());
    let change = args.file.begin(workspace)?;
    let mut changes =
        ClientChanges::open(workspace.env.places(), args.file.owner(), args.file.client.as_deref())?;
    let wanted: Result<Vec<Pattern>, CliError> =
        args.names.iter().map(|name| disabled_pattern(workspace, &library, changes.as_ref(), name)).collect();
    let wanted = wanted?;
    if let Some(client) = &args.file.client {
        return enable_for_client(ui, workspace, change.as_ref(), args, client, &wanted);
    }
    let patterns = wanted.clone();
    let mut list = args.file.open_list(workspace)?;
    let (mut enabled, mut not_disabled, mut still) = (Vec::new(), Vec::new(), Vec::new());
    // Everything is taken out first: one pattern may disable a skill of another.
    let removed: Vec<bool> = wanted.iter().map(|pattern| list.remove(pattern)).collect();
    for (pattern, is_removed) in wanted.into_iter().zip(removed) {
        let others = others(workspace, &library, &list, &pattern);
        if is_removed {
            enabled.push(pattern.to_string());
        } else if others.is_empty() {
            not_disabled.push(pattern.to_string());
        }
        still.extend(others.into_iter().map(|other| (pattern.to_string(), other)));
    }
    let file = list.path().display().to_string();
    let mut changes = changes.take().filter(|_| !list.is_named());
    for pattern in &patterns {
        let is_recorded = changes.as_mut().is_some_and(|changes| changes.enable(pattern));
        if is_recorded {
            not_disabled.retain(|name| *name != pattern.to_string());
        }
    }
    if let Some(change) = change {
        let mut steps: Vec<PathStep> = list.step().into_iter().collect();
        if let Some(changes) = &mut changes {
            steps.extend(changes.enable_steps()?);
        }
        change.apply("rep enable", &enabled, steps, changes.as_mut(), ui)?;
    }
    if ui.is_json() {
        let still: Value = still
            .iter()
            .map(|(name, by)| json!({"name": name, "pattern": by.pattern.to_string(), "file": by.file.display().to_string()}))
            .collect();
        ui.write_json(&json!({
            "file": file,
            "enabled": enabled,
            "not_disabled": not_disabled,
            "still_disabled": still,
            "clients": lines_json(changes.as_ref()),
        }))?;
    } else {
        for name in not_disabled {
            writeln!(ui.out(), "{} is not disabled", escape(&name))?;
        }
        if !enabled.is_empty() {
            let verb = if args.file.dry_run { "would enable" } else { "enabled" };
            let line = format!("{verb} {} in {}", enabled.join(", "), workspace.shown(&file));
            ui.write_planned(None, &line)?;
        }
        changes.iter().try_for_each(|changes| show(ui, workspace, changes, &WORDS))?;
        if !enabled.is_empty() {
            ui.hint("restart running sessions and servers to apply this")?;
        }
    }
    for entry in patterns.iter().flat_map(|pattern| matched(&library.snapshot, pattern)) {
        if let Some(choice) = workspace.kits_without(entry) {
            ui.warn(&format!("{} is still disabled by {}", entry.name(), kits_in_use(choice)))?;
        }
    }
    let exit = if changes.as_ref().is_some_and(ClientChanges::has_failed) { Exit::No } else { Exit::Success };
    let Some((name, _)) = still.first() else { return Ok(exit) };
    let mut error = CliError::no(format!("`{name}` is still disabled"));
    for (name, by) in &still {
        error = error
            .because(format!("{name} is disabled by {}", workspace.pattern_and_file(by)))
            .hint(format!("run `{}`", enable_command(by)));
    }
    Err(error)
}

/// Enables the skills of `patterns` for one client, which they were disabled for alone.
fn enable_for_client(
    ui: &mut Ui,
    workspace: &Workspace,
    change: Option<&ChangeInProgress>,
    args: &EnableArgs,
    client: &str,
    patterns: &[Pattern],
) -> Result<Exit, CliError> {
    let mut changes = client_changes(workspace, &args.file, client)?;
    let title = Client::named(client).map_or(client, |client| client.title());
    let (enabled, not_disabled): (Vec<&Pattern>, Vec<&Pattern>) =
        patterns.iter().partition(|pattern| changes.enable(pattern));
    let texts = |patterns: &[&Pattern]| patterns.iter().map(ToString::to_string).collect::<Vec<_>>();
    if let Some(change) = change {
        change.apply("rep enable", &texts(&enabled), changes.enable_steps()?, Some(&mut changes), ui)?;
    }
    if ui.is_json() {
        ui.write_json(&json!({
            "file": null,
            "enabled": texts(&enabled),
            "not_disabled": texts(&not_disabled),
            "still_disabled": [],
            "clients": lines_json(Some(&changes)),
        }))?;
    } else {
        for name in texts(&not_disabled) {
            writeln!(ui.out(), "{}", escape(&format!("{name} is not disabled for {title} alone")))?;
        }
        show(ui, workspace, &changes, &WORDS)?;
    }
    Ok(if changes.has_failed() { Exit::No } else { Exit::Success })
}

/// Returns the pattern that `name` stands for; a skill that is gone may be in a list or a record still.
fn disabled_pattern(
    workspace: &Workspace,
    library: &Library,
    changes: Option<&ClientChanges>,
    name: &str,
) -> Result<Pattern, CliError> {
    pattern(library, name).or_else(|error| {
        let written = Pattern::new(name).ok();
        let recorded = changes.into_iter().flat_map(ClientChanges::recorded_patterns);
        if let Some(recorded) =
            recorded.filter_map(|it| Pattern::new(it).ok()).find(|it| Some(it) == written.as_ref())
        {
            return Ok(recorded);
        }
        let known = workspace.settings.disabled.iter().map(|it| &it.pattern);
        known.clone().find(|known| Some(*known) == written.as_ref()).cloned().ok_or_else(|| {
            let names: Vec<String> = known.take(MAX_SHOWN).map(ToString::to_string).collect();
            if names.is_empty() { error } else { error.hint(format!("disabled are: {}", names.join(", "))) }
        })
    })
}

/// Returns what disables the skills of `pattern` beside the entry that was taken out of `list`.
fn others<'c>(
    workspace: &'c Workspace,
    library: &Library,
    list: &DisabledList,
    pattern: &Pattern,
) -> Vec<&'c DisabledPattern> {
    let skills = matched(&library.snapshot, pattern);
    let present = list.patterns();
    let is_kept = |it: &&DisabledPattern| {
        let is_of_list = it.file.canonicalize().is_ok_and(|file| file == list.path());
        !is_of_list || present.contains(&it.pattern)
    };
    let applies = |it: &&DisabledPattern| {
        let is_match = |entry: &&Entry| it.pattern.matches(&entry.source, entry.name().as_str());
        it.pattern == *pattern || skills.iter().any(is_match)
    };
    workspace.settings.disabled.iter().filter(is_kept).filter(applies).collect()
}
