//! Finds the skills that a query is about, best first.
//!
//! In three steps. The words pick candidates, those that tell most first; the lists of the most frequent ones are only looked into.
//! Where they pick few, the meaning picks more; among many, whatever it would pick has some of the words. What is picked is weighed in
//! full: words, words side by side, the share of the name that was said, the meaning, and how much the description says.

use std::cmp::Ordering;

use fearless_simd::{Level, Simd, dispatch};

use super::index::{Index, Slot};
use super::posting::{Field, Posting};
use super::query::Query;
use super::record::Term;
use super::segment::{Cursor, List};
use super::slots::SlotSet;

/// How many skills the words pick at least.
const CANDIDATES: usize = 200;
/// How many skills the meaning picks at least.
const NEAREST: usize = 64;
/// How near in meaning a skill must be to be found by that alone: something is always nearest, and mostly it is not meant.
const NEAR: f32 = 0.25;
/// The share of all weight that the most frequent words may have together and yet pick no candidates: their lists are the longest by far,
/// and whom they alone bring up is seldom what is meant.
const LEFT_OUT: f32 = 0.4;
/// How many skills there must be for that: in fewer, all lists are short.
const LARGE: usize = 2048;
/// How many times as many candidates are looked into where words were left out.
const RESERVE: usize = 2;
/// How often the bound of the best scores is brought nearer.
const MAX_HALVINGS: usize = 16;
/// How many scores are looked at together.
const BLOCK: usize = 64;
/// The most words that are looked up: the rarest ones.
const MAX_TERMS: usize = 64;
/// What a word that says little counts where a share of a name is weighed.
const COMMON_SHARE: f32 = 0.2;

/// A skill that a query is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Where it stands in the index.
    pub slot: Slot,
    /// How well it fits, from 0; better ones are rarely above 1.
    pub score: f32,
}

/// A word of the query, as the index knows it.
struct Weighed<'a> {
    /// Its place in the query.
    place: usize,
    term: Term,
    list: Option<List<'a>>,
    /// How many skills have it.
    holders: usize,
    /// How much it tells skills apart.
    rarity: f32,
    /// What it can add to a score at most.
    weight: f32,
}

impl Index {
    /// Returns the `limit` skills of `seen` that `query` is most about, best first.
    pub fn search(&self, query: &Query, seen: &SlotSet, limit: usize) -> Vec<Hit> {
        let limit = limit.min(self.slots());
        let terms = self.weighed(query);
        let wanted = CANDIDATES.max(limit);
        // Whatever is added to it, a skill that is not seen stays below all others.
        let mut scores = vec![0.0f32; self.slots()];
        seen.missing(self.slots()).for_each(|slot| scores[slot as usize] = f32::NEG_INFINITY);
        self.dropped.iter().for_each(|slot| scores[*slot as usize] = f32::NEG_INFINITY);
        let done = self.accumulate(&terms, &mut scores);
        let picked = if done < terms.len() { wanted * RESERVE } else { wanted };
        let mut candidates: Vec<Slot> = at_least(&scores, reached_by(picked, &scores));
        let nearest = if candidates.len() < wanted { self.nearest(query, &scores) } else { Vec::new() };
        candidates.extend(&nearest);
        candidates.sort_unstable();
        candidates.dedup();
        for term in &terms[done..] {
            self.probe(term, &candidates, &mut scores);
        }
        if candidates.len() > wanted {
            let score = |slot: Slot| scores[slot as usize];
            candidates.select_nth_unstable_by(wanted, |a, b| self.better((score(*a), *a), (score(*b), *b)));
            candidates.truncate(wanted);
            candidates.extend(nearest);
            candidates.sort_unstable();
            candidates.dedup();
        }
        let mut hits = self.weighed_in_full(query, &terms, &candidates, &scores);
        hits.sort_by(|a, b| self.better((a.score, a.slot), (b.score, b.slot)));
        hits.truncate(limit);
        hits
    }

