//! Searching a library.

use std::path::Path;
use std::sync::Arc;

use repertoire_model::search::Query;

use super::builtin::builtin;
use super::request::{Found, SearchRequest, Seen};
use super::shelf::SnapshotIndex;
use crate::library::Library;
use crate::registry::Snapshot;

impl Library {
    /// Returns the skills of `snapshot` that `request` is about, best first.
    ///
    /// The first search of a library reads every skill that was not indexed by an earlier run; later ones read what changed. The same
    /// skills and request give the same answer, in whatever process.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// use repertoire::search::{SearchRequest, Seen};
    /// use repertoire::{Library, MemoryProvider, SkillDefinition};
    /// let skills = vec![
    ///     SkillDefinition::new("pdf-forms", "Fills PDF forms.", "# Forms\nFill every field.\n"),
    ///     SkillDefinition::new("deploy", "Deploys services to Kubernetes.", "# Deploy\n"),
    /// ];
    /// let library = pollster::block_on(Library::builder().provider(Arc::new(MemoryProvider::new("builtin", skills))).open())?;
    /// let snapshot = library.snapshot();
    /// let request = SearchRequest::new("fill in this form", 5);
    /// let found = pollster::block_on(library.search(&snapshot, &request, Seen::Offered));
    /// assert_eq!(snapshot.entries()[found[0].entry].name().as_str(), "pdf-forms");
    /// # Ok::<(), repertoire::Error>(())
    /// ```
    pub async fn search(
        &self,
        snapshot: &Arc<Snapshot>,
        request: &SearchRequest,
        seen: Seen<'_>,
    ) -> Vec<Found> {
        let query = self.query(&request.query).await;
        if request.limit == 0 || query.is_empty() {
            return Vec::new();
        }
        let mut index = self.index(snapshot).await;
        if self.shelf().discard_unless_comparable(&index, &query) {
            index = self.index(snapshot).await;
        }
        index.search(snapshot, request, &query, seen)
    }

    /// Returns the index of `snapshot`, built on a thread that may wait if it is not ready.
    async fn index(&self, snapshot: &Arc<Snapshot>) -> Arc<SnapshotIndex> {
        if let Some(index) = self.shelf().ready(snapshot) {
            return index;
        }
        let (library, snapshot) = (self.clone(), Arc::clone(snapshot));
        blocking::unblock(move || library.shelf().update(library.registry(), &snapshot, &|_, _| ())).await
    }

    /// Returns the query `text` with its embedding, if that can be had, and the importance of its words.
    pub(super) async fn query(&self, text: &str) -> Query {
        let vector = match self.shelf().embedder() {
            Some(embedder) => embedder.query(text).await.ok().flatten(),
            None => None,
        };
        let importance = |word: &str| builtin().map_or(1.0, |meanings| meanings.telling(word));
        Query::new(text).meaning(vector).telling(importance)
    }

    /// Returns the file that the index is kept in between runs, and how many skills are in it; none where there is none to use.
    pub fn kept_index(&self) -> Option<(&Path, usize)> {
        self.shelf().kept()
    }

    /// Brings the index up to date with `snapshot`, so that searches need not; `progress` is told how many skills were read, and of how
    /// many.
    pub fn prepare_search(&self, snapshot: &Arc<Snapshot>, progress: &dyn Fn(usize, usize)) {
        self.shelf().update(self.registry(), snapshot, progress);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::memory::{MemoryProvider, SkillDefinition};

    fn found(query: &str) -> Vec<String> {
        let skills = vec![
            SkillDefinition::new(
                "pdf-forms",
                "Fills PDF forms. Use when a form must be filled.",
                "# Forms\n",
            ),
            SkillDefinition::new("deploy", "Deploys services to Kubernetes clusters.", "# Deploy\n"),
        ];
        let provider = Arc::new(MemoryProvider::new("builtin", skills));
        let library = pollster::block_on(Library::builder().provider(provider).open()).unwrap();
        let snapshot = library.snapshot();
        let found =
            pollster::block_on(library.search(&snapshot, &SearchRequest::new(query, 5), Seen::Offered));
        found.iter().map(|found| snapshot.entries()[found.entry].name().to_string()).collect()
    }

    #[test]
    fn skills_are_found_by_words_and_by_what_is_meant() {
        assert_eq!(found("fill in a form"), ["pdf-forms"]);
        assert_eq!(found("roll out helm charts on k8s"), ["deploy"]);
    }

    #[test]
    fn what_is_wanted_may_come_after_whatever_was_pasted() {
        let pasted: String = (0..9_000).map(|number| format!("x{number} ")).collect();
        assert_eq!(found(&format!("{pasted}\nfill in a form")), ["pdf-forms"]);
        assert_eq!(found(&format!("fill in a form\n{pasted}")), ["pdf-forms"]);
    }

    #[test]
    fn what_no_skill_is_about_finds_none() {
        let nothing: [String; 0] = [];
        assert_eq!(found("cook pasta"), nothing);
        assert_eq!(found("翻译"), nothing);
        assert_eq!(found(""), nothing);
    }
}
