//! Objects of git that a command made, taken over one by one: each has to be what its name says.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use flate2::read::ZlibDecoder;
use rustix::fs::FileType;
use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::exec::allowance::Allowance;
use crate::exec::git_dir::GitDir;
use crate::exec::mark;

/// Where objects are.
pub(crate) const OBJECTS: &str = "objects";
const PACKS: &str = "objects/pack";
/// The longest beginning of an object: its kind and its size.
const MAX_HEAD: usize = 32;
/// Where packs would be, beside the directory of objects; nobody makes that.
const NO_PACKS: &str = "../no/packs";
/// How much is read at once.
const CHUNK: usize = 64 << 10;

/// What an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Commit,
    Tree,
    Blob,
    Tag,
}

impl Kind {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "commit" => Some(Self::Commit),
            "tree" => Some(Self::Tree),
            "blob" => Some(Self::Blob),
            "tag" => Some(Self::Tag),
            _ => None,
        }
    }
}

/// How objects are named in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Objects {
    /// By SHA-1, as in nearly all.
    Sha1,
    /// By SHA-256.
    Sha256,
}

impl Objects {
    /// Returns how many bytes a name stands for.
    pub(crate) fn length(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    /// Returns the sum by which things are named.
    pub(crate) fn sum(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha1 => Sha1::digest(bytes).to_vec(),
            Self::Sha256 => Sha256::digest(bytes).to_vec(),
        }
    }

