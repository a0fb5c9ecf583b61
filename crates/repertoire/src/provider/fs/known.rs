//! What the last listing found, and how far the next one may take it over.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use repertoire_model::{Document, Standing};

use super::place::{Home, ROOT_LOCATOR};
use super::root_entries::RootEntries;
use super::safe_dir::Stamp;
use crate::provider::{Changes, Listed, Located, Locator, Problem};

/// A skill that was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) listed: Arc<Listed>,
    /// How it is reached.
    pub(super) home: Home,
    /// What its `SKILL.md` was like when it was read, where that can tell a later change.
    pub(super) stamp: Option<Stamp>,
    /// Whether the stamp was old enough that a later change is sure to change it.
    pub(super) is_settled: bool,
    /// The last good version, where that is in force because the file is broken.
    pub(super) good: Option<Arc<Document>>,
}

impl Found {
    /// Returns whether the next process may take the document for that of the file.
    pub(super) fn may_be_remembered(&self) -> bool {
        self.is_settled && self.stamp.is_some() && self.good.is_none()
    }

    /// Returns the last version of the document that was good.
    pub(super) fn last_good(&self) -> Option<&Arc<Document>> {
        let document = &self.listed.document;
        self.good.as_ref().or_else(|| (document.standing == Standing::Sound).then_some(document))
    }

    /// Returns whether `other`, found later, is sure to be made of the same bytes.
    pub(super) fn has_same_bytes(&self, other: &Self) -> bool {
        self.is_settled && self.stamp.is_some() && self.stamp == other.stamp
    }
}

impl Located for Found {
    fn locator(&self) -> &Locator {
        &self.listed.locator
    }
}

/// What a directory holds besides a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Rest {
    pub(super) problems: Vec<Problem>,
    /// The directories below it that skills are looked for in.
    pub(super) children: Vec<String>,
    /// How many entries were read.
    pub(super) entries: usize,
}

/// What the last listing found.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The number of the listing.
    pub(super) listing: u64,
    /// The root without links.
    pub(super) resolved: PathBuf,
    /// What the root was like.
    pub(super) stamp: Option<Stamp>,
    /// What lay directly below the root, where that was listed.
    pub(super) entries: Option<Arc<RootEntries<'static>>>,
    /// What the root was like when its entries were listed, if that is sure to tell a later change.
    pub(super) entries_stamp: Option<Stamp>,
    /// Sorted by locator.
    pub(super) skills: Vec<Arc<Found>>,
    /// How many of these the next process may take over.
    pub(super) to_remember: usize,
    /// The directories that are no skill or hold more than one, by their paths.
    pub(super) rests: BTreeMap<String, Rest>,
}

impl Known {
    /// Returns the skill at `locator`.
    pub(super) fn find(&self, locator: &str) -> Option<&Arc<Found>> {
        let found = self.skills.binary_search_by(|skill| skill.listed.locator.as_str().cmp(locator)).ok()?;
        self.skills.get(found)
    }

    /// Returns whether the root is still the very same directory at `stamp`.
    pub(super) fn is_rooted_at(&self, stamp: Option<Stamp>) -> bool {
        let identity = |stamp: Option<Stamp>| stamp.map(|stamp| (stamp.device, stamp.inode));
        identity(self.stamp) == identity(stamp)
    }
}

/// How far a directory may be taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// It is what it was.
    Whole,
    /// It is what it was if its `SKILL.md` has the same stamp.
    Stamp,
    /// It was touched.
    Nothing,
}

/// What a listing is told about changes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Told<'a> {
    /// Anything may have changed.
    Nothing,
    /// These changed for sure, and anything else may have.
    AtLeast(&'a Changes),
    /// These changed and nothing else.
    Exactly(&'a Changes),
}

impl<'a> Told<'a> {
    pub(super) fn changes(self) -> Option<&'a Changes> {
        match self {
            Self::Nothing => None,
            Self::AtLeast(changes) | Self::Exactly(changes) => Some(changes),
        }
    }
}

/// Which of the entries of the root are those that were there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RootChange {
    /// All of them.
    None,
    /// All but those that were told of.
    Told,
    /// Those that cannot be told from what they were.
    Some,
}

/// What a scan may take over from the one before.
#[derive(Debug)]
pub(super) struct Memory<'a> {
    known: &'a Known,
    told: Told<'a>,
    change: RootChange,
    /// The directories below the root, sorted.
    directories: &'a [Cow<'a, str>],
    /// What is known of each of them.
    slots: Vec<Slot<'a>>,
}

