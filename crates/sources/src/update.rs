//! The newest state of added skills, compared with what was added and with what is here.

use std::collections::BTreeMap;
use std::path::Path;

use repertoire::change::read_installed;
use repertoire::store::{LazyStore, find_skill_files, put_skill};
use repertoire_model::patch::{Conflict, FileData, SkillFiles, bundle, merge};
use repertoire_model::toolbox::{Capabilities, TOOLBOX_FILE, Toolbox};
use repertoire_model::{Document, ManifestSource, Policy, SkillPath};

use crate::Error;
use crate::fetch::{FetchedTree, fetch, newest_version};
use crate::fetch_options::{BadEntry, FetchOptions};
use crate::found::{FoundSkill, find_skills};
use crate::lock::{Lock, LockedSkill};
use crate::renamed::renamed;
use crate::source::{Source, SourceText};

/// A skill of a lock, and its newest state in its source.
#[derive(Debug)]
#[non_exhaustive]
pub struct UpdateCheck {
    /// The skill as it was added.
    pub locked: LockedSkill,
    /// Its newest state.
    pub newest: Newest,
}

/// The newest state of a skill in its source.
#[derive(Debug)]
pub enum Newest {
    /// It is the one that was added.
    Current,
    /// It has changed.
    Changed(Box<NewestSkill>),
    /// The source has it under another name, which its entry for the lock has.
    Renamed(Box<NewestSkill>),
    /// The source does not have it any more.
    Gone,
    /// It cannot be used as it is now.
    Broken(String),
    /// The source cannot be read.
    Unreachable(Error),
}

/// A skill that has changed in its source.
#[derive(Debug, Clone)]
pub struct NewestSkill {
    /// The skill.
    pub skill: FoundSkill,
    /// Its entry for the lock.
    pub locked: LockedSkill,
    /// Its files that were left out, with the reason.
    pub left_out: Vec<String>,
}

/// Returns the newest state of each of `skills`, which are of `lock` and whose relative sources count from
/// `base`. The files of the skills that were renamed are compared with what `store` has.
pub fn check_updates(
    lock: &Lock,
    skills: &[&LockedSkill],
    store: &LazyStore,
    base: &Path,
    home: Option<&Path>,
    options: &FetchOptions,
    policy: &Policy,
) -> Vec<UpdateCheck> {
    let mut sources: BTreeMap<(&str, Option<&str>), Vec<&LockedSkill>> = BTreeMap::new();
    for skill in skills {
        sources.entry((&skill.source, skill.reference.as_deref())).or_default().push(skill);
    }
    let mut checks = Vec::new();
    for of_source in sources.into_values() {
        checks.extend(check_source(lock, &of_source, store, base, home, options, policy));
    }
    checks.sort_by(|a, b| a.locked.name.cmp(&b.locked.name));
    checks
}

/// Returns the source of a skill of a lock.
pub fn source_of(locked: &LockedSkill, base: &Path, home: Option<&Path>) -> Result<Source, Error> {
    let source = SourceText::parse(&locked.source, base, home)?.source;
    match &locked.reference {
        Some(reference) => source.with_reference(reference),
        None => Ok(source),
    }
}

