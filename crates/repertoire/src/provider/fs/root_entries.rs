//! What lies directly below a root: listed, or remembered while the root is what it was.
//!
//! Whatever is added to a directory, removed from it or renamed changes the directory's own times. So a root whose
//! stamp is the same has the same entries, on the same terms on which a file whose stamp is the same has the same
//! bytes (`cache`). What is *in* the directories below it is another matter, and is looked at every time.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::cache::is_settled;
use super::manifest;
use super::place::{ROOT_LOCATOR, Root};
use super::safe_dir::{Entries, Entry, Fault, Kind, Stamp};
use super::scan::is_skipped;

/// The most entries that are put into a listing one by one; where more changed it is made anew.
const MAX_AMENDED: usize = 32;

/// What lies directly below a root, as far as a scan cares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RootEntries<'a> {
    /// What the root was like before it was listed, where that is known.
    pub(super) stamp: Option<Stamp>,
    /// The directories that skills are looked for in, sorted.
    pub(super) directories: Vec<Cow<'a, str>>,
    /// What tells each of these from another of the same name, where that is known; otherwise 0, or nothing at all.
    pub(super) inodes: Vec<u64>,
    /// The links that may lead to skills, sorted.
    pub(super) links: Vec<Cow<'a, str>>,
    /// Whether there is a `SKILL.md`.
    pub(super) manifest: RootManifest,
    /// How many entries there are of any kind.
    pub(super) count: usize,
    /// The directories whose names are not UTF-8, approximated.
    pub(super) undecoded: Vec<String>,
    /// Whether there were more entries than the limit.
    pub(super) more: bool,
}

/// Whether there is a `SKILL.md` directly below a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum RootManifest {
    #[default]
    None,
    /// There is another spelling of it.
    Respelled,
    /// There is one.
    Exact,
}

impl RootEntries<'static> {
    /// Lists `root`, at most `limit` entries.
    pub(super) fn list(root: &Root, limit: usize) -> Result<Self, Fault> {
        // Before the listing: what changes during or after it makes the stamp another.
        let stamp = stamp(root);
        Ok(Self { stamp, ..Self::of(root.handle.entries(limit)?) })
    }

    fn of(entries: Entries) -> Self {
        let mut sorted = Self { count: entries.entries.len(), more: entries.more, ..Self::default() };
        let mut directories = Vec::new();
        for Entry { name, decoded, kind, inode } in entries.entries {
            if name == manifest::FILE_NAME {
                sorted.manifest = RootManifest::Exact;
            } else if manifest::is_spelling(&name) && sorted.manifest == RootManifest::None {
                sorted.manifest = RootManifest::Respelled;
            }
            match kind {
                _ if is_skipped(&name) => {}
                Kind::Directory if decoded => directories.push((Cow::Owned(name), inode)),
                Kind::Directory => sorted.undecoded.push(name),
                Kind::Link if decoded => sorted.links.push(Cow::Owned(name)),
                Kind::Link | Kind::File | Kind::Special => {}
            }
        }
        directories.sort_unstable();
        (sorted.directories, sorted.inodes) = directories.into_iter().unzip();
        sorted.links.sort_unstable();
        sorted
    }
}

