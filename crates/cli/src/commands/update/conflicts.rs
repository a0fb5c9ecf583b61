//! Copies of skills with conflicts, beside the skills and never in their place.

use std::fs;
use std::io;
use std::path::PathBuf;

use repertoire::regular_file;
use repertoire_model::patch::SkillFiles;
use repertoire_model::{Policy, SkillName};
use repertoire_sources::{
    Installation, Lock, LockedSkill, SkillChange, has_conflict_markers, manifest_fault, read_installed,
};

use crate::error::CliError;

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

/// Writes the copy of the skill of `locked`, in place of an earlier one.
pub(super) fn write(
    installation: &Installation,
    locked: &LockedSkill,
    copy: &SkillFiles,
) -> Result<(), CliError> {
    remove(installation, &locked.name)?;
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
    // The copies are no part of the project.
    if let Some(own) = installation.conflicts.parent().filter(|own| own.ends_with(".repertoire")) {
        let ignore = own.join(".gitignore");
        fs::write(&ignore, "*\n").map_err(|error| CliError::io("write", &ignore, error))?;
    }
    let mut entry = Lock::default();
    entry.insert(locked.clone());
    let path = entry_file(installation, &locked.name);
    fs::write(&path, entry.to_text()?).map_err(|error| CliError::io("write", &path, error))
}

/// Removes the copy of `name`, if there is one.
pub(super) fn remove(installation: &Installation, name: &SkillName) -> Result<(), CliError> {
    for path in [directory(installation, name), entry_file(installation, name)] {
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(CliError::io("remove", &path, error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns the change that puts the copy of `skill` in place.
pub(super) fn resolved(
    installation: &Installation,
    skill: &LockedSkill,
    policy: &Policy,
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
    if let Some(fault) = manifest_fault(&copied, name, policy) {
        return Err(CliError::no(format!("{} is no sound skill: {fault}", copy.display()))
            .hint("edit the copy, then run it again"));
    }
    let file = entry_file(installation, name);
    let text = regular_file::read(&file, MAX_ENTRY).map_err(|error| CliError::io("read", &file, error))?;
    let entry = Lock::parse(&String::from_utf8_lossy(&text)).ok();
    let locked = entry.and_then(|entry| entry.get(name.as_str()).cloned()).ok_or_else(none)?;
    let before = read_installed(&installation.directory(name))?.map(|installed| installed.files);
    Ok(SkillChange {
        name: name.clone(),
        before,
        after: Some(copied),
        locked_before: Some(skill.clone()),
        locked: Some(locked),
    })
}
