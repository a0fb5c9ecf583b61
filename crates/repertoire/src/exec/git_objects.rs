//! Objects of git that a command made, taken over one by one: each has to be what its name says.

use std::fs;
use std::io::{self, Read, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Instant;

use flate2::read::ZlibDecoder;
use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::exec::mark;

/// The most that all of them may be, unpacked, in bytes.
const MAX_BYTES: u64 = 4 << 30;
/// The longest beginning of an object: its kind and its size.
const MAX_HEAD: usize = 32;
/// Where packs would be, beside the directory of objects; nobody makes that.
const NO_PACKS: &str = "../no/packs";
const KINDS: &[&str] = &["blob", "tree", "commit", "tag"];
/// How much is read at once.
const CHUNK: usize = 64 << 10;

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

/// How much may still be read of what a command made.
struct Room {
    bytes: u64,
    until: Instant,
}

impl Room {
    fn take(&mut self, count: usize) -> io::Result<()> {
        if Instant::now() >= self.until {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "there are so many objects that it takes too long",
            ));
        }
        let left = self.bytes.checked_sub(count as u64);
        self.bytes =
            left.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the objects are too large"))?;
        Ok(())
    }
}

/// Copies the objects in `from` that are not yet in `into`, both directories of objects. What is there when time is up stays there, so it can be gone on with.
///
/// What is packed cannot be told to be what it says without unpacking it all, so it is refused. Where nothing can be packed a link leads nowhere ([`shut_packs`]).
pub(crate) fn take_over(from: &Path, into: &Path, objects: Objects, until: Instant) -> io::Result<()> {
    let packs = from.join("pack");
    let is_shut = fs::symlink_metadata(&packs).is_ok_and(|metadata| metadata.is_symlink());
    if !is_shut && entries(&packs)?.iter().any(|name| name.ends_with(".pack")) {
        let text = "there are packed objects, which are not taken over";
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    let mut room = Room { bytes: MAX_BYTES, until };
    for start in entries(from)?.iter().filter(|name| name.len() == 2 && is_hex(name)) {
        for rest in entries(&from.join(start))? {
            let name = format!("{start}{rest}");
            let (made, target) = (from.join(start).join(&rest), into.join(start).join(&rest));
            // What git had not finished has another name.
            if !objects.is_name(&name) || fs::symlink_metadata(&target).is_ok() {
                continue;
            }
            if !fs::symlink_metadata(&made)?.is_file() {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "an object is not a file"));
            }
            expect_named(&made, &name, objects, &mut room)?;
            put(&made, &into.join(start), &target)?;
        }
    }
    Ok(())
}

/// Makes a directory of objects into which git cannot put a pack: it says so then, and loses nothing that was not packed before.
///
/// A link that leads nowhere is to git as if nothing were packed. A directory that nobody may write would not hold against the superuser.
pub(crate) fn shut_packs(directory: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(NO_PACKS, directory.join("pack"))
}

/// Returns the names in a directory, none where there is no directory.
fn entries(directory: &Path) -> io::Result<Vec<String>> {
    match fs::symlink_metadata(directory) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a directory")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    }
    let names = fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name().into_string().ok()));
    let mut names: Vec<String> = names.collect::<io::Result<Vec<_>>>()?.into_iter().flatten().collect();
    names.sort();
    Ok(names)
}

/// Fails unless the object at `path` is well made and its name is `name`.
fn expect_named(path: &Path, name: &str, objects: Objects, room: &mut Room) -> io::Result<()> {
    let file = fs::File::open(path)?;
    let length = file.metadata()?.len();
    let mut content = ZlibDecoder::new(io::BufReader::new(file));
    let found = match objects {
        Objects::Sha1 => named::<Sha1>(&mut content, room)?,
        Objects::Sha256 => named::<Sha256>(&mut content, room)?,
    };
    // Git refuses an object with something behind it, once it looks.
    if found != name || content.total_in() != length {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "an object is not what its name says"));
    }
    Ok(())
}

