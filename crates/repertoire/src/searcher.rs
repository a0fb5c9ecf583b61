//! The trait by which a library finds skills for a task. The crate `repertoire-search` implements it.

use std::fmt;
use std::sync::Arc;

use repertoire_model::answer::{MatchedWord, Section};

use crate::future::BoxFuture;
use crate::provider::Skill;
use crate::registry::{Entry, PinnedEntry, Registry, Snapshot, VisibleSkills};

/// Searches the skills of one library. A library with a searcher offers its models the tool `search_skills`.
pub trait Searcher: Send + Sync + fmt::Debug {
    /// Returns those of `skills` that `request` is about, best first, at most [`SearchRequest::limit`].
    ///
    /// Nothing but [`SkillView::matching`] is returned or affects the scores. Any query is answered; one that
    /// says nothing finds nothing.
    fn search<'a>(
        &'a self,
        skills: SkillView<'a>,
        request: &'a SearchRequest,
    ) -> BoxFuture<'a, Vec<SearchHit>>;

    /// Returns the section of the instructions of `skill` nearest to `query`; `price` counts tokens.
    fn best_section(
        &self,
        query: &str,
        skill: &Skill,
        price: &(dyn Fn(&str) -> usize + Sync),
    ) -> Option<Section>;

    /// Does in advance the work of the first search of `snapshot`, of `registry`; by default nothing.
    fn warm_up<'a>(&'a self, registry: &'a Registry, snapshot: &'a Arc<Snapshot>) -> BoxFuture<'a, ()> {
        let _ = (registry, snapshot);
        Box::pin(async {})
    }

    /// Stores what the next run can use.
    fn save(&self) -> BoxFuture<'_, ()>;
}

/// Puts the best results of a search into a better order, such as a model that reads them. It applies to
/// `search_skills` and [`Library::search_reranked`](crate::Library::search_reranked).
pub trait Reranker: Send + Sync + fmt::Debug {
    /// Returns the indexes of `documents`, texts of skills, by their relevance to `query`, best first.
    ///
    /// Documents that are left out follow in the order that they have, so after a failure, which the
    /// implementation reports to its host, no index is returned.
    fn rerank<'a>(&'a self, query: &'a str, documents: Vec<String>) -> BoxFuture<'a, Vec<usize>>;
}

/// The confidence below which a search says that nothing was found, unless the request wants less.
///
/// Of labelled questions with an answer it hides two in a hundred, and of those without one two thirds.
pub const MIN_CONFIDENCE: f32 = 0.12;

/// A search request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SearchRequest {
    /// The task or question; any text, there is no syntax.
    pub query: String,
    /// The most skills to find.
    pub limit: usize,
    /// Only skills with this tag, in any case of letters.
    pub tag: Option<String>,
    /// Only skills of this source.
    pub source: Option<String>,
    /// Nothing is found unless one skill fits with this confidence; see [`SearchHit::confidence`].
    pub min_confidence: f32,
}

impl SearchRequest {
    /// Returns a request for the `limit` skills that `query` is most about.
    pub fn new(query: impl Into<String>, limit: usize) -> Self {
        Self { query: query.into(), limit, tag: None, source: None, min_confidence: MIN_CONFIDENCE }
    }

    /// Returns the same request for skills however little they fit, to rank them.
    #[must_use]
    pub fn without_min_confidence(self) -> Self {
        Self { min_confidence: 0.0, ..self }
    }

    /// Returns whether it asks for skills of any tag and source.
    pub fn is_unfiltered(&self) -> bool {
        self.tag.is_none() && self.source.is_none()
    }

    /// Returns whether `entry` has the tag and the source that are asked for.
    pub(crate) fn admits(&self, entry: &Entry) -> bool {
        let is_tag = |tag: &str, other: &str| {
            other.chars().flat_map(char::to_lowercase).eq(tag.chars().flat_map(char::to_lowercase))
        };
        let has_tag = |tag: &String| entry.document.manifest.tags.iter().any(|other| is_tag(tag, other));
        self.tag.as_ref().is_none_or(has_tag)
            && self.source.as_ref().is_none_or(|source| *source == *entry.source)
    }
}

/// The skills that a search may find.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct SkillView<'a> {
    /// The registry that reads their files.
    pub registry: &'a Registry,
    /// The snapshot that has them.
    pub snapshot: &'a Arc<Snapshot>,
    /// Those of the snapshot that may be found.
    pub visibility: Visibility<'a>,
}

impl<'a> SkillView<'a> {
    /// Returns the skills of `snapshot`, which belongs to `registry`, that `visibility` allows.
    pub fn new(registry: &'a Registry, snapshot: &'a Arc<Snapshot>, visibility: Visibility<'a>) -> Self {
        Self { registry, snapshot, visibility }
    }

    /// Returns the skills that a search for `request` may find, sorted by name.
    pub fn matching(self, request: &'a SearchRequest) -> impl Iterator<Item = &'a Entry> {
        let (all, visible) = match self.visibility {
            Visibility::All => (Some(self.snapshot.held(|_| true)), None),
            Visibility::Of(visible) => (None, Some(visible.held())),
        };
        let held = all.into_iter().flatten().chain(visible.into_iter().flatten());
        held.filter(|entry| entry.allows_models() && request.admits(entry))
    }

    /// Returns the skill that `request` may find and whose name is the query, in any case of letters.
    pub(crate) fn named(self, request: &SearchRequest) -> Option<&'a Entry> {
        let name = request.query.trim();
        let entry = self.snapshot.find_known(name).filter(|entry| entry.state.is_reachable())?;
        let is_visible = match self.visibility {
            Visibility::All => true,
            Visibility::Of(visible) => visible.contains(entry),
        };
        let is_named = entry.name().as_str().eq_ignore_ascii_case(name);
        (is_named && is_visible && entry.allows_models() && request.admits(entry)).then_some(entry)
    }
}

/// The part of a library that an agent may know of.
#[derive(Clone, Copy)]
pub enum Visibility<'a> {
    /// Every skill that models are offered.
    All,
    /// The visible skills of the snapshot that is searched. The others cannot shadow anything either.
    Of(&'a VisibleSkills<'a>),
}

/// A skill that a search found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SearchHit {
    /// The skill.
    pub entry: PinnedEntry,
    /// Its score, from 0 to about 1: the order of the hits.
    pub score: f32,
    /// The estimated probability that it fits, from 0 to 1.
    pub confidence: f32,
    /// The words that it was found by, the most telling first. None where only the meaning is near.
    pub words: Vec<MatchedWord>,
}

impl SearchHit {
    /// Returns a hit with full confidence and without matched words.
    pub fn new(entry: PinnedEntry, score: f32) -> Self {
        Self { entry, score, confidence: 1.0, words: Vec::new() }
    }
}

#[cfg(test)]
mod tests;
