//! What a cache file holds, and what it depends on.

use std::ops::Range;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use repertoire_model::validate::RULES;
use repertoire_model::{Document, FINGERPRINT, RuleId};

use super::super::FsOptions;
use super::super::safe_dir::Stamp;
use super::codec::{Reader, Take, Writer};
use super::document;
use super::facts::Facts;

/// The first bytes of every cache file.
pub(super) const MAGIC: &[u8; 8] = b"REPCACHE";
/// The version of everything after the magic.
pub(super) const FORMAT: u32 = 3;
/// A file that changed less than this before it was read may change again without its times showing it.
const RACY_NANOSECONDS: i64 = 2_000_000_000;

/// The bytes of a skill in the index, without its texts.
const SLOT_BYTES: usize = 60;

/// Returns the time now, as in a [`Stamp`].
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Returns whether a change after `now` is sure to change the stamp.
pub(crate) fn is_settled(stamp: &Stamp, now: i64) -> bool {
    stamp.modified.max(stamp.changed) < now.saturating_sub(RACY_NANOSECONDS)
}

/// Returns what the cache of `resolved`, the root without links, depends on.
pub(crate) fn key(options: &FsOptions, resolved: &Path) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let (policy, cap) = (&options.policy, options.caps.manifest_bytes);
    format!("{FORMAT}\n{version}\n{FINGERPRINT}\n{policy:?}\n{cap}\n{}", resolved.to_string_lossy())
}

/// Returns a checksum of `bytes` that any change within eight bytes in a row is sure to change.
///
/// It guards against damage, not against whoever may write to the directory: they could replace the documents as well.
/// Four lanes keep the processor busy, so that a cache of megabytes costs next to nothing to verify.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let mix = |lane: u64, word: u64| (lane ^ word).wrapping_mul(ODD).rotate_left(29);
    let mut lanes = [bytes.len() as u64, 1, 2, 3];
    let mut blocks = bytes.chunks_exact(32);
    let mut take = |block: &[u8]| {
        for (lane, word) in lanes.iter_mut().zip(block.chunks_exact(8)) {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(word);
            *lane = mix(*lane, u64::from_le_bytes(bytes));
        }
    };
    blocks.by_ref().for_each(&mut take);
    let mut last = [0; 32];
    last[..blocks.remainder().len()].copy_from_slice(blocks.remainder());
    take(&last);
    lanes.into_iter().fold(0, mix)
}

/// One skill of a cache; where its parts stand in the texts and in the bytes.
#[derive(Debug, Clone)]
struct Slot {
    path: Range<usize>,
    manifest_file: Range<usize>,
    stamp: Stamp,
    facts: Range<usize>,
    document: Range<usize>,
}

/// A cache that was read and found whole.
///
/// The file is an index of all skills and then, one behind the other, what is remembered of each.
#[derive(Debug)]
pub(crate) struct Cache {
    bytes: Vec<u8>,
    /// The texts of the index.
    texts: String,
    rules: Vec<RuleId>,
    /// Sorted by path.
    slots: Vec<Slot>,
}

/// One skill of a cache.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Remembered<'a> {
    cache: &'a Cache,
    slot: &'a Slot,
}

impl Cache {
    /// Returns the cache in `bytes` if it is whole and that of `key`.
    pub(crate) fn decode(bytes: Vec<u8>, key: &str) -> Option<Self> {
        let mut file = Take::new(&bytes);
        if file.array()? != *MAGIC || u32::from_le_bytes(file.array()?) != FORMAT {
            return None;
        }
        let expected = u64::from_le_bytes(file.array()?);
        if checksum(bytes.get(file.position()..)?) != expected {
            return None;
        }
        let length = usize::try_from(u32::from_le_bytes(file.array()?)).ok()?;
        let mut index = Reader::new(file.take(length)?)?;
        if index.text()? != key {
            return None;
        }
        let count = index.count()?;
        let rules = (0..count).map(|_| RuleId::parse(index.text()?)).collect::<Option<Vec<_>>>()?;
        let mut slots: Vec<Slot> = Vec::with_capacity(index.remaining() / SLOT_BYTES);
        while !index.is_at_end() {
            slots.push(slot(&mut index, &mut file)?);
        }
        let texts = index.texts().to_owned();
        let sorted = slots.is_sorted_by(|a, b| texts.get(a.path.clone()) < texts.get(b.path.clone()));
        (file.is_at_end() && sorted).then_some(Self { bytes, texts, rules, slots })
    }