/// Returns the name of what is read, which has to say its kind and its true size first.
fn named<D: Digest>(content: &mut impl Read, room: &mut Room) -> io::Result<String> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidData, "an object is damaged");
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
        room.take(count)?;
    }
    let end = head.iter().position(|byte| *byte == 0).ok_or_else(invalid)?;
    let text = str::from_utf8(&head[..end]).map_err(|_| invalid())?;
    let (kind, size) = text.split_once(' ').ok_or_else(invalid)?;
    let is_sound = KINDS.contains(&kind) && size == (total - end as u64 - 1).to_string();
    is_sound.then(|| hex(&digest.finalize())).ok_or_else(invalid)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Copies a file to `target` in `directory` the way git does: whole or not at all, and not to be written any more.
fn put(made: &Path, directory: &Path, target: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let unfinished = directory.join(format!("tmp_obj_{:016x}", mark::random()));
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&unfinished)?;
    let done = fs::File::open(made)
        .and_then(|mut made| io::copy(&mut made, &mut file))
        .and_then(|_| file.flush())
        .and_then(|()| file.set_permissions(fs::Permissions::from_mode(0o444)))
        .and_then(|()| fs::rename(&unfinished, target));
    if done.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    done
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "what came of it is looked at plainly")]

    use super::*;
    use flate2::{Compression, write::ZlibEncoder};
    use std::time::Duration;

    fn take_over(from: &Path, into: &Path, objects: Objects) -> io::Result<()> {
        super::take_over(from, into, objects, Instant::now() + Duration::from_secs(600))
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
        let [from, into] = ["from", "into"].map(|name| directory.path().join(name));
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
        take_over(&from, &into, Objects::Sha1).unwrap();
        let target = into.join(&name[..2]).join(&name[2..]);
        assert_eq!(fs::read(&target).unwrap(), fs::read(from.join(&name[..2]).join(&name[2..])).unwrap());
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o444);
        assert_eq!(fs::read_dir(target.parent().unwrap()).unwrap().count(), 1);
        take_over(&from, &into, Objects::Sha1).unwrap();
    }

    #[test]
    fn there_is_an_end_to_it() {
        let (_directory, from, into) = directories();
        object(&from, b"blob 3\0abc");
        let late = super::take_over(&from, &into, Objects::Sha1, Instant::now());
        assert_eq!(late.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(fs::read_dir(&into).unwrap().count(), 0);
        take_over(&from, &into, Objects::Sha1).unwrap();
    }

    #[test]
    fn what_is_not_what_it_says_is_refused() {
        let other = "f2ba8f84ab5c1bce84a7b441cb1959cfc7093b7f";
        for content in [&b"blob 3\0xyz"[..], b"blob 4\0abc", b"evil 3\0abc", b"blob 3 abc", b""] {
            let (_directory, from, into) = directories();
            write(&from, other, content);
            take_over(&from, &into, Objects::Sha1).unwrap_err();
            assert_eq!(fs::read_dir(&into).unwrap().count(), 0, "{content:?}");
        }
        let (_directory, from, into) = directories();
        object(&from, b"blob 4\0abc");
        object(&from, b"blob 03\0abc");
        take_over(&from, &into, Objects::Sha1).unwrap_err();
        let (_directory, from, into) = directories();
        let name = object(&from, b"blob 3\0abc");
        let path = from.join(&name[..2]).join(&name[2..]);
        fs::OpenOptions::new().append(true).open(path).unwrap().write_all(&[0; 9]).unwrap();
        take_over(&from, &into, Objects::Sha1).unwrap_err();
        let (_directory, from, into) = directories();
        fs::write(from.join("pack/pack-1.pack"), "x").unwrap();
        take_over(&from, &into, Objects::Sha1).unwrap_err();
        let (directory, from, into) = directories();
        let elsewhere = directory.path().join("elsewhere");
        object(&elsewhere, b"blob 3\0abc");
        std::os::unix::fs::symlink(elsewhere.join("f2"), from.join("f2")).unwrap();
        take_over(&from, &into, Objects::Sha1).unwrap_err();
    }
}
