//! The files of one skill in an archive.

use std::path::Path;

use repertoire::change::read_installed;
use repertoire_model::SkillPath;
use repertoire_model::patch::SkillFiles;

use crate::archive::{MAX_PACKED, unpack};
use crate::scratch::Scratch;
use crate::tree::{LIMITS, TreeWriter};
use crate::{Error, ErrorKind};

/// The name of the file that makes a directory a skill.
const MANIFEST: &str = "SKILL.md";

/// Returns the files of the skill in the archive `bytes`, which is zip, tar or tar.gz. Its `SKILL.md` lies at
/// the top, or in the only directory there; hidden files are left out. The archive is unpacked in a scratch
/// directory in `scratch`.
pub fn unpack_skill(bytes: &[u8], scratch: &Path) -> Result<SkillFiles, Error> {
    if bytes.len() as u64 > MAX_PACKED {
        let message = format!("the archive has more than {} MiB", MAX_PACKED >> 20);
        return Err(Error::new(ErrorKind::Refused, message));
    }
    let scratch = Scratch::create(scratch)?;
    let root = scratch.path().join("tree");
    let mut tree = TreeWriter::create(&root, LIMITS)?;
    unpack("the archive", bytes, "", &mut tree)?;
    let unpacked = read_installed(&root).map_err(|error| {
        // The scratch directory is not a matter of the sender.
        let reason = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        Error::new(ErrorKind::Refused, format!("the archive is not a skill: {reason}"))
    })?;
    Ok(without_top(unpacked.unwrap_or_default().files))
}

/// Returns `files` without the directory that all of them are in, if there is one and the manifest is in it.
fn without_top(files: SkillFiles) -> SkillFiles {
    let is_at_top = files.keys().any(|path| path.as_str() == MANIFEST);
    let top = files.keys().next().and_then(|path| Some(path.as_str().split_once('/')?.0.to_owned()));
    let Some(top) = top.filter(|_| !is_at_top) else { return files };
    let stripped = |path: &SkillPath| {
        let rest = path.as_str().strip_prefix(&top)?.strip_prefix('/')?;
        SkillPath::new(rest).ok()
    };
    let moved: Option<SkillFiles> =
        files.iter().map(|(path, file)| Some((stripped(path)?, file.clone()))).collect();
    moved.unwrap_or(files)
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write as _};

    use super::*;

    fn zip(files: &[&str]) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for name in files {
            writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            writer.write_all(b"x").unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    #[test]
    fn the_manifest_lies_at_the_top_or_in_the_only_directory() {
        let scratch = tempfile::tempdir().unwrap();
        let names = |files: &[&str]| -> Result<Vec<String>, String> {
            let files = unpack_skill(&zip(files), scratch.path()).map_err(|error| error.to_string())?;
            Ok(files.keys().map(ToString::to_string).collect())
        };
        assert_eq!(names(&["SKILL.md", "a/b.md"]).unwrap(), ["SKILL.md", "a/b.md"]);
        assert_eq!(names(&["git/SKILL.md", "git/a/b.md", "git/.env"]).unwrap(), ["SKILL.md", "a/b.md"]);
        assert_eq!(names(&["git/SKILL.md", "pdf/SKILL.md"]).unwrap(), ["git/SKILL.md", "pdf/SKILL.md"]);
        assert!(names(&["../SKILL.md"]).unwrap_err().contains("refused"));
        assert!(unpack_skill(b"no archive", scratch.path()).is_err());
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0, "nothing is left");
    }
}
