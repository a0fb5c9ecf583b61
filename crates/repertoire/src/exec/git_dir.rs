//! A directory of git, reached into: the one way to read, make, change and remove anything in it.
//!
//! Whoever made a repository, and every command in its own, decides what lies in such a directory, and that may be links that lead anywhere. So the directory is
//! held open, names are looked up from there, and no link is followed, be it at the end of a path or on the way. Whatever becomes of the path by which it was
//! found, it stays the directory that it was.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::exec::git;
use crate::exec::pinned::{self, Pinned};
use crate::exec::ref_name;

/// How files are opened: without waiting for whoever is at the other end of a pipe.
const FILE: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o777);

/// Who wrote what is in a directory of git.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Author {
    /// People, and git for them.
    People,
    /// A command. The same file under many names would be carried over as many times.
    Command,
}

/// A directory of git.
#[derive(Debug)]
pub(crate) struct GitDir {
    pinned: Pinned,
    handle: OwnedFd,
    author: Author,
    sharing: Option<Sharing>,
}

impl GitDir {
    /// Opens the one at `path`, along which there may be no link.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Self::hold(path, Author::People, None)
    }

    /// Opens that of a repository with these settings, in which things are made.
    pub(crate) fn open_to_write(path: &Path, settings: &Path) -> io::Result<Self> {
        let sharing = git::setting(settings, "core", "sharedrepository");
        Self::hold(path, Author::People, sharing.and_then(|value| Sharing::parse(&value)))
    }

    /// Makes an empty one for a command.
    pub(crate) fn make(path: &Path) -> io::Result<Self> {
        let made = Pinned::make_directory(path)?;
        let directory = Self::hold(path, Author::Command, None)?;
        if directory.pinned == made {
            Ok(directory)
        } else {
            Err(invalid("it was replaced by something else"))
        }
    }

    fn hold(path: &Path, author: Author, sharing: Option<Sharing>) -> io::Result<Self> {
        let handle = pinned::open(path)?;
        let now = rustix::fs::fstat(&handle)?;
        if FileType::from_raw_mode(now.st_mode) != FileType::Directory {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        #[allow(clippy::unnecessary_cast, reason = "not everywhere are these of one size")]
        let pinned = Pinned { path: path.to_owned(), device: now.st_dev as u64, inode: now.st_ino as u64 };
        Ok(Self { pinned, handle, author, sharing })
    }

    /// Returns where it was when it was opened.
    pub(crate) fn path(&self) -> &Path {
        &self.pinned.path
    }

    /// Returns whether it still is where it was.
    pub(crate) fn is_in_place(&self) -> bool {
        self.pinned.open().is_ok()
    }

    /// Returns what is at `name`, if there is something; a link is a link.
    pub(crate) fn kind(&self, name: impl AsRef<Path>) -> io::Result<Option<FileType>> {
        let Some((parent, name)) = found(self.parent(name.as_ref()))? else { return Ok(None) };
        let now =
            found(rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW).map_err(io::Error::from))?;
        Ok(now.map(|now| FileType::from_raw_mode(now.st_mode)))
    }

    /// Returns whether there is a directory.
    pub(crate) fn has_directory(&self, name: impl AsRef<Path>) -> bool {
        self.kind(name).is_ok_and(|kind| kind == Some(FileType::Directory))
    }

    /// Opens the plain file at `name` to read it, if there is one, and tells how long it is.
    pub(crate) fn file(&self, name: impl AsRef<Path>) -> io::Result<Option<(File, u64)>> {
        Ok(self.opened(name.as_ref())?.map(|(file, now)| (file, length(&now))))
    }

    fn opened(&self, name: &Path) -> io::Result<Option<(File, Stat)>> {
        let opened = pinned::open_below(self.handle.as_fd(), name, FILE | OFlags::RDONLY, Mode::empty());
        let Some(file) = found(opened)? else { return Ok(None) };
        let now = rustix::fs::fstat(&file)?;
        expect_plain(&now)?;
        Ok(Some((File::from(file), now)))
    }

    /// Returns what is in the plain file at `name`, if there is one. One that is larger than `most` is an error.
    pub(crate) fn read(&self, name: impl AsRef<Path>, most: u64) -> io::Result<Option<Vec<u8>>> {
        self.read_from(name, 0, |length| {
            let too_large = || io::Error::new(io::ErrorKind::FileTooLarge, "it is too large");
            (length <= most).then_some(()).ok_or_else(too_large)
        })
    }

    /// Returns what is in the plain file at `name` from `start` on, if there is one and `expect` lets that many bytes be.
    pub(crate) fn read_from(
        &self,
        name: impl AsRef<Path>,
        start: u64,
        expect: impl FnOnce(u64) -> io::Result<()>,
    ) -> io::Result<Option<Vec<u8>>> {
        let Some((mut file, now)) = self.opened(name.as_ref())? else { return Ok(None) };
        if self.author == Author::Command && now.st_nlink != 1 {
            return Err(several_names());
        }
        let most = length(&now).saturating_sub(start);
        expect(most)?;
        file.seek(SeekFrom::Start(start))?;
        let mut content = Vec::new();
        file.take(most).read_to_end(&mut content)?;
        Ok(Some(content))
    }

    /// Calls `each` for everything in the directory at `name`, `.` being this one; for nothing where there is none.
    pub(crate) fn list(
        &self,
        name: impl AsRef<Path>,
        mut each: impl FnMut(OsString, FileType) -> io::Result<()>,
    ) -> io::Result<()> {
        let name = name.as_ref();
        let flags = DIRECTORY | OFlags::RDONLY;
        let opened = if name == Path::new(".") {
            rustix::fs::openat(&self.handle, ".", flags, Mode::empty()).map_err(io::Error::from)
        } else {
            pinned::open_below(self.handle.as_fd(), name, flags, Mode::empty())
        };
        let Some(directory) = found(opened)? else { return Ok(()) };
        let entries = rustix::fs::Dir::read_from(&directory)?;
        for entry in entries {
            let entry = entry?;
            let bytes = entry.file_name().to_bytes();
            if matches!(bytes, b"." | b"..") {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    let now = rustix::fs::statat(&directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?;
                    FileType::from_raw_mode(now.st_mode)
                }
                known => known,
            };
            each(OsString::from_vec(bytes.to_vec()), kind)?;
        }
        Ok(())
    }

    /// Returns the names in a directory that `each` lets be, in their order.
    pub(crate) fn names(
        &self,
        name: impl AsRef<Path>,
        mut each: impl FnMut() -> io::Result<()>,
    ) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        self.list(name, |name, _| {
            each()?;
            names.push(name);
            Ok(())
        })?;
        names.sort();
        Ok(names)
    }

    /// Makes a directory and those that it lies in, where they are not there yet.
    pub(crate) fn make_directory(&self, name: impl AsRef<Path>) -> io::Result<()> {
        self.made_directory(name.as_ref()).map(drop)
    }

    /// Makes a file that was not there, and the directories that it lies in.
    pub(crate) fn create(&self, name: impl AsRef<Path>) -> io::Result<File> {
        let (parent, name) = self.made_parent(name.as_ref())?;
        let flags = FILE | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let file = rustix::fs::openat(&parent, name, flags, FILE_MODE)?;
        self.share(&file);
        Ok(File::from(file))
    }

    /// Makes a file with this in it that was not there.
    pub(crate) fn write_new(&self, name: impl AsRef<Path>, content: &[u8]) -> io::Result<()> {
        self.create(name)?.write_all(content)
    }

    /// Makes a file with this in it that was not there, of a time of its own where there is one.
    pub(crate) fn write_dated(
        &self,
        name: impl AsRef<Path>,
        content: &[u8],
        time: Option<SystemTime>,
    ) -> io::Result<()> {
        let mut file = self.create(name)?;
        file.write_all(content)?;
        time.map_or(Ok(()), |time| file.set_modified(time))
    }

    /// Returns the time of the plain file at `name`, though none that is yet to come, for whoever copies it.
    ///
    /// Git looks into a file that is no older than the index it is in: it may have been changed right after. A copy of a later time
    /// would hide that.
    pub(crate) fn time(&self, name: impl AsRef<Path>) -> Option<SystemTime> {
        let (file, _) = self.file(name).ok()??;
        Some(file.metadata().ok()?.modified().ok()?.min(SystemTime::now()))
    }

    /// Adds to a file, which is made where there is none.
    pub(crate) fn append(&self, name: impl AsRef<Path>, added: &[u8]) -> io::Result<()> {
        let (parent, name) = self.made_parent(name.as_ref())?;
        let flags = FILE | OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND;
        let file = rustix::fs::openat(&parent, name, flags, FILE_MODE)?;
        let now = rustix::fs::fstat(&file)?;
        expect_plain(&now)?;
        // What else it is called nobody knows here.
        if now.st_nlink != 1 {
            return Err(several_names());
        }
        self.share(&file);
        File::from(file).write_all(added)
    }

    /// Makes a link, which nothing here ever follows.
    pub(crate) fn make_link(&self, name: impl AsRef<Path>, target: &Path) -> io::Result<()> {
        let (parent, name) = self.parent(name.as_ref())?;
        Ok(rustix::fs::symlinkat(target, &parent, name)?)
    }

    /// Gives a file another name, in the place of what had it.
    pub(crate) fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        let (from_parent, from) = self.parent(from.as_ref())?;
        let (to_parent, to) = self.parent(to.as_ref())?;
        Ok(rustix::fs::renameat(&from_parent, from, &to_parent, to)?)
    }

    /// Removes a file or a link, if there is one.
    pub(crate) fn remove(&self, name: impl AsRef<Path>) -> io::Result<()> {
        let Some((parent, name)) = found(self.parent(name.as_ref()))? else { return Ok(()) };
        found(rustix::fs::unlinkat(&parent, name, AtFlags::empty()).map_err(io::Error::from)).map(drop)
    }

    /// Removes a directory in which there are but empty ones.
    pub(crate) fn remove_empty(&self, name: impl AsRef<Path>) {
        self.remove_empty_below(name.as_ref(), ref_name::MAX_DEPTH);
    }

    fn remove_empty_below(&self, name: &Path, depth: usize) {
        if depth == 0 || !self.has_directory(name) {
            return;
        }
        let mut inner = Vec::new();
        let listed = self.list(name, |own, kind| {
            inner.push(name.join(own));
            // One file is enough for it to stay.
            if kind == FileType::Directory { Ok(()) } else { Err(io::ErrorKind::DirectoryNotEmpty.into()) }
        });
        if listed.is_err() {
            return;
        }
        inner.iter().for_each(|inner| self.remove_empty_below(inner, depth - 1));
        if let Ok((parent, name)) = self.parent(name) {
            let _ = rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR);
        }
    }

    /// Returns whether there is anything but directories at or below `name` that `is_ours` does not know.
    pub(crate) fn has_others(&self, name: &Path, is_ours: &impl Fn(&Path) -> bool) -> bool {
        let found = self.list(name, |own, kind| {
            let path = name.join(own);
            let is_other =
                if kind == FileType::Directory { self.has_others(&path, is_ours) } else { !is_ours(&path) };
            if is_other { Err(io::ErrorKind::DirectoryNotEmpty.into()) } else { Ok(()) }
        });
        // Where there is a file, there is no directory to look into.
        found.is_err_and(|error| error.kind() != io::ErrorKind::NotADirectory)
    }

    /// Opens the directory that `name` lies in, and returns its name there.
    fn parent<'a>(&self, name: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
        let (above, name) = split(name)?;
        let flags = DIRECTORY | OFlags::RDONLY;
        let parent = match above {
            Some(above) => pinned::open_below(self.handle.as_fd(), above, flags, Mode::empty())?,
            None => rustix::fs::openat(&self.handle, ".", flags, Mode::empty())?,
        };
        Ok((parent, name))
    }

    fn made_parent<'a>(&self, name: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
        match self.parent(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let (above, name) = split(name)?;
                Ok((self.made_directory(above.unwrap_or(Path::new("")))?, name))
            }
            parent => parent,
        }
    }

    fn made_directory(&self, name: &Path) -> io::Result<OwnedFd> {
        let flags = DIRECTORY | OFlags::RDONLY;
        let mut at = rustix::fs::openat(&self.handle, ".", flags, Mode::empty())?;
        for part in name.components() {
            let part = Path::new(part.as_os_str());
            at = match pinned::open_below(at.as_fd(), part, flags, Mode::empty()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    match rustix::fs::mkdirat(&at, part, DIRECTORY_MODE) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                    let made = pinned::open_below(at.as_fd(), part, flags, Mode::empty())?;
                    self.share(&made);
                    made
                }
                opened => opened?,
            };
        }
        Ok(at)
    }

    /// Lets those in who share the repository. Where that cannot be done it is as good as it gets.
    pub(crate) fn share(&self, file: impl AsFd) {
        let Some(sharing) = self.sharing else { return };
        let Ok(now) = rustix::fs::fstat(&file) else { return };
        #[allow(clippy::unnecessary_cast, reason = "not everywhere are these of one size")]
        let mode = sharing.applied(
            now.st_mode as u32 & 0o7777,
            FileType::from_raw_mode(now.st_mode) == FileType::Directory,
        );
        #[allow(clippy::unnecessary_cast, reason = "not everywhere are these of one size")]
        let _ = rustix::fs::fchmod(&file, Mode::from_raw_mode(mode as _));
    }
}

