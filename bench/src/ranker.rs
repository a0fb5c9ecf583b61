//! The ways to find skills that are compared.

use std::time::Instant;

use repertoire_search::{
    EmbeddingTable, Query, RankedSlot, SearchIndex, SkillKey, SkillRecord, SkillSource, SkillText, Slot,
    SlotSet, Vector, Weights, embedded_table, keywords,
};

use crate::figures::{Figures, Quality, quantile};
use crate::pool::{Labelled, Skill};

/// The number of results that are requested.
const WANTED: usize = 10;

/// A way to find skills.
pub trait Ranker {
    /// Returns its name.
    fn name(&self) -> String;

    /// Makes the skills known, one after the other on one core.
    fn index(&mut self, skills: &[Skill]);

    /// Returns the places of the ten best skills.
    fn rank(&mut self, query: &str) -> Vec<usize>;
}

/// The parts of a skill that are indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parts {
    /// Its name and its description.
    NameAndDescription,
    /// All of it.
    Everything,
}

/// The product's ranker, with any weights.
pub struct Product {
    name: &'static str,
    parts: Parts,
    /// `true` if words are neither corrected nor translated.
    is_plain: bool,
    index: SearchIndex,
    seen: SlotSet,
    table: Option<&'static EmbeddingTable<'static>>,
}

impl Product {
    /// Returns the ranker as it is shipped.
    pub fn shipped() -> Self {
        Self::weighing("repertoire", Weights::default())
    }

    /// Returns the ranker as it is shipped, but with these weights.
    pub fn weighing(name: &'static str, weights: Weights) -> Self {
        Self { table: embedded_table(), ..Self::new(name, Parts::Everything, weights) }
    }

    /// Returns the ranker as it is shipped, without meanings.
    pub fn words() -> Self {
        Self::new("repertoire, words only", Parts::Everything, Weights::default())
    }

    /// Returns BM25 with the usual constants over `parts`.
    pub fn plain(name: &'static str, parts: Parts) -> Self {
        Self { is_plain: true, ..Self::new(name, parts, plain_weights()) }
    }

    /// Returns a ranker with these weights.
    pub fn new(name: &'static str, parts: Parts, weights: Weights) -> Self {
        let index = SearchIndex::new(weights);
        Self { name, parts, is_plain: false, index, seen: SlotSet::default(), table: None }
    }

    /// Returns the ranker with an index that was made before.
    pub fn with_index(self, index: SearchIndex) -> Self {
        Self { seen: SlotSet::all(index.slots()), index, ..self }
    }

    /// Returns the index.
    pub fn index_of_skills(&self) -> &SearchIndex {
        &self.index
    }

    /// Returns the indexed record of the skill at `place`.
    fn indexed(&self, place: usize, skill: &Skill) -> (SkillKey, SkillRecord, Option<Vector>) {
        let manifest = &skill.document.manifest;
        let keywords = keywords(manifest);
        let body = if self.parts == Parts::Everything { skill.body.as_str() } else { "" };
        let text = SkillText {
            name: skill.document.name.as_str(),
            description: &skill.document.description,
            keywords: &keywords,
            body,
            files: &[],
        };
        let vector = self.table.and_then(|table| table.embed_skill(&text));
        (SkillKey { identity: place as u64, version: 1 }, SkillRecord::of(&text), vector)
    }

    /// Returns the ten best skills for `query`.
    pub fn hits(&self, query: &str) -> Vec<RankedSlot> {
        let asked =
            if self.is_plain { Query::new(query) } else { self.index.query(query, &self.seen, self.table) };
        let vector = self.table.and_then(|table| table.embed_query(&asked.embedded_text(query)));
        let asked = asked.with_vector(vector);
        self.index.search(&asked, &self.seen, WANTED)
    }

    /// Replaces the skill at `slot` by `skill`, as after a change.
    pub fn change(&mut self, slot: Slot, skill: &Skill) {
        let (key, record, vector) = self.indexed(slot as usize, skill);
        let mut changed = Some(SkillSource::New(key, record, vector));
        let sources = (0..self.index.slots() as Slot)
            .map(|place| changed.take_if(|_| place == slot).unwrap_or(SkillSource::Kept(place)));
        self.index = self.index.rebuilt(sources);
    }
}

/// Returns the weights that make the ranking that of BM25: every word counts the same wherever it stands.
fn plain_weights() -> Weights {
    Weights {
        name: 1.0,
        description: 1.0,
        keywords: 0.0,
        headings: 1.0,
        prose: 1.0,
        code: 1.0,
        files: 0.0,
        length: 0.75,
        saturation: 1.2,
        rarity: 1.0,
        common: 1.0,
        importance: 0.0,
        pair: 0.0,
        name_share: 0.0,
        excluded: 0.0,
        meaning: 0.0,
        lead: 0.0,
        described: 0.0,
        long_rarity: 0.0,
        repeated: 0.0,
        coverage: 0.0,
        beginning: 0.0,
    }
}

