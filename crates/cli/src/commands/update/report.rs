//! Shows what an update changes.

use repertoire_app::install::{short, word};
use repertoire_model::patch::{self, SkillFiles};
use repertoire_model::{FileKind, SkillPath};
use repertoire_sources::{
    ConflictContent, ConflictingFile, FoundSkill, Installation, Newest, NewestSkill, SkillChange,
    UpdateCheck, allowed_tools, capabilities,
};
use serde_json::{Value, json};

use super::conflicts;
use super::plan::{Step, StepKind};
use crate::error::CliError;
use crate::ui::{Style, Ui, escape};
use crate::wire::Workspace;

/// The most findings of a skill that are shown.
const MAX_FINDINGS: usize = 10;

/// The reason that no new copy with conflicts is written.
const OPEN: &str = "a conflict copy is open, and stays as it is";

/// Writes what the update of a skill changes.
pub(super) fn print(ui: &mut Ui, step: &Step) -> Result<(), CliError> {
    let name = &step.check.locked.name;
    match (&step.kind, &step.check.newest) {
        (StepKind::None, Newest::Current) => {}
        (StepKind::None, newest) => {
            let reason = match newest {
                Newest::Renamed(newest) => {
                    format!(
                        "the source calls it {} now; `rep update --rename` takes that over",
                        newest.locked.name
                    )
                }
                Newest::Gone => "the source does not have it any more; it stays as it is".to_owned(),
                Newest::Broken(reason) => format!("its newest state cannot be used: {reason}"),
                Newest::Unreachable(error) => chain(error),
                Newest::Current | Newest::Changed(_) => String::new(),
            };
            ui.message(Style::Warning, &format!("{}:", word(newest)), &format!("{name}: {reason}"))?;
        }
        (StepKind::Missing, _) => {
            ui.message(Style::Warning, "missing:", &format!("{name} is in the lock but not here"))?;
            ui.hint("run `rep sync` to restore it")?;
        }
        (StepKind::NotRenamed(reason), newest) => {
            ui.message(Style::Warning, &format!("{}:", word(newest)), &format!("{name} stays: {reason}"))?;
        }
        (StepKind::Ready { base, before, after, newest, is_edited, .. }, _) => {
            heading(ui, step, newest, if *is_edited { "; your edits stay" } else { "" })?;
            print_wider(ui, base, &newest.skill)?;
            print_findings(ui, step, newest)?;
            ui.write_skill_diff(before, after)?;
        }
        (StepKind::Conflicts { is_open: true, .. }, _) => {
            ui.message(Style::Warning, "conflict:", &format!("{name}: {OPEN}"))?;
            ui.hint(&format!("finish it with `rep update --resolved {name}`, or delete it"))?;
        }
        (StepKind::Conflicts { newest, copy, conflicts, before, .. }, _) => {
            heading(ui, step, newest, "; your edits conflict with the changes of the source")?;
            print_wider(ui, before, &newest.skill)?;
            print_findings(ui, step, newest)?;
            ui.write_skill_diff(before, copy)?;
            for conflict in conflicts {
                let line = format!("conflict: {}{}", conflict.path, side(conflict, before));
                ui.write_planned(Some(Style::Warning), &line)?;
            }
        }
    }
    Ok(())
}

/// Returns which side the copy has of a file without markers.
fn side(conflict: &ConflictingFile, before: &SkillFiles) -> &'static str {
    match conflict.content {
        ConflictContent::Both => "",
        ConflictContent::Local => " (the source removed it; the copy has yours)",
        ConflictContent::Source if before.contains_key(&conflict.path) => {
            " (it cannot be merged; the copy has the source's, and yours stays in the skill)"
        }
        ConflictContent::Source => " (you removed it; the copy has the source's)",
    }
}

fn chain(error: &repertoire_sources::Error) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

fn heading(ui: &mut Ui, step: &Step, newest: &NewestSkill, note: &str) -> Result<(), CliError> {
    let locked = &step.check.locked;
    let from = short(locked.resolved.as_deref(), &locked.digest.to_string());
    let to = short(newest.locked.resolved.as_deref(), &newest.locked.digest.to_string());
    let mut line = format!("{}: {from} -> {to}{note}", locked.name);
    if newest.locked.name != locked.name {
        line += &format!("; it is called {} now", newest.locked.name);
    }
    if newest.locked.path != locked.path {
        line += &format!("; it moved from {} to {}", locked.path, newest.locked.path);
    }
    Ok(ui.write_planned(Some(Style::Heading), &line)?)
}

/// Writes what the newest state of the skill can do that the files `before` cannot.
fn print_wider(ui: &mut Ui, before: &SkillFiles, newest: &FoundSkill) -> Result<(), CliError> {
    for line in wider(before, newest) {
        ui.write_planned(Some(Style::Warning), &format!("! {line}"))?;
    }
    Ok(())
}

/// Writes what the rules newly find in the newest state of the skill, and its files that were left out.
fn print_findings(ui: &mut Ui, step: &Step, newest: &NewestSkill) -> Result<(), CliError> {
    for finding in step.findings.iter().take(MAX_FINDINGS) {
        ui.write_planned(Some(Style::Warning), &format!("! new: {finding}"))?;
    }
    if let Some(more) = step.findings.len().checked_sub(MAX_FINDINGS).filter(|more| *more > 0) {
        ui.write_planned(Some(Style::Warning), &format!("! and {more} more findings"))?;
    }
    for reason in &newest.left_out {
        ui.write_planned(Some(Style::Warning), &format!("! left out: {reason}"))?;
    }
    Ok(())
}

