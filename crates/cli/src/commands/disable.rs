//! `rep disable`.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use repertoire::Entry;
use repertoire::change::PathStep;
use repertoire_clients::Client;
use repertoire_clients::disable::{ClientChanges, is_match, matched};
use repertoire_model::Pattern;
use serde_json::json;

use crate::complete::skill_names;
use crate::disabling::{ChangeWords, FileArgs, client_changes, lines_json, pattern, show};
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Ui, escape};
use crate::wire::{Library, Workspace};

/// Switches skills off for all agents, or for one client
///
/// A disabled skill stays where it is, and does not exist for agents: no catalog, list, search or tool has
/// it, and no MCP client is offered it. `rep list --all`, `rep explain` and `rep doctor` tell which file
/// disables it. Its name is added to `disabled` in the user's configuration file, and everything else in the
/// file stays as it is. Restart running sessions and servers to apply a change.
///
/// Clients that read skills from files do not ask rep. So links to the skill that `rep link`, `rep add` and
/// `rep adopt` made are removed, and clients that still read it are switched by their own settings: Claude
/// Code by skillOverrides in settings.json, Codex by skills.config in config.toml, opencode by
/// permission.skill in opencode.json. Each change is shown and recorded, and `rep enable` takes it back. A
/// file that cannot be changed is reported, and the others are changed all the same; then the exit code is 1.
#[derive(Debug, Args)]
pub(crate) struct DisableArgs {
    /// The skills, as NAME, as SOURCE:NAME, or as a pattern such as 'pdf-*'
    #[arg(value_name = "NAME", required = true, value_parser = NonEmptyStringValueParser::new(), add = skill_names())]
    names: Vec<String>,
    #[command(flatten)]
    file: FileArgs,
}

const WORDS: ChangeWords = ChangeWords { link: ("would remove", "removed"), switch: ("would set", "set") };

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &DisableArgs) -> Result<Exit, CliError> {
    let library = workspace.inspect(workspace.settings.policy.clone());
    let wanted: Result<Vec<Pattern>, CliError> =
        args.names.iter().map(|name| pattern(&library, name)).collect();
    let wanted = wanted?;
    if let Some(client) = &args.file.client {
        return disable_for_client(ui, workspace, &library, args, client, &wanted);
    }
    let change = args.file.begin(workspace)?;
    let mut list = args.file.open_list(workspace)?;
    let mut changes = if list.is_named() {
        None
    } else {
        ClientChanges::open(workspace.env.places(), args.file.owner(), None)?
    };
    let (mut disabled, mut already, mut leaves_links) = (Vec::new(), Vec::new(), false);
    for pattern in wanted {
        let skills = matched(&library.snapshot, &pattern);
        if let Some(changes) = &mut changes {
            changes.disable(&pattern, &skills, &library.places)?;
            leaves_links |= changes.leaves_links_of_project(&skills);
        }
        let present = list.patterns();
        let is_disabled = |entry: &&Entry| present.iter().any(|it| is_match(it, entry));
        if present.contains(&pattern) || (!skills.is_empty() && skills.iter().all(is_disabled)) {
            already.push(pattern.to_string());
            continue;
        }
        if skills.is_empty() {
            return Err(CliError::no(format!("no skill matches `{pattern}`"))
                .hint("run `rep list --all` to see all skills"));
        }
        list.add(&pattern);
        disabled.push(pattern.to_string());
    }
    let file = list.path().display().to_string();
    if let Some(change) = change {
        let mut steps: Vec<PathStep> = list.step().into_iter().collect();
        if let Some(changes) = &mut changes {
            steps.extend(changes.disable_steps()?);
        }
        // A skill that is in the list already may have got a link or a switch since.
        let about = if disabled.is_empty() { &already } else { &disabled };
        change.apply("rep disable", about, steps, changes.as_mut(), ui)?;
    }
    let exit = if changes.as_ref().is_some_and(ClientChanges::has_failed) { Exit::No } else { Exit::Success };
    if ui.is_json() {
        let lines = lines_json(changes.as_ref());
        ui.write_json(
            &json!({"file": file, "disabled": disabled, "already_disabled": already, "clients": lines}),
        )?;
        return Ok(exit);
    }
    for name in already {
        let line = format!("{name} is already disabled in {}", workspace.shown(&file));
        ui.write_planned(None, &line)?;
    }
    if !disabled.is_empty() {
        let verb = if args.file.dry_run { "would disable" } else { "disabled" };
        let line = format!("{verb} {} in {}", disabled.join(", "), workspace.shown(&file));
        ui.write_planned(None, &line)?;
    }
    changes.iter().try_for_each(|changes| show(ui, workspace, changes, &WORDS))?;
    if leaves_links {
        ui.hint("links of this project stay; `rep disable --project` removes them")?;
    }
    if !disabled.is_empty() {
        if list.is_of_user() {
            ui.hint("this holds in all projects; `--project` disables a skill in this one only")?;
            if changes.as_ref().is_some_and(|changes| changes.has_switched("codex")) {
                ui.hint("Codex switches off the skill at its path; for a copy in another project, run it there too")?;
            }
        }
        ui.hint("restart running sessions and servers to apply this")?;
    }
    Ok(exit)
}

/// Disables the skills of `patterns` for one client alone.
fn disable_for_client(
    ui: &mut Ui,
    workspace: &Workspace,
    library: &Library,
    args: &DisableArgs,
    client: &str,
    patterns: &[Pattern],
) -> Result<Exit, CliError> {
    let change = args.file.begin(workspace)?;
    let mut changes = client_changes(workspace, &args.file, client)?;
    let (mut disabled, mut already) = (Vec::new(), Vec::new());
    let title = Client::named(client).map_or(client, |client| client.title());
    let mut is_refused = false;
    for pattern in patterns {
        let (lines, planned, is_recorded) = (changes.lines.len(), changes.planned(), changes.has(pattern));
        changes.disable(pattern, &matched(&library.snapshot, pattern), &library.places)?;
        if changes.planned() > planned {
            disabled.push(pattern.to_string());
        } else if changes.lines.len() > lines {
            // The lines say why.
            is_refused = true;
        } else if is_recorded {
            already.push(pattern.to_string());
        } else {
            return Err(CliError::no(format!("{title} does not read `{pattern}` from files, or has it switched off"))
                .hint("a client of the MCP server has a scope: `skills.deny` in `[agents.NAME]`, see `rep connect --agent`"));
        }
    }
    if let Some(change) = change {
        let command = format!("rep disable --client {client}");
        change.apply(&command, &disabled, changes.disable_steps()?, Some(&mut changes), ui)?;
    }
    if ui.is_json() {
        ui.write_json(
            &json!({"file": null, "disabled": disabled, "already_disabled": already, "clients": lines_json(Some(&changes))}),
        )?;
    } else {
        for name in already {
            writeln!(ui.out(), "{}", escape(&format!("{name} is already disabled for {title}")))?;
        }
        show(ui, workspace, &changes, &WORDS)?;
    }
    Ok(if is_refused || changes.has_failed() { Exit::No } else { Exit::Success })
}
