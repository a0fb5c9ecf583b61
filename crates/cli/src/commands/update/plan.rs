//! Merges the newest states of skills with local edits.

use std::path::Path;

use repertoire::change::{InstalledSkill, read_installed};
use repertoire_model::patch::SkillFiles;
use repertoire_model::{Diagnostic, Severity, SkillName, SkillPath};
use repertoire_sources::{
    ConflictContent, ConflictingFile, FoundSkill, Installation, LockedSkill, MergeOutcome, Newest,
    NewestSkill, SkillChange, Source, UpdateCheck, fetch, find_skills, locked_files, manifest_fault,
    merge_edits,
};

use super::conflicts::is_open;
use crate::error::CliError;
use crate::ui::Ui;
use crate::wire::Workspace;

/// The choice to take over new names, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rename {
    /// A skill that its source renamed gets the new name.
    Follow,
    /// It is only reported.
    Report,
}

/// A skill of the lock, and what can be done about it.
pub(super) struct Step {
    /// The state of the source.
    pub(super) check: UpdateCheck,
    /// The outcome of the update.
    pub(super) kind: StepKind,
    /// The findings of the rules in its newest state that the skill does not have here.
    pub(super) findings: Vec<String>,
}

/// The result of the merge.
pub(super) enum StepKind {
    /// Nothing is to be done, or nothing can be done.
    None,
    /// The skill is in the lock but not here.
    Missing,
    /// The skill has a new name that cannot be taken over, for this reason.
    NotRenamed(String),
    /// The new files.
    Ready {
        /// The changes; taken when they are carried out. A renamed skill is removed under its old name.
        changes: Vec<SkillChange>,
        /// The files as they were added, if they are known.
        base: SkillFiles,
        before: SkillFiles,
        after: SkillFiles,
        newest: Box<NewestSkill>,
        /// `true` if there are edits, which stay.
        is_edited: bool,
    },
    /// Conflicts between edits and the source.
    Conflicts {
        newest: Box<NewestSkill>,
        copy: SkillFiles,
        conflicts: Vec<ConflictingFile>,
        before: SkillFiles,
        /// `true` if somebody is editing an earlier copy, which stays.
        is_open: bool,
    },
}

impl Step {
    /// Returns the changes of a skill that is ready.
    pub(super) fn take_changes(&mut self) -> Vec<SkillChange> {
        match &mut self.kind {
            StepKind::Ready { changes, .. } => std::mem::take(changes),
            _ => Vec::new(),
        }
    }

    /// Returns the new name of a skill whose name changes.
    pub(super) fn new_name(&self) -> Option<&SkillName> {
        match (&self.kind, &self.check.newest) {
            (StepKind::Ready { newest, .. }, Newest::Renamed(_)) => Some(&newest.locked.name),
            _ => None,
        }
    }

    /// Returns the name of the skill as it is shown, with its new name.
    pub(super) fn shown_name(&self) -> String {
        let name = &self.check.locked.name;
        self.new_name().map_or_else(|| name.to_string(), |new| format!("{name} to {new}"))
    }

    /// Returns `true` if it has conflicts or is missing, its new name or newest state cannot be used, or its
    /// source could not be asked. A skill that the source removed or renamed stays and is not a failure.
    pub(super) fn is_failure(&self) -> bool {
        matches!(self.kind, StepKind::Conflicts { .. } | StepKind::Missing | StepKind::NotRenamed(_))
            || matches!(self.check.newest, Newest::Broken(_) | Newest::Unreachable(_))
    }

    /// Returns `true` if the source has a newer state that can be used, or a new name to be taken over.
    pub(super) fn is_outdated(&self) -> bool {
        matches!(self.check.newest, Newest::Changed(_)) || self.new_name().is_some()
    }
}

/// Plans the update of every skill in `checks`.
pub(super) fn steps(
    ui: &Ui,
    workspace: &Workspace,
    token_file: Option<&Path>,
    installation: &Installation,
    checks: Vec<UpdateCheck>,
    rename: Rename,
) -> Result<Vec<Step>, CliError> {
    checks.into_iter().map(|check| step(ui, workspace, token_file, installation, check, rename)).collect()
}

