//! What somebody looks for, and what was found.

use repertoire_model::search::Field;

use crate::registry::Entry;

/// What somebody looks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchRequest {
    /// The task or question; any text, there is no syntax.
    pub query: String,
    /// The most skills to find.
    pub limit: usize,
    /// Only skills with this tag, in any case of letters.
    pub tag: Option<String>,
    /// Only skills of this source.
    pub source: Option<String>,
}

impl SearchRequest {
    /// Returns a request for the `limit` skills that `query` is most about.
    pub fn new(query: impl Into<String>, limit: usize) -> Self {
        Self { query: query.into(), limit, tag: None, source: None }
    }

    /// Returns what tells whether the filters let an entry through.
    pub(super) fn filter(&self) -> impl Fn(&Entry) -> bool {
        let tag = self.tag.as_ref().map(|tag| tag.to_lowercase());
        move |entry| {
            let is_same = |tag: &str, other: &str| other.chars().flat_map(char::to_lowercase).eq(tag.chars());
            let has_tag = |tag: &String| entry.document.manifest.tags.iter().any(|other| is_same(tag, other));
            tag.as_ref().is_none_or(has_tag)
                && self.source.as_ref().is_none_or(|source| *source == *entry.source)
        }
    }

    /// Returns whether every skill is let through.
    pub(super) fn is_open(&self) -> bool {
        self.tag.is_none() && self.source.is_none()
    }
}

/// Whose skills are searched.
#[derive(Clone, Copy)]
pub enum Seen<'a> {
    /// Every skill that models are offered.
    Offered,
    /// Those of them that this picks. What it does not pick cannot shadow anything either.
    Of(&'a (dyn Fn(&Entry) -> bool + Sync)),
}

/// A skill that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Its place among the entries of the snapshot.
    pub entry: usize,
    /// How well it fits, from 0 to about 1.
    pub score: f32,
    /// The words that it was found by, those that tell most first. None where only the meaning is near.
    pub why: Vec<Match>,
}

/// A word of the query that a skill has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The word, as it was typed.
    pub word: String,
    /// Where the skill has it.
    pub fields: Vec<Field>,
}
