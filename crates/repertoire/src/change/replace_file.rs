//! Replaces a file atomically.

use std::fs::{self, File, Metadata};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::leftovers::{TEMPORARY_SUFFIX, remove_leftovers};
use crate::{Error, ErrorKind, regular_file};

/// The largest file of a user that is replaced, in bytes.
pub const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// The kind of a file, which decides how it is replaced.
///
/// In each kind, a reader finds the old content or the new one, also when this program is killed meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind<'b> {
    /// A file that people and other programs edit. It is replaced if it still holds `before`, where `None` is
    /// a file that is not there yet, and if its owner may write it. Its permissions stay, and so does whom it
    /// belongs to, but for a group that has no rights of its own and cannot be given. Access-control lists
    /// and extended attributes do not. The file is synced. Its directory must be there, and a link is
    /// replaced by a file.
    User {
        /// The bytes that were read from it before.
        before: Option<&'b [u8]>,
    },
    /// A file that this program alone writes, and that must survive a power failure. Its permissions stay,
    /// and a link stays a link: the file that it leads to is replaced.
    Record,
    /// As a record, but only its owner may read it, and a link is replaced by a file.
    PrivateRecord,
    /// A file that this program alone writes, and can make again: only its owner may read it, and after a
    /// power failure it may be without content.
    Cache,
}

/// Returns the bytes of the file or link at `path`, or `None` without one; fails if it has more than `most`.
pub fn read_file(path: &Path, most: u64) -> Result<Option<Vec<u8>>, Error> {
    match regular_file::read(path, most) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", path, error)),
    }
}

/// Makes the file at `path` hold `after`, or removes it for `None`.
///
/// Fails with [`ErrorKind::FileChanged`], [`ErrorKind::ReadOnly`] or [`ErrorKind::ForeignOwner`] if a file of
/// a user is to be left alone.
pub fn replace_file(path: &Path, kind: FileKind<'_>, after: Option<&[u8]>) -> Result<(), Error> {
    let failed = |error| Error::io("write", path, error);
    let path: &PathBuf = &match kind {
        FileKind::Record => path.canonicalize().unwrap_or_else(|_| path.to_owned()),
        _ => path.to_owned(),
    };
    let old = match kind {
        FileKind::User { before } => as_before(path, before)?,
        FileKind::Record => fs::metadata(path).ok(),
        FileKind::PrivateRecord | FileKind::Cache => None,
    };
    let Some(after) = after else {
        return match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", path, error)),
            _ => Ok(()),
        };
    };
    let parent = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    if !matches!(kind, FileKind::User { .. }) {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    remove_leftovers(path);
    // Permissions are given later: a private file is never readable by others, not even for a moment.
    let is_private = old.is_some() || matches!(kind, FileKind::PrivateRecord | FileKind::Cache);
    let mut file = create(parent, path, is_private).map_err(failed)?;
    if let Some(old) = old {
        #[cfg(unix)]
        if matches!(kind, FileKind::User { .. }) {
            owner::keep(path, file.as_file(), &old)?;
        }
        file.as_file().set_permissions(old.permissions()).map_err(failed)?;
    }
    file.write_all(after).map_err(failed)?;
    if kind != FileKind::Cache {
        file.as_file().sync_all().map_err(failed)?;
    }
    file.persist(path).map_err(|error| failed(error.error))?;
    match kind {
        FileKind::User { .. } => {
            // Some directories cannot be opened, and the file has its content.
            let _ = sync(parent);
            Ok(())
        }
        FileKind::Record | FileKind::PrivateRecord => sync(parent).map_err(failed),
        FileKind::Cache => Ok(()),
    }
}

/// Fails if the file of a user at `path` does not hold `before`, or may not be written.
pub fn check_user_file(path: &Path, before: Option<&str>) -> Result<(), Error> {
    as_before(path, before.map(str::as_bytes)).map(drop)
}