/// Returns the name of the lock of a file.
pub(crate) fn lock_of(name: &Path) -> PathBuf {
    let mut lock = name.as_os_str().to_owned();
    lock.push(".lock");
    PathBuf::from(lock)
}

/// Returns what was found, if it was there.
fn found<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
    match outcome {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            Err(invalid("a link is in its place, or on the way to it"))
        }
        outcome => outcome.map(Some),
    }
}

/// Returns the directory that a name lies in, if any but the top, and its last part.
fn split(name: &Path) -> io::Result<(Option<&Path>, &OsStr)> {
    let last = name.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    if name.is_absolute() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok((name.parent().filter(|above| !above.as_os_str().is_empty()), last))
}

fn length(now: &Stat) -> u64 {
    u64::try_from(now.st_size).unwrap_or(u64::MAX)
}

fn expect_plain(now: &Stat) -> io::Result<()> {
    let is_plain = FileType::from_raw_mode(now.st_mode) == FileType::RegularFile;
    is_plain.then_some(()).ok_or_else(|| invalid("it is no plain file"))
}

fn several_names() -> io::Error {
    invalid("it is a file with several names")
}

fn invalid(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// Whom a repository is shared with, beside its owner ([`core.sharedRepository`](https://git-scm.com/docs/git-config#Documentation/git-config.txt-coresharedRepository)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sharing {
    /// These may, too.
    With(u32),
    /// These may and nobody else.
    Only(u32),
}

