//! Merges the newest states of skills with local edits.

use std::path::Path;

use repertoire_model::SkillPath;
use repertoire_model::patch::SkillFiles;
use repertoire_sources::{
    Installation, MergeOutcome, Newest, NewestSkill, SkillChange, UpdateCheck, locked_files, manifest_fault,
    merge_edits, read_installed,
};

use super::conflicts;
use crate::error::CliError;
use crate::ui::Ui;
use crate::wire::Context;

/// A skill of the lock, and what can be done about it.
pub(super) struct Step {
    /// The state of the source.
    pub(super) check: UpdateCheck,
    /// The outcome of the update.
    pub(super) kind: StepKind,
}

/// The result of the merge.
pub(super) enum StepKind {
    /// Nothing is to be done, or nothing can be done.
    None,
    /// The skill is in the lock but not here.
    Missing,
    /// The new files.
    Ready {
        /// The change; taken when it is carried out.
        change: Option<Box<SkillChange>>,
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
        paths: Vec<SkillPath>,
        before: SkillFiles,
        /// `true` if somebody is editing an earlier copy, which stays.
        is_open: bool,
    },
}

impl Step {
    /// Returns the change of a skill that is ready.
    pub(super) fn take_change(&mut self) -> Option<SkillChange> {
        match &mut self.kind {
            StepKind::Ready { change, .. } => change.take().map(|change| *change),
            _ => None,
        }
    }

    /// Returns `true` if it has conflicts, or its source could not be asked. A skill that the source removed or renamed stays for good
    /// and is no failure.
    pub(super) fn is_failure(&self) -> bool {
        matches!(self.kind, StepKind::Conflicts { .. }) || matches!(self.check.newest, Newest::Unreachable(_))
    }

    /// Returns `true` if the source has a newer state that can be used.
    pub(super) fn is_outdated(&self) -> bool {
        matches!(self.check.newest, Newest::Changed(_))
    }
}

/// Plans the update of every skill in `checks`.
pub(super) fn steps(
    ui: &Ui,
    context: &Context,
    token_file: Option<&Path>,
    installation: &Installation,
    checks: Vec<UpdateCheck>,
) -> Result<Vec<Step>, CliError> {
    checks.into_iter().map(|check| step(ui, context, token_file, installation, check)).collect()
}

fn step(
    ui: &Ui,
    context: &Context,
    token_file: Option<&Path>,
    installation: &Installation,
    mut check: UpdateCheck,
) -> Result<Step, CliError> {
    let Newest::Changed(newest) = &mut check.newest else {
        return Ok(Step { check, kind: StepKind::None });
    };
    let newest = Box::new(NewestSkill { skill: newest.skill.clone(), locked: newest.locked.clone() });
    let Some(installed) = read_installed(&installation.directory(&check.locked.name))? else {
        return Ok(Step { check, kind: StepKind::Missing });
    };
    let policy = &context.settings.policy;
    let before = installed.files;
    let theirs = &newest.skill.files;
    let is_edited = repertoire_model::patch::bundle(&before).digest() != check.locked.digest;
    let (base, merged) = if is_edited {
        let options = context.fetch_options(ui, token_file)?;
        let (store, home) = (context.bundle_store()?, context.env.home());
        // Without the files as they were, every edit is a conflict.
        let base = locked_files(&check.locked, &installation.base, home.as_deref(), &store, &options);
        let base = base.ok().flatten().unwrap_or_default();
        let merged = match merge_edits(&base, &before, theirs) {
            // Edits that fit together line by line may still make no skill.
            MergeOutcome::Clean(copy) if manifest_fault(&copy, &check.locked.name, policy).is_some() => {
                let paths = copy.keys().filter(|path| is_manifest(path)).cloned().collect();
                MergeOutcome::Conflicts { copy, paths }
            }
            merged => merged,
        };
        (base, merged)
    } else {
        (before.clone(), MergeOutcome::Clean(theirs.clone()))
    };
    let kind = match merged {
        MergeOutcome::Clean(after) => StepKind::Ready {
            change: Some(Box::new(SkillChange {
                name: check.locked.name.clone(),
                before: Some(before.clone()),
                after: Some(after.clone()),
                others: Vec::new(),
                locked_before: Some(check.locked.clone()),
                locked: Some(newest.locked.clone()),
            })),
            is_edited: after != *theirs,
            base,
            before,
            after,
            newest,
        },
        MergeOutcome::Conflicts { copy, paths } => {
            let is_open = conflicts::is_open(installation, &check.locked.name);
            StepKind::Conflicts { newest, copy, paths, before, is_open }
        }
    };
    Ok(Step { check, kind })
}

fn is_manifest(path: &SkillPath) -> bool {
    path.as_str().eq_ignore_ascii_case("SKILL.md")
}
