//! Replaces the files of a skill, all or none.
//!
//! The new state is built in a hidden directory beside the skill, of links to the files that stay and of new
//! files, and is exchanged with the skill's directory in one step. A reader, and a crash at any moment, finds
//! the old state or the new one. A directory that a crash leaves behind is removed by the next write.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use repertoire_model::patch::{FileData, SkillFiles};
use repertoire_model::{Digest, SkillPath};

use super::capture::MAX_RECORDED_BYTES;
use super::staging::{exchange, remove_leftovers, rename_without_replacing, staging_path, sync};
use crate::regular_file;
use crate::{Error, ErrorKind};

/// The most files and directories of a skill's directory, hidden ones included.
const MAX_ENTRIES: usize = 50_000;

/// The largest file that is compared with what is expected.
const MAX_FILE_BYTES: u64 = MAX_RECORDED_BYTES;

/// A skill that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenSkill {
    /// The files that were changed, added or removed.
    pub changed: Vec<SkillPath>,
}

/// Replaces the files `before` of the skill in `directory` by `after`, which fails with
/// [`ErrorKind::SkillChanged`] if the skill does not have exactly these bytes (any more).
///
/// Other files of the directory, such as hidden ones, stay. Files that do not change keep their permissions;
/// changed ones do, too, except for the executable bit. A directory that does not exist is created.
pub fn write_skill(directory: &Path, before: &SkillFiles, after: &SkillFiles) -> Result<WrittenSkill, Error> {
    let written = write_skill_of_batch(directory, before, after)?;
    let target = fs::canonicalize(directory);
    let target = target.map_err(|error| Error::new(ErrorKind::Io).at(directory).because(error))?;
    sync_skills(target.parent().unwrap_or(&target))?;
    Ok(written)
}

/// As [`write_skill`], for one of many skills: [`sync_skills`] makes all of them durable at once.
pub fn write_skill_of_batch(
    directory: &Path,
    before: &SkillFiles,
    after: &SkillFiles,
) -> Result<WrittenSkill, Error> {
    let fail = |error: io::Error| Error::new(ErrorKind::Io).at(directory).because(error);
    // A link to a skill stays a link; the directory that it leads to is replaced.
    let target = match fs::canonicalize(directory) {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => directory.to_owned(),
        Err(error) => return Err(fail(error)),
    };
    let (Some(parent), Some(name)) = (target.parent(), target.file_name()) else {
        return Err(fail(io::Error::other("it is not a directory that can be replaced")));
    };
    let exists = target.symlink_metadata().is_ok();
    if !exists {
        fs::create_dir_all(parent).map_err(fail)?;
    }
    let staging = staging_path(parent, name);
    let outcome = replace(&target, &staging, before, after, exists);
    // After the exchange this is the old state, before it the unfinished new one.
    let _ = fs::remove_dir_all(&staging);
    outcome.map_err(|fault| match fault {
        WriteFault::Changed => Error::new(ErrorKind::SkillChanged).at(directory),
        // The new state is built beside the skill.
        WriteFault::Io(error) if is_denied(&error) => Error::new(ErrorKind::Io).at(parent).because(error),
        WriteFault::Io(error) => fail(error),
    })?;
    let paths: BTreeSet<&SkillPath> = before.keys().chain(after.keys()).collect();
    let changed = paths.into_iter().filter(|path| before.get(path) != after.get(path)).cloned().collect();
    Ok(WrittenSkill { changed })
}

/// Makes skills written to the directory `skills` durable, and removes what interrupted writes left long ago.
pub fn sync_skills(skills: &Path) -> Result<(), Error> {
    remove_leftovers(skills);
    match sync(skills) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::new(ErrorKind::Io).at(skills).because(error))
        }
        _ => Ok(()),
    }
}

/// The reason that a skill was not written.
enum WriteFault {
    /// It is not as the caller believes.
    Changed,
    Io(io::Error),
}

impl From<io::Error> for WriteFault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn replace(
    target: &Path,
    staging: &Path,
    before: &SkillFiles,
    after: &SkillFiles,
    exists: bool,
) -> Result<(), WriteFault> {
    let mut staged = StagedSkill { target, staging, before, after, kept: Vec::new(), entries: 0 };
    if exists {
        if !target.is_dir() {
            return Err(io::Error::from(io::ErrorKind::NotADirectory).into());
        }
        staged.copy(Path::new(""))?;
    } else {
        fs::create_dir(staging)?;
    }
    if before.keys().any(|path| !staged.kept.iter().any(|kept| kept.path == Path::new(path.as_str()))) {
        return Err(WriteFault::Changed);
    }
    staged.add_new_files()?;
    sync(staging)?;
    if exists {
        exchange(staging, target)?;
        // The old state lies in `staging` now, with any edit that came in between, which must not be lost.
        if !staged.is_unchanged() {
            exchange(staging, target)?;
            return Err(WriteFault::Changed);
        }
    } else {
        rename_without_replacing(staging, target)?;
    }
    Ok(())
}

