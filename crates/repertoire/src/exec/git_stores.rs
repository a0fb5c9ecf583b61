//! Where a repository has its objects, and whether it has certain ones.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::exec::git_objects::Objects;
use crate::exec::plain_file;

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
        let text =
            plain_file::read(&store.join(ALTERNATES), MAX_ALTERNATES).ok().flatten().unwrap_or_default();
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

/// Returns which of the objects `names` are in none of the stores.
pub(crate) fn missing<'a>(
    stores: &[PathBuf],
    names: impl IntoIterator<Item = &'a str>,
    objects: Objects,
    until: Instant,
) -> io::Result<HashSet<String>> {
    let mut names: BTreeSet<&str> = names.into_iter().filter(|name| objects.is_name(name)).collect();
    for _ in 0..ROUNDS {
        for store in stores {
            names.retain(|name| !store.join(&name[..2]).join(&name[2..]).is_file());
            for table in tables(store)? {
                if names.is_empty() {
                    return Ok(HashSet::new());
                }
                let Some(table) = Table::open(&table, objects)? else { continue };
                let mut left = BTreeSet::new();
                for name in names {
                    if Instant::now() >= until {
                        let text = "there are so many packs that it takes too long";
                        return Err(io::Error::new(io::ErrorKind::TimedOut, text));
                    }
                    if !table.has(name)? {
                        left.insert(name);
                    }
                }
                names = left;
            }
        }
    }
    Ok(names.into_iter().map(str::to_owned).collect())
}

/// Returns the tables of the packs in a store; one without its pack is of no use.
fn tables(store: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(store.join("pack")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    let is_table = |path: &PathBuf| {
        path.extension().is_some_and(|end| end == "idx") && path.with_extension("pack").is_file()
    };
    Ok(paths.into_iter().filter(is_table).collect())
}

/// The table of a pack: the names of all objects in it, in their order.
struct Table {
    file: fs::File,
    /// How many names begin with this byte, or a smaller one.
    counts: Vec<u32>,
    /// Where the names begin, how far apart they are, and how long.
    start: u64,
    step: u64,
    length: usize,
}

impl Table {
    /// Opens one; nothing if it is gone, because somebody packs anew.
    fn open(path: &Path, objects: Objects) -> io::Result<Option<Self>> {
        let file = match fs::File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut head = [0; MAGIC.len()];
        file.read_exact_at(&mut head, 0)?;
        let length = objects.length();
        // In the first version each name comes behind its place in the pack.
        let (counts_at, before, step) =
            if head == MAGIC { (MAGIC.len() as u64, 0, length) } else { (0, 4, 4 + length) };
        let mut counts = [0; 4 * FIRST_BYTES];
        file.read_exact_at(&mut counts, counts_at)?;
        let start = counts_at + counts.len() as u64 + before;
        let counts =
            counts.chunks_exact(4).map(|four| u32::from_be_bytes([four[0], four[1], four[2], four[3]]));
        Ok(Some(Self { counts: counts.collect(), file, start, step: step as u64, length }))
    }

    fn has(&self, name: &str) -> io::Result<bool> {
        let bytes: Vec<u8> = (0..name.len() / 2)
            .filter_map(|at| u8::from_str_radix(name.get(2 * at..2 * at + 2)?, 16).ok())
            .collect();
        let first = usize::from(bytes[0]);
        let mut low = if first == 0 { 0 } else { self.counts[first - 1] };
        let mut high = self.counts[first];
        let mut found = vec![0; self.length];
        while low < high {
            let middle = low + (high - low) / 2;
            self.file.read_exact_at(&mut found, self.start + u64::from(middle) * self.step)?;
            match found.as_slice().cmp(&bytes) {
                std::cmp::Ordering::Equal => return Ok(true),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "what came of it is looked at plainly")]

    use std::time::Duration;

    use super::*;

    #[test]
    fn objects_are_found_in_packs_and_where_they_are_borrowed() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let git = |words: &[&str]| {
            let done = std::process::Command::new("git")
                .args(["-c", "user.name=n", "-c", "user.email=e"])
                .args(words)
                .current_dir(&root)
                .output()
                .ok()?;
            done.status.success().then(|| String::from_utf8(done.stdout).unwrap())
        };
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
            let soon = Instant::now() + Duration::from_secs(600);
            let found = missing(&stores, all, Objects::Sha1, soon).unwrap();
            assert_eq!(found, none.into_iter().collect());
            missing(&stores, [packed.replace('1', "2").as_str()], Objects::Sha1, Instant::now()).unwrap_err();
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
