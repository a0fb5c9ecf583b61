//! Puts gathered copies back.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::json;

use super::apply::{lock, rename};
use super::args::AdoptArgs;
use super::record::{AdoptedCopy, Record};
use crate::change_guard::ChangeGuard;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Consent, Style, Ui, count};
use repertoire_clients::link;
use repertoire_clients::{CANONICAL, Places};

/// The state of a recorded copy.
enum CopyState {
    /// It can be put back: a link of ours or nothing stands in its place.
    Ready(PathBuf),
    /// It is where it was.
    Back,
    /// It is left alone, for this reason.
    Changed(&'static str),
}

/// A copy in the report.
#[derive(Serialize)]
struct CopyJson {
    name: String,
    path: String,
    /// `planned`, `restored` or `changed`.
    state: &'static str,
    reason: Option<&'static str>,
}

/// Puts back the copies of the skills that are meant.
pub(super) fn run(
    ui: &mut Ui,
    places: &Places,
    args: &AdoptArgs,
    base: &Path,
    guard: &ChangeGuard,
) -> Result<Exit, CliError> {
    let mut record = Record::load(places, args.owner(), base)?;
    let (mut meant, kept): (Vec<AdoptedCopy>, Vec<AdoptedCopy>) =
        record.adopted.iter().cloned().partition(|copy| args.is_meant(&copy.name));
    // The one place is given up last, because links lead to it, and taken again after that.
    meant.sort_by_key(|copy| (copy.moved || copy.to.is_none(), copy.to.is_none()));
    let mut lines: Vec<CopyJson> = Vec::new();
    for copy in &meant {
        let (state, reason) = match copy_state(places, args, base, copy) {
            CopyState::Back => continue,
            CopyState::Ready(_) => ("planned", None),
            // What stands in the one place is moved away first.
            CopyState::Changed(_) if copy.to.is_none() => ("planned", None),
            CopyState::Changed(reason) => ("changed", Some(reason)),
        };
        if state == "planned" {
            ui.write_planned(Some(Style::Added), &format!("< {}", copy.path))?;
        }
        lines.push(CopyJson { name: copy.name.clone(), path: copy.path.clone(), state, reason });
    }
    ui.flush()?;
    let planned = lines.iter().filter(|line| line.state == "planned").count();
    let consent = match planned {
        _ if args.print => Consent::Refused,
        0 => Consent::Given,
        number => {
            ui.consent(&format!("put {} back?", count(number, "copy").replace("copys", "copies")), args.yes)?
        }
    };
    let mut failure = None;
    if consent == Consent::Given {
        guard.begin();
        let _lock = lock(base);
        if planned > 0 {
            // A link that is removed when this is interrupted is made again.
            let is_meant = |copy: &&mut AdoptedCopy| args.is_meant(&copy.name);
            record.adopted.iter_mut().filter(is_meant).for_each(|copy| copy.is_unfinished = true);
            record.save(base)?;
        }
        let (mut left, mut is_any_back) = (kept, false);
        for copy in meant {
            let line = lines.iter_mut().find(|line| line.path == copy.path);
            // It may have changed while the user was asked.
            let outcome = match copy_state(places, args, base, &copy) {
                CopyState::Back => Ok(()),
                CopyState::Ready(path) => restore(base, &copy, &path),
                CopyState::Changed(reason) => {
                    if let Some(line) = line {
                        (line.state, line.reason) = ("changed", Some(reason));
                    }
                    left.push(copy);
                    continue;
                }
            };
            match outcome {
                Ok(()) => {
                    is_any_back = true;
                    if let Some(line) = line {
                        line.state = "restored";
                    }
                    let path = base.join(&copy.path);
                    link::forget_link(places, args.owner(), base, &path)?;
                }
                Err(error) => {
                    left.push(copy);
                    failure = Some(error);
                }
            }
        }
        left.sort_by(|a, b| a.path.cmp(&b.path));
        record.adopted = left;
        record.save(base)?;
        remove_empty(&base.join(".agents/.repertoire-adopted"));
        // The one place, if nothing else is there.
        if is_any_back {
            for directory in [base.join(CANONICAL), base.join(".agents")] {
                let _ = fs::remove_dir(directory);
            }
        }
    }
    report(ui, base, &lines)?;
    if let Some(error) = failure {
        return Err(error);
    }
    if consent != Consent::Given && !args.print {
        let what = format!("{planned} would be put back");
        return Err(CliError::not_written(consent, &what, "`--yes` puts them back without asking"));
    }
    Ok(if lines.iter().any(|line| line.state == "changed") { Exit::No } else { Exit::Success })
}

fn report(ui: &mut Ui, base: &Path, lines: &[CopyJson]) -> Result<(), CliError> {
    if ui.is_json() {
        ui.write_json(&json!({"base": base.display().to_string(), "copies": lines}))?;
        return Ok(());
    }
    let restored = lines.iter().filter(|line| line.state == "restored").count();
    if restored > 0 {
        let done = ui.paint(Style::Good, &format!("{restored} put back"));
        writeln!(ui.out(), "{done}")?;
    } else if lines.is_empty() {
        writeln!(ui.out(), "there is nothing to undo")?;
    }
    for line in lines {
        if let Some(reason) = line.reason {
            ui.message(Style::Warning, "left alone:", &format!("{} {reason}", line.path))?;
        }
    }
    Ok(())
}

fn copy_state(places: &Places, args: &AdoptArgs, base: &Path, copy: &AdoptedCopy) -> CopyState {
    let Some(path) = copy.place(places, args.owner(), base) else {
        return CopyState::Changed("is not a directory that clients read skills from");
    };
    let kept = copy.kept(base, &path);
    let is_kept = kept.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() && !is_kept => CopyState::Back,
        _ if !is_kept => CopyState::Changed("has no original any more"),
        Err(_) => CopyState::Ready(path),
        Ok(metadata) if metadata.is_symlink() => {
            let is_ours = fs::read_link(&path).is_ok_and(|to| copy.to.as_deref().map(Path::new) == Some(&to));
            if is_ours { CopyState::Ready(path) } else { CopyState::Changed("is another link by now") }
        }
        Ok(_) => CopyState::Changed("was replaced since"),
    }
}

fn restore(base: &Path, copy: &AdoptedCopy, path: &Path) -> Result<(), CliError> {
    let kept = copy.kept(base, path);
    let link = fs::read_link(path).ok();
    if link.is_some() {
        link::remove_link(path).map_err(|error| CliError::io("remove", path, error))?;
    }
    rename(&kept, path).inspect_err(|_| {
        // The link is better than nothing; a second error would say no more.
        if let Some(to) = link {
            let _ = link::make_link(&to, path);
        }
    })
}

/// Removes the empty directories below `directory`, and itself.
fn remove_empty(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            // A directory of a skill is not empty, and so stays.
            remove_empty(&entry.path());
        }
    }
    let _ = fs::remove_dir(directory);
}