impl Sharing {
    fn parse(value: &str) -> Option<Self> {
        match value.to_ascii_lowercase().as_str() {
            "group" | "true" | "yes" | "on" | "" | "1" => Some(Self::With(0o660)),
            "all" | "world" | "everybody" | "2" => Some(Self::With(0o664)),
            octal => {
                let mode = u32::from_str_radix(octal, 8).ok().filter(|mode| mode & 0o600 == 0o600);
                mode.map(|mode| Self::Only(mode & 0o666))
            }
        }
    }

    /// Returns the mode that git would give to what has this one.
    fn applied(self, mode: u32, is_directory: bool) -> u32 {
        let (Self::With(mut more) | Self::Only(mut more)) = self;
        if mode & 0o200 == 0 {
            more &= !0o222;
        }
        if mode & 0o100 != 0 {
            more |= (more & 0o444) >> 2;
        }
        let mut mode = match self {
            Self::With(_) => mode | more,
            Self::Only(_) => mode & !0o777 | more,
        };
        if is_directory {
            mode |= (mode & 0o444) >> 2;
            mode |= if mode & 0o060 != 0 { 0o2000 } else { 0 };
        }
        mode
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "what came of it is looked at plainly")]

    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// A directory of git with a link in it to a secret, and that secret's directory.
    fn directories() -> (tempfile::TempDir, GitDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("git/logs/refs")).unwrap();
        fs::create_dir_all(root.join("secret/below")).unwrap();
        fs::write(root.join("secret/key"), "key").unwrap();
        symlink(root.join("secret"), root.join("git/logs/refs/heads")).unwrap();
        symlink(root.join("secret/key"), root.join("git/link")).unwrap();
        let git = GitDir::open(&root.join("git")).unwrap();
        (directory, git, root.join("secret"))
    }

    #[test]
    fn no_link_is_followed_whatever_is_done() {
        let (_directory, git, secret) = directories();
        git.read("logs/refs/heads/key", 9).unwrap_err();
        git.read("link", 9).unwrap_err();
        git.kind("logs/refs/heads/key").unwrap_err();
        git.list("logs/refs/heads", |_, _| Ok(())).unwrap_err();
        git.write_new("logs/refs/heads/new", b"x").unwrap_err();
        git.write_new("link", b"x").unwrap_err();
        git.append("logs/refs/heads/key", b"x").unwrap_err();
        git.append("logs/refs/heads/new", b"x").unwrap_err();
        git.append("link", b"x").unwrap_err();
        git.make_directory("logs/refs/heads/new").unwrap_err();
        git.remove("logs/refs/heads/key").unwrap_err();
        git.remove_empty("logs/refs/heads");
        git.write_new("file", b"x").unwrap();
        git.rename("file", "logs/refs/heads/new").unwrap_err();
        git.rename("logs/refs/heads/key", "key").unwrap_err();
        for name in ["../secret/key", "logs/../../secret/key", "/etc/passwd", ""] {
            git.read(name, 9).unwrap_err();
            git.append(name, b"x").unwrap_err();
            git.remove(name).unwrap_err();
        }
        assert_eq!(fs::read(secret.join("key")).unwrap(), b"key");
        assert_eq!(fs::read_dir(&secret).unwrap().count(), 2);
        assert_eq!(git.kind("link").unwrap(), Some(FileType::Symlink));
        git.remove("link").unwrap();
        assert!(secret.join("key").is_file());
    }

    #[test]
    fn it_stays_the_directory_that_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let git = GitDir::make(&root.join("git")).unwrap();
        git.write_new("a/file", b"mine").unwrap();
        assert!(git.is_in_place());
        fs::rename(root.join("git"), root.join("old")).unwrap();
        fs::create_dir_all(root.join("private/a")).unwrap();
        fs::write(root.join("private/a/file"), "private").unwrap();
        symlink(root.join("private"), root.join("git")).unwrap();
        assert!(!git.is_in_place());
        assert_eq!(git.read("a/file", 9).unwrap().unwrap(), b"mine");
        GitDir::open(&root.join("git")).unwrap_err();
        GitDir::make(&root.join("git")).unwrap_err();
    }

    #[test]
    fn files_are_read_made_added_to_and_removed() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let git = GitDir::make(&root.join("git")).unwrap();
        git.write_new("a/b/file", b"12").unwrap();
        git.write_new("a/b/file", b"x").unwrap_err();
        git.append("a/b/file", b"3").unwrap();
        git.append("a/log", b"1").unwrap();
        assert_eq!(git.read("a/b/file", 3).unwrap().unwrap(), b"123");
        git.read("a/b/file", 2).unwrap_err();
        git.read("a/b", 9).unwrap_err();
        for name in ["none", "none/file", "a/log/file"] {
            assert!(git.read(name, 9).unwrap().is_none() && git.kind(name).unwrap().is_none(), "{name}");
            git.remove(name).unwrap();
        }
        assert_eq!(git.names("a", || Ok(())).unwrap(), ["b", "log"]);
        git.rename("a/log", "log").unwrap();
        git.remove_empty("a");
        assert!(git.has_others(Path::new("a"), &|_| false));
        assert!(!git.has_others(Path::new("a"), &|path| path == Path::new("a/b/file")));
        git.remove("a/b/file").unwrap();
        git.remove_empty("a");
        assert_eq!(git.names(".", || Ok(())).unwrap(), ["log"]);
        rustix::fs::mkfifoat(rustix::fs::CWD, root.join("git/pipe"), Mode::RWXU).unwrap();
        git.read("pipe", 9).unwrap_err();
        git.append("pipe", b"x").unwrap_err();
        // What a command gave several names would count several times.
        fs::hard_link(root.join("git/log"), root.join("git/log2")).unwrap();
        git.read("log", 9).unwrap_err();
        let others = GitDir::open(&root.join("git")).unwrap();
        assert_eq!(others.read("log", 9).unwrap().unwrap(), b"1");
        others.append("log", b"x").unwrap_err();
    }

    #[test]
    fn what_is_made_is_shared_with_whom_the_repository_is() {
        let check = |value: &str, mode, is_directory, expect| {
            let applied = Sharing::parse(value).map_or(mode, |sharing| sharing.applied(mode, is_directory));
            assert_eq!(applied, expect, "{value} {mode:o} {applied:o}");
        };
        check("umask", 0o755, true, 0o755);
        check("0", 0o644, false, 0o644);
        check("group", 0o755, true, 0o2775);
        check("1", 0o644, false, 0o664);
        check("group", 0o444, false, 0o444);
        check("group", 0o400, false, 0o440);
        check("everybody", 0o600, false, 0o664);
        check("0640", 0o666, false, 0o640);
        check("0660", 0o755, true, 0o2770);
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir(root.join("git")).unwrap();
        fs::write(root.join("git/config"), "[core]\n\tsharedRepository = group\n").unwrap();
        let git = GitDir::open_to_write(&root.join("git"), &root.join("git/config")).unwrap();
        git.write_new("a/file", b"").unwrap();
        let mode = |path: &str| fs::metadata(root.join(path)).unwrap().permissions().mode() & 0o2070;
        assert_eq!((mode("git/a"), mode("git/a/file")), (0o2070, 0o060));
    }
}
