//! `rep disable`.

mod disabled_list;

pub(super) use disabled_list::{DisabledList, FileArgs};

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use repertoire::Entry;
use repertoire_model::Pattern;
use serde_json::json;

use crate::complete::skill_names;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Ui, escape};
use crate::wire::{Context, Library};

/// Switches skills off for all agents
///
/// A disabled skill stays where it is, and does not exist for agents: no catalog, list, search or tool has it, and no
/// MCP client is offered it. `rep list --all`, `rep explain` and `rep doctor` tell which file disables it. Its name is
/// added to `disabled` in the user's configuration file, and everything else in the file stays as it is. Sessions and
/// servers that run already follow when they are started again.
#[derive(Debug, Args)]
pub(crate) struct DisableArgs {
    /// The skills, as NAME, as SOURCE:NAME, or as a pattern such as 'pdf-*'
    #[arg(value_name = "NAME", required = true, value_parser = NonEmptyStringValueParser::new(), add = skill_names())]
    names: Vec<String>,
    #[command(flatten)]
    file: FileArgs,
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, context: &Context, args: &DisableArgs) -> Result<Exit, CliError> {
    let library = context.inspect(context.settings.policy.clone());
    let wanted: Result<Vec<Pattern>, CliError> =
        args.names.iter().map(|name| pattern(&library, name)).collect();
    let wanted = wanted?;
    let mut list = DisabledList::open(context, &args.file)?;
    let (mut disabled, mut already) = (Vec::new(), Vec::new());
    for pattern in wanted {
        let skills = matched(&library, &pattern);
        let present = list.patterns();
        let is_disabled = |entry: &&Entry| present.iter().any(|it| is_match(it, entry));
        if present.contains(&pattern) || (!skills.is_empty() && skills.iter().all(is_disabled)) {
            already.push(pattern.to_string());
            continue;
        }
        if skills.is_empty() {
            ui.warn(&format!("no skill matches `{pattern}` now"))?;
        }
        list.add(&pattern);
        disabled.push(pattern.to_string());
    }
    let file = list.path().display().to_string();
    if !disabled.is_empty() {
        list.write()?;
    }
    if ui.is_json() {
        ui.write_json(&json!({"file": file, "disabled": disabled, "already_disabled": already}))?;
        return Ok(Exit::Success);
    }
    for name in already {
        let line = format!("{name} is already disabled in {}", context.shown(&file));
        writeln!(ui.out(), "{}", escape(&line))?;
    }
    if !disabled.is_empty() {
        let line = format!("disabled {} in {}", disabled.join(", "), context.shown(&file));
        writeln!(ui.out(), "{}", escape(&line))?;
        if list.is_of_user() {
            ui.hint("this holds in all projects; `--project` disables a skill in this one only")?;
        }
        ui.hint("sessions and servers that run already follow when they are started again")?;
    }
    Ok(Exit::Success)
}

/// Returns the pattern that `name` stands for: the name of a skill, or else a pattern with `*` or `?`.
pub(super) fn pattern(library: &Library, name: &str) -> Result<Pattern, CliError> {
    let text = if name.contains(['*', '?']) {
        name.to_owned()
    } else {
        let entry = library.find_any(name)?;
        let qualified = entry.qualified_name();
        if qualified == name { qualified } else { entry.name().to_string() }
    };
    Pattern::new(&text).map_err(|fault| CliError::usage(format!("`{name}` is no pattern: {fault}")))
}

/// Returns the skills of `library` that `pattern` matches.
pub(super) fn matched<'l>(library: &'l Library, pattern: &Pattern) -> Vec<&'l Entry> {
    library.snapshot.entries().iter().filter(|entry| is_match(pattern, entry)).collect()
}

fn is_match(pattern: &Pattern, entry: &Entry) -> bool {
    pattern.matches(&entry.source, entry.name().as_str())
}
