//! The trust in each source of skills.

use std::collections::BTreeMap;

use repertoire::Trust;

/// The trust in each source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustLevels {
    sources: BTreeMap<String, Trust>,
    others: Trust,
}

impl TrustLevels {
    /// Returns levels with `others` for all sources.
    pub fn new(others: Trust) -> Self {
        Self { sources: BTreeMap::new(), others }
    }

    /// Returns these levels with `trust` for the source `label`.
    #[must_use]
    pub fn with(mut self, label: impl Into<String>, trust: Trust) -> Self {
        self.sources.insert(label.into(), trust);
        self
    }

    /// Returns the trust in the source `label`.
    pub fn of(&self, label: &str) -> Trust {
        self.sources.get(label).copied().unwrap_or(self.others)
    }
}
