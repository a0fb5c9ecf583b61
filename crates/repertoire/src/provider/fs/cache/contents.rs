//! What a cache holds, and what it depends on.

use std::ops::Range;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use repertoire_model::validate::RULES;
use repertoire_model::{Document, FINGERPRINT, RuleId, checksum};

use super::super::FsOptions;
use super::super::root_entries::{RootEntries, RootManifest};
use super::super::safe_dir::Stamp;
use super::codec::{Reader, Writer};
use super::document;
use super::facts::Facts;
use super::head::{FORMAT, Head};

/// A file that changed less than this before it was read may change again without its times showing it.
const RACY_NANOSECONDS: i64 = 2_000_000_000;

/// The least bytes of a skill in the index, without its texts.
const SLOT_BYTES: usize = 48;

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

/// One skill of a cache; where its parts stand in the texts and in the blocks.
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
    /// What is remembered of each skill.
    blocks: Vec<u8>,
    /// The texts of the index.
    texts: String,
    rules: Vec<RuleId>,
    root: Option<RootSlot>,
    /// Sorted by path.
    slots: Vec<Slot>,
}

/// What a cache remembers of the root itself; where names stand in the texts.
#[derive(Debug)]
struct RootSlot {
    stamp: Stamp,
    count: usize,
    manifest: RootManifest,
    directories: Vec<Range<usize>>,
    links: Vec<Range<usize>>,
}

/// One skill of a cache.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Remembered<'a> {
    cache: &'a Cache,
    slot: &'a Slot,
}

impl Cache {
    /// Returns the cache whose head is `head`, if it is whole and that of `key`. Its parts are read side by side.
    pub(super) fn assemble(
        head: &Head,
        index: impl FnOnce() -> Option<Vec<u8>> + Send,
        blocks: impl FnOnce() -> Option<Vec<u8>> + Send,
        key: &str,
    ) -> Option<Self> {
        let index = || {
            let index = index().filter(|index| checksum(index) == head.index_checksum)?;
            Contents::decode(&index, key)
        };
        let blocks = || blocks().filter(|blocks| checksum(blocks) == head.blocks_checksum);
        let (contents, blocks) =
            if head.is_large() { rayon::join(index, blocks) } else { (index(), blocks()) };
        let (Contents { texts, rules, root, slots, end }, blocks) = (contents?, blocks?);
        (end == blocks.len()).then_some(Self { blocks, texts, rules, root, slots })
    }

    /// Returns how many skills it remembers.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns what the root was like when its entries were listed.
    pub(crate) fn root_stamp(&self) -> Option<Stamp> {
        self.root.as_ref().map(|root| root.stamp)
    }

    /// Returns what lay directly below the root.
    pub(crate) fn root_entries(&self) -> Option<RootEntries<'_>> {
        let RootSlot { stamp, count, manifest, directories, links } = self.root.as_ref()?;
        let names = |names: &[Range<usize>]| names.iter().map(|name| self.text(name).into()).collect();
        Some(RootEntries {
            stamp: Some(*stamp),
            count: *count,
            manifest: *manifest,
            directories: names(directories),
            links: names(links),
            ..RootEntries::default()
        })
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
    #[cfg(test)]
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, Remembered<'_>)> {
        self.slots.iter().map(|slot| (self.text(&slot.path), Remembered { cache: self, slot }))
    }

    fn text(&self, range: &Range<usize>) -> &str {
        // These ranges were found to hold texts when the cache was read.
        self.texts.get(range.clone()).unwrap_or_default()
    }

    fn block(&self, range: &Range<usize>) -> &[u8] {
        self.blocks.get(range.clone()).unwrap_or_default()
    }
}

/// What the index of a cache says.
struct Contents {
    texts: String,
    rules: Vec<RuleId>,
    root: Option<RootSlot>,
    slots: Vec<Slot>,
    /// Where the blocks end.
    end: usize,
}