    /// Returns whether `text` is the name of an object, and not the one of none.
    pub(crate) fn is_name(self, text: &str) -> bool {
        text.len() == 2 * self.length() && is_hex(text) && text.bytes().any(|digit| digit != b'0')
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Copies the objects in `from` that are not yet in `into`, both directories of git. What is there when time is up stays there, so it can be gone on with.
///
/// What is packed cannot be told to be what it says without unpacking it all, so it is refused. Where nothing can be packed a link leads nowhere ([`shut_packs`]).
pub(crate) fn take_over(
    from: &GitDir,
    into: &GitDir,
    objects: Objects,
    allowance: &mut Allowance,
) -> io::Result<()> {
    let is_shut = from.kind(PACKS)? == Some(FileType::Symlink);
    if !is_shut && has_packs(from, allowance)? {
        return Err(invalid("there are packed objects, which are not taken over"));
    }
    for start in from.names(OBJECTS, || allowance.take_entry())? {
        let Some(start) = start.to_str().filter(|name| name.len() == 2 && is_hex(name)) else { continue };
        let directory = Path::new(OBJECTS).join(start);
        for rest in from.names(&directory, || allowance.take_entry())? {
            let path = directory.join(&rest);
            // What git had not finished has another name.
            let name = named_by(start, &rest).filter(|name| objects.is_name(name));
            let Some(name) = name.filter(|_| !matches!(into.kind(&path), Ok(Some(_)))) else { continue };
            let not_a_file = || invalid("an object is not a file");
            let (file, length) = from.file(&path)?.ok_or_else(not_a_file)?;
            put(file, into, &path, |copied| expect_named(copied, length, &name, objects, allowance))?;
        }
    }
    Ok(())
}

fn has_packs(directory: &GitDir, allowance: &mut Allowance) -> io::Result<bool> {
    let names = directory.names(PACKS, || allowance.take_entry())?;
    Ok(names.iter().any(|name| Path::new(name).extension().is_some_and(|end| end == "pack")))
}

fn named_by(start: &str, rest: &OsString) -> Option<String> {
    Some(format!("{start}{}", rest.to_str()?))
}

/// Makes it so that git cannot put a pack into an empty directory of git: it says so then, and loses nothing that was not packed before.
///
/// A link that leads nowhere is to git as if nothing were packed. A directory that nobody may write would not hold against the superuser.
pub(crate) fn shut_packs(directory: &GitDir) -> io::Result<()> {
    directory.make_link(PACKS, Path::new(NO_PACKS))
}

/// Returns where the object of this name is in a directory of objects, unless it is packed.
pub(crate) fn place(name: &str) -> PathBuf {
    Path::new(&name[..2]).join(&name[2..])
}

/// Returns what the object in a file is by its first words, without looking whether that is true.
pub(crate) fn kind(file: &File) -> Option<Kind> {
    let mut head = Vec::new();
    ZlibDecoder::new(file).take(MAX_HEAD as u64).read_to_end(&mut head).ok()?;
    let end = head.iter().position(|byte| *byte == b' ')?;
    Kind::parse(str::from_utf8(&head[..end]).ok()?)
}

fn invalid(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// Fails unless the object in a file is well made and its name is `name`.
fn expect_named(
    file: impl Read,
    length: u64,
    name: &str,
    objects: Objects,
    allowance: &mut Allowance,
) -> io::Result<()> {
    let mut content = ZlibDecoder::new(io::BufReader::new(file));
    let found = match objects {
        Objects::Sha1 => named::<Sha1>(&mut content, allowance)?,
        Objects::Sha256 => named::<Sha256>(&mut content, allowance)?,
    };
    // Git refuses an object with something behind it, once it looks.
    if found != name || content.total_in() != length {
        return Err(invalid("an object is not what its name says"));
    }
    Ok(())
}

/// Returns the name of what is read, which has to say its kind and its true size first.
fn named<D: Digest>(content: &mut impl Read, allowance: &mut Allowance) -> io::Result<String> {
    let damaged = || invalid("an object is damaged");
    let mut digest = D::new();
    let mut chunk = vec![0; CHUNK];
    let mut head = Vec::new();
    let mut total = 0u64;
    loop {
        let count = match content.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        digest.update(&chunk[..count]);
        let missing = MAX_HEAD - head.len();
        head.extend_from_slice(&chunk[..count.min(missing)]);
        total += count as u64;
        allowance.take_object(count)?;
    }
    let end = head.iter().position(|byte| *byte == 0).ok_or_else(damaged)?;
    let text = str::from_utf8(&head[..end]).map_err(|_| damaged())?;
    let (kind, size) = text.split_once(' ').ok_or_else(damaged)?;
    let is_sound = Kind::parse(kind).is_some() && size == (total - end as u64 - 1).to_string();
    is_sound.then(|| hex(&digest.finalize())).ok_or_else(damaged)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A file that is copied as it is read.
struct Copied<'a> {
    from: File,
    to: &'a File,
}

impl Read for Copied<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(buffer)?;
        self.to.write_all(&buffer[..count])?;
        Ok(count)
    }
}

/// Copies an object to its place the way git does: whole or not at all, and not to be written any more.
///
/// It is read once, and `expect` sees what is copied: somebody else may still have the file open, and write to it.
fn put(
    made: File,
    into: &GitDir,
    path: &Path,
    expect: impl FnOnce(Copied<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let unfinished = path.with_file_name(format!("tmp_obj_{:016x}", mark::random()));
    let file = into.create(&unfinished)?;
    let done = expect(Copied { from: made, to: &file })
        .and_then(|()| file.set_permissions(fs::Permissions::from_mode(0o444)))
        .inspect(|()| into.share(&file))
        .and_then(|()| into.rename(&unfinished, path));
    if done.is_err() {
        let _ = into.remove(&unfinished);
        path.parent().into_iter().for_each(|directory| into.remove_empty(directory));
    }
    done
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "what came of it is looked at plainly")]

    use super::*;
    use flate2::{Compression, write::ZlibEncoder};
    use std::time::Duration;

    fn take_over(from: &Path, into: &Path) -> io::Result<()> {
        take_over_within(Duration::from_secs(600), from, into)
    }

    fn take_over_within(time: Duration, from: &Path, into: &Path) -> io::Result<()> {
        let [from, into] = [from, into].map(|path| GitDir::open(path.parent().unwrap()).unwrap());
        super::take_over(&from, &into, Objects::Sha1, &mut Allowance::new(time, None, 1000))
    }