    /// Returns how many skills it remembers.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns what is remembered of the skill at `path`.
    pub(crate) fn find(&self, path: &str) -> Option<Remembered<'_>> {
        let found = self.slots.binary_search_by(|slot| self.text(&slot.path).cmp(path)).ok()?;
        self.slots.get(found).map(|slot| Remembered { cache: self, slot })
    }

    /// Returns the same as [`Cache::find`], sooner if the skill is the one at `position`.
    pub(crate) fn find_at(&self, position: usize, path: &str) -> Option<Remembered<'_>> {
        match self.slots.get(position) {
            Some(slot) if self.text(&slot.path) == path => Some(Remembered { cache: self, slot }),
            _ => self.find(path),
        }
    }

    /// Returns every skill it remembers, with its path.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, Remembered<'_>)> {
        self.slots.iter().map(|slot| (self.text(&slot.path), Remembered { cache: self, slot }))
    }

    fn text(&self, range: &Range<usize>) -> &str {
        // These ranges were found to hold texts when the cache was read.
        self.texts.get(range.clone()).unwrap_or_default()
    }

    fn block(&self, range: &Range<usize>) -> &[u8] {
        self.bytes.get(range.clone()).unwrap_or_default()
    }
}

/// Reads a skill from the `index`, and passes over what the `file` remembers of it.
fn slot(index: &mut Reader<'_>, file: &mut Take<'_>) -> Option<Slot> {
    let (path, manifest_file) = (index.text_range()?, index.text_range()?);
    let stamp = Stamp {
        size: index.u64()?,
        modified: index.i64()?,
        changed: index.i64()?,
        inode: index.u64()?,
        device: index.u64()?,
        mode: index.u32()?,
    };
    let mut block = || file.range(usize::try_from(index.u32()?).ok()?);
    let (facts, document) = (block()?, block()?);
    Some(Slot { path, manifest_file, stamp, facts, document })
}

impl<'a> Remembered<'a> {
    /// Returns how the `SKILL.md` is spelled.
    pub(crate) fn manifest_file(&self) -> &'a str {
        self.cache.text(&self.slot.manifest_file)
    }

    /// Returns what the `SKILL.md` was like.
    pub(crate) fn stamp(&self) -> &'a Stamp {
        &self.slot.stamp
    }

    /// Returns its document.
    pub(crate) fn document(&self) -> Option<Document> {
        document::decode(self.cache.block(&self.slot.document), &self.cache.rules)
    }

    /// Returns what else is known about it.
    pub(crate) fn facts(&self) -> Facts {
        Facts::decode(self.cache.block(&self.slot.facts)).unwrap_or_default()
    }
}

/// Writes a new cache; skills are added in order of their paths.
#[derive(Debug)]
pub(crate) struct Builder {
    index: Writer,
    blocks: Vec<u8>,
}

impl Builder {
    /// Returns an empty cache for `key`.
    pub(crate) fn new(key: &str) -> Self {
        let mut index = Writer::default();
        index.text(key);
        index.count(RULES.len());
        for rule in RULES {
            index.text(rule.name);
        }
        Self { index, blocks: Vec::new() }
    }

    /// Adds a skill.
    pub(crate) fn add(
        &mut self,
        path: &str,
        manifest_file: &str,
        stamp: &Stamp,
        facts: &Facts,
        document: &Document,
    ) {
        self.slot(path, manifest_file, stamp, facts, &document::encode(document));
    }

    /// Adds a skill as it is remembered, with other facts; its document is not even decoded.
    pub(crate) fn keep(&mut self, path: &str, remembered: &Remembered<'_>, facts: &Facts) {
        let document = remembered.cache.block(&remembered.slot.document);
        self.slot(path, remembered.manifest_file(), remembered.stamp(), facts, document);
    }

    fn slot(&mut self, path: &str, manifest_file: &str, stamp: &Stamp, facts: &Facts, document: &[u8]) {
        let Stamp { size, modified, changed, inode, device, mode } = *stamp;
        self.index.text(path);
        self.index.text(manifest_file);
        self.index.u64(size);
        self.index.i64(modified);
        self.index.i64(changed);
        self.index.u64(inode);
        self.index.u64(device);
        self.index.u32(mode);
        for block in [&facts.encode(), document] {
            self.index.count(block.len());
            self.blocks.extend_from_slice(block);
        }
    }

    /// Returns the bytes of the file.
    pub(crate) fn finish(self) -> Vec<u8> {
        let index = self.index.finish();
        let mut payload = Vec::with_capacity(size_of::<u32>() + index.len() + self.blocks.len());
        payload.extend_from_slice(&u32::try_from(index.len()).unwrap_or(u32::MAX).to_le_bytes());
        payload.extend_from_slice(&index);
        payload.extend_from_slice(&self.blocks);
        sealed(&payload)
    }
}

/// Returns a file that holds `payload`.
pub(super) fn sealed(payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(payload.len() + 32);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&FORMAT.to_le_bytes());
    bytes.extend_from_slice(&checksum(payload).to_le_bytes());
    bytes.extend_from_slice(payload);
    bytes
}
