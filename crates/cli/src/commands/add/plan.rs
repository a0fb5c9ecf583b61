//! Compares the chosen skills with those that are installed.

use repertoire_model::patch::SkillFiles;
use repertoire_sources::{
    Change, FetchedTree, FoundSkill, Installation, Lock, LockedSkill, SkillChange, read_installed,
};

use crate::error::CliError;

/// The skills to add.
pub(super) struct Plan<'a> {
    /// The skills, each with its relation to the installed one.
    pub(super) skills: Vec<(&'a FoundSkill, SkillPresence)>,
    changes: Vec<PlannedChange>,
}

struct PlannedChange {
    locked: LockedSkill,
    locked_before: Option<LockedSkill>,
    before: Option<SkillFiles>,
    after: SkillFiles,
}

/// The relation of a skill of the source to the installed skill of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SkillPresence {
    /// It is not there.
    New,
    /// It is there with the same files.
    Right,
}

impl Plan<'_> {
    /// Returns the skills of this presence.
    pub(super) fn of(&self, presence: SkillPresence) -> impl Iterator<Item = &FoundSkill> {
        self.skills.iter().filter(move |(_, it)| *it == presence).map(|(skill, _)| *skill)
    }

    /// Returns the change that adds the skills.
    pub(super) fn changes(&self) -> Change {
        let change = |planned: &PlannedChange| SkillChange {
            name: planned.locked.name.clone(),
            before: planned.before.clone(),
            after: Some(planned.after.clone()),
            others: Vec::new(),
            locked_before: planned.locked_before.clone(),
            locked: Some(planned.locked.clone()),
        };
        Change { skills: self.changes.iter().map(change).collect(), links: Vec::new() }
    }
}

/// Plans to add `chosen`; fails if one of them cannot be added.
pub(super) fn plan<'a>(
    installation: &Installation,
    tree: &FetchedTree,
    chosen: &[&'a FoundSkill],
) -> Result<Plan<'a>, CliError> {
    let lock = Lock::read(&installation.lock)?;
    let mut plan = Plan { skills: Vec::new(), changes: Vec::new() };
    for (number, skill) in chosen.iter().enumerate() {
        if let Some(fault) = &skill.fault {
            return Err(CliError::no(format!("`{}` cannot be added: {fault}", skill.name))
                .hint("nothing was added; choose other skills with --skill"));
        }
        if let Some(other) = chosen[..number].iter().find(|other| other.name == skill.name) {
            return Err(CliError::no(format!(
                "two skills of the source are called `{}`: {} and {}",
                skill.name, other.path, skill.path
            ))
            .hint("add the directory of one of them"));
        }
        let locked = LockedSkill {
            name: skill.name.clone(),
            source: tree.source.to_locked(&installation.base),
            reference: tree.source.reference().map(str::to_owned),
            path: skill.path.clone(),
            resolved: tree.resolved_of(&skill.path),
            digest: skill.digest,
            files: LockedSkill::digests(&skill.files),
        };
        let locked_before = lock.get(skill.name.as_str()).cloned();
        let directory = installation.directory(&skill.name);
        let before = read_installed(&directory)?.map(|installed| installed.files);
        let presence = match &before {
            None => SkillPresence::New,
            Some(files) if *files == skill.files && is_ours(&locked, locked_before.as_ref()) => {
                SkillPresence::Right
            }
            Some(_) => return Err(taken(skill, &locked, locked_before.as_ref(), &directory)),
        };
        if locked_before.as_ref() != Some(&locked) || before.is_none() {
            let after = skill.files.clone();
            plan.changes.push(PlannedChange { locked, locked_before, before, after });
        }
        plan.skills.push((skill, presence));
    }
    Ok(plan)
}

/// Returns `true` if the skill was not added from another source before.
fn is_ours(locked: &LockedSkill, before: Option<&LockedSkill>) -> bool {
    before.is_none_or(|before| before.source == locked.source)
}

/// Returns the error about a skill of which there is another.
fn taken(
    skill: &FoundSkill,
    locked: &LockedSkill,
    before: Option<&LockedSkill>,
    directory: &std::path::Path,
) -> CliError {
    let name = &skill.name;
    let error =
        CliError::no(format!("there is another `{name}` at {}, which is left alone", directory.display()));
    match before {
        Some(before) if before.source == locked.source => {
            error.hint(format!("run `rep update {name}` to bring it up to date"))
        }
        Some(before) => error
            .hint(format!("it comes from {}; run `rep remove {name}` first to replace it", before.source)),
        None => error.hint("nothing was added; move it away to replace it"),
    }
}
