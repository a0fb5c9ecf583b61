//! Searching a library.

use std::sync::Arc;

use repertoire_model::answer::{Score, SearchResult};

use super::handle::Library;
use crate::registry::Snapshot;
use crate::searcher::{SearchHit, SearchRequest, SkillView, Visibility};

impl Library {
    /// Returns the skills of `snapshot` that `request` is about, best first; none where the library has no searcher.
    pub async fn search(
        &self,
        snapshot: &Arc<Snapshot>,
        request: &SearchRequest,
        visibility: Visibility<'_>,
    ) -> Vec<SearchHit> {
        let Some(searcher) = self.searcher() else { return Vec::new() };
        searcher.search(SkillView { registry: self.registry(), snapshot, visibility }, request).await
    }

    /// Returns what there is to say of `hit`, a skill of `snapshot` that a search for `query` found. Its text is read for the section that
    /// the query is most about; `price` returns the tokens of a text.
    pub async fn search_result(
        &self,
        snapshot: &Snapshot,
        query: &str,
        hit: SearchHit,
        price: &(dyn Fn(&str) -> usize + Sync),
    ) -> SearchResult {
        let entry = &snapshot.entries()[hit.entry];
        // A skill that cannot be read any more is one without sections.
        let skill = self.registry().get(entry).await.ok();
        let section = skill.and_then(|skill| self.searcher()?.best_section(query, &skill, price));
        SearchResult {
            name: entry.name().clone(),
            description: entry.document.description.to_string(),
            path: entry.path.to_string(),
            manifest_file: entry.manifest_file.to_string(),
            score: Score::new(hit.score),
            why: hit.words,
            section,
            loaded: false,
            source: None,
        }
    }
}