/// What is known of a directory below the root.
#[derive(Debug, Clone, Copy)]
struct Slot<'a> {
    found: Option<&'a Arc<Found>>,
    is_same: bool,
}

/// What is known of a directory, and how far that may be taken over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recollection<'a> {
    pub(super) found: Option<&'a Arc<Found>>,
    pub(super) trust: Trust,
}

impl Recollection<'_> {
    /// Nothing is known.
    pub(super) const NONE: Self = Self { found: None, trust: Trust::Nothing };
}

impl<'a> Memory<'a> {
    /// Returns what of `known` a scan may take over, that was `told` what changed, of a root that holds `entries`, of which as
    /// many are new as `change` says.
    pub(super) fn new(
        known: &'a Known,
        told: Told<'a>,
        entries: &'a RootEntries<'a>,
        change: RootChange,
    ) -> Self {
        let is_exact = matches!(told, Told::Exactly(_));
        let mut skills = known.skills.iter().peekable();
        let mut before = known.entries.iter().flat_map(|e| e.directories.iter().zip(&e.inodes)).peekable();
        let slots = entries.directories.iter().enumerate().map(|(index, name)| {
            // All three are sorted, so that one walk beside the other finds what belongs together.
            let found = seek(&mut skills, |skill| skill.listed.locator.as_str().cmp(name));
            let is_same = change != RootChange::Some
                || is_exact && {
                    let inode = entries.inodes.get(index).copied().unwrap_or_default();
                    let known = seek(&mut before, |(known, _)| (***known).cmp(name));
                    inode != 0 && known.is_some_and(|(_, known)| *known == inode)
                };
            Slot { found, is_same }
        });
        let slots = slots.collect();
        Self { known, told, change, directories: &entries.directories, slots }
    }

    /// Returns what is known of the directory `relative`, one below the root, which is the one at `position` there.
    pub(super) fn at(&self, position: usize, relative: &str) -> Recollection<'a> {
        let Slot { found, is_same } =
            self.slots.get(position).copied().unwrap_or(Slot { found: None, is_same: false });
        Recollection { found, trust: self.trust(relative, is_same) }
    }

    /// Returns what is known of the directory `relative`, further down, or of the root itself.
    pub(super) fn of(&self, relative: &str) -> Recollection<'a> {
        Recollection {
            found: self.known.find(relative),
            trust: self.trust(relative, self.is_below_same(relative)),
        }
    }

    /// Returns what is known of the link `relative` below the root.
    pub(super) fn of_link(&self, relative: &str) -> Recollection<'a> {
        // It may lead there by way of another entry; and one that led nowhere may now, by way of a skill.
        let found = self.known.find(relative);
        let is_same = self.change == RootChange::None && found.is_some();
        Recollection { found, trust: self.trust(relative, is_same) }
    }

    /// Returns what the directory `relative` held besides a skill; `None` if it was not there.
    pub(super) fn rest(&self, relative: &str, found: Option<&Arc<Found>>) -> Option<Rest> {
        self.known.rests.get(relative).cloned().or_else(|| found.map(|_| Rest::default()))
    }

    /// Returns whether `relative` lies below an entry of the root that is the one it was.
    fn is_below_same(&self, relative: &str) -> bool {
        self.change != RootChange::Some || {
            let top = relative.split('/').next().unwrap_or_default();
            let slot = self.directories.binary_search_by(|name| (**name).cmp(top));
            slot.is_ok_and(|slot| self.slots.get(slot).is_some_and(|slot| slot.is_same))
        }
    }

    fn trust(&self, relative: &str, is_same: bool) -> Trust {
        let Some(changes) = self.told.changes() else { return Trust::Stamp };
        let is_root = relative == ROOT_LOCATOR;
        if changes.touch(relative) || (is_root && self.change == RootChange::Some) {
            return Trust::Nothing;
        }
        let mut above = relative.match_indices('/').map(|(end, _)| &relative[..end]);
        match self.told {
            Told::Exactly(_) if is_same && !above.any(|above| changes.touch(above)) => Trust::Whole,
            _ => Trust::Stamp,
        }
    }
}

/// Moves `sorted` on to the item that `compare` finds equal, if there is one.
fn seek<I: Iterator>(
    sorted: &mut std::iter::Peekable<I>,
    compare: impl Fn(&I::Item) -> std::cmp::Ordering,
) -> Option<I::Item> {
    while sorted.next_if(|item| compare(item).is_lt()).is_some() {}
    sorted.next_if(|item| compare(item).is_eq())
}