fn step(
    ui: &Ui,
    workspace: &Workspace,
    token_file: Option<&Path>,
    installation: &Installation,
    check: UpdateCheck,
    rename: Rename,
) -> Result<Step, CliError> {
    let installed = read_installed(&installation.directory(&check.locked.name))?;
    let newest = match &check.newest {
        Newest::Current if installed.is_none() => {
            return Ok(Step { check, kind: StepKind::Missing, findings: Vec::new() });
        }
        Newest::Changed(newest) => newest,
        Newest::Renamed(newest) if rename == Rename::Follow => newest,
        _ => return Ok(Step { check, kind: StepKind::None, findings: Vec::new() }),
    };
    let name = newest.locked.name.clone();
    let newest = newest.clone();
    let Some(installed) = installed else {
        return Ok(Step { check, kind: StepKind::Missing, findings: Vec::new() });
    };
    let policy = &workspace.settings.policy;
    let is_renamed = name != check.locked.name;
    if let Some(reason) = obstacle(installation, &installed, &name).filter(|_| is_renamed) {
        return Ok(Step { check, kind: StepKind::NotRenamed(reason), findings: Vec::new() });
    }
    let options = workspace.fetch_options(ui.git_prompt(), token_file)?;
    let here = fetch(&Source::Directory(installation.directory(&check.locked.name)), &options);
    let here = here.map(|tree| find_skills(&tree, policy)).unwrap_or_default();
    let findings = new_findings(&here, &newest.skill);
    let before = installed.files;
    let theirs = &newest.skill.files;
    let is_edited = repertoire_model::patch::bundle(&before).digest() != check.locked.digest;
    let (base, merged) = if is_edited {
        let (store, home) = (workspace.content_store(), workspace.env.home());
        // Without the files as they were, every edit is a conflict.
        let base = locked_files(&check.locked, &installation.base, home.as_deref(), &store, &options);
        let base = base.ok().flatten().unwrap_or_default();
        let merged = match merge_edits(&base, &before, theirs) {
            // Edits that fit together line by line may still make no skill.
            MergeOutcome::Clean(copy) if manifest_fault(&copy, &name, policy).is_some() => {
                let manifest = copy.keys().filter(|path| is_manifest(path)).cloned();
                let conflict = |path| ConflictingFile { path, content: ConflictContent::Both };
                let conflicts = manifest.map(conflict).collect();
                MergeOutcome::Conflicts { copy, conflicts }
            }
            merged => merged,
        };
        (base, merged)
    } else {
        (before.clone(), MergeOutcome::Clean(theirs.clone()))
    };
    let kind = match merged {
        MergeOutcome::Clean(after) => StepKind::Ready {
            changes: changes(&check.locked, &newest.locked, &before, &after),
            is_edited: after != *theirs,
            base,
            before,
            after,
            newest,
        },
        MergeOutcome::Conflicts { .. } if is_renamed => StepKind::NotRenamed(format!(
            "your edits conflict with the changes of the source; add {name}, and copy your edits into it"
        )),
        MergeOutcome::Conflicts { copy, conflicts } => {
            let is_open = is_open(installation, &check.locked.name);
            StepKind::Conflicts { newest, copy, conflicts, before, is_open }
        }
    };
    Ok(Step { check, kind, findings })
}

/// Returns the findings of `newest` that none of `here` has, in words.
fn new_findings(here: &[FoundSkill], newest: &FoundSkill) -> Vec<String> {
    let is_new = |found: &&Diagnostic| {
        let is_same = |other: &Diagnostic| {
            (other.rule, &other.file, &other.message) == (found.rule, &found.file, &found.message)
        };
        found.severity != Severity::Info && !here.iter().flat_map(|skill| &skill.findings).any(is_same)
    };
    let in_words = |found: &Diagnostic| {
        let file = found.file.as_ref().map(|file| format!("{file}: ")).unwrap_or_default();
        format!("{}: {file}{} [{}]", found.severity, found.message, found.rule)
    };
    newest.findings.iter().filter(is_new).map(in_words).collect()
}

/// Returns the changes that replace `before`, the files of the skill of `locked`, by `after`.
fn changes(
    locked: &LockedSkill,
    newest: &LockedSkill,
    before: &SkillFiles,
    after: &SkillFiles,
) -> Vec<SkillChange> {
    let change = SkillChange {
        name: newest.name.clone(),
        before: Some(before.clone()),
        after: Some(after.clone()),
        others: Vec::new(),
        locked_before: Some(locked.clone()),
        locked: Some(newest.clone()),
    };
    if newest.name == locked.name {
        return vec![change];
    }
    let removal = SkillChange {
        name: locked.name.clone(),
        before: Some(before.clone()),
        after: None,
        others: Vec::new(),
        locked_before: Some(locked.clone()),
        locked: None,
    };
    vec![SkillChange { before: None, locked_before: None, ..change }, removal]
}

/// Returns the reason that the skill cannot be moved to a directory called `name`.
fn obstacle(installation: &Installation, installed: &InstalledSkill, name: &SkillName) -> Option<String> {
    let directory = installation.directory(name);
    if directory.symlink_metadata().is_ok() {
        return Some(format!("there is something at {} already", directory.display()));
    }
    let other = installed.others.first()?;
    Some(format!("it has other files, such as {other}, which would not go with it"))
}

fn is_manifest(path: &SkillPath) -> bool {
    path.as_str().eq_ignore_ascii_case("SKILL.md")
}
