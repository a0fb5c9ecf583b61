//! A cache of vectors in a file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use repertoire::change::{FileKind, replace_file};
use repertoire::regular_file;
use repertoire_model::Digest;

use crate::meaning::Vector;

/// The number of bytes of the digest of a text.
const KEY_BYTES: usize = 32;
/// The most bytes before the entries.
const HEAD_BYTES: usize = KEY_BYTES + 8;
/// The most bytes of an entry beside its digest and its dimensions.
const ENTRY_BYTES: usize = 8;

/// The content of the file: the stamp of the server and model, and the entries, the most recently used last.
type StoredCache = ([u8; KEY_BYTES], Vec<([u8; KEY_BYTES], Vector)>);

/// Vectors by the digests of their texts.
///
/// The file belongs to one server and model: a file with another stamp is ignored.
pub(super) struct Cache {
    file: Option<PathBuf>,
    /// The identity of the server and the model.
    stamp: Digest,
    /// The most bytes of the file.
    limit: usize,
    /// The vector of each text, and the time of its last use.
    entries: HashMap<[u8; KEY_BYTES], (Vector, u64)>,
    clock: u64,
    is_loaded: bool,
    is_changed: bool,
}

impl Cache {
    pub(super) fn new(file: Option<PathBuf>, stamp: Digest, limit: usize) -> Self {
        let entries = HashMap::new();
        Self { file, stamp, limit, entries, clock: 0, is_loaded: false, is_changed: false }
    }

    /// Returns the number of dimensions of the vectors, if there are any.
    pub(super) fn dimensions(&self) -> Option<usize> {
        self.entries.values().next().map(|(vector, _)| vector.dimensions())
    }

    pub(super) fn get(&mut self, text: &str) -> Option<Vector> {
        self.load();
        self.clock += 1;
        let (vector, used) = self.entries.get_mut(Digest::of(text.as_bytes()).as_bytes())?;
        *used = self.clock;
        Some(vector.clone())
    }

    /// Caches the vector of `text`, unless it has other dimensions than the cached ones.
    pub(super) fn put(&mut self, text: &str, vector: &Vector) {
        self.load();
        if self.dimensions().is_some_and(|dimensions| dimensions != vector.dimensions()) {
            return;
        }
        self.clock += 1;
        self.entries.insert(*Digest::of(text.as_bytes()).as_bytes(), (vector.clone(), self.clock));
        self.is_changed = true;
    }

    /// Removes all entries, because the server has another model now.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.is_loaded = true;
        // The next save would read the file again.
        self.file.iter().for_each(|file| {
            let _ = std::fs::remove_file(file);
        });
    }

    /// Writes new entries to the file, together with the entries that other processes wrote meanwhile.
    pub(super) fn save(&mut self) {
        let Some(file) = self.file.clone() else { return };
        if !std::mem::take(&mut self.is_changed) {
            return;
        }
        self.read(&file);
        let entry_bytes = KEY_BYTES + ENTRY_BYTES + self.dimensions().unwrap_or_default();
        let room = self.limit.saturating_sub(HEAD_BYTES) / entry_bytes;
        let mut entries: Vec<_> = self.entries.drain().collect();
        entries.sort_unstable_by_key(|(key, (_, used))| (*used, *key));
        entries.drain(..entries.len().saturating_sub(room));
        let stored = entries.iter().map(|(key, (vector, _))| (key, vector));
        let bytes = postcard::to_stdvec(&(self.stamp.as_bytes(), stored.collect::<Vec<_>>()));
        self.entries.extend(entries);
        if let Ok(bytes) = bytes {
            // Entries that cannot be written are requested again.
            let _ = replace_file(&file, FileKind::Cache, Some(&bytes));
        }
    }

    fn load(&mut self) {
        if !std::mem::replace(&mut self.is_loaded, true)
            && let Some(file) = self.file.clone()
        {
            self.read(&file);
        }
    }

    /// Adds the entries of the file that are not in memory, as the least recently used ones.
    fn read(&mut self, file: &Path) {
        let bytes = regular_file::read(file, self.limit as u64).ok();
        let stored = bytes.and_then(|bytes| postcard::from_bytes::<StoredCache>(&bytes).ok());
        let Some((_, entries)) = stored.filter(|(stamp, _)| stamp == self.stamp.as_bytes()) else { return };
        let dimensions = self.dimensions().or(entries.first().map(|(_, vector)| vector.dimensions()));
        let is_comparable = |vector: &Vector| Some(vector.dimensions()) == dimensions;
        for (key, vector) in entries.into_iter().filter(|(_, vector)| is_comparable(vector)) {
            self.entries.entry(key).or_insert((vector, 0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(values: &[f32]) -> Vector {
        Vector::of(values).unwrap()
    }

    #[test]
    fn entries_are_read_by_the_next_run() {
        let directory = tempfile::tempdir().unwrap();
        let file = || Some(directory.path().join("v.vectors"));
        let stamp = |name: &str| Digest::of(name.as_bytes());
        let open = |name: &str| Cache::new(file(), stamp(name), 1 << 20);
        let mut first = open("m");
        assert!(first.get("a").is_none());
        first.put("a", &vector(&[1.0, -0.3, 0.0]));
        first.put("b", &vector(&[1.0]));
        // Another process wrote meanwhile.
        let mut second = open("m");
        second.put("c", &vector(&[0.0, 1.0, 0.0]));
        second.save();
        first.save();
        let mut next = open("m");
        assert_eq!(next.get("a"), Some(vector(&[1.0, -0.3, 0.0])));
        assert_eq!(next.get("c"), Some(vector(&[0.0, 1.0, 0.0])));
        assert_eq!(next.get("b"), None, "of other dimensions");
        assert_eq!(open("other").get("a"), None, "of another model");
        let bytes = regular_file::read(&file().unwrap(), 1 << 20).unwrap();
        for end in 0..bytes.len() {
            std::fs::write(file().unwrap(), &bytes[..end]).unwrap();
            let _ = open("m").get("a");
        }
    }

    #[test]
    fn the_most_recently_used_entries_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let file = Some(directory.path().join("v.vectors"));
        let limit = HEAD_BYTES + 2 * (KEY_BYTES + ENTRY_BYTES + 1);
        let mut cache = Cache::new(file, Digest::of(b"m"), limit);
        ["a", "b", "c"].iter().for_each(|text| cache.put(text, &vector(&[1.0])));
        assert!(cache.get("a").is_some());
        cache.save();
        assert!(cache.get("a").is_some() && cache.get("c").is_some());
        assert!(cache.get("b").is_none());
    }
}
