//! Removes what was made, and nothing else.

use std::fs;
use std::path::Path;

use super::record::{Made, Record};
use super::report::{self, Line, State};
use super::{LinkArgs, Notes, copy, paths};
use crate::clients::{Client, Places};
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Consent, Style, Ui};
use crate::wire::Context;

/// Removes what was made for `named`, or for all clients where none is named.
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
            kept.push(Made { clients: staying, ..made });
            continue;
        }
        let (state, reason) = match standing(context, places, args, base, &made) {
            Standing::Gone => continue,
            Standing::Ours => (State::Planned, None),
            Standing::Changed(reason) => (State::Changed, Some(reason)),
        };
        let line = Line {
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
    lines.sort_by_key(|(made, _)| made.path.starts_with(crate::clients::CANONICAL));
    let planned = lines.iter().filter(|(_, line)| line.state == State::Planned).count();
    for (_, line) in lines.iter().filter(|(_, line)| line.state == State::Planned) {
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
            // What was changed is somebody else's from now on.
            if line.state != State::Planned {
                continue;
            }
            // Much may have happened while the question stood.
            match standing(context, places, args, base, made) {
                Standing::Ours => match remove(context, &base.join(&made.path), made) {
                    Ok(()) => line.state = State::Removed,
                    Err(error) => {
                        kept.push(made.clone());
                        failure = Some(error);
                    }
                },
                // Somebody else did it, and it is done.
                Standing::Gone => line.state = State::Removed,
                Standing::Changed(reason) => (line.state, line.reason) = (State::Changed, Some(reason)),
            }
        }
        record.made = kept;
        record.made.sort_by(|a, b| a.path.cmp(&b.path));
        record.save(base)?;
        record.remove_directories(places, args.owner(), base);
        if !record.made.is_empty() {
            record.save(base)?;
        }
    }
    let lines: Vec<Line> = lines.into_iter().map(|(_, line)| line).collect();
    report::write(ui, args, base, &lines, &Notes::default(), 0)?;
    if let Some(error) = failure {
        return Err(error);
    }
    if consent != Consent::Given && !args.print {
        let what = format!("{planned} would be removed");
        return Err(consent.nothing_written(&what, "`--yes` removes them without asking"));
    }
    let is_changed = lines.iter().any(|line| line.state == State::Changed);
    Ok(if is_changed { Exit::No } else { Exit::Success })
}

/// What became of what was made.
enum Standing {
    Ours,
    Gone,
    Changed(String),
}

fn standing(context: &Context, places: &Places, args: &LinkArgs, base: &Path, made: &Made) -> Standing {
    let Some(path) = made.place(places, args.owner(), base) else {
        return Standing::Changed("is no place that links are made in".to_owned());
    };
    // What was made in the project lay in it.
    if path.parent().is_none_or(|parent| paths::leads_out(places, args.owner(), parent)) {
        return Standing::Changed("leads out of the project".to_owned());
    }
    let Ok(metadata) = fs::symlink_metadata(&path) else { return Standing::Gone };
    let is_ours = match (&made.to, &made.digest) {
        (Some(to), _) => fs::read_link(&path).is_ok_and(|found| found == Path::new(to)),
        (None, Some(digest)) => metadata.is_dir() && copy::is_unchanged(context, &path, digest),
        (None, None) => false,
    };
    if is_ours { Standing::Ours } else { Standing::Changed("was changed since it was made".to_owned()) }
}

fn remove(context: &Context, path: &Path, made: &Made) -> Result<(), CliError> {
    match made.to {
        Some(_) => remove_link(path).map_err(|error| CliError::io("remove", path, error)),
        None => copy::remove(context, path),
    }
}

#[cfg(not(windows))]
fn remove_link(path: &Path) -> std::io::Result<()> {
    fs::remove_file(path)
}

#[cfg(windows)]
fn remove_link(path: &Path) -> std::io::Result<()> {
    fs::remove_dir(path)
}
