//! What a cache file holds, and what it depends on.

use std::ops::Range;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use repertoire_model::validate::RULES;
use repertoire_model::{Document, FINGERPRINT, RuleId};

use super::super::FsOptions;
use super::super::safe_dir::Stamp;
use super::codec::{Reader, Writer};
use super::document;
use super::facts::Facts;

/// The first bytes of every cache file.
pub(super) const MAGIC: &[u8; 8] = b"REPCACHE";
/// The version of everything after the magic.
pub(super) const FORMAT: u32 = 2;
/// A file that changed less than this before it was read may change again without its times showing it.
const RACY_NANOSECONDS: i64 = 2_000_000_000;

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

/// One skill of a cache; where its parts stand in the bytes.
#[derive(Debug, Clone)]
struct Slot {
    path: Range<usize>,
    manifest_file: Range<usize>,
    stamp: Stamp,
    facts: Range<usize>,
    document: Range<usize>,
}

/// A cache that was read and found whole.
#[derive(Debug)]
pub(crate) struct Cache {
    bytes: Vec<u8>,
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
        let mut reader = Reader::new(&bytes);
        if reader.array()? != *MAGIC || reader.u32()? != FORMAT {
            return None;
        }
        let expected = reader.u64()?;
        if checksum(bytes.get(reader.position()..)?) != expected || reader.text()? != key {
            return None;
        }
        let count = reader.count()?;
        let rules = (0..count).map(|_| RuleId::parse(reader.text()?)).collect::<Option<Vec<_>>>()?;
        let count = reader.count()?;
        let mut slots: Vec<Slot> = Vec::with_capacity(count);
        for _ in 0..count {
            let path = text_range(&mut reader)?;
            let manifest_file = text_range(&mut reader)?;
            let stamp = Stamp {
                size: reader.u64()?,
                modified: reader.i64()?,
                changed: reader.i64()?,
                inode: reader.u64()?,
                device: reader.u64()?,
                mode: reader.u32()?,
            };
            let (facts, document) = (range(&mut reader)?, range(&mut reader)?);
            slots.push(Slot { path, manifest_file, stamp, facts, document });
        }
        let sorted = slots.is_sorted_by(|a, b| bytes.get(a.path.clone()) < bytes.get(b.path.clone()));
        (reader.is_at_end() && sorted).then_some(Self { bytes, rules, slots })
    }

    /// Returns how many skills it remembers.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns what is remembered of the skill at `path`.
    pub(crate) fn find(&self, path: &str) -> Option<Remembered<'_>> {
        let path = path.as_bytes();
        let found = self.slots.binary_search_by(|slot| self.block(&slot.path).cmp(path)).ok()?;
        self.slots.get(found).map(|slot| Remembered { cache: self, slot })
    }

    /// Returns the same as [`Cache::find`], sooner if the skill is the one at `position`.
    pub(crate) fn find_at(&self, position: usize, path: &str) -> Option<Remembered<'_>> {
        match self.slots.get(position) {
            Some(slot) if self.block(&slot.path) == path.as_bytes() => Some(Remembered { cache: self, slot }),
            _ => self.find(path),
        }
    }

    /// Returns every skill it remembers, with its path.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, Remembered<'_>)> {
        self.slots.iter().map(|slot| (self.text(&slot.path), Remembered { cache: self, slot }))
    }

    fn text(&self, range: &Range<usize>) -> &str {
        // These ranges were found to hold texts when the cache was read.
        std::str::from_utf8(self.block(range)).unwrap_or_default()
    }

    fn block(&self, range: &Range<usize>) -> &[u8] {
        self.bytes.get(range.clone()).unwrap_or_default()
    }
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
        let mut reader = Reader::new(self.cache.block(&self.slot.document));
        document::decode(&mut reader, &self.cache.rules).filter(|_| reader.is_at_end())
    }

    /// Returns what else is known about it.
    pub(crate) fn facts(&self) -> Facts {
        Facts::decode(self.cache.block(&self.slot.facts)).unwrap_or_default()
    }
}

fn range(reader: &mut Reader<'_>) -> Option<Range<usize>> {
    let length = reader.block()?.len();
    Some(reader.position() - length..reader.position())
}

fn text_range(reader: &mut Reader<'_>) -> Option<Range<usize>> {
    let length = reader.text()?.len();
    Some(reader.position() - length..reader.position())
}

/// Writes a new cache; skills are added in order of their paths.
#[derive(Debug)]
pub(crate) struct Builder {
    head: Writer,
    count: usize,
    body: Writer,
}

impl Builder {
    /// Returns an empty cache for `key`.
    pub(crate) fn new(key: &str) -> Self {
        let mut head = Writer::default();
        head.text(key);
        head.count(RULES.len());
        for rule in RULES {
            head.text(rule.name);
        }
        Self { head, count: 0, body: Writer::default() }
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
        self.slot(path, manifest_file, stamp, facts);
        let mut writer = Writer::default();
        document::encode(document, &mut writer);
        self.body.block(&writer.bytes);
    }

    /// Adds a skill as it is remembered, with other facts; its document is not even decoded.
    pub(crate) fn keep(&mut self, path: &str, remembered: &Remembered<'_>, facts: &Facts) {
        self.slot(path, remembered.manifest_file(), remembered.stamp(), facts);
        self.body.block(remembered.cache.block(&remembered.slot.document));
    }

    fn slot(&mut self, path: &str, manifest_file: &str, stamp: &Stamp, facts: &Facts) {
        let Stamp { size, modified, changed, inode, device, mode } = *stamp;
        self.count += 1;
        self.body.text(path);
        self.body.text(manifest_file);
        self.body.u64(size);
        self.body.i64(modified);
        self.body.i64(changed);
        self.body.u64(inode);
        self.body.u64(device);
        self.body.u32(mode);
        let mut writer = Writer::default();
        facts.encode(&mut writer);
        self.body.block(&writer.bytes);
    }

    /// Returns the bytes of the file.
    pub(crate) fn finish(self) -> Vec<u8> {
        let mut payload = self.head;
        payload.count(self.count);
        payload.bytes.extend_from_slice(&self.body.bytes);
        let mut bytes = Vec::with_capacity(payload.bytes.len() + 64);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&FORMAT.to_le_bytes());
        bytes.extend_from_slice(&checksum(&payload.bytes).to_le_bytes());
        bytes.extend_from_slice(&payload.bytes);
        bytes
    }
}
