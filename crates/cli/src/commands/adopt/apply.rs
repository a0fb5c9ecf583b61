//! Shows the plan, asks, moves copies and makes links.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use repertoire::discovery::{CLIENT_DIRECTORIES, ClientDirectories};
use serde::Serialize;
use serde_json::json;

use super::args::AdoptArgs;
use super::plan::{GatheredSkill, Plan};
use super::record::{AdoptedCopy, Record, original};
use crate::change_guard::ChangeGuard;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Consent, Style, Ui, count};
use repertoire_clients::{Owner, Places};
use repertoire_clients::{link, paths};

/// A skill in the report.
#[derive(Serialize)]
struct SkillJson {
    name: String,
    place: String,
    moved: Option<String>,
    links: Vec<String>,
    /// `planned` or `gathered`.
    state: &'static str,
}

/// Shows `plan`, and carries it out if that is wanted.
pub(super) fn run(
    ui: &mut Ui,
    places: &Places,
    args: &AdoptArgs,
    base: &Path,
    plan: Plan,
    guard: &ChangeGuard,
) -> Result<Exit, CliError> {
    // A record that cannot be read is an error before anyone is asked.
    Record::load(places, args.owner(), base)?;
    for skill in &plan.skills {
        let target = paths::shown(base, &skill.target);
        if let Some(moved) = &skill.moved {
            ui.write_planned(
                Some(Style::Added),
                &format!("> {} is moved to {target}", paths::shown(base, moved)),
            )?;
        }
        for path in skill.links() {
            let to = link_text(base, path, &skill.target);
            ui.write_planned(
                Some(Style::Added),
                &format!("+ {} -> {}", paths::shown(base, path), to.display()),
            )?;
        }
        for path in &skill.aside {
            let (path, kept) = (paths::shown(base, path), paths::shown(base, &original(base, path)));
            ui.write_planned(Some(Style::Removed), &format!("- {path} is kept as {kept}"))?;
        }
    }
    ui.flush()?;
    let consent = match plan.skills.len() {
        0 => Consent::Given,
        _ if args.print => Consent::Refused,
        number => ui.consent(&format!("gather {}?", count(number, "skill")), args.yes)?,
    };
    let (mut gathered, mut failure) = (0, None);
    if consent == Consent::Given && !plan.skills.is_empty() {
        guard.begin();
        let _lock = lock(base);
        let mut record = Record::load(places, args.owner(), base)?;
        for skill in &plan.skills {
            match gather(places, args.owner(), base, skill, &mut record) {
                Ok(()) => gathered += 1,
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        if failure.is_none() {
            record.finish();
            record.save(base)?;
        }
    }
    report(ui, base, &plan, gathered)?;
    if let Some(error) = failure {
        return Err(error.hint("`rep adopt --undo` puts back what was moved"));
    }
    if consent != Consent::Given && !args.print {
        let what = format!("{} would be gathered", count(plan.skills.len(), "skill"));
        return Err(CliError::not_written(consent, &what, "`--yes` gathers them without asking"));
    }
    Ok(if plan.refused.is_empty() { Exit::Success } else { Exit::No })
}

fn report(ui: &mut Ui, base: &Path, plan: &Plan, gathered: usize) -> Result<(), CliError> {
    if ui.is_json() {
        let skill = |(index, skill): (usize, &GatheredSkill)| SkillJson {
            name: skill.name.clone(),
            place: paths::shown(base, &skill.target),
            moved: skill.moved.as_ref().map(|path| paths::shown(base, path)),
            links: skill.links().map(|path| paths::shown(base, path)).collect(),
            state: if index < gathered { "gathered" } else { "planned" },
        };
        let refused = plan.refused.iter().map(|(name, reason)| json!({"name": name, "reason": reason}));
        ui.write_json(&json!({
            "base": base.display().to_string(),
            "skills": plan.skills.iter().enumerate().map(skill).collect::<Vec<_>>(),
            "left_alone": refused.collect::<Vec<_>>(),
        }))?;
        return Ok(());
    }
    if gathered > 0 {
        let done = ui.paint(Style::Good, &format!("{} gathered", count(gathered, "skill")));
        writeln!(ui.out(), "{done}")?;
    } else if plan.skills.is_empty() && plan.refused.is_empty() {
        writeln!(ui.out(), "every skill is in one place already")?;
    }
    for (name, reason) in &plan.refused {
        ui.message(Style::Warning, "left alone:", &format!("{name}: {reason}"))?;
    }
    Ok(())
}

/// Gathers the copies of `skill`. The record is written first, so that what a crash leaves half done can be completed or undone.
///
/// A copy is put aside only once the skill is in the one place, and its link is made at once. So all that can be missing after a
/// crash is the skill in the one place, where another copy counts, and one link.
fn gather(
    places: &Places,
    owner: Owner,
    base: &Path,
    skill: &GatheredSkill,
    record: &mut Record,
) -> Result<(), CliError> {
    let copy = |path: &PathBuf, moved: bool| AdoptedCopy {
        name: skill.name.clone(),
        path: paths::shown(base, path),
        to: (*path != skill.target)
            .then(|| link_text(base, path, &skill.target).to_string_lossy().into_owned()),
        moved,
        is_unfinished: true,
    };
    let aside = skill.aside.iter().map(|path| copy(path, false));
    let adopted: Vec<AdoptedCopy> = aside.chain(skill.moved.iter().map(|path| copy(path, true))).collect();
    for copy in &adopted {
        // An original of an earlier run is never overwritten.
        let kept = original(base, &base.join(&copy.path));
        if !copy.moved && kept.symlink_metadata().is_ok() {
            return Err(CliError::no(format!("{} is there already", kept.display()))
                .hint("it is the original of an earlier `rep adopt`; undo that first, or remove it"));
        }
    }
    record.finish();
    record.adopted.retain(|earlier| !adopted.iter().any(|copy| copy.path == earlier.path));
    record.adopted.extend(adopted);
    record.adopted.sort_by(|a, b| a.path.cmp(&b.path));
    record.save(base)?;
    if skill.aside.contains(&skill.target) {
        rename(&skill.target, &original(base, &skill.target))?;
    }
    if let Some(moved) = &skill.moved {
        rename(moved, &skill.target)?;
        link_to_gathered(places, owner, base, moved, &skill.target)?;
    }
    for path in skill.aside.iter().filter(|path| **path != skill.target) {
        rename(path, &original(base, path))?;
        link_to_gathered(places, owner, base, path, &skill.target)?;
    }
    Ok(())
}

/// Makes and records the link at `path` that leads to `target`; a link that is there already is only recorded.
pub(super) fn link_to_gathered(
    places: &Places,
    owner: Owner,
    base: &Path,
    path: &Path,
    target: &Path,
) -> Result<(), CliError> {
    let to = link_text(base, path, target);
    if !fs::read_link(path).is_ok_and(|found| found == to) {
        link::make_link(&to, path).map_err(|error| CliError::io("make", path, error))?;
    }
    // The link is for the client whose own directory it is; others only read it too.
    let owns = |client: &&ClientDirectories| {
        places.directories(client, owner).first().is_some_and(|folder| path.parent() == Some(folder))
    };
    let clients = CLIENT_DIRECTORIES.iter().filter(owns).map(|client| client.id.to_owned()).collect();
    Ok(link::record_link(places, owner, base, path, &to, clients)?)
}

/// Returns what the link at `path` says that leads to `target`.
pub(super) fn link_text(base: &Path, path: &Path, target: &Path) -> PathBuf {
    let (base, folder) = (paths::resolved(base), paths::resolved(path.parent().unwrap_or(path)));
    let target = paths::resolved(target);
    if folder.starts_with(&base) && target.starts_with(&base) {
        paths::relative(&folder, &target)
    } else {
        target
    }
}

/// Locks `base` until the result is dropped, so that a command that starts meanwhile does not take the change for one that was
/// interrupted. Where that is not supported, nothing is locked.
pub(super) fn lock(base: &Path) -> Option<File> {
    File::open(base).ok().filter(|directory| directory.lock().is_ok())
}

/// Renames a directory; its parent is made if it is missing.
pub(super) fn rename(from: &Path, to: &Path) -> Result<(), CliError> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(|error| CliError::io("make", parent, error))?;
    }
    // An empty directory would give way to the other one without a word.
    if to.symlink_metadata().is_ok() {
        return Err(CliError::io("write", to, std::io::ErrorKind::AlreadyExists.into()));
    }
    fs::rename(from, to).map_err(|error| CliError::io("move", from, error))
}
