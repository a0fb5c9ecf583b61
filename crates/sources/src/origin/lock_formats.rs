//! The lock files of installers, each with its format and its reader.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::installer::Installer;
use super::lock_file::{LockFormat, LockedPlace, LockedSkill, items, skills_by_name, text};
use super::record::{Expectation, Origin, bounded};
use crate::lock::{self, LOCK_FILE, Lock};

/// Returns the skills that a document names, from the path of the file, the directory that paths in it count
/// from, and the document.
type LockReader = fn(&Path, &Path, &Value) -> Result<Vec<LockedSkill>, String>;

/// The names of the lock files, with their formats and their readers.
pub(super) const LOCKS: [(&str, LockFormat, LockReader); 6] = [
    (LOCK_FILE, LockFormat::Toml, of_rep),
    ("skills-lock.json", LockFormat::Json, of_skills),
    (".skill-lock.json", LockFormat::Json, of_user_skills),
    ("installed_plugins.json", LockFormat::Json, of_claude_plugins),
    ("apm.lock.yaml", LockFormat::Yaml, of_apm),
    ("agents.lock", LockFormat::Toml, of_dotagents),
];

/// The directory that `rep add` adds skills to.
const SKILLS: &str = ".agents/skills";

/// Reads `repertoire.lock`, which `rep add` writes into a project and into the configuration of a user. One
/// that is not a lock is an error.
fn of_rep(path: &Path, base: &Path, document: &Value) -> Result<Vec<LockedSkill>, String> {
    Ok(Lock::from_document(document)?.skills().map(|locked| skill_of_rep(path, base, locked)).collect())
}

