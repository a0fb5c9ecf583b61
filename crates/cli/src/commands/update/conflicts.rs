//! Copies of skills with conflicts, beside the skills and never in their place.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

use repertoire::change::read_installed;
use repertoire::regular_file;
use repertoire_model::patch::{FileData, SkillFiles, bundle};
use repertoire_model::repair::has_conflict_markers;
use repertoire_model::{Digest, Policy, SkillName, SkillPath};
use repertoire_sources::{
    ConflictContent, ConflictingFile, Installation, Lock, LockedSkill, SkillChange, manifest_fault,
};

use serde::{Deserialize, Serialize};

use crate::error::CliError;

/// The digests of the files of a copy as it was written, and of the skill that it was made from.
#[derive(Serialize, Deserialize)]
struct CopyDigests {
    copy: String,
    skill: String,
    /// The digests of the files with conflicts but without markers.
    #[serde(default)]
    unmerged: BTreeMap<String, String>,
}

/// The choice to take files without markers as the copy was written with them, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnmergedPolicy {
    /// One side is taken, as the copy has it.
    Accept,
    /// They have to be changed or removed first.
    Refuse,
}

/// The largest entry of a lock beside a copy.
const MAX_ENTRY: u64 = 4 * 1024 * 1024;

/// Returns the directory of the copy of `name`.
pub(super) fn directory(installation: &Installation, name: &SkillName) -> PathBuf {
    installation.conflicts.join(name.as_str())
}

/// Returns the file that says what the copy was merged with.
fn entry_file(installation: &Installation, name: &SkillName) -> PathBuf {
    installation.conflicts.join(format!("{name}.lock"))
}

/// Returns the file with the digests of the copy and of the skill.
fn digests_file(installation: &Installation, name: &SkillName) -> PathBuf {
    installation.conflicts.join(format!("{name}.json"))
}

/// Returns the digests of the copy of `name`, or `None` if they are not known.
fn digests(installation: &Installation, name: &SkillName) -> Option<CopyDigests> {
    let bytes = regular_file::read(&digests_file(installation, name), MAX_ENTRY).ok()?;
    serde_json::from_slice(&bytes).ok()
}

fn digest(files: &SkillFiles) -> String {
    let digest: Digest = bundle(files).digest();
    digest.to_string()
}

/// Returns `true` if there is a copy of `name` that is not as it was written: somebody is editing it.
pub(super) fn is_open(installation: &Installation, name: &SkillName) -> bool {
    let copy = match read_installed(&directory(installation, name)) {
        Ok(None) => return false,
        Ok(Some(copy)) => copy,
        // Files that cannot be read are not overwritten.
        Err(_) => return true,
    };
    let is_as_written = |written: CopyDigests| written.copy == digest(&copy.files);
    !copy.others.is_empty() || !digests(installation, name).is_some_and(is_as_written)
}

/// Writes the copy of the skill of `locked`, of files `before`; `false` if an earlier copy is being edited.
pub(super) fn write(
    installation: &Installation,
    locked: &LockedSkill,
    before: &SkillFiles,
    copy: &SkillFiles,
    conflicts: &[ConflictingFile],
) -> Result<bool, CliError> {
    let written = digests(installation, &locked.name);
    let is_as_written = |files: &SkillFiles| written.as_ref().is_some_and(|it| it.copy == digest(files));
    if !discard(installation, &locked.name, is_as_written)? {
        return Ok(false);
    }
    let root = directory(installation, &locked.name);
    for (path, file) in copy {
        let target = root.join(path.as_str());
        let parent = target.parent().map_or(Ok(()), fs::create_dir_all);
        let written = parent.and_then(|()| fs::write(&target, &file.bytes));
        written.map_err(|error| CliError::io("write", &target, error))?;
        #[cfg(unix)]
        if file.executable {
            use std::os::unix::fs::PermissionsExt as _;

            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(&target, mode).map_err(|error| CliError::io("write", &target, error))?;
        }
    }
    // The copies are not part of the project.
    if let Some(own) = installation.conflicts.parent().filter(|own| own.ends_with(".repertoire")) {
        let ignore = own.join(".gitignore");
        // Existing files stay, links too.
        match fs::OpenOptions::new().write(true).create_new(true).open(&ignore) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            opened => opened
                .and_then(|mut file| std::io::Write::write_all(&mut file, b"*\n"))
                .map_err(|error| CliError::io("write", &ignore, error))?,
        }
    }
    let mut entry = Lock::default();
    entry.insert(locked.clone());
    let path = entry_file(installation, &locked.name);
    fs::write(&path, entry.to_text()?).map_err(|error| CliError::io("write", &path, error))?;
    let path = digests_file(installation, &locked.name);
    let unmerged = conflicts.iter().filter(|conflict| conflict.content != ConflictContent::Both);
    let file_digest = |conflict: &ConflictingFile| {
        let file = copy.get(&conflict.path)?;
        Some((conflict.path.to_string(), Digest::of(&file.bytes).to_string()))
    };
    let unmerged = unmerged.filter_map(file_digest).collect();
    let text = serde_json::to_vec(&CopyDigests { copy: digest(copy), skill: digest(before), unmerged })?;
    fs::write(&path, text).map_err(|error| CliError::io("write", &path, error))?;
    Ok(true)
}

