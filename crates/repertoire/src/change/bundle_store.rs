//! The store of fetched skills: one file per bundle, named by its digest, shared by all projects of a user.
//!
//! A file holds the canonical manifest behind its length, and then the bytes of all files in the manifest's order. It is written beside its
//! place and renamed, so that processes do not disturb each other, and checked whenever it is read.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use repertoire_model::patch::{FileData, SkillFiles, bundle};
use repertoire_model::{Bundle, Digest};

use super::replace_file::{FileKind, read_file, replace_file};
use crate::Error;

/// The first line of a file.
const VERSION: &[u8] = b"repertoire-fetched-v1\n";

/// The largest bundle that is read.
const MAX_BYTES: u64 = 80 * 1024 * 1024;

/// The size that the store is kept below.
const MAX_STORE_BYTES: u64 = 1024 * 1024 * 1024;

/// The time since its last use for which a bundle is always kept.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// The store of fetched skills.
#[derive(Debug, Clone)]
pub struct BundleStore {
    directory: PathBuf,
}

impl BundleStore {
    /// Returns the store in `directory`, which need not exist yet.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        let name = digest.to_hex();
        self.directory.join(&name[..2]).join(name)
    }

    /// Stores `files`, and returns their digest. After a power failure they may be missing.
    pub fn put(&self, files: &SkillFiles) -> Result<Digest, Error> {
        self.put_as(files, FileKind::Cache)
    }

    /// Stores `files` so that they survive a power failure, and returns their digest.
    pub fn put_durably(&self, files: &SkillFiles) -> Result<Digest, Error> {
        self.put_as(files, FileKind::Record)
    }

    fn put_as(&self, files: &SkillFiles, kind: FileKind<'_>) -> Result<Digest, Error> {
        let bundle = bundle(files);
        let digest = bundle.digest();
        if self.get(&digest)?.is_some() {
            return Ok(digest);
        }
        let manifest = bundle.manifest();
        let mut bytes = VERSION.to_vec();
        bytes.extend_from_slice(format!("{}\n", manifest.len()).as_bytes());
        bytes.extend_from_slice(&manifest);
        for file in bundle.files() {
            bytes.extend_from_slice(&files[&file.path].bytes);
        }
        replace_file(&self.path(&digest), kind, Some(&bytes))?;
        Ok(digest)
    }

    /// Returns the files with this digest; `None` if they are not stored, or not as they were.
    pub fn get(&self, digest: &Digest) -> Result<Option<SkillFiles>, Error> {
        let path = self.path(digest);
        let Some(bytes) = read_file(&path, MAX_BYTES)? else { return Ok(None) };
        // Its time is that of its last use.
        let touched = fs::File::options().write(true).open(&path);
        let _ = touched.and_then(|file| file.set_modified(SystemTime::now()));
        Ok(decode(&bytes).filter(|(found, _)| found == digest).map(|(_, files)| files))
    }

    /// Removes what was not used for longest, until the store is small enough. What was used within a day stays, and so do the bundles
    /// `named`.
    pub(super) fn collect_garbage(&self, named: &BTreeSet<Digest>) {
        self.collect_garbage_above(MAX_STORE_BYTES, KEPT, named);
    }

    fn collect_garbage_above(&self, most: u64, kept: Duration, named: &BTreeSet<Digest>) {
        let named: BTreeSet<PathBuf> = named.iter().map(|digest| self.path(digest)).collect();
        let mut found: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for directory in children(&self.directory) {
            for path in children(&directory) {
                if let Ok(metadata) = path.metadata() {
                    let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                    found.push((used, metadata.len(), path));
                }
            }
        }
        let mut total: u64 = found.iter().map(|(_, size, _)| size).sum();
        found.sort();
        for (used, size, path) in found {
            let is_kept = used.elapsed().map_or(true, |age| age < kept) || named.contains(&path);
            let is_temporary = path.extension().is_some_and(|ending| ending == "tmp");
            if !is_kept && (total > most || is_temporary) && fs::remove_file(&path).is_ok() {
                total -= size;
            }
        }
    }
}

fn children(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|child| child.path()).collect()
}

/// Returns the digest and the files of a stored bundle, if it is as it was written.
fn decode(bytes: &[u8]) -> Option<(Digest, SkillFiles)> {
    let rest = bytes.strip_prefix(VERSION)?;
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let length: usize = std::str::from_utf8(&rest[..end]).ok()?.parse().ok()?;
    let (manifest, mut contents) = rest[end + 1..].split_at_checked(length)?;
    let bundle = Bundle::parse(manifest)?;
    let mut files = SkillFiles::new();
    for file in bundle.files() {
        let (content, more) = contents.split_at_checked(usize::try_from(file.size).ok()?)?;
        if Digest::of(content) != file.digest {
            return None;
        }
        contents = more;
        let data = FileData { executable: file.executable, bytes: content.to_vec() };
        files.insert(file.path.clone(), data);
    }
    contents.is_empty().then(|| (bundle.digest(), files))
}

#[cfg(test)]
mod tests {
    use repertoire_model::SkillPath;

    use super::*;

    fn files(list: &[(&str, &str, bool)]) -> SkillFiles {
        let file = |text: &str, executable| FileData { executable, bytes: text.as_bytes().to_vec() };
        list.iter().map(|(path, text, x)| (SkillPath::new(path).unwrap(), file(text, *x))).collect()
    }

    #[test]
    fn bundles_are_read_back_and_damage_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let store = BundleStore::new(directory.path());
        let skill = files(&[("SKILL.md", "# A\n", false), ("scripts/run.sh", "true\n", true)]);
        let digest = store.put(&skill).unwrap();
        assert_eq!(store.get(&digest).unwrap(), Some(skill.clone()));
        assert_eq!(store.get(&Digest::of(b"other")).unwrap(), None);
        let path = store.path(&digest);
        let bytes = regular(&path);
        for at in [0, 10, 30, bytes.len() - 1] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            fs::write(&path, damaged).unwrap();
            assert_eq!(store.get(&digest).unwrap(), None, "{at}");
        }
        // It is stored again.
        store.put(&skill).unwrap();
        assert_eq!(store.get(&digest).unwrap(), Some(skill));
    }

    fn regular(path: &Path) -> Vec<u8> {
        crate::regular_file::read(path, MAX_BYTES).unwrap()
    }

    #[test]
    fn the_oldest_bundles_are_removed_first() {
        let directory = tempfile::tempdir().unwrap();
        let store = BundleStore::new(directory.path());
        let put = |text: &str, age: u64| {
            let digest = store.put(&files(&[("SKILL.md", text, false)])).unwrap();
            let file = fs::File::options().write(true).open(store.path(&digest)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
            digest
        };
        let (old, middle, young) = (put("a", 1000), put("b", 500), put("c", 1));
        let size = regular(&store.path(&old)).len() as u64;
        let none = BTreeSet::new();
        store.collect_garbage_above(3 * size, Duration::from_secs(60), &none);
        assert!(store.path(&old).is_file());
        store.collect_garbage_above(0, Duration::from_secs(60), &BTreeSet::from([old, middle]));
        assert!(store.path(&old).is_file() && store.path(&middle).is_file());
        store.collect_garbage_above(2 * size, Duration::from_secs(60), &none);
        assert!(!store.path(&old).is_file() && store.path(&middle).is_file());
        store.collect_garbage_above(0, Duration::from_secs(60), &none);
        assert!(!store.path(&middle).is_file() && store.path(&young).is_file());
    }
}