/// Makes new names in `directory` survive a power failure.
pub(super) fn sync(directory: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

/// Returns the metadata of the file at `path`, `None` if there is not one. Fails if it does not hold
/// `before`, or may not be written.
fn as_before(path: &Path, before: Option<&[u8]>) -> Result<Option<Metadata>, Error> {
    let failed = |error| Error::io("write", path, error);
    let found = match regular_file::read(path, MAX_FILE_BYTES) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    if found.as_deref() != before {
        return Err(Error::new(ErrorKind::FileChanged).at(path));
    }
    let old = found.map(|_| fs::metadata(path)).transpose().map_err(failed)?;
    if old.as_ref().is_some_and(is_read_only) {
        return Err(Error::new(ErrorKind::ReadOnly).at(path));
    }
    Ok(old)
}

/// Creates and locks a temporary file in `parent` for `path`, so that it is not taken for a leftover.
fn create(parent: &Path, path: &Path, is_private: bool) -> io::Result<NamedTempFile> {
    // A random name: processes in containers that share the directory may have the same number.
    let prefix = format!(".{}.", path.file_name().unwrap_or_default().to_string_lossy());
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(TEMPORARY_SUFFIX);
    #[cfg(unix)]
    if !is_private {
        use std::os::unix::fs::PermissionsExt as _;

        // As any new file has them; the system takes away what the user does not want.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    #[cfg(not(unix))]
    let _ = is_private;
    loop {
        let file = builder.tempfile_in(parent)?;
        // Other systems do not let others read a locked file.
        if cfg!(unix) {
            let _ = file.as_file().lock();
        }
        // It may have been taken for a leftover before it was locked.
        match file.path().symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            _ => return Ok(file),
        }
    }
}

/// Returns `true` if its owner may not write the file. Replacing it would bypass that.
fn is_read_only(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;

        metadata.permissions().mode() & 0o200 == 0
    }
    #[cfg(not(unix))]
    metadata.permissions().readonly()
}

/// The owner of a file.
#[cfg(unix)]
mod owner {
    use std::fs::{File, Metadata};
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    use rustix::fs::{Gid, Uid, fchown};

    use crate::{Error, ErrorKind};

    /// Gives `file` the owner of `old`, the file at `path` that it is to replace. A failure is an error only
    /// if it would change access rights.
    pub(super) fn keep(path: &Path, file: &File, old: &Metadata) -> Result<(), Error> {
        let new = file.metadata().map_err(|error| Error::io("write", path, error))?;
        if (new.uid(), new.gid()) == (old.uid(), old.gid()) {
            return Ok(());
        }
        let user = (new.uid() != old.uid()).then(|| Uid::from_raw(old.uid()));
        let Err(error) = fchown(file, user, Some(Gid::from_raw(old.gid()))) else { return Ok(()) };
        let whose = match (user, is_group_of_weight(old.mode())) {
            (Some(_), _) => format!("another user (uid {})", old.uid()),
            (None, true) => format!("a group that is not yours (gid {})", old.gid()),
            (None, false) => return Ok(()),
        };
        Err(Error::new(ErrorKind::ForeignOwner).about(whose).at(path).because(error))
    }

    /// Returns `true` if the rights of the group and of others differ in `mode`.
    pub(super) fn is_group_of_weight(mode: u32) -> bool {
        (mode >> 3) & 0o7 != mode & 0o7
    }
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use super::*;

