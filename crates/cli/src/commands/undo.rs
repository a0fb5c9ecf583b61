//! `rep undo`.

use clap::Args;
use repertoire::change::{PathStep, TakenBack};
use repertoire_app::undo::{ListedChange, changes};
use repertoire_app::view::{ChangeView, UndoListView, UndoView};

use crate::change_guard::{ChangeGuard, guarded};
use crate::error::{CliError, not_written};
use crate::exit::Exit;
use crate::ui::{Consent, Style, Ui};
use crate::wire::Workspace;

/// Takes back the last change
///
/// That is the last one of this project or of the user's own files, by connect, link, adopt, add, update,
/// remove, disable, a switch on the page or an approved proposal that wrote files here; the next `rep undo`
/// takes back the one before. Files that are as the change left them get every byte back, and files and
/// directories that it made go. In a client's configuration that was changed since, only the entry or the
/// switch is taken out; any other file that was changed since is named, and nothing is done. Connections,
/// links, gathered copies and switches can be taken back for ever, the rest for 30 days and up to 50 changes.
#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// The number of the change, as --list has it now
    ///
    /// Numbers count from the newest change: every change and every `rep undo` renumbers the older ones.
    #[arg(value_name = "N", conflicts_with = "list")]
    number: Option<usize>,
    /// List all changes with their places, and every connection, link and gathered skill
    #[arg(long, short)]
    list: bool,
    /// Show what would be done and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Do it without asking
    #[arg(long, short)]
    yes: bool,
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &UndoArgs) -> Result<Exit, CliError> {
    guarded(ui, |ui, guard| undo(ui, workspace, args, guard))
}

fn undo(ui: &mut Ui, workspace: &Workspace, args: &UndoArgs, guard: &ChangeGuard) -> Result<Exit, CliError> {
    let changes = changes(workspace)?;
    if args.list {
        return list(ui, workspace, changes);
    }
    let is_meant = |change: &&ListedChange| match args.number {
        Some(number) => change.view.number == Some(number),
        None => change.view.state == "made",
    };
    let Some(change) = changes.iter().find(is_meant) else {
        return match args.number {
            Some(number) => Err(CliError::no(format!("there is no change {number} to take back"))
                .hint("`rep undo --list` has their numbers")),
            None => list(ui, workspace, Vec::new()),
        };
    };
    let back = change.plan(workspace)?;
    let words = change.view.words();
    ui.write_planned(Some(Style::Heading), &in_words(workspace, &change.view))?;
    show(ui, workspace, &back)?;
    let consent = if args.dry_run { Consent::Refused } else { ui.consent("take it back?", args.yes)? };
    let taken_back = consent == Consent::Given;
    if taken_back {
        guard.begin();
        change.take_back(workspace, &back)?;
    }
    let left_alone = back.changed.iter().map(|(path, reason)| format!("{}: {reason}", path.display()));
    let left_alone: Vec<String> = left_alone.collect();
    for sentence in &left_alone {
        ui.message(Style::Warning, "left alone:", sentence)?;
    }
    let exit = if left_alone.is_empty() { Exit::Success } else { Exit::No };
    if ui.is_json() {
        let skills = back.change.skills.iter().map(|skill| skill.directory.as_path());
        let paths = skills.chain(back.change.steps.iter().map(PathStep::path));
        let paths = paths.map(|path| path.display().to_string()).collect();
        ui.write_json(&UndoView { change: change.view.clone(), paths, left_alone, taken_back })?;
    } else if taken_back {
        ui.write_planned(Some(Style::Good), &format!("took back {words}"))?;
        let is_numbered = |change: &&ListedChange| change.view.number.is_some();
        if args.number.is_some() && changes.iter().filter(is_numbered).nth(1).is_some() {
            ui.hint("the other changes have new numbers now: `rep undo --list`")?;
        }
    }
    if taken_back || args.dry_run {
        return Ok(exit);
    }
    Err(not_written(consent, format!("{words} would be taken back")))
}

/// Shows what is done. The records of this program are left out.
fn show(ui: &mut Ui, workspace: &Workspace, back: &TakenBack) -> Result<(), CliError> {
    for skill in &back.change.skills {
        let path = workspace.shown(&skill.directory.display().to_string());
        match (&skill.before, &skill.after) {
            (Some(before), Some(after)) => {
                ui.write_planned(Some(Style::Heading), &path)?;
                ui.write_skill_diff(before, after)?;
            }
            (_, None) => ui.write_planned(Some(Style::Removed), &format!("- {path}"))?,
            (None, Some(_)) => ui.write_planned(Some(Style::Added), &format!("+ {path}"))?,
        }
    }
    for step in &back.change.steps {
        let path = workspace.shown(&step.path().display().to_string());
        match step {
            PathStep::Record(_) => {}
            PathStep::UserFile(file) if file.after.is_some() => {
                ui.write_diff(&path, file.before.as_deref(), file.after.as_deref().unwrap_or_default())?;
            }
            PathStep::Link { after: Some(to), .. } => {
                ui.write_planned(Some(Style::Added), &format!("+ {path} -> {}", to.display()))?;
            }
            PathStep::Move { .. } => ui.write_planned(Some(Style::Added), &format!("+ {path}"))?,
            _ => ui.write_planned(Some(Style::Removed), &format!("- {path}"))?,
        }
    }
    ui.flush()?;
    Ok(())
}

fn list(ui: &mut Ui, workspace: &Workspace, changes: Vec<ListedChange>) -> Result<Exit, CliError> {
    let changes: Vec<_> = changes.into_iter().map(|change| change.view).collect();
    if ui.is_json() {
        ui.write_json(&UndoListView { changes })?;
        return Ok(Exit::Success);
    }
    if changes.is_empty() {
        writeln!(ui.out(), "there is nothing to undo")?;
        return Ok(Exit::Success);
    }
    for change in &changes {
        let number = change.number.map_or_else(|| "-".to_owned(), |number| number.to_string());
        let state = if change.state == "made" { "" } else { &format!(", {}", change.state) };
        let words = ui.shown(&in_words(workspace, change));
        writeln!(ui.out(), "{number:>3}  {words}{state}")?;
    }
    Ok(Exit::Success)
}

/// Returns the line about `change`.
fn in_words(workspace: &Workspace, change: &ChangeView) -> String {
    let time = change.time.as_deref().map(|time| format!(", made {}", minute(time))).unwrap_or_default();
    format!("{}, in {}{time}", change.words(), workspace.shown(&change.place))
}

/// Returns the day and minute of a time in RFC 3339, such as `2026-02-28 09:30 UTC`.
fn minute(time: &str) -> String {
    format!("{} UTC", time.chars().take("2026-02-28T09:30".len()).collect::<String>().replace('T', " "))
}