impl RootEntries<'static> {
    /// Returns these as they are now, where nothing but the entries called `names` came, went or was replaced, and nothing but
    /// what is in those called `touched` changed; `None` where only a listing, of at most `limit` entries, can tell.
    ///
    /// What comes of a change has no stamp: a listing at the same time might have found more, that nobody tells of.
    pub(super) fn amended(
        self: &Arc<Self>,
        root: &Root,
        names: &BTreeSet<&str>,
        touched: &BTreeSet<&str>,
        limit: usize,
    ) -> Option<Arc<Self>> {
        // Close to the limit it matters how many there are that a scan does not care for, and nobody counts those.
        if self.more || self.count + MAX_AMENDED > limit / 2 {
            return None;
        }
        let (mut amended, mut changed) = (Arc::clone(self), 0);
        for name in names.union(touched) {
            if *name == ROOT_LOCATOR || manifest::is_spelling(name) || !is_plain(name) {
                return None;
            }
            let now = match root.handle.stat(name) {
                Ok((Kind::Directory, stamp)) if !is_skipped(name) => Some((Kind::Directory, stamp.inode)),
                Ok((Kind::Link, _)) if !is_skipped(name) => Some((Kind::Link, 0)),
                Ok(_) | Err(Fault::Missing) => None,
                Err(_) => return None,
            };
            let known = self.find(name);
            // A directory that could not be told from another so far need not be from now on; and one that something else is
            // mounted on is told by another number than a listing gives it.
            let is_told = names.contains(name);
            let is_same =
                known.zip(now).is_some_and(|(known, now)| known.0 == now.0 && (known.1 == 0 || !is_told));
            if known != now && !is_same {
                changed += 1;
                // Where letters of either case are the same, what is there may be there under another name.
                if changed > MAX_AMENDED || known.is_none() && amended.has_spelling(name) {
                    return None;
                }
                Arc::make_mut(&mut amended).put(name, now);
            }
        }
        Some(amended)
    }

    /// Returns what kind of entry `name` is, and for a directory what tells it from another.
    fn find(&self, name: &str) -> Option<(Kind, u64)> {
        if let Ok(index) = position(&self.directories, name) {
            return Some((Kind::Directory, self.inodes.get(index).copied().unwrap_or_default()));
        }
        position(&self.links, name).ok().map(|_| (Kind::Link, 0))
    }

    /// Returns whether there is an entry whose name differs from `name` in the case of letters at most.
    fn has_spelling(&self, name: &str) -> bool {
        self.directories.iter().chain(&self.links).any(|other| other.eq_ignore_ascii_case(name))
    }

    /// Makes the entry `name` what it is `now`.
    fn put(&mut self, name: &str, now: Option<(Kind, u64)>) {
        self.stamp = None;
        self.inodes.resize(self.directories.len(), 0);
        if let Ok(index) = position(&self.directories, name) {
            self.directories.remove(index);
            self.inodes.remove(index);
            self.count -= 1;
        } else if let Ok(index) = position(&self.links, name) {
            self.links.remove(index);
            self.count -= 1;
        }
        match now {
            Some((Kind::Directory, inode)) => {
                let index = position(&self.directories, name).unwrap_or_else(|index| index);
                self.directories.insert(index, Cow::Owned(name.to_owned()));
                self.inodes.insert(index, inode);
                self.count += 1;
            }
            Some((Kind::Link, _)) => {
                let index = position(&self.links, name).unwrap_or_else(|index| index);
                self.links.insert(index, Cow::Owned(name.to_owned()));
                self.count += 1;
            }
            _ => {}
        }
    }
}

impl RootEntries<'_> {
    /// Returns whether these are the entries of the root while its stamp is `stamp`.
    pub(super) fn are_those_at(&self, stamp: Option<Stamp>, limit: usize) -> bool {
        stamp.is_some() && self.stamp == stamp && self.count <= limit
    }

    /// Returns whether these may be remembered: a change after `now` would show, and they tell all that a scan cares for.
    pub(super) fn may_be_remembered(&self, now: i64) -> bool {
        let shows = self.stamp.is_some_and(|stamp| stamp.inode != 0 && is_settled(&stamp, now));
        shows && !self.more && self.undecoded.is_empty()
    }
}

/// Returns whether `name` is that of an entry, and in all likelihood the one that a listing gives it: systems that write letters in
/// several ways, or have short names for long ones, may tell of it by another.
fn is_plain(name: &str) -> bool {
    let is_written_once = cfg!(target_os = "linux") || name.is_ascii() && !name.contains('~');
    is_written_once && !name.is_empty() && !name.contains(['/', '\\'])
}

/// Returns where `name` stands in `sorted`, or where it would.
pub(super) fn position(sorted: &[Cow<'_, str>], name: &str) -> Result<usize, usize> {
    sorted.binary_search_by(|other| (**other).cmp(name))
}

/// Returns what `root` is like now; `None` where a directory's times do not tell a change for sure.
pub(super) fn stamp(root: &Root) -> Option<Stamp> {
    if cfg!(unix) { root.handle.stat(".").ok().map(|(_, stamp)| stamp) } else { None }
}