/// Returns what the newest state of the skill can do that the files `before` cannot.
fn wider(before: &SkillFiles, newest: &FoundSkill) -> Vec<String> {
    let (added, _) = newest.capabilities.difference(&capabilities(before));
    let tools = added.into_iter().map(|line| format!("new: tool {line}"));
    let could_run = |path: &SkillPath| {
        let is_script = FileKind::of(path, &newest.manifest_file) == FileKind::Script;
        before.get(path).is_some_and(|file| file.executable || is_script)
    };
    let scripts = newest.scripts().into_iter().filter(|path| !could_run(path));
    let scripts = scripts.map(|path| format!("new: script {path}"));
    let allowed = allowed_tools(before);
    let asked = newest.allowed_tools.iter().filter(|tool| !allowed.contains(tool));
    let asked = asked.map(|tool| format!("new: asks for {tool}"));
    tools.chain(scripts).chain(asked).collect()
}

/// Writes the diff of a change.
pub(super) fn print_change(ui: &mut Ui, change: &SkillChange) -> Result<(), CliError> {
    let none = SkillFiles::new();
    ui.write_skill_diff(change.before.as_ref().unwrap_or(&none), change.after.as_ref().unwrap_or(&none))?;
    Ok(())
}

/// Writes what was done.
pub(super) fn summary(
    ui: &mut Ui,
    workspace: &Workspace,
    installation: &Installation,
    steps: &[Step],
    is_done: bool,
) -> Result<(), CliError> {
    let names = |is_meant: &dyn Fn(&Step) -> bool| -> Vec<String> {
        steps.iter().filter(|step| is_meant(step)).map(Step::shown_name).collect()
    };
    let updated = names(&|step| matches!(step.kind, StepKind::Ready { .. }));
    if is_done && !updated.is_empty() {
        ui.write_planned(Some(Style::Good), &format!("updated {}", updated.join(", ")))?;
    }
    let is_current =
        |step: &Step| matches!((&step.kind, &step.check.newest), (StepKind::None, Newest::Current));
    if steps.iter().all(is_current) {
        writeln!(ui.out(), "everything is up to date")?;
    }
    for step in steps.iter().filter(|_| is_done) {
        if let StepKind::Conflicts { is_open: false, .. } = step.kind {
            let name = &step.check.locked.name;
            let copy = conflicts::directory(installation, name);
            let shown = workspace.shown(&copy.display().to_string());
            ui.warn(&format!("{name} is as it was; a copy with the conflicts lies in {shown}"))?;
            ui.hint(&format!("edit the copy, then run `rep update --resolved {name}`"))?;
        }
    }
    Ok(())
}

/// Returns a skill and its newest state.
fn checked(check: &UpdateCheck) -> Value {
    let locked = &check.locked;
    let (newest, digest) = match &check.newest {
        Newest::Changed(newest) | Newest::Renamed(newest) => {
            (newest.locked.resolved.clone(), Some(newest.locked.digest.to_string()))
        }
        _ => (None, None),
    };
    let reason = match &check.newest {
        Newest::Renamed(newest) => Some(format!("the source calls it {} now", newest.locked.name)),
        Newest::Broken(reason) => Some(reason.clone()),
        Newest::Unreachable(error) => Some(escape(&error.to_string()).into_owned()),
        _ => None,
    };
    let new_name = match &check.newest {
        Newest::Renamed(newest) => Some(newest.locked.name.as_str()),
        _ => None,
    };
    json!({
        "name": locked.name.as_str(),
        "renamed_to": new_name,
        "source": locked.source,
        "ref": locked.reference,
        "state": word(&check.newest),
        "resolved": locked.resolved,
        "digest": locked.digest.to_string(),
        "newest_resolved": newest,
        "newest_digest": digest,
        "reason": reason,
    })
}

/// Returns the outcome of a skill, for programs.
pub(super) fn described(step: &Step, is_done: bool) -> Value {
    let mut value = checked(&step.check);
    let (state, diff, conflicts, new) = match &step.kind {
        StepKind::None => (word(&step.check.newest), None, Vec::new(), Vec::new()),
        StepKind::Missing => ("missing", None, Vec::new(), Vec::new()),
        StepKind::NotRenamed(reason) => {
            value["reason"] = reason.as_str().into();
            (word(&step.check.newest), None, Vec::new(), Vec::new())
        }
        StepKind::Ready { base, before, after, newest, .. } => {
            let state = if is_done { "updated" } else { word(&step.check.newest) };
            (state, Some(patch::diff(before, after)), Vec::new(), wider(base, &newest.skill))
        }
        StepKind::Conflicts { newest, copy, conflicts, before, is_open } => {
            if *is_open {
                value["reason"] = OPEN.into();
            }
            let paths = conflicts.iter().map(|conflict| conflict.path.to_string()).collect();
            ("conflict", Some(patch::diff(before, copy)), paths, wider(before, &newest.skill))
        }
    };
    value["state"] = state.into();
    value["edited"] =
        matches!(&step.kind, StepKind::Ready { is_edited: true, .. } | StepKind::Conflicts { .. }).into();
    value["diff"] = json!(diff);
    value["conflicts"] = json!(conflicts);
    value["wider"] = json!(new);
    value["findings"] = json!(step.findings);
    value["left_out"] = match &step.kind {
        StepKind::Ready { newest, .. } | StepKind::Conflicts { newest, .. } => json!(newest.left_out),
        _ => json!([]),
    };
    value
}