impl Contents {
    fn decode(index: &[u8], key: &str) -> Option<Self> {
        let mut index = Reader::new(index)?;
        if index.text()? != key {
            return None;
        }
        let rules = index.list(|index| RuleId::parse(index.text()?))?;
        let root = if index.bool()? { Some(root(&mut index)?) } else { None };
        let mut slots: Vec<Slot> = Vec::with_capacity(index.remaining() / SLOT_BYTES);
        let mut end = 0;
        while !index.is_at_end() {
            slots.push(slot(&mut index, &mut end)?);
        }
        let texts = index.texts().to_owned();
        let sorted = slots.is_sorted_by(|a, b| texts.get(a.path.clone()) < texts.get(b.path.clone()));
        sorted.then_some(Self { texts, rules, root, slots, end })
    }
}

/// Reads what the `index` says about the root.
fn root(index: &mut Reader<'_>) -> Option<RootSlot> {
    Some(RootSlot {
        stamp: stamp(index)?,
        count: index.usize()?,
        manifest: match index.u8()? {
            0 => RootManifest::None,
            1 => RootManifest::Respelled,
            2 => RootManifest::Exact,
            _ => return None,
        },
        directories: index.list(Reader::text_range)?,
        links: index.list(Reader::text_range)?,
    })
}

fn stamp(index: &mut Reader<'_>) -> Option<Stamp> {
    Some(Stamp {
        size: index.u64()?,
        modified: index.i64()?,
        changed: index.i64()?,
        inode: index.u64()?,
        device: index.u64()?,
        mode: index.u32()?,
    })
}

/// Reads a skill from the `index`; its blocks begin at `end`, which becomes where they end.
fn slot(index: &mut Reader<'_>, end: &mut usize) -> Option<Slot> {
    let (path, manifest_file) = (index.text_range()?, index.text_range()?);
    let stamp = stamp(index)?;
    let mut block = || {
        let start = *end;
        *end = start.checked_add(index.number()?)?;
        Some(start..*end)
    };
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
    /// Returns an empty cache for `key` and a root that holds `entries`, where these may be remembered.
    pub(crate) fn new(key: &str, entries: Option<&RootEntries<'_>>) -> Self {
        let mut index = Writer::default();
        index.text(key);
        index.count(RULES.len());
        for rule in RULES {
            index.text(rule.name);
        }
        let mut builder = Self { index, blocks: Vec::new() };
        builder.root(entries);
        builder
    }

    fn root(&mut self, entries: Option<&RootEntries<'_>>) {
        let remembered = entries.and_then(|entries| Some((entries, entries.stamp?)));
        self.index.u8(u8::from(remembered.is_some()));
        let Some((entries, stamp)) = remembered else { return };
        self.stamp(&stamp);
        self.index.u64(entries.count as u64);
        self.index.u8(match entries.manifest {
            RootManifest::None => 0,
            RootManifest::Respelled => 1,
            RootManifest::Exact => 2,
        });
        self.index.list_of_texts(&entries.directories);
        self.index.list_of_texts(&entries.links);
    }

    fn stamp(&mut self, stamp: &Stamp) {
        let Stamp { size, modified, changed, inode, device, mode } = *stamp;
        self.index.u64(size);
        self.index.i64(modified);
        self.index.i64(changed);
        self.index.u64(inode);
        self.index.u64(device);
        self.index.u32(mode);
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
        self.index.text(path);
        self.index.text(manifest_file);
        self.stamp(stamp);
        for block in [&facts.encode(), document] {
            self.index.count(block.len());
            self.blocks.extend_from_slice(block);
        }
    }

    /// Returns the bytes of the file.
    pub(crate) fn finish(self) -> Vec<u8> {
        let index = self.index.finish();
        let mut bytes = Head::of(&index, &self.blocks).encode();
        bytes.reserve_exact(index.len() + self.blocks.len());
        bytes.extend_from_slice(&index);
        bytes.extend_from_slice(&self.blocks);
        bytes
    }
}
