//! Where a repository has its objects, and whether it has certain ones.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use crate::exec::allowance::Allowance;
use crate::exec::git_dir::GitDir;
use crate::exec::git_objects::{self, Kind, Objects};

/// The file that names other directories of objects.
const ALTERNATES: &str = "info/alternates";
/// The longest one, in bytes.
const MAX_ALTERNATES: u64 = 64 << 10;
/// The most directories of objects that a repository has here.
const MAX_STORES: usize = 64;
/// What a table of a pack begins with, unless it is of the first version.
const MAGIC: &[u8] = b"\xfftOc\0\0\0\x02";
/// How many first bytes of names there are.
const FIRST_BYTES: usize = 256;
/// How often is looked: packs are made anew by others meanwhile.
const ROUNDS: usize = 2;
/// Where packs are in a store.
const PACKS: &str = "pack";
/// How many objects are looked through that are told by their difference to another.
const MAX_DELTAS: usize = 10_000;
/// The longest beginning of an object in a pack: its kind and size, and what it is the difference to.
const MAX_PACKED_HEAD: usize = 64;

/// Returns the directories of objects of a repository: that at `first` and those that it borrows from (`git clone --shared`), all of them without links.
/// What is not there is left out.
pub(crate) fn of(first: &Path) -> Vec<PathBuf> {
    let mut stores: Vec<PathBuf> = Vec::new();
    let mut pending = vec![first.to_owned()];
    while let Some(store) = pending.pop() {
        let Some(store) = store.canonicalize().ok().filter(|store| store.is_dir()) else { continue };
        if stores.contains(&store) || stores.len() >= MAX_STORES {
            continue;
        }
        let Ok(directory) = GitDir::open(&store) else { continue };
        let text = directory.read(ALTERNATES, MAX_ALTERNATES).ok().flatten().unwrap_or_default();
        let lines =
            text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && !line.starts_with(b"#"));
        pending.extend(lines.map(|line| store.join(path(line))));
        stores.push(store);
    }
    stores
}

/// Returns the path that a line says; git puts odd ones in quotes.
fn path(line: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;

    let inner = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\""));
    let unquoted = inner.filter(|inner| !inner.contains(&b'\\'));
    Path::new(std::ffi::OsStr::from_bytes(unquoted.unwrap_or(line))).to_owned()
}

/// Returns which of the objects `names` are in the stores, and what each of them is.
pub(crate) fn kinds<'a>(
    stores: &[PathBuf],
    names: impl IntoIterator<Item = &'a str>,
    objects: Objects,
    allowance: &Allowance,
) -> io::Result<HashMap<String, Kind>> {
    let mut names: BTreeSet<&str> = names.into_iter().filter(|name| objects.is_name(name)).collect();
    let mut found = HashMap::new();
    for _ in 0..ROUNDS {
        for store in stores {
            let store = GitDir::open(store)?;
            names.retain(|name| match loose(&store, name) {
                Some(kind) => found.insert((*name).to_owned(), kind).is_some(),
                None => true,
            });
            for pack in packs(&store, allowance)? {
                if names.is_empty() {
                    return Ok(found);
                }
                let Some(pack) = Pack::open(&store, &pack, objects)? else { continue };
                let mut left = BTreeSet::new();
                for name in names {
                    allowance.go_on()?;
                    match pack.kind(name)? {
                        Some(kind) => drop(found.insert(name.to_owned(), kind)),
                        None => drop(left.insert(name)),
                    }
                }
                names = left;
            }
        }
    }
    Ok(found)
}

/// Returns what an object is that has a file of its own.
fn loose(store: &GitDir, name: &str) -> Option<Kind> {
    let (file, _) = store.file(git_objects::place(name)).ok()??;
    git_objects::kind(&file)
}

/// Returns the packs in a store, without the ends of their names.
fn packs(store: &GitDir, allowance: &Allowance) -> io::Result<Vec<PathBuf>> {
    let names = store.names(PACKS, || allowance.go_on())?;
    let names = names.into_iter().map(|name| Path::new(PACKS).join(name));
    Ok(names.filter(|name| name.extension().is_some_and(|end| end == "idx")).collect())
}

/// A pack, and its table: the names of all objects in it, in their order.
struct Pack {
    pack: File,
    table: File,
    /// How many names begin with this byte, or a smaller one.
    counts: Vec<u32>,
    /// Where the table begins behind the counts, and how far apart names are there.
    start: u64,
    step: u64,
    length: usize,
    is_first_version: bool,
}