    /// Orders skills by their scores, best first. Of equals, who comes first is a matter of what they are, not of where they stand.
    fn better(&self, a: (f32, Slot), b: (f32, Slot)) -> Ordering {
        let identity = |slot: Slot| self.columns.keys[slot as usize].identity;
        b.0.total_cmp(&a.0).then_with(|| identity(a.1).cmp(&identity(b.1)))
    }

    /// Returns which words of `query` each of the skills at `slots` has, and where; those that tell most first.
    pub fn matches<'q>(&self, query: &'q Query, slots: &[Slot]) -> Vec<Vec<(&'q str, Vec<Field>)>> {
        let terms = self.weighed(query);
        let fields = |posting: Posting| Field::ALL.into_iter().filter(move |field| posting.count(*field) > 0);
        let matches = |slot: &Slot| {
            let loose = self.loose().find(|(other, _)| other == slot);
            let words = terms.iter().filter_map(|term| {
                let posting = match loose {
                    Some((_, terms)) => find(terms, term.term),
                    None => term.list.and_then(|list| list.cursor().seek(*slot)),
                };
                // What it is not for is no reason to find it.
                let posting = posting.filter(|posting| self.table().weigh(*posting, 1.0) > 0.0)?;
                Some((query.words[term.place].word.as_str(), fields(posting).collect()))
            });
            words.collect()
        };
        slots.iter().map(matches).collect()
    }

    /// Returns the words of `query` that some skill has, those that tell most first.
    fn weighed(&self, query: &Query) -> Vec<Weighed<'_>> {
        let count = self.len() as f32;
        let mut terms: Vec<Weighed<'_>> = Vec::with_capacity(query.words.len());
        for (place, asked) in query.words.iter().enumerate() {
            let list = self.packed.list(asked.term);
            let loose = self
                .loose()
                .filter(|(slot, terms)| find(terms, asked.term).is_some() && !self.is_dropped(*slot));
            let holders = list.map_or(0, |list| list.count - self.dropped_from(list)) + loose.count();
            if holders == 0 {
                continue;
            }
            let held = holders as f32;
            let rarity = ((count - held + 0.5) / (held + 0.5)).ln_1p();
            let common = if asked.is_common { self.weights.common } else { 1.0 };
            let telling = asked.telling.powf(self.weights.telling);
            let weight = rarity.powf(self.weights.rarity) * common * telling;
            let rarity = rarity * telling;
            let rarity = if asked.is_common { rarity * COMMON_SHARE } else { rarity };
            terms.push(Weighed { place, term: asked.term, list, holders, rarity, weight });
        }
        terms.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.term.cmp(&b.term)));
        terms.truncate(MAX_TERMS);
        terms
    }

    /// Returns how many skills of `list` are gone.
    fn dropped_from(&self, list: List<'_>) -> usize {
        if self.dropped.is_empty() {
            return 0;
        }
        let mut cursor = list.cursor();
        self.dropped.iter().filter(|slot| cursor.seek(**slot).is_some()).count()
    }

    /// Adds up what the first of `terms` are worth to each skill, and returns how many those are: all, or those before the most frequent
    /// ones where these have long lists and little weight.
    fn accumulate(&self, terms: &[Weighed<'_>], scores: &mut [f32]) -> usize {
        let (table, brevities, saturation) = (self.table(), self.brevities(), self.weights.saturation);
        // By what the skills are, not by how they are packed: the same ones rank the same.
        let mut postings: usize = terms.iter().map(|term| term.holders).sum();
        let mut open: f32 = terms.iter().map(|term| term.weight).sum();
        let least = open * LEFT_OUT;
        for (index, term) in terms.iter().enumerate() {
            if open < least && self.len() > LARGE && postings > self.len() / 4 {
                return index;
            }
            open -= term.weight;
            postings -= term.holders;
            let mut add = |slot: Slot, posting: Posting| {
                if let (Some(score), Some(brevity)) =
                    (scores.get_mut(slot as usize), brevities.get(slot as usize))
                {
                    let value = table.weigh(posting, *brevity);
                    *score += term.weight * value / (saturation + value);
                }
            };
            if let Some(list) = term.list {
                list.each(&mut add);
            }
            for (slot, terms) in self.loose() {
                if let Some(posting) = find(terms, term.term) {
                    add(slot, posting);
                }
            }
        }
        terms.len()
    }

    /// Adds up what `term` is worth to each of `slots`, which are sorted.
    fn probe(&self, term: &Weighed<'_>, slots: &[Slot], scores: &mut [f32]) {
        let (table, brevities, saturation) = (self.table(), self.brevities(), self.weights.saturation);
        let mut cursor: Option<Cursor<'_>> = term.list.map(List::cursor);
        let first_loose = (self.slots() - self.loose.len()) as Slot;
        for slot in slots {
            let posting = match slot.checked_sub(first_loose).and_then(|index| self.loose.get(index as usize))
            {
                Some(terms) => find(terms, term.term),
                None => cursor.as_mut().and_then(|cursor| cursor.seek(*slot)),
            };
            if let Some(posting) = posting
                && let Some(score) = scores.get_mut(*slot as usize)
            {
                let value = table.weigh(posting, brevities[*slot as usize]);
                *score += term.weight * value / (saturation + value);
            }
        }
    }

    /// Returns the skills that are nearest to what `query` means.
    fn nearest(&self, query: &Query, scores: &[f32]) -> Vec<Slot> {
        let Some(vector) = query.vector.as_ref().filter(|_| self.weights.meaning > 0.0) else {
            return Vec::new();
        };
        let near = self.columns.vectors.near(vector, NEAR);
        let mut near: Vec<(f32, Slot)> =
            near.filter(|(_, slot)| scores[*slot as usize].is_finite()).collect();
        near.sort_by(|a, b| self.better(*a, *b));
        near.truncate(NEAREST);
        near.into_iter().map(|(_, slot)| slot).collect()
    }

    fn weighed_in_full(
        &self,
        query: &Query,
        terms: &[Weighed<'_>],
        candidates: &[Slot],
        scores: &[f32],
    ) -> Vec<Hit> {
        let weights = &self.weights;
        let mut rarities = vec![0.0f32; query.words.len()];
        terms.iter().for_each(|term| rarities[term.place] = term.rarity);
        let total: f32 = rarities.iter().sum();
        let pairs: Vec<(u16, f32)> = query
            .pairs
            .iter()
            .map(|(pair, a, b)| (pair.0, (rarities[*a] * rarities[*b]).sqrt()))
            .filter(|(_, worth)| *worth > 0.0)
            .collect();
        let best = terms.iter().map(|term| term.weight).sum::<f32>()
            + weights.pair * pairs.iter().map(|(_, worth)| worth).sum::<f32>()
            + (weights.name_share + weights.meaning) * total.sqrt().max(1.0);
        let said = |slot: &Slot| {
            let index = *slot as usize;
            let held = self.columns.pairs.get(index);
            let side_by_side = pairs.iter().filter(|(pair, _)| held.binary_search(pair).is_ok());
            let side_by_side: f32 = side_by_side.map(|(_, worth)| worth).sum();
            scores[index]
                + weights.pair * side_by_side
                + weights.name_share * self.name_share(index, query, &rarities) * total.sqrt()
        };
        let said: Vec<f32> = candidates.iter().map(said).collect();
        let trust = weights.meaning * total.sqrt().max(1.0) * self.trust_in_meaning(query, &said);
        let hit = |(slot, said): (&Slot, &f32)| {
            let meaning = query
                .vector
                .as_ref()
                .map_or(0.0, |vector| self.columns.vectors.cosine(*slot as usize, vector));
            // However far its meaning is, what has the words is found.
            Hit { slot: *slot, score: (said + trust * meaning).max(said * LEAST_SAID) / best }
        };
        let hits = candidates.iter().zip(&said).map(hit).filter(|hit| hit.score > 0.0);
        hits.map(|hit| Hit { score: hit.score + weights.described * self.description(hit.slot), ..hit })
            .collect()
    }

    /// Returns how much the meaning of `query` counts, from 0 to 1, where the words say `said` of each candidate: less the further they
    /// put one of them ahead, and less where they are so few that their meaning is hardly more than they are.
    fn trust_in_meaning(&self, query: &Query, said: &[f32]) -> f32 {
        let (mut first, mut second) = (0.0f32, 0.0f32);
        for said in said {
            second = second.max(said.min(first));
            first = first.max(*said);
        }
        let lead = if first > 0.0 { (first - second) / first } else { 0.0 };
        let words = (query.words.len() as f32 / FEW_WORDS).min(1.0);
        (1.0 - self.weights.lead * lead).max(LEAST_TRUST) * words
    }

    /// Returns how much the description of the skill at `slot` says, from 0 to 1.
    fn description(&self, slot: Slot) -> f32 {
        let words = f32::from(self.columns.described[slot as usize]);
        (words / SHORT_DESCRIPTION).ln().clamp(0.0, LONG_DESCRIPTION.ln()) / LONG_DESCRIPTION.ln()
    }

    /// Returns how much of the skill's name the query says, from 0 to 1.
    fn name_share(&self, index: usize, query: &Query, rarities: &[f32]) -> f32 {
        let (mut said, mut all) = (0.0, 0.0);
        for term in self.columns.names.get(index) {
            match query.words.iter().position(|asked| asked.term.0 == *term) {
                Some(place) => {
                    said += rarities[place];
                    all += rarities[place];
                }
                // How rare the others are would have to be looked up; they are about as rare as words of names are.
                None => all += UNSAID_RARITY,
            }
        }
        if all > 0.0 { said / all } else { 0.0 }
    }
}

/// How many different words of a description are few.
const SHORT_DESCRIPTION: f32 = 25.0;
/// How many times as many are enough: more say nothing more.
const LONG_DESCRIPTION: f32 = 3.0;
/// How many words are so few that their meaning is hardly more than they are.
const FEW_WORDS: f32 = 4.0;
/// What the words of a skill count at least of what they say, whatever it means.
const LEAST_SAID: f32 = 0.1;
/// What the meaning counts at least where the words put one skill far ahead.
const LEAST_TRUST: f32 = 0.2;
/// How rare the words of names are, about.
const UNSAID_RARITY: f32 = 4.0;

/// Returns the posting of `term` among `terms`, which are sorted.
fn find(terms: &[(Term, Posting)], term: Term) -> Option<Posting> {
    terms.binary_search_by_key(&term, |(other, _)| *other).ok().map(|index| terms[index].1)
}

/// Returns a score that at least `wanted` of `scores` reach, about the highest one; 0 where fewer have any.
fn reached_by(wanted: usize, scores: &[f32]) -> f32 {
    let (mut low, mut high) = (0.0f32, scores.iter().copied().fold(0.0, f32::max));
    for _ in 0..MAX_HALVINGS {
        let middle = (low + high) / 2.0;
        let count = dispatch!(Level::new(), simd => count(simd, scores, middle));
        if count < wanted {
            high = middle;
        } else {
            low = middle;
            // As good as it gets: there is room for a few more.
            if count < wanted + wanted / 4 {
                break;
            }
        }
    }
    low
}

/// Returns how many of `scores` are at least `least`, with whatever instructions the processor has.
#[inline(always)]
fn count<S: Simd>(_: S, scores: &[f32], least: f32) -> usize {
    scores.iter().map(|score| usize::from(*score >= least)).sum()
}

/// Returns the skills whose score is above 0 and at least `least`.
fn at_least(scores: &[f32], least: f32) -> Vec<Slot> {
    dispatch!(Level::new(), simd => collect(simd, scores, least.max(f32::MIN_POSITIVE)))
}

/// Returns the places of `scores` that are at least `least`, with whatever instructions the processor has.
#[inline(always)]
fn collect<S: Simd>(_: S, scores: &[f32], least: f32) -> Vec<Slot> {
    let mut slots = Vec::new();
    for (block, scores) in (0..).zip(scores.chunks(BLOCK)) {
        // Most blocks have none, and a block is looked at as a whole.
        if scores.iter().fold(false, |has_one, score| has_one | (*score >= least)) {
            let found = (block * BLOCK as Slot..).zip(scores).filter(|(_, score)| **score >= least);
            slots.extend(found.map(|(slot, _)| slot));
        }
    }
    slots
}