/// A new state of a skill that is being built.
struct StagedSkill<'a> {
    target: &'a Path,
    staging: &'a Path,
    before: &'a SkillFiles,
    after: &'a SkillFiles,
    /// The files of the old state.
    kept: Vec<KeptFile>,
    entries: usize,
}

/// A file of the old state, and how it was when the new state was made of it.
struct KeptFile {
    path: PathBuf,
    stamp: FileStamp,
}

impl StagedSkill<'_> {
    /// Copies the directory `relative` of the old state, with links for the files that stay.
    fn copy(&mut self, relative: &Path) -> Result<(), WriteFault> {
        let (from, to) = (self.target.join(relative), self.staging.join(relative));
        let metadata = from.symlink_metadata()?;
        fs::create_dir(&to)?;
        let mut children: Vec<fs::DirEntry> = fs::read_dir(&from)?.collect::<Result<_, _>>()?;
        children.sort_by_key(fs::DirEntry::file_name);
        for child in children {
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return Err(io::Error::other(format!("it has more than {MAX_ENTRIES} files")).into());
            }
            let path = relative.join(child.file_name());
            if child.file_type()?.is_dir() {
                self.copy(&path)?;
            } else {
                self.copy_file(&path)?;
            }
        }
        // A directory of files that were all removed goes with them.
        let is_emptied = fs::read_dir(&to)?.next().is_none() && fs::read_dir(&from)?.next().is_some();
        if is_emptied && !relative.as_os_str().is_empty() {
            return Ok(fs::remove_dir(&to)?);
        }
        fs::set_permissions(&to, metadata.permissions())?;
        own(&to, &metadata);
        Ok(())
    }

    #[allow(clippy::disallowed_methods, reason = "the file is compared as it is just before it is replaced")]
    fn copy_file(&mut self, path: &Path) -> Result<(), WriteFault> {
        let (from, to) = (self.target.join(path), self.staging.join(path));
        let metadata = from.symlink_metadata()?;
        let stamp = FileStamp::of(&metadata);
        let skill_path = path.to_str().and_then(|path| SkillPath::new(&path.replace('\\', "/")).ok());
        let known = skill_path.as_ref().and_then(|path| Some((path, self.before.get(path)?)));
        if let Some((path, expected)) = known {
            if metadata.is_file()
                && Digest::of(&regular_file::read_no_follow(&from, MAX_FILE_BYTES)?)
                    != Digest::of(&expected.bytes)
            {
                return Err(WriteFault::Changed);
            }
            match self.after.get(path) {
                Some(file) if file == expected => link(&from, &to, &metadata)?,
                Some(file) => write_file(&to, file, Some(&metadata))?,
                None => {}
            }
        } else {
            link(&from, &to, &metadata)?;
        }
        self.kept.push(KeptFile { path: path.to_owned(), stamp });
        Ok(())
    }

    /// Writes the files that the old state does not have.
    fn add_new_files(&self) -> Result<(), WriteFault> {
        for (path, file) in self.after.iter().filter(|(path, _)| !self.before.contains_key(*path)) {
            let to = self.staging.join(path.as_str());
            for (end, _) in path.as_str().match_indices('/') {
                create_real_directory(self.staging, &path.as_str()[..end])?;
            }
            if to.symlink_metadata().is_ok() {
                return Err(io::Error::other(format!("{path} exists, but is not a file of the skill")).into());
            }
            write_file(&to, file, None)?;
            if let Ok(metadata) = self.target.symlink_metadata() {
                own(&to, &metadata);
            }
        }
        Ok(())
    }

    /// Returns `true` if the old state, now in `staging`, is as it was when the new one was made of it.
    fn is_unchanged(&self) -> bool {
        let same = |kept: &KeptFile| {
            let metadata = self.staging.join(&kept.path).symlink_metadata();
            metadata.is_ok_and(|metadata| FileStamp::of(&metadata) == kept.stamp)
        };
        self.kept.iter().all(same) && count_files(self.staging) == self.kept.len()
    }
}