impl Pack {
    /// Opens one by its table; nothing if one of the two is gone, because somebody packs anew.
    fn open(store: &GitDir, path: &Path, objects: Objects) -> io::Result<Option<Self>> {
        let (Some((table, _)), Some((pack, _))) =
            (store.file(path)?, store.file(path.with_extension("pack"))?)
        else {
            return Ok(None);
        };
        let mut head = [0; MAGIC.len()];
        table.read_exact_at(&mut head, 0)?;
        let is_first_version = head != MAGIC;
        let length = objects.length();
        // In the first version each name comes behind its place in the pack.
        let (counts_at, step) = if is_first_version { (0, 4 + length) } else { (MAGIC.len() as u64, length) };
        let mut counts = [0; 4 * FIRST_BYTES];
        table.read_exact_at(&mut counts, counts_at)?;
        let start = counts_at + counts.len() as u64;
        let counts =
            counts.chunks_exact(4).map(|four| u32::from_be_bytes([four[0], four[1], four[2], four[3]]));
        let counts = counts.collect();
        Ok(Some(Self { pack, table, counts, start, step: step as u64, length, is_first_version }))
    }

    /// Returns what an object is, if it is in this pack.
    fn kind(&self, name: &str) -> io::Result<Option<Kind>> {
        let bytes: Vec<u8> = (0..name.len() / 2)
            .filter_map(|at| u8::from_str_radix(name.get(2 * at..2 * at + 2)?, 16).ok())
            .collect();
        match self.find(&bytes)? {
            Some(number) => self.kind_at(self.place(number)?).map(Some),
            None => Ok(None),
        }
    }

    /// Returns which one of the names this is.
    fn find(&self, name: &[u8]) -> io::Result<Option<u32>> {
        let first = usize::from(name[0]);
        let mut low = if first == 0 { 0 } else { self.counts[first - 1] };
        let mut high = self.counts[first];
        let mut found = vec![0; self.length];
        let before = if self.is_first_version { 4 } else { 0 };
        while low < high {
            let middle = low + (high - low) / 2;
            self.table.read_exact_at(&mut found, self.start + before + u64::from(middle) * self.step)?;
            match found.as_slice().cmp(name) {
                std::cmp::Ordering::Equal => return Ok(Some(middle)),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }

    /// Returns where the object of this number is in the pack.
    fn place(&self, number: u32) -> io::Result<u64> {
        let number = u64::from(number);
        if self.is_first_version {
            return self.number_at(self.start + number * self.step).map(u64::from);
        }
        // Behind the names come sums of four bytes, places, and places that four bytes are too few for.
        let count = u64::from(self.counts[FIRST_BYTES - 1]);
        let places = self.start + count * (self.length as u64 + 4);
        let place = self.number_at(places + 4 * number)?;
        if place & 0x8000_0000 == 0 {
            return Ok(u64::from(place));
        }
        let large = places + 4 * count + 8 * u64::from(place & 0x7fff_ffff);
        Ok(u64::from(self.number_at(large)?) << 32 | u64::from(self.number_at(large + 4)?))
    }

    fn number_at(&self, place: u64) -> io::Result<u32> {
        let mut bytes = [0; 4];
        self.table.read_exact_at(&mut bytes, place)?;
        Ok(u32::from_be_bytes(bytes))
    }

    /// Returns what the object at a place in the pack is. One that is told by its difference to another is what that is.
    fn kind_at(&self, mut place: u64) -> io::Result<Kind> {
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "a pack is damaged");
        for _ in 0..MAX_DELTAS {
            let mut head = [0; MAX_PACKED_HEAD];
            let count = self.pack.read_at(&mut head, place)?;
            let head = &head[..count];
            let size = head.iter().position(|byte| byte & 0x80 == 0).ok_or_else(damaged)?;
            let base = &head[size + 1..];
            match head[0] >> 4 & 7 {
                1 => return Ok(Kind::Commit),
                2 => return Ok(Kind::Tree),
                3 => return Ok(Kind::Blob),
                4 => return Ok(Kind::Tag),
                6 => {
                    place = base_before(base).and_then(|back| place.checked_sub(back)).ok_or_else(damaged)?
                }
                7 => {
                    let name = base.get(..self.length).ok_or_else(damaged)?;
                    place = self.place(self.find(name)?.ok_or_else(damaged)?)?;
                }
                _ => return Err(damaged()),
            }
        }
        Err(damaged())
    }
}

/// Returns how far before an object the one is that it is the difference to.
fn base_before(bytes: &[u8]) -> Option<u64> {
    let mut back = 0u64;
    for (number, byte) in bytes.iter().enumerate() {
        back = back.checked_add(u64::from(number > 0))?.checked_mul(128)? | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some(back).filter(|back| *back > 0);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "what came of it is looked at plainly")]

