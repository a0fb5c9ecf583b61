//! A skill that was found, with what there is to say of it.

use repertoire_model::answer::{Reason, Score, SearchResult};
use repertoire_model::search::{Query, best_section};

use super::request::{Found, SearchRequest};
use crate::library::Library;
use crate::registry::Snapshot;

impl Library {
    /// Returns what there is to say of `found`, a skill of `snapshot` that `request` was answered with. Its text is read for the section that the
    /// query is most about; `price` says how many tokens a text has.
    pub async fn search_result(
        &self,
        snapshot: &Snapshot,
        request: &SearchRequest,
        found: Found,
        price: &(dyn Fn(&str) -> usize + Sync),
    ) -> SearchResult {
        let entry = &snapshot.entries()[found.entry];
        // A skill that cannot be read any more is one without sections.
        let section = self.registry().get(entry).await.ok().and_then(|skill| {
            best_section(&Query::new(&request.query), &skill.text, skill.document.body.offset, price)
        });
        SearchResult {
            name: entry.name().clone(),
            description: entry.document.description.to_string(),
            path: entry.path.to_string(),
            manifest_file: entry.manifest_file.to_string(),
            score: Score::new(found.score),
            why: found
                .why
                .into_iter()
                .map(|found| Reason { word: found.word, fields: found.fields })
                .collect(),
            section,
            loaded: false,
        }
    }
}