fn skill_of_rep(path: &Path, base: &Path, locked: &lock::LockedSkill) -> LockedSkill {
    let mut origin = Origin::new(Installer::Rep, path.to_owned(), locked.name.as_str());
    origin.source = Some(bounded(&locked.source));
    origin.path = Some(bounded(&locked.path));
    origin.reference = locked.reference.as_deref().map(bounded);
    let resolved = locked.resolved.as_deref().map(bounded);
    let is_commit = |resolved: &String| {
        matches!(resolved.len(), 40 | 64) && resolved.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    origin.commit = resolved.clone().filter(is_commit);
    origin.version = resolved.filter(|resolved| !is_commit(resolved));
    let digests = locked.files.iter().map(|(path, digest)| (path.to_string(), digest.to_string()));
    origin.expectation = Expectation::VisibleFiles { files: digests.collect(), bundle: locked.digest };
    LockedSkill { place: LockedPlace::At(base.join(SKILLS).join(locked.name.as_str())), origin }
}

/// Reads the lock that `npx skills` writes into a project.
fn of_skills(path: &Path, _: &Path, document: &Value) -> Result<Vec<LockedSkill>, String> {
    let entries = skills_by_name(document, "skills");
    Ok(entries.map(|(name, entry)| skill_of_skills(path, name, entry, "computedHash")).collect())
}

/// Reads the lock of `npx skills` for a user's skills, below the state directory or `.agents` of the home.
fn of_user_skills(path: &Path, _: &Path, document: &Value) -> Result<Vec<LockedSkill>, String> {
    let entries = skills_by_name(document, "skills");
    Ok(entries.map(|(name, entry)| skill_of_skills(path, name, entry, "skillFolderHash")).collect())
}

/// Returns the skill of an entry of `npx skills`, whose hash is under `hash_key`.
fn skill_of_skills(path: &Path, name: &str, entry: &Value, hash_key: &str) -> LockedSkill {
    let mut origin = Origin::new(Installer::Skills, path.to_owned(), name);
    origin.source = text(entry, "source").or_else(|| text(entry, "sourceUrl"));
    origin.reference = text(entry, "ref");
    origin.installed_at = text(entry, "updatedAt").or_else(|| text(entry, "installedAt"));
    origin.path = text(entry, "skillPath").map(|path| {
        let directory = path.strip_suffix("SKILL.md").unwrap_or(&path);
        directory.trim_end_matches('/').to_owned()
    });
    if let Some(hash) = text(entry, hash_key).filter(|hash| hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
    {
        match hash.len() {
            64 => origin.expectation = Expectation::FolderHash(hash),
            40 => origin.expectation = Expectation::GitTree(hash),
            _ => {}
        }
    }
    LockedSkill { place: LockedPlace::Named(origin.name.clone()), origin }
}

/// Reads the plugins that Claude Code installed; all skills below the directory of one have its origin.
fn of_claude_plugins(path: &Path, _: &Path, document: &Value) -> Result<Vec<LockedSkill>, String> {
    let mut found = Vec::new();
    for (name, entry) in skills_by_name(document, "plugins") {
        // The first version of the file has one entry, the second a list.
        let entries = entry.as_array().map_or_else(|| std::slice::from_ref(entry), Vec::as_slice);
        for entry in entries {
            let directory = text(entry, "installPath").map(PathBuf::from).filter(|path| path.is_absolute());
            let Some(directory) = directory else { continue };
            let mut origin = Origin::new(Installer::ClaudePlugin, path.to_owned(), name);
            origin.source = Some(origin.name.clone());
            origin.version = text(entry, "version");
            origin.commit = text(entry, "gitCommitSha");
            origin.installed_at = text(entry, "lastUpdated").or_else(|| text(entry, "installedAt"));
            found.push(LockedSkill { origin, place: LockedPlace::Below(directory) });
        }
    }
    Ok(found)
}

/// Reads the lock of Sentry's dotagents.
fn of_dotagents(path: &Path, _: &Path, document: &Value) -> Result<Vec<LockedSkill>, String> {
    let skill = |(name, entry): (&String, &Value)| {
        let mut origin = Origin::new(Installer::Dotagents, path.to_owned(), name);
        origin.source = text(entry, "source").or_else(|| text(entry, "resolved_url"));
        origin.path = text(entry, "resolved_path");
        origin.reference = text(entry, "resolved_ref");
        origin.commit = text(entry, "resolved_commit").or_else(|| text(entry, "commit"));
        LockedSkill { place: LockedPlace::Named(origin.name.clone()), origin }
    };
    Ok(skills_by_name(document, "skills").map(skill).collect())
}

/// Reads the lock of APM: packages, each with the files that it deployed and their hashes.
fn of_apm(path: &Path, base: &Path, document: &Value) -> Result<Vec<LockedSkill>, String> {
    Ok(items(document, "dependencies").flat_map(|package| of_package(path, base, package)).collect())
}

fn of_package(path: &Path, base: &Path, package: &Value) -> Vec<LockedSkill> {
    let hashes: BTreeMap<String, String> = package
        .get("deployed_file_hashes")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter_map(|(file, hash)| Some((file.clone(), hash.as_str()?.to_owned())))
        .collect();
    let listed = items(package, "deployed_files").filter_map(Value::as_str);
    // A directory is listed with a slash at its end, or by its files.
    let mut directories: Vec<&str> = listed
        .chain(hashes.keys().map(String::as_str))
        .filter_map(|file| match file.strip_suffix('/') {
            Some(directory) => directory.contains("/skills/").then_some(directory),
            None => file.strip_suffix("SKILL.md")?.strip_suffix('/'),
        })
        .filter(|directory| is_inside(directory))
        .collect();
    directories.sort_unstable();
    directories.dedup();
    let skill = |directory: &str| {
        let name = directory.rsplit('/').next().unwrap_or(directory);
        let mut origin = Origin::new(Installer::Apm, path.to_owned(), name);
        origin.source = text(package, "repo_url").or_else(|| text(package, "local_path"));
        origin.path = text(package, "virtual_path");
        origin.reference = text(package, "resolved_ref");
        origin.commit = text(package, "resolved_commit");
        origin.version = text(package, "version");
        let prefix = format!("{directory}/");
        let own: BTreeMap<String, String> = hashes
            .iter()
            .filter_map(|(file, hash)| Some((bounded(file.strip_prefix(&prefix)?), bounded(hash))))
            .collect();
        if !own.is_empty() {
            origin.expectation = Expectation::FileHashes(own);
        }
        LockedSkill { origin, place: LockedPlace::At(base.join(directory)) }
    };
    directories.into_iter().map(skill).collect()
}

/// Returns `true` if `path` leads nowhere but down.
fn is_inside(path: &str) -> bool {
    !path.is_empty() && path.split('/').all(|part| !part.is_empty() && part != "..") && !path.contains('\\')
}
