//! Searching a library.

use std::sync::Arc;

use repertoire_model::answer::{Score, SearchResult};
use repertoire_model::text::start;

use super::handle::Library;
use crate::registry::{PinnedEntry, Snapshot};
use crate::searcher::{SearchHit, SearchRequest, SkillView, Visibility};

/// The share of [`SearchRequest::min_confidence`] that is enough beside a hit that has all of it.
const SECONDARY_SHARE: f32 = 0.2;
/// The number of results that a reranker gets.
const RERANKED: usize = 10;
/// The most bytes of a description that a reranker gets.
const MAX_DESCRIPTION_BYTES: usize = 4096;
/// The most characters of the instructions of a skill that a reranker gets.
const MAX_INSTRUCTIONS_CHARS: usize = 1000;

impl Library {
    /// Returns the skills of `snapshot` that `request` is about, best first; empty without a searcher.
    pub async fn search(
        &self,
        snapshot: &Arc<Snapshot>,
        request: &SearchRequest,
        visibility: Visibility<'_>,
    ) -> Vec<SearchHit> {
        let Some(searcher) = self.searcher() else { return Vec::new() };
        let view = SkillView { registry: self.registry(), snapshot, visibility };
        let mut hits = searcher.search(view, request).await;
        let is_found = hits.iter().any(|hit| hit.confidence >= request.min_confidence);
        // Beside one that fits, others are shown that may fit as well.
        let least = if is_found { request.min_confidence * SECONDARY_SHARE } else { f32::INFINITY };
        hits.retain(|hit| hit.confidence >= least);
        if let Some(entry) = view.named(request).and_then(|entry| PinnedEntry::new(snapshot, entry)) {
            put_first(&mut hits, entry);
            hits.truncate(request.limit);
        }
        // A later result never shows more confidence than an earlier one.
        let mut most = 1.0f32;
        for hit in &mut hits {
            most = most.min(hit.confidence);
            hit.confidence = most;
        }
        hits
    }

    /// Returns the results of [`Library::search`], the ten best in the order of the library's reranker, if it
    /// has one. Scores stay as they are; a later result never shows more confidence than an earlier one.
    ///
    /// The ten are the best whatever the limit is, so that the reranker can move a skill into the answer.
    pub async fn search_reranked(
        &self,
        snapshot: &Arc<Snapshot>,
        request: &SearchRequest,
        visibility: Visibility<'_>,
    ) -> Vec<SearchHit> {
        let Some(reranker) = &self.resources().reranker else {
            return self.search(snapshot, request, visibility).await;
        };
        let wide = SearchRequest { limit: request.limit.max(RERANKED), ..request.clone() };
        let mut hits = self.search(snapshot, &wide, visibility).await;
        if hits.len() > 1 {
            let mut documents = Vec::with_capacity(RERANKED);
            for hit in hits.iter().take(RERANKED) {
                documents.push(self.document(&request.query, hit).await);
            }
            let count = documents.len();
            let order = reranker.rerank(&request.query, documents).await;
            let confidences: Vec<f32> = hits.iter().map(|hit| hit.confidence).collect();
            let is_reranked = |index: &usize| *index < count;
            let order = order.into_iter().filter(is_reranked).chain(0..hits.len());
            let mut found: Vec<Option<SearchHit>> = hits.into_iter().map(Some).collect();
            hits = order.filter_map(|index| found[index].take()).collect();
            hits.iter_mut().zip(confidences).for_each(|(hit, confidence)| hit.confidence = confidence);
        }
        hits.truncate(request.limit);
        hits
    }

    /// Returns the text of `hit` for a reranker: its name, its description, and the section that `query` is
    /// most about, or else the beginning of its instructions.
    async fn document(&self, query: &str, hit: &SearchHit) -> String {
        let entry = &hit.entry;
        let description = start(&entry.document.description, MAX_DESCRIPTION_BYTES);
        let mut document = format!("{}\n{description}\n", entry.name());
        // A skill that cannot be read any more is one without instructions.
        if let Ok(skill) = self.registry().get_listed(entry).await {
            let section = self.searcher().and_then(|searcher| searcher.best_section(query, &skill, &|_| 0));
            let first = section.as_ref().map_or(0, |section| section.first_line.saturating_sub(1));
            let last = section.as_ref().map_or(usize::MAX, |section| section.last_line);
            let text = if section.is_some() { &skill.text } else { skill.body() };
            let text = text.split_inclusive('\n').take(last).skip(first).flat_map(str::chars);
            document.extend(text.skip_while(|letter| letter.is_whitespace()).take(MAX_INSTRUCTIONS_CHARS));
        }
        document
    }

