//! Replaces a file atomically.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use crate::Error;
use repertoire::regular_file;

/// The largest file that is replaced, in bytes.
pub const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Makes the file at `path`, which is no link, hold `after`, if it still holds `before`; `None` is a file that is not
/// there yet. Its permissions stay, and so does whom it belongs to, but for a group that has no rights of its own and
/// cannot be given. Access-control lists and extended attributes do not.
pub fn replace(path: &Path, before: Option<&[u8]>, after: &[u8]) -> Result<(), Error> {
    let failed = |error| Error::io("write", path, error);
    let found = match regular_file::read(path, MAX_BYTES) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    if found.as_deref() != before {
        return Err(Error::refused(format!("{} was changed meanwhile", path.display())).hint("run it again"));
    }
    let old = match found {
        Some(_) => Some(fs::metadata(path).map_err(failed)?),
        None => None,
    };
    if old.as_ref().is_some_and(is_read_only) {
        return Err(left_alone(path));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    // A killed process may have had the number of this one.
    let _ = fs::remove_file(&temporary);
    let outcome = (|| {
        let mut file = create(&temporary, old.is_some()).map_err(failed)?;
        if let Some(old) = old {
            #[cfg(unix)]
            owner::keep(path, &file, &old)?;
            file.set_permissions(old.permissions()).map_err(failed)?;
        }
        file.write_all(after).and_then(|()| file.sync_all()).map_err(failed)?;
        fs::rename(&temporary, path).map_err(failed)?;
        sync_parent(path);
        Ok(())
    })();
    if outcome.is_err() {
        // A temporary file that cannot be removed is not worth a second error.
        let _ = fs::remove_file(&temporary);
    }
    outcome
}

/// Makes the new name of the file at `path` survive a power failure, where its directory can be opened.
fn sync_parent(path: &Path) {
    let parent = path.parent().filter(|_| cfg!(unix)).and_then(|parent| fs::File::open(parent).ok());
    let _ = parent.map(|parent| parent.sync_all());
}

/// Returns `true` if its owner may not write the file. Replacing it would bypass that.
fn is_read_only(metadata: &fs::Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;

        metadata.permissions().mode() & 0o200 == 0
    }
    #[cfg(not(unix))]
    metadata.permissions().readonly()
}

fn left_alone(path: &Path) -> Error {
    let way = if cfg!(unix) { "`chmod u+w` makes it writable" } else { "take that attribute away" };
    Error::refused(format!("{} is read-only and left alone", path.display()))
        .hint(format!("{way}, if it may be changed; then try again"))
}

/// Creates the file at `path`; a private file is never readable by others, not even for a moment.
fn create(path: &Path, is_replacement: bool) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if is_replacement {
        use std::os::unix::fs::OpenOptionsExt as _;

        options.mode(0o600);
    }
    #[cfg(not(unix))]
    let _ = is_replacement;
    options.open(path)
}

/// The owner of a file.
#[cfg(unix)]
mod owner {
    use std::fs::{File, Metadata};
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    use rustix::fs::{Gid, Uid, fchown};

    use crate::Error;

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
            (Some(_), _) => format!("belongs to another user (uid {})", old.uid()),
            (None, true) => format!("belongs to a group that is not yours (gid {})", old.gid()),
            (None, false) => return Ok(()),
        };
        Err(Error::refused(format!(
            "{} {whose}, which it would not any more; it is left alone",
            path.display()
        ))
        .because(error)
        .hint("run it as the user that the file belongs to, or change the file by hand"))
    }

    /// Returns `true` if the rights of the group and of others differ in `mode`.
    pub(super) fn is_group_of_weight(mode: u32) -> bool {
        (mode >> 3) & 0o7 != mode & 0o7
    }
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};

    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_group_counts_where_it_has_rights_of_its_own() {
        for (mode, expect) in [(0o600, false), (0o644, false), (0o640, true), (0o664, true), (0o604, true)] {
            assert_eq!(owner::is_group_of_weight(0o100_000 | mode), expect, "{mode:o}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_stays_with_its_owner() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mcp.json");
        let whose = || {
            let metadata = fs::metadata(&path).unwrap();
            (metadata.uid(), metadata.gid(), metadata.mode() & 0o7777)
        };
        let check = |uid: u32, gid: u32| {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
            replace(&path, Some(b"before"), b"after").unwrap();
            assert_eq!(whose(), (uid, gid, 0o640));
            assert_eq!(regular_file::read(&path, MAX_BYTES).unwrap(), b"after");
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
    fn a_leftover_of_a_killed_process_with_the_same_number_is_not_in_the_way() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mcp.json");
        fs::write(directory.path().join(format!(".mcp.json.{}.tmp", std::process::id())), "half").unwrap();
        replace(&path, None, b"after").unwrap();
        assert_eq!(regular_file::read(&path, MAX_BYTES).unwrap(), b"after");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn read_only_files_are_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mcp.json");
        fs::write(&path, "before").unwrap();
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions).unwrap();
        let error = replace(&path, Some(b"before"), b"after").unwrap_err();
        assert!(error.to_string().ends_with("is read-only and left alone"), "{}", error.to_string());
        assert_eq!(regular_file::read(&path, MAX_BYTES).unwrap(), b"before");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
