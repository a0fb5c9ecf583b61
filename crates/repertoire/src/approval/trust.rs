//! How far the skills of a source are trusted.

use std::collections::BTreeMap;

/// How far the skills of a source are trusted to run something. Whatever runs, runs confined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Trust {
    /// They run what they bring along.
    Trusted,
    /// They do once a person approved them; the default.
    #[default]
    Ask,
    /// They never do.
    Never,
}

impl Trust {
    /// Every level.
    pub const ALL: [Self; 3] = [Self::Trusted, Self::Ask, Self::Never];

    /// Returns the word used on every surface.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Ask => "ask",
            Self::Never => "never",
        }
    }

    /// Returns the level that goes by `word`.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|trust| trust.as_str() == word)
    }
}

/// How far each source is trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustLevels {
    sources: BTreeMap<String, Trust>,
    others: Trust,
}

impl TrustLevels {
    /// Returns `others` for all sources.
    pub fn new(others: Trust) -> Self {
        Self { sources: BTreeMap::new(), others }
    }

    /// Returns these levels with `trust` for the source `label`.
    #[must_use]
    pub fn with(mut self, label: impl Into<String>, trust: Trust) -> Self {
        self.sources.insert(label.into(), trust);
        self
    }

    /// Returns how far the source `label` is trusted.
    pub fn of(&self, label: &str) -> Trust {
        self.sources.get(label).copied().unwrap_or(self.others)
    }
}