fn check_source(
    lock: &Lock,
    skills: &[&LockedSkill],
    store: &LazyStore,
    base: &Path,
    home: Option<&Path>,
    options: &FetchOptions,
    policy: &Policy,
) -> Vec<UpdateCheck> {
    let all = |newest: &dyn Fn() -> Newest| {
        let check = |locked: &&LockedSkill| UpdateCheck { locked: (*locked).clone(), newest: newest() };
        skills.iter().map(check).collect::<Vec<_>>()
    };
    let found = skills.first().map(|first| source_of(first, base, home)).transpose();
    let source = match found {
        Ok(Some(source)) => source,
        Ok(None) => return Vec::new(),
        Err(error) => return unreachable_by(skills, error),
    };
    // Asking for the version is much cheaper than fetching it.
    match newest_version(&source, options) {
        Ok(Some(version)) if skills.iter().all(|skill| skill.resolved.as_ref() == Some(&version)) => {
            return all(&|| Newest::Current);
        }
        Ok(_) => {}
        Err(error) => return unreachable_by(skills, error),
    }
    let wanted = skills.iter().map(|skill| skill.name.to_string()).collect();
    let options = &FetchOptions { wanted, single_bad_entry: BadEntry::LeaveOut, ..options.clone() };
    let tree = match fetch(&source, options) {
        Ok(tree) => tree,
        Err(error) => return unreachable_by(skills, error),
    };
    let found = find_skills(&tree, policy);
    // A skill that was added on its own is not the new name of another.
    let is_new = |skill: &&FoundSkill| skill.fault.is_none() && lock.get(skill.name.as_str()).is_none();
    let mut candidates: Vec<&FoundSkill> = found.iter().filter(is_new).collect();
    let mut checks = Vec::new();
    let mut skills = skills.to_vec();
    // A new name in the same directory is surer than one of a similar skill.
    skills.sort_by_key(|locked| !candidates.iter().any(|skill| skill.path == locked.path));
    for locked in skills {
        let newest = newest(locked, &tree, &found, &candidates, store);
        if let Newest::Renamed(newest) = &newest {
            candidates.retain(|skill| skill.name != newest.skill.name);
        }
        checks.push(UpdateCheck { locked: locked.clone(), newest });
    }
    checks
}

fn unreachable_by(skills: &[&LockedSkill], error: Error) -> Vec<UpdateCheck> {
    let mut error = Some(error);
    let mut check = |locked: &&LockedSkill| {
        let again = || Error::new(crate::ErrorKind::NotFound, "its source cannot be read");
        let error = error.take().unwrap_or_else(again);
        UpdateCheck { locked: (*locked).clone(), newest: Newest::Unreachable(error) }
    };
    skills.iter().map(&mut check).collect()
}

fn newest(
    locked: &LockedSkill,
    tree: &FetchedTree,
    found: &[FoundSkill],
    candidates: &[&FoundSkill],
    store: &LazyStore,
) -> Newest {
    let named = || found.iter().filter(|skill| skill.name == locked.name);
    // A skill that moved to another directory is followed.
    let skill = named().find(|skill| skill.path == locked.path).or_else(|| named().next());
    let Some(skill) = skill else {
        // A bad entry of an index; the reason names the skill first.
        let is_about = |reason: &&String| {
            reason.strip_prefix(locked.name.as_str()).is_some_and(|rest| rest.starts_with([':', ' ']))
        };
        if let (Source::WellKnown(_), Some(reason)) = (&tree.source, tree.left_out.iter().find(is_about)) {
            return Newest::Broken(reason.clone());
        }
        let files = store.get().and_then(|store| find_skill_files(&*store, &locked.digest)).ok().flatten();
        let renamed = renamed(locked, files.as_ref(), candidates);
        return renamed.map_or(Newest::Gone, |skill| Newest::Renamed(newest_skill(locked, tree, skill)));
    };
    if skill.digest == locked.digest {
        return Newest::Current;
    }
    if let Some(fault) = &skill.fault {
        return Newest::Broken(fault.clone());
    }
    Newest::Changed(newest_skill(locked, tree, skill))
}

fn newest_skill(locked: &LockedSkill, tree: &FetchedTree, skill: &FoundSkill) -> Box<NewestSkill> {
    let locked = LockedSkill {
        name: skill.name.clone(),
        path: skill.path.clone(),
        resolved: tree.resolved_of(&skill.path),
        digest: skill.digest,
        files: LockedSkill::digests(&skill.files),
        ..locked.clone()
    };
    // A reason names the path first.
    let below = if skill.path == "." { "`".to_owned() } else { format!("`{}/", skill.path) };
    let left_out = tree.left_out.iter().filter(|reason| reason.starts_with(&below)).cloned().collect();
    Box::new(NewestSkill { skill: skill.clone(), locked, left_out })
}