impl Ranker for Product {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn index(&mut self, skills: &[Skill]) {
        let indexed = skills.iter().enumerate().map(|(place, skill)| {
            let (key, record, vector) = self.indexed(place, skill);
            SkillSource::New(key, record, vector)
        });
        self.index = self.index.rebuilt(indexed);
        self.seen = SlotSet::all(self.index.slots());
    }

    fn rank(&mut self, query: &str) -> Vec<usize> {
        self.hits(query).into_iter().map(|hit| hit.slot as usize).collect()
    }
}

/// Measures the quality and speed of `ranker`, and the quality for each query.
pub fn measure(ranker: &mut dyn Ranker, skills: &[Skill], queries: &[Labelled]) -> (Figures, Vec<Quality>) {
    let started = Instant::now();
    ranker.index(skills);
    let index_s = started.elapsed().as_secs_f64();
    let place = |path: &String| skills.binary_search_by(|skill| skill.path.as_str().cmp(path)).ok();
    let (rankings, times) = ask(ranker, queries);
    let qualities: Vec<Quality> = queries
        .iter()
        .zip(rankings)
        .map(|(labelled, ranking)| {
            let gold: Vec<usize> = labelled.gold.iter().filter_map(place).collect();
            let found = Quality::of(&ranking, &gold);
            if labelled.groups.is_empty() {
                return found;
            }
            let places = |group: &Vec<String>| group.iter().filter_map(place).collect();
            let groups: Vec<Vec<usize>> = labelled.groups.iter().map(places).collect();
            Quality { hit1: found.hit1, ..Quality::of_groups(&ranking, &groups) }
        })
        .collect();
    let Quality { hit1, r5, r10, ndcg10 } = Quality::mean(&qualities);
    let figures = Figures {
        ranker: ranker.name(),
        hit1,
        r5,
        r10,
        ndcg10,
        p50_us: quantile(&times, 0.5),
        p99_us: quantile(&times, 0.99),
        index_s,
        documents: skills.len(),
        queries: queries.len(),
    };
    (figures, qualities)
}

/// Runs all queries. Returns the results of each, and the times in microseconds, sorted.
pub fn ask(ranker: &mut dyn Ranker, queries: &[Labelled]) -> (Vec<Vec<usize>>, Vec<f64>) {
    // The first queries warm up caches.
    queries.iter().take(100).for_each(|labelled| {
        ranker.rank(&labelled.query);
    });
    let (mut rankings, mut times) = (Vec::with_capacity(queries.len()), Vec::with_capacity(queries.len()));
    for labelled in queries {
        let started = Instant::now();
        let ranking = ranker.rank(&labelled.query);
        times.push(started.elapsed().as_secs_f64() * 1e6);
        rankings.push(ranking);
    }
    times.sort_by(f64::total_cmp);
    (rankings, times)
}

#[cfg(test)]
mod tests {
    use repertoire_model::{Document, ManifestSource, Policy};

    use super::*;

    fn skill(name: &str, text: &str) -> Skill {
        let bytes = format!("---\nname: {name}\ndescription: {text}\n---\n");
        let source = ManifestSource { bytes: bytes.as_bytes(), directory: Some(name), file_name: "SKILL.md" };
        let document = Document::parse(source, &Policy::default());
        Skill { path: format!("skills/{name}/SKILL.md"), document, body: String::new() }
    }

    #[test]
    fn a_changed_skill_is_found_by_what_it_says_now() {
        let mut ranker = Product::shipped();
        let skills = [skill("deploy", "Deploys services."), skill("forms", "Fills forms.")];
        let labelled = |query: &str, name: &str| Labelled {
            query: query.to_owned(),
            groups: Vec::new(),
            gold: vec![format!("skills/{name}/SKILL.md")],
        };
        let queries = [labelled("deploy a service", "deploy"), labelled("fill forms", "forms")];
        let (figures, qualities) = measure(&mut ranker, &skills, &queries);
        assert_eq!((figures.hit1, qualities.len(), figures.documents), (1.0, 2, 2));
        ranker.change(0, &skill("deploy", "Bakes marmalade."));
        assert_eq!(ranker.rank("marmalade"), [0]);
        assert!(!ranker.rank("deploy a service").contains(&1));
        assert_eq!(ranker.index_of_skills().skills(), 2);
    }
}
