//! A searcher for tests.

#![allow(unreachable_pub, reason = "it is a module of several tests")]

use repertoire::model::{Field, MatchedWord, Section};
use repertoire::{BoxFuture, Entry, PinnedEntry, SearchHit, SearchRequest, Searcher, Skill, SkillView};

/// Finds the skills whose name or description has a word of the query.
#[derive(Debug, Clone, Copy, Default)]
pub struct WordSearcher;

impl Searcher for WordSearcher {
    fn search<'a>(
        &'a self,
        skills: SkillView<'a>,
        request: &'a SearchRequest,
    ) -> BoxFuture<'a, Vec<SearchHit>> {
        let words: Vec<String> = request.query.split_whitespace().map(str::to_lowercase).collect();
        let hit = |entry: &Entry| {
            let text = format!("{} {}", entry.name(), entry.document.description).to_lowercase();
            let matched = words.iter().filter(|word| text.contains(word.as_str())).cloned();
            let matched: Vec<MatchedWord> = matched
                .map(|word| MatchedWord { word, fields: vec![Field::Description], is_common: false })
                .collect();
            let score = matched.len() as f32 / words.len() as f32;
            let mut hit = SearchHit::new(PinnedEntry::new(skills.snapshot, entry)?, score);
            hit.words = matched;
            (score > 0.0).then_some(hit)
        };
        let mut hits: Vec<SearchHit> = skills.matching(request).filter_map(hit).collect();
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        hits.truncate(request.limit);
        Box::pin(std::future::ready(hits))
    }

    fn best_section(&self, _: &str, _: &Skill, _: &(dyn Fn(&str) -> usize + Sync)) -> Option<Section> {
        None
    }

    fn save(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}
