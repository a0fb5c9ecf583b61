//! The skills that chosen ones require, and that are neither chosen nor here.

use std::collections::{BTreeSet, VecDeque};

use repertoire_model::SkillName;
use repertoire_sources::{
    FetchedTree, FoundSkill, Installation, Lock, Source, fetch, find_skills, source_of,
};

use crate::error::CliError;
use crate::ui::{Consent, Progress, Ui};
use crate::wire::{Library, Workspace};

/// The most sources that are searched for required skills.
const MAX_SOURCES: usize = 8;

/// A source and its skills.
pub(super) type SourceSkills = (FetchedTree, Vec<FoundSkill>);

/// A skill that another one requires.
pub(super) struct RequiredSkill<'s> {
    name: &'s str,
    /// The skill that requires it.
    pub(super) by: &'s SkillName,
    /// The skill and its source; `None` if no source has it.
    pub(super) found: Option<(&'s FetchedTree, &'s FoundSkill)>,
}

/// Returns the skills that `chosen` require, directly or not, and that neither they nor `library` have.
pub(super) fn required<'s>(
    library: &Library,
    sources: &[&'s SourceSkills],
    chosen: &[&'s FoundSkill],
) -> Vec<RequiredSkill<'s>> {
    let mut queue: VecDeque<&FoundSkill> = chosen.iter().copied().collect();
    let mut seen: BTreeSet<&str> = chosen.iter().map(|skill| skill.name.as_str()).collect();
    let mut required = Vec::new();
    while let Some(skill) = queue.pop_front() {
        let is_missing = |name: &&String| library.snapshot.find_known(name).is_none();
        for name in skill.requires.iter().filter(is_missing).filter(|name| seen.insert(name)) {
            let is_it = |other: &&FoundSkill| other.name.as_str() == name && other.fault.is_none();
            let found = sources.iter().find_map(|(tree, skills)| Some((tree, skills.iter().find(is_it)?)));
            queue.extend(found.map(|(_, skill)| skill));
            required.push(RequiredSkill { name, by: &skill.name, found });
        }
    }
    required
}

/// Fetches the sources of skills added before; an index again, because only chosen skills were fetched.
pub(super) fn other_sources(
    ui: &mut Ui,
    workspace: &Workspace,
    installation: &Installation,
    tree: &FetchedTree,
    required: &[RequiredSkill<'_>],
) -> Result<Vec<SourceSkills>, CliError> {
    let mut options = workspace.fetch_options(ui.git_prompt(), None)?;
    options.wanted = required.iter().map(|it| it.name.to_owned()).collect();
    let (lock, base, home) = (Lock::read(&installation.lock)?, &installation.base, workspace.env.home());
    let mut sources = vec![tree.source.clone()];
    for source in lock.skills().filter_map(|it| source_of(it, base, home.as_deref()).ok()) {
        if source.to_locked(base) != tree.source.to_locked(base) && !sources.contains(&source) {
            sources.push(source);
        }
    }
    let mut found = Vec::new();
    let is_read = !matches!(tree.source, Source::WellKnown(_));
    for source in sources.iter().skip(usize::from(is_read)).take(MAX_SOURCES) {
        let progress = Progress::start(&workspace.env, "looking for required skills");
        let fetched = fetch(source, &options);
        drop(progress);
        match fetched.map(|tree| (find_skills(&tree, &workspace.settings.policy), tree)) {
            Ok((skills, tree)) => found.push((tree, skills)),
            Err(error) => ui.warn(&format!("required skills were not looked for in {source}: {error}"))?,
        }
    }
    Ok(found)
}

/// Returns the skills of `required` that are added too, after asking, and warns about the others. The
/// switches are `--yes` and `--no-requires`.
pub(super) fn agreed<'s>(
    ui: &mut Ui,
    (yes, no_requires): (bool, bool),
    required: Vec<RequiredSkill<'s>>,
) -> Result<Vec<RequiredSkill<'s>>, CliError> {
    let is_offered = |it: &RequiredSkill<'_>| it.found.is_some() && !no_requires;
    let (mut offered, mut missing): (Vec<_>, Vec<_>) = required.into_iter().partition(is_offered);
    let reason = |it: &RequiredSkill<'_>| format!("`{}` requires `{}`", it.by, it.name);
    let reasons: Vec<String> = offered.iter().map(reason).collect();
    let question = format!("{}; add them too?", reasons.join("; "));
    if !offered.is_empty() && ui.consent(&question, yes)? == Consent::Refused {
        missing.append(&mut offered);
    }
    for it in &missing {
        let place = if it.found.is_some() { "" } else { ", nor in a source that was searched" };
        ui.warn(&format!("{}, which is not here{place}", reason(it)))?;
    }
    Ok(offered)
}