fn is_denied(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// Creates the directory `relative` of `root`, whose parent exists, unless it exists. Fails if it is a link,
/// which could lead anywhere.
fn create_real_directory(root: &Path, relative: &str) -> io::Result<()> {
    let directory = root.join(relative);
    match fs::create_dir(&directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if directory.symlink_metadata()?.is_dir() {
                return Ok(());
            }
            Err(io::Error::other(format!(
                "{relative} is a link or a file, so that no file can be written below it"
            )))
        }
        outcome => outcome,
    }
}

/// Returns the number of files below `directory`, without following links.
fn count_files(directory: &Path) -> usize {
    let children = fs::read_dir(directory).into_iter().flatten().flatten();
    children
        .map(
            |child| {
                if child.file_type().is_ok_and(|kind| kind.is_dir()) { count_files(&child.path()) } else { 1 }
            },
        )
        .sum()
}

/// The identity and time of a file, which change when somebody writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    modified: Option<SystemTime>,
    size: u64,
}

impl FileStamp {
    fn of(metadata: &Metadata) -> Self {
        Self { modified: metadata.modified().ok(), size: metadata.len() }
    }
}

/// Makes `to` the same file as `from`, or a copy where the file system has no hard links.
fn link(from: &Path, to: &Path, metadata: &Metadata) -> io::Result<()> {
    if metadata.is_symlink() {
        #[cfg(unix)]
        return std::os::unix::fs::symlink(fs::read_link(from)?, to);
    }
    match fs::hard_link(from, to) {
        Err(_) if metadata.is_file() => {
            fs::copy(from, to)?;
            if let Ok(modified) = metadata.modified() {
                let _ = File::options().write(true).open(to).and_then(|file| file.set_modified(modified));
            }
            own(to, metadata);
            Ok(())
        }
        outcome => outcome,
    }
}

/// Writes a new file durably, with the permissions of the one it replaces.
fn write_file(path: &Path, file: &FileData, replaced: Option<&Metadata>) -> io::Result<()> {
    let mut written = OpenOptions::new().write(true).create_new(true).open(path)?;
    written.write_all(&file.bytes)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = replaced.map_or(0o644, |metadata| metadata.permissions().mode() & 0o777);
        // Who may read it may execute it.
        let mode = if file.executable { mode | ((mode & 0o444) >> 2) } else { mode & !0o111 };
        written.set_permissions(fs::Permissions::from_mode(mode))?;
    }
    written.sync_all()?;
    if let Some(metadata) = replaced {
        own(path, metadata);
    }
    Ok(())
}

/// Gives `path` the owner of the file that it stands for; only a privileged process can or needs to.
fn own(path: &Path, like: &Metadata) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if path.symlink_metadata().is_ok_and(|own| (own.uid(), own.gid()) != (like.uid(), like.gid())) {
            let _ = std::os::unix::fs::lchown(path, Some(like.uid()), Some(like.gid()));
        }
    }
    #[cfg(not(unix))]
    let _ = (path, like);
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the tests read what was written")]
mod tests {
    use super::super::staging::STALE;
    use super::*;

    fn files(list: &[(&str, &str, bool)]) -> SkillFiles {
        let file = |text: &str, executable| FileData { executable, bytes: text.as_bytes().to_vec() };
        list.iter().map(|(path, text, x)| (SkillPath::new(path).unwrap(), file(text, *x))).collect()
    }

    fn read(directory: &Path) -> Vec<(String, String)> {
        fn walk(root: &Path, directory: &Path, found: &mut Vec<(String, String)>) {
            for child in fs::read_dir(directory).unwrap().map(Result::unwrap) {
                let path = child.path();
                if child.file_type().unwrap().is_dir() {
                    walk(root, &path, found);
                } else {
                    let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                    found.push((name, fs::read_to_string(&path).unwrap()));
                }
            }
        }
        let mut found = Vec::new();
        walk(directory, directory, &mut found);
        found.sort();
        found
    }

    fn expect(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn files_are_created_replaced_and_removed_together() {
        let parent = tempfile::tempdir().unwrap();
        let skill = parent.path().join("pdf");
        let first = files(&[
            ("SKILL.md", "one", false),
            ("references/a.md", "a", false),
            ("scripts/x.sh", "x", true),
        ]);
        let written = write_skill(&skill, &SkillFiles::new(), &first).unwrap();
        assert_eq!(written.changed.len(), 3);
        fs::write(skill.join(".env"), "secret").unwrap();
        let second =
            files(&[("SKILL.md", "two", false), ("scripts/x.sh", "x", true), ("scripts/y/z.sh", "z", true)]);
        let written = write_skill(&skill, &first, &second).unwrap();
        let changed: Vec<&str> = written.changed.iter().map(SkillPath::as_str).collect();
        assert_eq!(changed, ["SKILL.md", "references/a.md", "scripts/y/z.sh"]);
        let all = [(".env", "secret"), ("SKILL.md", "two"), ("scripts/x.sh", "x"), ("scripts/y/z.sh", "z")];
        assert_eq!(read(&skill), expect(&all));
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1, "nothing is left beside it");
        assert!(!skill.join("references").exists());
    }