/// Returns the files of `locked` as they were added: from the store, or else from the source at that version.
pub fn locked_files(
    locked: &LockedSkill,
    base: &Path,
    home: Option<&Path>,
    store: &LazyStore,
    options: &FetchOptions,
) -> Result<Option<SkillFiles>, Error> {
    let store = store.get()?;
    if let Some(files) = find_skill_files(&*store, &locked.digest)? {
        return Ok(Some(files));
    }
    let source = source_of(locked, base, home)?;
    if let Source::Directory(directory) = &source {
        // The lock's author chose the directory, so it is not searched.
        let found = read_installed(&directory.join(&locked.path))?.map(|found| found.files);
        let found = found.filter(|files| bundle(files).digest() == locked.digest);
        return found.map(|files| put_skill(&*store, &files).map(|_| files)).transpose().map_err(Error::from);
    }
    let options = &FetchOptions { wanted: vec![locked.name.to_string()], ..options.clone() };
    let tree = fetch(&source.at(locked.resolved.as_deref()), options)?;
    let found = find_skills(&tree, &Policy::default());
    let skill = found.into_iter().find(|skill| skill.digest == locked.digest);
    let Some(skill) = skill else { return Ok(None) };
    put_skill(&*store, &skill.files)?;
    Ok(Some(skill.files))
}

/// The result of a merge of local edits with the changes of the source.
#[derive(Debug)]
pub enum MergeOutcome {
    /// Both fit together.
    Clean(SkillFiles),
    /// Both changed the same lines, or one side removed what the other changed.
    Conflicts {
        /// The files, those with conflicts with markers, or as one side has them.
        copy: SkillFiles,
        /// The files with conflicts.
        conflicts: Vec<ConflictingFile>,
    },
}

/// A file with a conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictingFile {
    /// Its path.
    pub path: SkillPath,
    /// The content that the copy has.
    pub content: ConflictContent,
}

/// The content that a copy has of a file with a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictContent {
    /// The lines of both sides.
    Both,
    /// The file of the source: it cannot be merged line by line, or was removed here.
    Source,
    /// The file as it is here: the source removed it.
    Local,
}

/// Merges the edits that lead from `base` to `ours` with the changes that lead from `base` to `theirs`.
pub fn merge_edits(base: &SkillFiles, ours: &SkillFiles, theirs: &SkillFiles) -> MergeOutcome {
    let conflicts = match merge(base, ours, theirs) {
        Ok(files) => return MergeOutcome::Clean(files),
        Err(conflicts) => conflicts,
    };
    let paths: Vec<SkillPath> = conflicts.iter().map(|conflict| conflict.path.clone()).collect();
    let others = |files: &SkillFiles| -> SkillFiles {
        files.iter().filter(|(path, _)| !paths.contains(path)).map(|(a, b)| (a.clone(), b.clone())).collect()
    };
    let mut copy = merge(&others(base), &others(ours), &others(theirs)).unwrap_or_default();
    let mut conflicting = Vec::new();
    for Conflict { path, marked } in conflicts {
        let (file, side) = match (theirs.get(&path), ours.get(&path)) {
            (Some(file), _) => (file, ConflictContent::Source),
            (None, Some(file)) => (file, ConflictContent::Local),
            (None, None) => continue,
        };
        let (file, content) = match marked {
            Some(text) => {
                let bytes = text.into_bytes();
                (FileData { executable: file.executable, bytes }, ConflictContent::Both)
            }
            None => (file.clone(), side),
        };
        copy.insert(path.clone(), file);
        conflicting.push(ConflictingFile { path, content });
    }
    MergeOutcome::Conflicts { copy, conflicts: conflicting }
}

/// Returns what the tools in `files` may do.
pub fn capabilities(files: &SkillFiles) -> Capabilities {
    let toolbox = files.iter().find(|(path, _)| path.as_str() == TOOLBOX_FILE);
    Capabilities::of(&toolbox.map(|(_, file)| Toolbox::read(&file.bytes).0).unwrap_or_default())
}

/// Returns the tools of the host that the skill in `files` asks for.
pub fn allowed_tools(files: &SkillFiles) -> Vec<String> {
    let manifest = files.iter().find(|(path, _)| path.as_str().eq_ignore_ascii_case("SKILL.md"));
    let Some((path, file)) = manifest else { return Vec::new() };
    let source = ManifestSource { bytes: &file.bytes, directory: None, file_name: path.as_str() };
    Document::parse(source, &Policy::default()).manifest.allowed_tools
}

#[cfg(test)]
mod tests;
