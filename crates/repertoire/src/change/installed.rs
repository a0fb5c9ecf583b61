//! The files of a skill as they lie in a directory.

use std::fs;
use std::io;
use std::path::Path;

use repertoire_model::SkillPath;
use repertoire_model::patch::{FileData, SkillFiles};

use crate::provider::limits::{BUNDLE_BYTES, FILE_BYTES, FILE_DEPTH, FILES};
use crate::{Error, regular_file};

/// A skill's directory as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstalledSkill {
    /// Its files; hidden ones, links and names that a skill cannot have are not among them.
    pub files: SkillFiles,
    /// Everything else in the directory, such as hidden files, relative to it.
    pub others: Vec<String>,
}

/// Returns the skill in `directory`, or `None` if nothing is there.
pub fn read_installed(directory: &Path) -> Result<Option<InstalledSkill>, Error> {
    match directory.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("read", directory, error)),
        Ok(metadata) if !metadata.is_dir() => {
            let found = InstalledSkill { files: SkillFiles::new(), others: vec![String::new()] };
            return Ok(Some(found));
        }
        Ok(_) => {}
    }
    let mut skill = InstalledSkill::default();
    let mut room = BUNDLE_BYTES;
    read(directory, "", 1, &mut skill, &mut room).map_err(|error| Error::io("read", directory, error))?;
    skill.others.sort();
    Ok(Some(skill))
}

fn read(
    directory: &Path,
    prefix: &str,
    depth: usize,
    skill: &mut InstalledSkill,
    room: &mut u64,
) -> io::Result<()> {
    for child in fs::read_dir(directory)? {
        let child = child?;
        let name = child.file_name();
        let shown = format!("{prefix}{}", name.to_string_lossy());
        let path = name.to_str().and_then(|_| SkillPath::new(&shown).ok()).filter(|path| !path.is_hidden());
        let kind = child.file_type()?;
        match path {
            Some(path) if kind.is_file() => {
                let bytes = regular_file::read_no_follow(&child.path(), FILE_BYTES)
                    .map_err(|error| io::Error::new(error.kind(), format!("{shown}: {error}")))?;
                if skill.files.len() >= FILES {
                    return Err(too_large(format!("a skill has at most {FILES} files")));
                }
                *room = room.checked_sub(bytes.len() as u64).ok_or_else(|| {
                    too_large(format!("the files of a skill have at most {} MiB", BUNDLE_BYTES >> 20))
                })?;
                let executable = is_executable(&child.metadata()?);
                skill.files.insert(path, FileData { executable, bytes });
            }
            Some(_) if kind.is_dir() && depth < FILE_DEPTH => {
                read(&child.path(), &format!("{shown}/"), depth + 1, skill, room)?;
            }
            _ => skill.others.push(shown),
        }
    }
    Ok(())
}

fn too_large(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, message)
}

#[cfg(unix)]
fn is_executable(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    metadata.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &fs::Metadata) -> bool {
    false
}
