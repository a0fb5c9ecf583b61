//! What changed in a source, and where that shows.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::Locator;

/// What a provider is told may have changed since its last listing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Whether entries of the source itself came or went, and nobody knows which; or whether the source as a whole is another.
    pub root: bool,
    /// The names of the entries of the source itself that came, went or were replaced, where it is known which.
    ///
    /// What they are now is found out by looking at them and at no others.
    pub entries: BTreeSet<String>,
    /// The skills in whose directories something was touched.
    ///
    /// These are read again whatever their times say. What is no skill (any more) does no harm.
    pub skills: BTreeSet<Locator>,
}

impl Changes {
    /// Returns whether nothing may have changed.
    pub fn is_empty(&self) -> bool {
        !self.root && self.entries.is_empty() && self.skills.is_empty()
    }

    /// Returns whether the skill or entry at `locator` is among what may have changed.
    pub(crate) fn touch(&self, locator: &str) -> bool {
        self.skills.contains(locator) || self.entries.contains(locator)
    }

    /// Adds what `other` tells of.
    pub fn merge(&mut self, other: Self) {
        self.root |= other.root;
        self.entries.extend(other.entries);
        self.skills.extend(other.skills);
    }
}

/// A directory whose entries tell of changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchPoint {
    /// The directory, links resolved.
    pub directory: Arc<Path>,
    /// What a change of its entries is about.
    pub subject: Subject,
}

/// What a change in a directory is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// The entries of the source itself.
    Root,
    /// The way to the source: the nearest directory above a root that does not exist, or one that holds a link to it.
    Above,
    /// A skill, or a directory that may become one.
    Skill(Locator),
}
