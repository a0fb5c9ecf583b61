//! Removes the recorded links and unchanged copies.

use std::fs;
use std::path::Path;

use super::args::LinkArgs;
use super::record::{Record, RecordedLink};
use super::report::{self, LinkLine, LinkState, Notes};
use super::{copy, paths};
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Consent, Style, Ui};
use crate::wire::Context;
use repertoire_clients::{Client, Places};

/// Removes the links and copies made for the clients in `named`, or for all clients if it is empty.
pub(super) fn run(
    ui: &mut Ui,
    context: &Context,
    places: &Places,
    args: &LinkArgs,
    base: &Path,
    named: &[&'static Client],
) -> Result<Exit, CliError> {
    let mut record = Record::load(places, args.owner(), base)?;
    let is_named = |client: &String| named.is_empty() || named.iter().any(|named| named.id == *client);
    let (mut kept, mut lines) = (Vec::new(), Vec::new());
    for made in record.made {
        let (leaving, staying): (Vec<String>, Vec<String>) =
            made.clients.iter().cloned().partition(&is_named);
        if leaving.is_empty() || !staying.is_empty() {
            kept.push(RecordedLink { clients: staying, ..made });
            continue;
        }
        let (state, reason) = match survival(context, places, args, base, &made) {
            Survival::Gone => continue,
            Survival::OwnEntries => (LinkState::Planned, None),
            Survival::Changed(reason) => (LinkState::Changed, Some(reason)),
        };
        let line = LinkLine {
            path: made.path.clone(),
            to: made.to.clone(),
            skill: None,
            clients: leaving,
            state,
            reason,
        };
        lines.push((made, line));
    }
    // Links to other links go first.
    lines.sort_by_key(|(made, _)| made.path.starts_with(repertoire_clients::CANONICAL));
    let planned = lines.iter().filter(|(_, line)| line.state == LinkState::Planned).count();
    for (_, line) in lines.iter().filter(|(_, line)| line.state == LinkState::Planned) {
        ui.write_planned(Some(Style::Removed), &format!("- {}", line.path))?;
    }
    ui.flush()?;
    let consent = match planned {
        _ if args.print => Consent::Refused,
        0 => Consent::Given,
        number => ui.consent(&format!("remove {number}?"), args.yes)?,
    };
    let mut failure = None;
    if consent == Consent::Given {
        for (made, line) in &mut lines {
            // A changed link is the user's from now on.
            if line.state != LinkState::Planned {
                continue;
            }
            // It may have changed while the user was asked.
            match survival(context, places, args, base, made) {
                Survival::OwnEntries => match remove(context, &base.join(&made.path), made) {
                    Ok(()) => line.state = LinkState::Removed,
                    Err(error) => {
                        kept.push(made.clone());
                        failure = Some(error);
                    }
                },
                // It was removed in the meantime.
                Survival::Gone => line.state = LinkState::Removed,
                Survival::Changed(reason) => (line.state, line.reason) = (LinkState::Changed, Some(reason)),
            }
        }
        record.made = kept;
        record.made.sort_by(|a, b| a.path.cmp(&b.path));
        record.save(base)?;
        let removed = lines.iter().filter(|(_, line)| line.state == LinkState::Removed);
        removed.for_each(|(made, _)| remove_empty_directories(base, &base.join(&made.path)));
    }
    let lines: Vec<LinkLine> = lines.into_iter().map(|(_, line)| line).collect();
    report::write(ui, args, base, &lines, &Notes::default(), 0)?;
    if let Some(error) = failure {
        return Err(error);
    }
    if consent != Consent::Given && !args.print {
        let what = format!("{planned} would be removed");
        return Err(CliError::not_written(consent, &what, "`--yes` removes them without asking"));
    }
    let is_changed = lines.iter().any(|line| line.state == LinkState::Changed);
    Ok(if is_changed { Exit::No } else { Exit::Success })
}

/// Removes the parent directories of `path` that are empty now, up to `base`.
fn remove_empty_directories(base: &Path, path: &Path) {
    let above = path.ancestors().skip(1).take_while(|above| *above != base && above.starts_with(base));
    for directory in above {
        if fs::remove_dir(directory).is_err() {
            break;
        }
    }
}

/// The state of a recorded link.
enum Survival {
    OwnEntries,
    Gone,
    Changed(String),
}

fn survival(
    context: &Context,
    places: &Places,
    args: &LinkArgs,
    base: &Path,
    made: &RecordedLink,
) -> Survival {
    let Some(path) = made.place(places, args.owner(), base) else {
        return Survival::Changed("is not a directory that links are made in".to_owned());
    };
    // A project's record may only name paths in the project.
    if path.parent().is_none_or(|parent| paths::leads_out(places, args.owner(), parent)) {
        return Survival::Changed("leads out of the project".to_owned());
    }
    let Ok(metadata) = fs::symlink_metadata(&path) else { return Survival::Gone };
    let is_ours = match (&made.to, &made.digest) {
        (Some(to), _) => fs::read_link(&path).is_ok_and(|found| found == Path::new(to)),
        (None, Some(digest)) => metadata.is_dir() && copy::is_unchanged(context, &path, digest),
        (None, None) => false,
    };
    if is_ours { Survival::OwnEntries } else { Survival::Changed("was changed since it was made".to_owned()) }
}

fn remove(context: &Context, path: &Path, made: &RecordedLink) -> Result<(), CliError> {
    match made.to {
        Some(_) => remove_link(path).map_err(|error| CliError::io("remove", path, error)),
        None => copy::remove(context, path),
    }
}

/// Removes the link at `path`.
#[cfg(not(windows))]
pub(crate) fn remove_link(path: &Path) -> std::io::Result<()> {
    fs::remove_file(path)
}

/// Removes the link at `path`.
#[cfg(windows)]
pub(crate) fn remove_link(path: &Path) -> std::io::Result<()> {
    fs::remove_dir(path)
}