    fn object(directory: &Path, content: &[u8]) -> String {
        let name = hex(&Sha1::digest(content));
        write(directory, &name, content);
        name
    }

    fn write(directory: &Path, name: &str, content: &[u8]) {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content).unwrap();
        fs::create_dir_all(directory.join(&name[..2])).unwrap();
        fs::write(directory.join(&name[..2]).join(&name[2..]), encoder.finish().unwrap()).unwrap();
    }

    fn directories() -> (tempfile::TempDir, std::path::PathBuf, std::path::PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let [from, into] = ["from/objects", "into/objects"].map(|name| root.join(name));
        fs::create_dir_all(from.join("pack")).unwrap();
        fs::create_dir_all(&into).unwrap();
        (directory, from, into)
    }

    #[test]
    fn objects_are_taken_over_under_their_names() {
        let (_directory, from, into) = directories();
        let name = object(&from, b"blob 3\0abc");
        assert_eq!(name, "f2ba8f84ab5c1bce84a7b441cb1959cfc7093b7f");
        fs::write(from.join(&name[..2]).join("tmp_obj_x"), "unfinished").unwrap();
        take_over(&from, &into).unwrap();
        let target = into.join(&name[..2]).join(&name[2..]);
        assert_eq!(fs::read(&target).unwrap(), fs::read(from.join(&name[..2]).join(&name[2..])).unwrap());
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o444);
        assert_eq!(fs::read_dir(target.parent().unwrap()).unwrap().count(), 1);
        take_over(&from, &into).unwrap();
    }

    #[test]
    fn there_is_an_end_to_it() {
        let (_directory, from, into) = directories();
        object(&from, b"blob 3\0abc");
        let late = take_over_within(Duration::ZERO, &from, &into);
        assert_eq!(late.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(fs::read_dir(&into).unwrap().count(), 0);
        take_over(&from, &into).unwrap();
    }

    #[test]
    fn what_is_not_what_it_says_is_refused() {
        let other = "f2ba8f84ab5c1bce84a7b441cb1959cfc7093b7f";
        for content in [&b"blob 3\0xyz"[..], b"blob 4\0abc", b"evil 3\0abc", b"blob 3 abc", b""] {
            let (_directory, from, into) = directories();
            write(&from, other, content);
            take_over(&from, &into).unwrap_err();
            assert_eq!(fs::read_dir(&into).unwrap().count(), 0, "{content:?}");
        }
        let (_directory, from, into) = directories();
        object(&from, b"blob 4\0abc");
        object(&from, b"blob 03\0abc");
        take_over(&from, &into).unwrap_err();
        let (_directory, from, into) = directories();
        let name = object(&from, b"blob 3\0abc");
        let path = from.join(&name[..2]).join(&name[2..]);
        fs::OpenOptions::new().append(true).open(path).unwrap().write_all(&[0; 9]).unwrap();
        take_over(&from, &into).unwrap_err();
        let (_directory, from, into) = directories();
        fs::write(from.join("pack/pack-1.pack"), "x").unwrap();
        take_over(&from, &into).unwrap_err();
        let (directory, from, into) = directories();
        let elsewhere = directory.path().join("elsewhere");
        object(&elsewhere, b"blob 3\0abc");
        std::os::unix::fs::symlink(elsewhere.join("f2"), from.join("f2")).unwrap();
        take_over(&from, &into).unwrap_err();
        // Nor is anything put where a link leads.
        fs::remove_file(from.join("f2")).unwrap();
        let target = directory.path().join("target");
        fs::create_dir(&target).unwrap();
        std::os::unix::fs::symlink(&target, into.join("f2")).unwrap();
        object(&from, b"blob 3\0abc");
        take_over(&from, &into).unwrap_err();
        assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
    }
}
