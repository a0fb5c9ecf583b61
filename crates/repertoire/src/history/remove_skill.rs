//! Removes a skill with its directory.

use std::fs;
use std::io;
use std::path::Path;

use repertoire_model::SkillPath;
use repertoire_model::patch::{FileData, SkillFiles};

use super::capture::MAX_RECORDED_BYTES;
use super::staging::{remove_leftovers, rename_without_replacing, staging_path, sync};
use crate::regular_file;
use crate::{Error, ErrorKind};

/// Removes the directory of a skill that has the files `before`, and everything else in it. Fails with [`ErrorKind::SkillChanged`] if one of
/// these files is not as it should be (any more).
///
/// The directory disappears in one step.
pub fn remove_skill(directory: &Path, before: &SkillFiles) -> Result<(), Error> {
    let fail = |error: io::Error| Error::new(ErrorKind::Io).at(directory).because(error);
    let (Some(parent), Some(name)) = (directory.parent(), directory.file_name()) else {
        return Err(fail(io::Error::other("it is no directory that can be removed")));
    };
    remove_leftovers(parent);
    let aside = staging_path(parent, name);
    fs::rename(directory, &aside).map_err(fail)?;
    // An edit that came in between must not be lost.
    let is_expected = |(path, file): (&SkillPath, &FileData)| {
        let found = regular_file::read_no_follow(&aside.join(path.as_str()), MAX_RECORDED_BYTES);
        found.is_ok_and(|bytes| bytes == file.bytes)
    };
    if !before.iter().all(is_expected) {
        rename_without_replacing(&aside, directory).map_err(fail)?;
        return Err(Error::new(ErrorKind::SkillChanged).at(directory));
    }
    sync(parent).map_err(fail)?;
    fs::remove_dir_all(&aside).map_err(fail)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the tests read what was written")]
mod tests {
    use super::super::write_skill::write_skill;
    use super::*;

    #[test]
    fn a_skill_is_removed_with_everything_in_it_unless_it_changed() {
        let parent = tempfile::tempdir().unwrap();
        let skill = parent.path().join("pdf");
        let files = |text: &str| {
            let file = FileData { executable: false, bytes: text.as_bytes().to_vec() };
            SkillFiles::from([(SkillPath::new("SKILL.md").unwrap(), file)])
        };
        write_skill(&skill, &SkillFiles::new(), &files("one")).unwrap();
        fs::write(skill.join(".hidden"), "x").unwrap();
        let error = remove_skill(&skill, &files("two")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::SkillChanged);
        assert_eq!(fs::read_to_string(skill.join(".hidden")).unwrap(), "x");
        assert_eq!(fs::read_to_string(skill.join("SKILL.md")).unwrap(), "one");
        remove_skill(&skill, &files("one")).unwrap();
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