    fn user(before: Option<&str>) -> FileKind<'_> {
        FileKind::User { before: before.map(str::as_bytes) }
    }

    /// Returns the kinds, each for a file that holds `before`.
    fn kinds(before: Option<&str>) -> [FileKind<'_>; 3] {
        [user(before), FileKind::Record, FileKind::Cache]
    }

    fn read(path: &Path) -> String {
        String::from_utf8(regular_file::read(path, MAX_FILE_BYTES).unwrap()).unwrap()
    }

    #[test]
    fn files_of_every_kind_are_made_replaced_and_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file.json");
        let number = || fs::read_dir(directory.path()).unwrap().count();
        for at in 0..3 {
            replace_file(&path, kinds(None)[at], Some(b"one")).unwrap();
            assert_eq!(read(&path), "one");
            replace_file(&path, kinds(Some("one"))[at], Some(b"two")).unwrap();
            assert_eq!((read(&path), number()), ("two".to_owned(), 1));
            replace_file(&path, kinds(Some("two"))[at], None).unwrap();
            replace_file(&path, kinds(None)[at], None).unwrap();
            assert_eq!(number(), 0);
        }
        assert_eq!(read_file(&path, 10).unwrap(), None);
    }

    #[cfg(unix)]
    #[test]
    fn the_next_write_removes_what_a_killed_writer_left() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(".claude.json");
        for kind in [user(None), user(Some("a")), FileKind::Record, FileKind::PrivateRecord, FileKind::Cache]
        {
            fs::write(directory.path().join("..claude.json.Xy12ab.rep.tmp"), "secret").unwrap();
            replace_file(&path, kind, Some(b"a")).unwrap();
            assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "{kind:?}");
        }
    }

    #[test]
    fn directories_are_made_for_files_of_the_program() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b/file.json");
        let error = replace_file(&path, user(None), Some(b"x")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert_eq!(error.to_string(), format!("cannot write {}", path.display()));
        for kind in [FileKind::Record, FileKind::Cache] {
            replace_file(&path, kind, Some(b"x")).unwrap();
            fs::remove_dir_all(directory.path().join("a")).unwrap();
        }
    }

    #[test]
    fn a_file_of_a_user_that_was_changed_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mcp.json");
        fs::write(&path, "mine").unwrap();
        for (before, after) in
            [(None, Some("after")), (Some("before"), Some("after")), (Some("before"), None)]
        {
            let error = replace_file(&path, user(before), after.map(str::as_bytes)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::FileChanged);
            assert_eq!(error.to_string(), format!("{} was changed meanwhile", path.display()));
            assert_eq!(read(&path), "mine");
        }
        fs::remove_file(&path).unwrap();
        let error = replace_file(&path, user(Some("mine")), Some(b"after")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileChanged);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_stay_and_caches_are_private() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let mode = || fs::metadata(&path).unwrap().mode() & 0o777;
        fs::write(directory.path().join("plain"), "").unwrap();
        let of_new_files = fs::metadata(directory.path().join("plain")).unwrap().mode() & 0o777;
        for at in 0..3 {
            let is_cache = kinds(None)[at] == FileKind::Cache;
            replace_file(&path, kinds(None)[at], Some(b"one")).unwrap();
            assert_eq!(mode(), if is_cache { 0o600 } else { of_new_files });
            for before in [0o600, 0o640, 0o755] {
                fs::set_permissions(&path, fs::Permissions::from_mode(before)).unwrap();
                replace_file(&path, kinds(Some("one"))[at], Some(b"one")).unwrap();
                assert_eq!(mode(), if is_cache { 0o600 } else { before });
            }
            fs::remove_file(&path).unwrap();
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_record_stays_a_link() {
        let directory = tempfile::tempdir().unwrap();
        let (path, link) = (directory.path().join("file"), directory.path().join("link"));
        for at in 0..3 {
            fs::write(&path, "before").unwrap();
            std::os::unix::fs::symlink("file", &link).unwrap();
            replace_file(&link, kinds(Some("before"))[at], Some(b"after")).unwrap();
            let is_record = kinds(None)[at] == FileKind::Record;
            assert_eq!(link.is_symlink(), is_record);
            assert_eq!(read(&path), if is_record { "after" } else { "before" });
            assert_eq!(read(&link), "after");
            fs::remove_file(&link).unwrap();
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_group_counts_where_it_has_rights_of_its_own() {
        for (mode, expect) in [(0o600, false), (0o644, false), (0o640, true), (0o664, true), (0o604, true)] {
            assert_eq!(owner::is_group_of_weight(0o100_000 | mode), expect, "{mode:o}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_stays_with_its_owner() {
        use std::os::unix::fs::chown;

        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mcp.json");
        let whose = || {
            let metadata = fs::metadata(&path).unwrap();
            (metadata.uid(), metadata.gid(), metadata.mode() & 0o7777)
        };
        let check = |uid: u32, gid: u32| {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
            replace_file(&path, user(Some("before")), Some(b"after")).unwrap();
            assert_eq!(whose(), (uid, gid, 0o640));
            assert_eq!(read(&path), "after");
            fs::write(&path, "before").unwrap();
        };
        fs::write(&path, "before").unwrap();
        let (uid, gid, _) = whose();
        assert_eq!(uid, rustix::process::geteuid().as_raw());
        check(uid, gid);
        // Anybody can give a file to a group that they are in.
        for group in rustix::process::getgroups().unwrap() {
            if chown(&path, None, Some(group.as_raw())).is_ok() {
                check(uid, group.as_raw());
            }
        }
        // Only a superuser can give files to others, and not in every container.
        match chown(&path, Some(65534), Some(65534)) {
            Ok(()) => check(65534, 65534),
            // Past the capture of tests that pass, so that it is seen.
            Err(error) => {
                writeln!(io::stderr(), "SKIPPED: a file of another user, which only root can make: {error}")
                    .unwrap();
            }
        }
    }

    #[test]
    fn read_only_files_are_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mcp.json");
        fs::write(&path, "before").unwrap();
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions).unwrap();
        for after in [Some(&b"after"[..]), None] {
            let error = replace_file(&path, user(Some("before")), after).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ReadOnly);
            assert_eq!(error.to_string(), format!("{} is read-only and left alone", path.display()));
        }
        assert_eq!(read(&path), "before");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