    #[cfg(unix)]
    #[test]
    fn permissions_and_links_are_kept() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

        let parent = tempfile::tempdir().unwrap();
        let skill = parent.path().join("pdf");
        let before = files(&[("SKILL.md", "one", false), ("scripts/x.sh", "x", true)]);
        write_skill(&skill, &SkillFiles::new(), &before).unwrap();
        let mode = |path: &str| skill.join(path).metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("SKILL.md"), mode("scripts/x.sh")), (0o644, 0o755));
        fs::set_permissions(skill.join("SKILL.md"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::set_permissions(&skill, fs::Permissions::from_mode(0o750)).unwrap();
        symlink("SKILL.md", skill.join("README.md")).unwrap();
        let inode = |path: &str| skill.join(path).metadata().unwrap().ino();
        let kept = inode("scripts/x.sh");
        let link = parent.path().join("linked");
        symlink(&skill, &link).unwrap();
        write_skill(&link, &before, &files(&[("SKILL.md", "two", false), ("scripts/x.sh", "x", true)]))
            .unwrap();
        assert_eq!((mode("SKILL.md"), mode(""), inode("scripts/x.sh")), (0o600, 0o750, kept));
        assert!(skill.join("README.md").is_symlink() && link.is_symlink());
        assert_eq!(fs::read_to_string(link.join("README.md")).unwrap(), "two");
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_written_through_a_link() {
        use std::os::unix::fs::symlink;

        let parent = tempfile::tempdir().unwrap();
        let (skill, outside) = (parent.path().join("pdf"), parent.path().join("outside"));
        let before = files(&[("SKILL.md", "one", false)]);
        write_skill(&skill, &SkillFiles::new(), &before).unwrap();
        fs::create_dir(&outside).unwrap();
        symlink(&outside, skill.join("references")).unwrap();
        symlink(outside.join("b.md"), skill.join("b.md")).unwrap();
        for path in ["references/a.md", "references/deep/a.md", "b.md", "b.md/c.md"] {
            let after = files(&[("SKILL.md", "one", false), (path, "evil", false)]);
            let error = write_skill(&skill, &before, &after).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io, "{path}");
            assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "{path}");
        }
        assert_eq!(fs::read_to_string(skill.join("SKILL.md")).unwrap(), "one");
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 2, "nothing is left beside it");
    }

    #[test]
    fn a_skill_that_is_not_as_expected_is_left_alone() {
        let parent = tempfile::tempdir().unwrap();
        let skill = parent.path().join("pdf");
        let before = files(&[("SKILL.md", "one", false), ("a.md", "a", false)]);
        let after = files(&[("SKILL.md", "two", false)]);
        write_skill(&skill, &SkillFiles::new(), &before).unwrap();
        let refused = |expected: &[(&str, &str)]| {
            let error = write_skill(&skill, &before, &after).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::SkillChanged);
            assert_eq!(read(&skill), expect(expected));
            assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);
        };
        fs::write(skill.join("SKILL.md"), "edited").unwrap();
        refused(&[("SKILL.md", "edited"), ("a.md", "a")]);
        fs::write(skill.join("SKILL.md"), "one").unwrap();
        fs::remove_file(skill.join("a.md")).unwrap();
        refused(&[("SKILL.md", "one")]);
        let error = write_skill(&skill, &SkillFiles::new(), &after).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "a new skill never replaces one that exists: {error:?}");
        assert_eq!(read(&skill), expect(&[("SKILL.md", "one")]));
    }

    #[test]
    fn leftovers_of_interrupted_writes_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let (old, new) =
            (parent.path().join(".rep-staging-1-0-pdf"), parent.path().join(".rep-staging-2-0-pdf"));
        for directory in [&old, &new] {
            fs::create_dir(directory).unwrap();
        }
        File::open(&old).unwrap().set_modified(SystemTime::now() - STALE * 2).unwrap();
        write_skill(&parent.path().join("pdf"), &SkillFiles::new(), &files(&[("SKILL.md", "one", false)]))
            .unwrap();
        assert!(!old.exists() && new.exists());
    }
}