    /// Returns what there is to say of `hit`, which a search for `query` found. Its text is read for the
    /// section that the query is most about; `price` returns the tokens of a text.
    pub async fn search_result(
        &self,
        query: &str,
        hit: SearchHit,
        price: &(dyn Fn(&str) -> usize + Sync),
    ) -> SearchResult {
        let entry = &hit.entry;
        // A skill that cannot be read any more is one without sections.
        let skill = self.registry().get_listed(entry).await.ok();
        let section = skill.and_then(|skill| self.searcher()?.best_section(query, &skill, price));
        SearchResult {
            name: entry.name().clone(),
            description: entry.document.description.to_string(),
            path: entry.path.to_string(),
            manifest_file: entry.manifest_file.to_string(),
            score: Score::new(hit.score),
            confidence: Score::new(hit.confidence),
            why: hit.words,
            section,
            loaded: false,
            source: None,
        }
    }
}

/// Puts the skill `entry` first in `hits`, with certainty: its name is the query.
fn put_first(hits: &mut Vec<SearchHit>, entry: PinnedEntry) {
    let best = hits.first().map_or(1.0, |hit| hit.score);
    let place = hits.iter().position(|hit| hit.entry == entry);
    let words = place.map(|place| hits.remove(place).words).unwrap_or_default();
    hits.insert(0, SearchHit { entry, score: best, confidence: 1.0, words });
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use pollster::block_on;

    use super::*;
    use crate::future::BoxFuture;
    use crate::provider::memory::{MemoryProvider, SkillDefinition};
    use crate::searcher::Reranker;
    use crate::word_searcher::WordSearcher;

    /// A reranker with a fixed answer that records the documents of each request.
    #[derive(Debug, Clone)]
    struct FixedReranker {
        order: Vec<usize>,
        received: Arc<Mutex<Vec<Vec<String>>>>,
    }

    impl Reranker for FixedReranker {
        fn rerank<'a>(&'a self, _: &'a str, documents: Vec<String>) -> BoxFuture<'a, Vec<usize>> {
            self.received.lock().unwrap().push(documents);
            Box::pin(std::future::ready(self.order.clone()))
        }
    }

    /// Returns the numbers of the skills found among `count` skills, and the documents that the reranker got.
    fn found(count: usize, order: &[usize], limit: usize) -> (Vec<usize>, Vec<Vec<String>>) {
        let skill = |number: usize| {
            let body = format!("\n# Body {number}\n{}", "x".repeat(2000));
            SkillDefinition::new(format!("skill-{number:02}"), "Fills forms.", body)
        };
        let provider = MemoryProvider::new("test", (0..count).map(skill).collect());
        let reranker = FixedReranker { order: order.to_vec(), received: Arc::default() };
        let builder = Library::builder().provider(provider).searcher(WordSearcher);
        let library = block_on(builder.reranker(reranker.clone()).open()).unwrap();
        let request = SearchRequest::new("forms", limit);
        let hits = block_on(library.search_reranked(&library.snapshot(), &request, Visibility::All));
        let received = reranker.received.lock().unwrap().clone();
        (hits.into_iter().map(|hit| hit.entry.index()).collect(), received)
    }

    #[test]
    fn a_skill_whose_name_is_the_query_comes_first() {
        let skill = |name: &str, description: &str| SkillDefinition::new(name, description, "# Body\n");
        let hidden = skill("how-to", "Explains things.");
        let skills = vec![skill("all", "Does everything."), skill("forms", "Fills in all of them."), hidden];
        let library = Library::builder().provider(MemoryProvider::new("test", skills)).searcher(WordSearcher);
        let library = block_on(library.open()).unwrap();
        let snapshot = library.snapshot();
        let search = |query: &str, visibility: Visibility<'_>| -> Vec<String> {
            let hits = block_on(library.search(&snapshot, &SearchRequest::new(query, 5), visibility));
            hits.iter().map(|hit| hit.entry.name().to_string()).collect()
        };
        assert_eq!(search(" All ", Visibility::All)[0], "all");
        assert_eq!(search("how-to", Visibility::All), ["how-to"]);
        let visible = snapshot.visible(|entry| entry.name().as_str() != "how-to");
        assert_eq!(search("how-to", Visibility::Of(&visible)), [""; 0]);
    }

    #[test]
    fn the_best_ten_are_in_the_order_of_the_reranker() {
        let (order, received) = found(12, &[9, 2, 2, 10, usize::MAX, 0], 12);
        assert_eq!(order, [9, 2, 0, 1, 3, 4, 5, 6, 7, 8, 10, 11], "invalid indexes are ignored");
        let [documents] = &received[..] else { panic!("{received:?}") };
        assert_eq!(documents.len(), 10);
        assert!(documents[3].starts_with("skill-03\nFills forms.\n# Body 3\nxxx"), "{}", documents[3]);
        assert_eq!(documents[3].len(), "skill-03\nFills forms.\n".len() + MAX_INSTRUCTIONS_CHARS);
    }

    #[test]
    fn a_reranker_gets_ten_results_whatever_the_limit() {
        assert_eq!(found(12, &[9], 2).0, [9, 0]);
        assert_eq!(found(12, &[], 3).0, [0, 1, 2], "without an answer the order stays");
        assert_eq!(found(1, &[0], 3), (vec![0], Vec::new()), "one result has no other order");
    }
}
