//! Compares the chosen skills with the installed ones.

use std::collections::BTreeMap;

use repertoire::change::read_installed;
use repertoire_model::SkillName;
use repertoire_sources::{
    Change, FetchedTree, FoundSkill, Installation, Lock, LockedSkill, SkillChange, Source,
};

use crate::error::CliError;
use crate::wire::shell_word;

/// The skills to add.
pub(super) struct Plan<'a> {
    /// The skills, each with its relation to the installed one.
    pub(super) skills: Vec<(&'a FoundSkill, SkillPresence)>,
    /// The change that adds them.
    pub(super) change: Change,
    /// The skills that come along, each with the one that requires it.
    pub(super) required: BTreeMap<SkillName, SkillName>,
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
}

/// Plans to add `chosen`, each from its source; fails if one of them cannot be added.
pub(super) fn plan<'a>(
    installation: &Installation,
    chosen: &[(&FetchedTree, &'a FoundSkill)],
) -> Result<Plan<'a>, CliError> {
    let lock = Lock::read(&installation.lock)?;
    let mut plan = Plan { skills: Vec::new(), change: Change::default(), required: BTreeMap::new() };
    for (number, (tree, skill)) in chosen.iter().enumerate() {
        if let Some(fault) = &skill.fault {
            return Err(CliError::no(format!("`{}` cannot be added: {fault}", skill.name))
                .hint("nothing was added; choose other skills with --skill"));
        }
        if let Some((_, other)) = chosen[..number].iter().find(|(_, other)| other.name == skill.name) {
            return Err(CliError::no(format!(
                "two skills of the source are called `{}`: {} and {}",
                skill.name, other.path, skill.path
            ))
            .hint(way_to_add(tree, other)));
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
            plan.change.skills.push(SkillChange {
                name: locked.name.clone(),
                before,
                after: Some(skill.files.clone()),
                others: Vec::new(),
                locked_before,
                locked: Some(locked),
            });
        }
        plan.skills.push((skill, presence));
    }
    Ok(plan)
}

/// Returns how to add `skill` alone, where another one of the source has its name.
fn way_to_add(tree: &FetchedTree, skill: &FoundSkill) -> String {
    let source = match &tree.source {
        Source::Git(_) => {
            let reference = tree.source.reference().map(|reference| format!("#{reference}"));
            format!("{}//{}{}", tree.source, skill.path, reference.unwrap_or_default())
        }
        Source::Directory(path) => path.join(&skill.path).display().to_string(),
        _ => return "name the other skills with --skill; these two cannot be told apart".to_owned(),
    };
    format!("this adds the first one: rep add {}", shell_word(&source))
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