    use std::fs;
    use std::time::Duration;

    use super::*;

    fn allowance(seconds: u64) -> Allowance {
        Allowance::new(Duration::from_secs(seconds), None, 0)
    }

    /// Runs git, and returns what it said; nothing where it failed or is not installed.
    fn git_in(directory: &Path, words: &[&str]) -> Option<String> {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=n", "-c", "user.email=e"]).args(words).current_dir(directory);
        let done = git.output().ok()?;
        done.status.success().then(|| String::from_utf8(done.stdout).unwrap())
    }

    #[test]
    fn objects_are_found_in_packs_and_where_they_are_borrowed() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let git = |words: &[&str]| git_in(&root, words);
        if git(&["init", "-q", "a"]).is_none() {
            eprintln!("SKIPPED: git is not installed");
            return;
        }
        let commit = |of: &str| {
            git(&["-C", of, "commit", "-q", "--allow-empty", "-m", of]).unwrap();
            git(&["-C", of, "rev-parse", "HEAD"]).unwrap().trim().to_owned()
        };
        for version in ["1", "2"] {
            let version = format!("pack.indexVersion={version}");
            let packed = commit("a");
            git(&["-C", "a", "-c", &version, "repack", "-q", "-d"]).unwrap();
            assert!(!root.join("a/.git/objects").join(&packed[..2]).join(&packed[2..]).exists());
            let loose = commit("a");
            let _ = fs::remove_dir_all(root.join("b"));
            git(&["clone", "-q", "--shared", "a", "b"]).unwrap();
            let own = commit("b");
            let stores = of(&root.join("b/.git/objects"));
            assert_eq!(stores, ["b", "a"].map(|name| root.join(name).join(".git/objects")));
            let none = ["0", "8", "f"].map(|digit| format!("{digit}1").repeat(20));
            let all = [&packed, &loose, &own].into_iter().chain(&none).map(String::as_str);
            let found = kinds(&stores, all, Objects::Sha1, &allowance(600)).unwrap();
            assert_eq!(found.len(), 3);
            assert!([packed.clone(), loose, own].iter().all(|name| found[name] == Kind::Commit));
            kinds(&stores, [packed.replace('1', "2").as_str()], Objects::Sha1, &allowance(0)).unwrap_err();
        }
    }

    #[test]
    fn every_kind_is_told_wherever_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let git = |words: &[&str]| git_in(&root, words);
        if git(&["init", "-q", "."]).is_none() {
            eprintln!("SKIPPED: git is not installed");
            return;
        }
        // Much of it differs but little, so that it is packed as differences.
        for number in 0..20 {
            let text: String = (0..2000).map(|line| format!("{line} {}\n", line.max(number))).collect();
            fs::write(root.join("file"), text).unwrap();
            git(&["add", "."]).unwrap();
            git(&["commit", "-q", "-m", "x"]).unwrap();
            git(&["tag", "-a", "-m", "x", &format!("v{number}")]).unwrap();
        }
        let check = || {
            let list = git(&["cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)"]);
            let list = list.unwrap();
            let expect: HashMap<String, Kind> = list
                .lines()
                .filter_map(|line| line.split_once(' '))
                .map(|(name, kind)| (name.to_owned(), git_objects::Kind::parse(kind).unwrap()))
                .collect();
            let stores = of(&root.join(".git/objects"));
            let found = kinds(&stores, expect.keys().map(String::as_str), Objects::Sha1, &allowance(600));
            assert_eq!(found.unwrap(), expect);
        };
        check();
        for settings in
            ["repack.useDeltaBaseOffset=true", "repack.useDeltaBaseOffset=false", "pack.indexVersion=1"]
        {
            git(&["-c", settings, "repack", "-q", "-a", "-d", "-f"]).unwrap();
            check();
        }
    }

    #[test]
    fn stores_may_lead_in_circles_and_nowhere() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for (name, text) in [("a", "../b\n# x\n\n/nowhere/at/all\n"), ("b", "\"../a\"\n")] {
            fs::create_dir_all(root.join(name).join("info")).unwrap();
            fs::write(root.join(name).join(ALTERNATES), text).unwrap();
        }
        assert_eq!(of(&root.join("a")), ["a", "b"].map(|name| root.join(name)));
    }
}