/// Removes the copy of `name`, if any. Returns `false`, and keeps it, unless its files are as `is_expected`.
pub(super) fn discard(
    installation: &Installation,
    name: &SkillName,
    is_expected: impl Fn(&SkillFiles) -> bool,
) -> Result<bool, CliError> {
    let copy = directory(installation, name);
    let aside = installation.conflicts.join(format!(".{name}.removed"));
    let absent = |result: io::Result<()>| match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(CliError::io("remove", &copy, error)),
        _ => Ok(()),
    };
    if copy.symlink_metadata().is_ok() {
        absent(fs::remove_dir_all(&aside))?;
        // Moved aside first, so that nothing is written to it between the comparison and the removal.
        fs::rename(&copy, &aside).map_err(|error| CliError::io("remove", &copy, error))?;
        let found = read_installed(&aside);
        if !matches!(found, Ok(Some(found)) if found.others.is_empty() && is_expected(&found.files)) {
            fs::rename(&aside, &copy).map_err(|error| CliError::io("write", &copy, error))?;
            return Ok(false);
        }
        absent(fs::remove_dir_all(&aside))?;
    }
    absent(fs::remove_file(entry_file(installation, name)))?;
    absent(fs::remove_file(digests_file(installation, name)))?;
    Ok(true)
}

/// Returns the change that puts the copy of `skill` in place.
pub(super) fn resolved(
    installation: &Installation,
    skill: &LockedSkill,
    policy: &Policy,
    unmerged: UnmergedPolicy,
) -> Result<SkillChange, CliError> {
    let name = &skill.name;
    let copy = directory(installation, name);
    let none = || {
        CliError::no(format!("there is no copy of `{name}` with conflicts"))
            .hint(format!("run `rep update {name}` first"))
    };
    let copied = read_installed(&copy)?.ok_or_else(none)?.files;
    let marked = copied.iter().find(|(_, file)| file.text().is_some_and(has_conflict_markers));
    if let Some((path, _)) = marked {
        return Err(CliError::no(format!("{} still has a conflict", copy.join(path.as_str()).display()))
            .hint("edit it until the lines with <<<<<<< and >>>>>>> are gone"));
    }
    let written = digests(installation, name);
    let is_as_written = |(path, file): &(&SkillPath, &FileData)| {
        let written = written.as_ref().and_then(|written| written.unmerged.get(path.as_str()));
        written.is_some_and(|written| *written == Digest::of(&file.bytes).to_string())
    };
    if unmerged == UnmergedPolicy::Refuse
        && let Some((path, _)) = copied.iter().find(is_as_written)
    {
        let path = copy.join(path.as_str());
        return Err(CliError::no(format!("{} is as it was written, with one side alone", path.display()))
            .hint("change or remove it, or take the copy as it is with --force"));
    }
    if let Some(fault) = manifest_fault(&copied, name, policy) {
        return Err(CliError::no(format!("{} is not a sound skill: {fault}", copy.display()))
            .hint("edit the copy, then run it again"));
    }
    let file = entry_file(installation, name);
    let text = regular_file::read(&file, MAX_ENTRY).map_err(|error| CliError::io("read", &file, error))?;
    let entry = Lock::parse(&String::from_utf8_lossy(&text)).ok();
    let locked = entry.and_then(|entry| entry.get(name.as_str()).cloned()).ok_or_else(none)?;
    let before = read_installed(&installation.directory(name))?.map(|installed| installed.files);
    let is_as_copied = |of: CopyDigests| before.as_ref().is_some_and(|before| digest(before) == of.skill);
    if !written.is_some_and(is_as_copied) {
        let live = installation.directory(name);
        let message =
            format!("{} was edited after the copy was made; the copy would discard that", live.display());
        return Err(CliError::no(message).hint(format!(
            "nothing was changed; move {} away, run `rep update {name}`, and resolve the new copy",
            copy.display()
        )));
    }
    Ok(SkillChange {
        name: name.clone(),
        before,
        after: Some(copied),
        others: Vec::new(),
        locked_before: Some(skill.clone()),
        locked: Some(locked),
    })
}
