//! Directions that were asked for before, kept in a file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use repertoire_model::Digest;
use repertoire_model::search::Vector;

use super::wire::MAX_DIMENSIONS;
use crate::stored;

const MAGIC: &[u8; 8] = b"REPVEC01";
/// The bytes of a key.
const KEY_BYTES: usize = 32;
/// The bytes before the entries: the magic, the stamp, the dimensions.
const HEAD_BYTES: usize = 8 + KEY_BYTES + 4;
/// The steps that the largest value of a direction has.
const STEPS: f32 = 127.0;

/// Directions by the digests of their texts, those that were used last at the end.
///
/// The file belongs to one server and model: what another wrote is not read.
pub(super) struct Cache {
    file: Option<PathBuf>,
    /// What tells the server and model from others.
    stamp: Digest,
    /// The most bytes of the file.
    limit: usize,
    /// Of how many dimensions all are; 0 while there are none.
    dimensions: usize,
    /// What a text means, and when that was last of use.
    entries: HashMap<[u8; KEY_BYTES], (Box<[i8]>, u64)>,
    clock: u64,
    is_loaded: bool,
    is_behind: bool,
}

impl Cache {
    pub(super) fn new(file: Option<PathBuf>, stamp: Digest, limit: usize) -> Self {
        let entries = HashMap::new();
        Self { file, stamp, limit, dimensions: 0, entries, clock: 0, is_loaded: false, is_behind: false }
    }

    /// Returns of how many dimensions all directions are, if there are any.
    pub(super) fn dimensions(&self) -> Option<usize> {
        (self.dimensions > 0).then_some(self.dimensions)
    }

    /// Returns what `text` means; `None` where that is not known.
    pub(super) fn get(&mut self, text: &str) -> Option<Vector> {
        self.load();
        self.clock += 1;
        let (steps, used) = self.entries.get_mut(Digest::of(text.as_bytes()).as_bytes())?;
        *used = self.clock;
        Vector::of(&steps.iter().map(|step| f32::from(*step)).collect::<Vec<f32>>())
    }

    /// Keeps what `text` means; a direction of other dimensions is not kept.
    pub(super) fn put(&mut self, text: &str, vector: &Vector) {
        self.load();
        if self.dimensions == 0 {
            self.dimensions = vector.dimensions();
        }
        if vector.dimensions() != self.dimensions {
            return;
        }
        let values = vector.values();
        let largest = values.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
        let steps = values.iter().map(|value| (value / largest * STEPS).round() as i8).collect();
        self.clock += 1;
        self.entries.insert(*Digest::of(text.as_bytes()).as_bytes(), (steps, self.clock));
        self.is_behind = true;
    }

    /// Forgets everything: the server gives others now.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.dimensions = 0;
        self.is_loaded = true;
        // The next to save would take the file in again.
        self.file.iter().for_each(|file| {
            let _ = std::fs::remove_file(file);
        });
    }

    /// Writes what is new to the file, with what other processes wrote meanwhile.
    pub(super) fn save(&mut self) {
        let Some(file) = self.file.clone() else { return };
        if !std::mem::take(&mut self.is_behind) {
            return;
        }
        self.take_in(&file);
        let room = self.limit.saturating_sub(HEAD_BYTES) / (KEY_BYTES + self.dimensions).max(1);
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_unstable_by_key(|(key, (_, used))| (*used, **key));
        let surplus = entries.len().saturating_sub(room);
        let mut bytes =
            Vec::with_capacity(HEAD_BYTES + (entries.len() - surplus) * (KEY_BYTES + self.dimensions));
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(self.stamp.as_bytes());
        bytes.extend_from_slice(&(self.dimensions as u32).to_le_bytes());
        let mut gone = Vec::new();
        for (index, (key, (steps, _))) in entries.into_iter().enumerate() {
            if index < surplus {
                gone.push(*key);
                continue;
            }
            bytes.extend_from_slice(key);
            bytes.extend(steps.iter().map(|step| step.cast_unsigned()));
        }
        gone.iter().for_each(|key| {
            self.entries.remove(key);
        });
        if let (Some(directory), Some(name)) =
            (file.parent(), file.file_name().and_then(|name| name.to_str()))
        {
            // What cannot be kept is asked for again.
            let _ = stored::replace(directory, name, &bytes);
        }
    }

    fn load(&mut self) {
        if !std::mem::replace(&mut self.is_loaded, true)
            && let Some(file) = self.file.clone()
        {
            self.take_in(&file);
        }
    }

    /// Adds what the file has and this has not, as older than all that this has.
    fn take_in(&mut self, file: &Path) {
        let Some(bytes) = stored::read(file, self.limit) else { return };
        let Some(rest) = bytes.strip_prefix(MAGIC).and_then(|rest| rest.strip_prefix(self.stamp.as_bytes()))
        else {
            return;
        };
        let Some((dimensions, rows)) = rest.split_first_chunk::<4>() else { return };
        let dimensions = u32::from_le_bytes(*dimensions) as usize;
        let is_whole =
            (1..=MAX_DIMENSIONS).contains(&dimensions) && rows.len().is_multiple_of(KEY_BYTES + dimensions);
        if !is_whole || (self.dimensions != 0 && self.dimensions != dimensions) {
            return;
        }
        self.dimensions = dimensions;
        for row in rows.chunks_exact(KEY_BYTES + dimensions) {
            let Some((key, steps)) = row.split_first_chunk::<KEY_BYTES>() else { continue };
            let steps = || (steps.iter().map(|step| step.cast_signed()).collect(), 0);
            self.entries.entry(*key).or_insert_with(steps);
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
    fn what_was_kept_is_there_in_the_next_run() {
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
        let bytes = stored::read(&file().unwrap(), 1 << 20).unwrap();
        for end in 0..bytes.len() {
            std::fs::write(file().unwrap(), &bytes[..end]).unwrap();
            let _ = open("m").get("a");
        }
    }

    #[test]
    fn what_was_used_last_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let file = Some(directory.path().join("v.vectors"));
        let limit = HEAD_BYTES + 2 * (KEY_BYTES + 1);
        let mut cache = Cache::new(file, Digest::of(b"m"), limit);
        ["a", "b", "c"].iter().for_each(|text| cache.put(text, &vector(&[1.0])));
        assert!(cache.get("a").is_some());
        cache.save();
        assert!(cache.get("a").is_some() && cache.get("c").is_some());
        assert!(cache.get("b").is_none());
    }
}
