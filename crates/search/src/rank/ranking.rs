//! Finds the skills that fit a query, best first.
//!
//! The search has two steps. Words select candidates, those with the highest scores; if they select few,
//! embeddings select more. Then every candidate gets its full score: words, adjacent words, the share of the
//! name in the query, the cosine of the embeddings, and the length of the description.

use std::cmp::Ordering;

use repertoire_model::answer::{Field, MatchedWord};

use super::confidence::Evidence;
use super::logarithm::{ln, ln_1p, pow};
use super::query::Query;
use super::view::View;
use crate::index::{PostingList, SearchIndex, Slot, SlotSet};
use crate::words::{Term, TermPair};

/// The number of candidates that words select, or more if the limit is higher.
const CANDIDATES: usize = 200;
/// The most candidates that embeddings select.
const NEAREST: usize = 64;
/// The least cosine of a skill that is found by its embedding only: one is always nearest, and mostly unfit.
const MIN_COSINE: f32 = 0.25;
/// The most words that are looked up: those with the highest weight.
const MAX_TERMS: usize = 64;
/// The number of words of the beginning of a query.
const BEGINNING: f32 = 24.0;
/// The weight of a stop word in the share of a name.
const COMMON_SHARE: f32 = 0.2;

/// A skill of an index that fits a query.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RankedSlot {
    /// The slot of the skill.
    pub slot: Slot,
    /// The score, at least 0 and rarely above 1.
    pub score: f32,
    /// The evidence that it fits.
    pub evidence: Evidence,
}

/// A word of the query with its weight in the index.
struct WeightedTerm<'a> {
    /// The index of the word in the query.
    place: usize,
    term: Term,
    list: PostingList<'a>,
    /// The inverse document frequency times the importance, reduced for stop words.
    rarity: f32,
    /// The most that the occurrences of the word can add to a score.
    weight: f32,
    /// Added to the score of every skill that has the word.
    presence: f32,
    inverse_frequency: f32,
}

/// The words of a query in an index.
struct QueryTerms<'a> {
    /// The words that some skill has, those with the highest weight first.
    terms: Vec<WeightedTerm<'a>>,
    /// The sum of the importance and rarity of the content words that no skill has.
    unknown: f32,
}

impl SearchIndex {
    /// Returns the `limit` skills in `visible` that fit `query` best, best first.
    pub fn search(&self, query: &Query, visible: &SlotSet, limit: usize) -> Vec<RankedSlot> {
        let view = View::of(self, visible);
        self.ranked(query, &view, &self.query_terms(query, &view), limit)
    }

    /// Searches like [`SearchIndex::search`], and also returns the matched words of each skill, those with
    /// the highest weight first.
    pub(crate) fn search_with_words(
        &self,
        query: &Query,
        visible: &SlotSet,
        limit: usize,
    ) -> Vec<(RankedSlot, Vec<MatchedWord>)> {
        let view = View::of(self, visible);
        let asked = self.query_terms(query, &view);
        let ranked = self.ranked(query, &view, &asked, limit).into_iter();
        ranked
            .map(|hit| {
                let words = self.matched(query, &asked.terms, hit.slot);
                (hit, words)
            })
            .collect()
    }

    /// Returns what speaks for the skill at `slot`, beside its lead and its score.
    fn evidence(&self, query: &Query, asked: &QueryTerms<'_>, slot: Slot) -> Evidence {
        let (mut all, mut matched, mut claimed, mut excluded) = (asked.unknown, 0.0f32, 0.0f32, 0.0f32);
        let is_content = |term: &&WeightedTerm<'_>| query.words[term.place].is_content();
        for term in asked.terms.iter().filter(is_content) {
            let weight = query.words[term.place].importance * term.inverse_frequency;
            all += weight;
            let Some(posting) = term.list.get(slot) else { continue };
            if posting.is_excluded() {
                excluded += weight;
            } else {
                matched += weight;
                claimed += if posting.is_claimed() { weight } else { 0.0 };
            }
        }
        let all = all.max(f32::MIN_POSITIVE);
        let vectors = query.vector.as_ref().zip(self.skills[slot as usize].vector.as_ref());
        Evidence {
            cosine: vectors.map(|(query, skill)| skill.cosine(query)),
            matched: matched / all,
            claimed: claimed / all,
            excluded: excluded / all,
            unknown: asked.unknown / all,
            words: query.words.iter().filter(|asked| asked.is_content()).count(),
            ..Evidence::default()
        }
    }

    fn ranked(
        &self,
        query: &Query,
        view: &View<'_>,
        asked: &QueryTerms<'_>,
        limit: usize,
    ) -> Vec<RankedSlot> {
        let terms = &asked.terms[..];
        let limit = limit.min(self.slots());
        let wanted = CANDIDATES.max(limit);
        let scores = self.word_scores(terms, view);
        let mut slots: Vec<Slot> =
            (0..).zip(&scores).filter(|(_, score)| **score > 0.0).map(|it| it.0).collect();
        if slots.len() > wanted {
            slots.select_nth_unstable_by(wanted, |a, b| {
                let by_words = scores[*b as usize].total_cmp(&scores[*a as usize]);
                // Embeddings decide between equal scores of words.
                let by_meaning = || self.cosine(query, *b).total_cmp(&self.cosine(query, *a));
                by_words.then_with(by_meaning).then_with(|| self.order(*a, *b))
            });
            slots.truncate(wanted);
        } else if slots.len() < wanted {
            slots.extend(self.nearest(query, &scores));
        }
        slots.sort_unstable();
        slots.dedup();
        let mut hits = self.full_scores(query, view, terms, &slots, &scores);
        let better = |a: &RankedSlot, b: &RankedSlot| self.better((a.score, a.slot), (b.score, b.slot));
        // One more than the first, which the first is compared with, whatever the limit is.
        let compared = limit.max(2);
        if hits.len() > compared {
            hits.select_nth_unstable_by(compared - 1, better);
        }
        hits.truncate(compared);
        hits.sort_unstable_by(better);
        let second = hits.get(1).map(|hit| hit.score);
        for (place, hit) in hits.iter_mut().enumerate() {
            let lead = match second {
                Some(second) if place == 0 => (hit.score - second) / hit.score,
                None => LEAD_OF_ONLY,
                _ => 0.0,
            };
            let evidence = self.evidence(query, asked, hit.slot);
            hit.evidence = Evidence { lead, score: hit.score, skills: view.count, ..evidence };
        }
        hits.truncate(limit);
        hits
    }

    /// Orders skills by their scores, best first.
    fn better(&self, a: (f32, Slot), b: (f32, Slot)) -> Ordering {
        b.0.total_cmp(&a.0).then_with(|| self.order(a.1, b.1))
    }

    /// Orders skills with equal scores: first by their content, then by their source.
    fn order(&self, a: Slot, b: Slot) -> Ordering {
        let (a, b) = (self.skills[a as usize].key, self.skills[b as usize].key);
        (a.version, a.identity).cmp(&(b.version, b.identity))
    }

    /// Returns the cosine of the embeddings of `query` and of the skill at `slot`; 0 if one is missing.
    fn cosine(&self, query: &Query, slot: Slot) -> f32 {
        let vectors = query.vector.as_ref().zip(self.skills[slot as usize].vector.as_ref());
        vectors.map_or(0.0, |(query, skill)| skill.cosine(query))
    }

    /// Returns the words of `query` that the skill at `slot` has, with their fields.
    fn matched(&self, query: &Query, terms: &[WeightedTerm<'_>], slot: Slot) -> Vec<MatchedWord> {
        let words = terms.iter().filter_map(|term| {
            // A word that the description excludes is not a match.
            let posting = term.list.get(slot).filter(|posting| !posting.is_excluded())?;
            let fields = Field::ALL.into_iter().filter(|field| posting.count(*field) > 0).collect();
            let asked = &query.words[term.place];
            Some(MatchedWord { word: asked.word.clone(), fields, is_common: asked.is_common })
        });
        words.collect()
    }

    /// Returns the words of `query` among the skills in `view`.
    fn query_terms(&self, query: &Query, view: &View<'_>) -> QueryTerms<'_> {
        let count = view.count as f32;
        let weights = &self.weights;
        let exponent = weights.rarity + weights.long_rarity * query.length();
        let mut unknown = 0.0;
        let mut terms: Vec<WeightedTerm<'_>> = Vec::with_capacity(query.words.len());
        for (place, asked) in query.words.iter().enumerate() {
            let list = self.postings.list(asked.term);
            let held = view.holders(list) as f32;
            let inverse_frequency = ln_1p((count - held + 0.5) / (held + 0.5));
            if held == 0.0 {
                unknown += if asked.is_content() { asked.importance * inverse_frequency } else { 0.0 };
                continue;
            }
            // A log has many numbers that no skill is about.
            let is_noise = asked.is_data && query.length() > 0.5;
            let common = if asked.is_common || is_noise { weights.common } else { 1.0 };
            let importance =
                pow(asked.importance, weights.importance) * pow(asked.count.max(1) as f32, weights.repeated);
            let beginning = 1.0 + weights.beginning * (1.0 - place as f32 / BEGINNING).max(0.0);
            let weight = pow(inverse_frequency, exponent) * common * importance * beginning;
            let rarity = inverse_frequency * importance;
            let rarity = if asked.is_common { rarity * COMMON_SHARE } else { rarity };
            terms.push(WeightedTerm {
                place,
                term: asked.term,
                list,
                rarity,
                weight,
                presence: 0.0,
                inverse_frequency,
            });
        }
        terms.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.term.cmp(&b.term)));
        terms.truncate(MAX_TERMS);
        let sum = |of: fn(&WeightedTerm<'_>) -> f32| terms.iter().map(of).sum::<f32>().max(f32::MIN_POSITIVE);
        let coverage = weights.coverage * library_size_factor(view.count);
        let share = coverage * sum(|term| term.weight) / sum(|term| term.rarity);
        terms.iter_mut().for_each(|term| term.presence = share * term.rarity);
        QueryTerms { terms, unknown }
    }

    /// Returns the score of the words of each skill. A skill that is not in `view` is below all others.
    fn word_scores(&self, terms: &[WeightedTerm<'_>], view: &View<'_>) -> Vec<f32> {
        let mut scores = vec![0.0f32; self.slots()];
        // Whatever is added to it.
        view.hidden.iter().for_each(|slot| scores[*slot as usize] = f32::NEG_INFINITY);
        for term in terms {
            for (slot, posting) in term.list.iter() {
                let value = self.table.weigh(posting, view.brevities[slot as usize]);
                let presence = if posting.is_excluded() { 0.0 } else { term.presence };
                scores[slot as usize] += presence + term_score(value, term.weight, self.weights.saturation);
            }
        }
        scores
    }

    /// Returns the skills whose embeddings are nearest to that of `query`.
    fn nearest(&self, query: &Query, scores: &[f32]) -> Vec<Slot> {
        if query.vector.is_none() || self.weights.meaning <= 0.0 {
            return Vec::new();
        }
        let visible = (0..).zip(scores).filter(|(_, score)| score.is_finite());
        let cosines = visible.map(|(slot, _)| (self.cosine(query, slot), slot));
        let mut near: Vec<(f32, Slot)> = cosines.filter(|(cosine, _)| *cosine >= MIN_COSINE).collect();
        near.sort_by(|a, b| self.better(*a, *b));
        near.truncate(NEAREST);
        near.into_iter().map(|(_, slot)| slot).collect()
    }

    fn full_scores(
        &self,
        query: &Query,
        view: &View<'_>,
        terms: &[WeightedTerm<'_>],
        slots: &[Slot],
        scores: &[f32],
    ) -> Vec<RankedSlot> {
        let weights = &self.weights;
        let mut rarities = vec![0.0f32; query.words.len()];
        let mut lists = vec![PostingList::default(); query.words.len()];
        for term in terms {
            rarities[term.place] = term.rarity;
            lists[term.place] = term.list;
        }
        let total: f32 = rarities.iter().sum();
        let pairs: Vec<QueryPair<'_>> = query
            .pairs
            .iter()
            .map(|(pair, a, b)| QueryPair {
                pair: *pair,
                words: [lists[*a], lists[*b]],
                weight: (rarities[*a] * rarities[*b]).sqrt(),
            })
            .filter(|pair| pair.weight > 0.0)
            .collect();
        let best = terms.iter().map(|term| term.weight + term.presence).sum::<f32>()
            + weights.pair * pairs.iter().map(|pair| pair.weight).sum::<f32>()
            + (weights.name_share + weights.meaning) * total.sqrt().max(1.0);
        let word_score = |slot: &Slot| {
            let skill = &self.skills[*slot as usize];
            scores[*slot as usize]
                + weights.pair * adjacent_score(&skill.pairs, *slot, &pairs)
                + weights.name_share * name_share(&skill.name, query, &rarities) * total.sqrt()
        };
        let word_scores: Vec<f32> = slots.iter().map(word_score).collect();
        let trust = weights.meaning * total.sqrt().max(1.0) * self.trust_in_meaning(query, &word_scores);
        let long_description = weights.described * (1.0 - query.length()) * library_size_factor(view.count);
        let hit = |(slot, word_score): (&Slot, &f32)| {
            let meaning = self.cosine(query, *slot);
            // A skill with the words is found even if its embedding is far away.
            let score = (word_score + trust * meaning).max(word_score * MIN_WORD_SHARE) / best;
            let described = long_description * described(self.skills[*slot as usize].described);
            (score > 0.0).then_some(RankedSlot {
                slot: *slot,
                score: score + described,
                evidence: Evidence::default(),
            })
        };
        slots.iter().zip(&word_scores).filter_map(hit).collect()
    }

    /// Returns the weight of the embedding of `query`, from 0 to 1. `word_scores` has a score for each
    /// candidate: the weight is lower the further they put one candidate ahead, and for queries of few words.
    fn trust_in_meaning(&self, query: &Query, word_scores: &[f32]) -> f32 {
        let (mut first, mut second) = (0.0f32, 0.0f32);
        for score in word_scores {
            second = second.max(score.min(first));
            first = first.max(*score);
        }
        let lead = if first > 0.0 { (first - second) / first } else { 0.0 };
        let words = (query.words.len() as f32 / FEW_WORDS).min(1.0);
        (1.0 - self.weights.lead * lead).max(MIN_TRUST) * words
    }
}

/// Returns how many skills `count` is, from 0 for a hundred to 1 for ten thousand: the more there are, the
/// more of them are described badly.
fn library_size_factor(count: usize) -> f32 {
    (ln(count as f32 / FEW_SKILLS) / ln(MANY_SKILLS / FEW_SKILLS)).clamp(0.0, 1.0)
}

/// Returns the score of a description with this number of different words, from 0 to 1.
fn described(words: u16) -> f32 {
    let times = f32::from(words) / SHORT_DESCRIPTION;
    ln(times.clamp(1.0, LONG_DESCRIPTION)) / ln(LONG_DESCRIPTION)
}

/// Returns the share of the terms of a name that are in the query, weighted by rarity, from 0 to 1.
fn name_share(name: &[Term], query: &Query, rarities: &[f32]) -> f32 {
    let (mut matched, mut all) = (0.0, 0.0);
    for term in name {
        match query.words.iter().position(|asked| asked.term == *term) {
            Some(place) => {
                matched += rarities[place];
                all += rarities[place];
            }
            // An estimate, because the document frequencies of other terms are not looked up.
            None => all += MISSING_RARITY,
        }
    }
    if all > 0.0 { matched / all } else { 0.0 }
}

/// The lead of the only skill that is found: less than it seems, as there is nothing to compare it with.
const LEAD_OF_ONLY: f32 = 0.3;
/// The numbers of skills between which long descriptions count more and more.
const FEW_SKILLS: f32 = 100.0;
const MANY_SKILLS: f32 = 10_000.0;
/// The number of different words of a short description.
const SHORT_DESCRIPTION: f32 = 25.0;
/// The length of a long description, as a multiple of a short one; more words add nothing.
const LONG_DESCRIPTION: f32 = 3.0;
/// The number of query words below which the embedding counts less.
const FEW_WORDS: f32 = 4.0;
/// The share of the score of its words that a skill keeps at least, whatever its embedding is.
const MIN_WORD_SHARE: f32 = 0.1;
/// The least weight of the embedding if the words put one skill far ahead.
const MIN_TRUST: f32 = 0.2;
/// The estimated rarity of a term of a name that is not in the query.
const MISSING_RARITY: f32 = 4.0;

/// Two adjacent words of the query.
struct QueryPair<'a> {
    pair: TermPair,
    /// The posting lists of both words.
    words: [PostingList<'a>; 2],
    weight: f32,
}

/// Returns the total score of the `pairs` that are among `own`, the sorted pairs of the skill at `slot`. They
/// are hashes, so the skill must have both words, too.
fn adjacent_score(own: &[TermPair], slot: Slot, pairs: &[QueryPair<'_>]) -> f32 {
    let has_both = |pair: &&QueryPair<'_>| pair.words.iter().all(|list| list.get(slot).is_some());
    let adjacent = pairs.iter().filter(|pair| own.binary_search(&pair.pair).is_ok());
    adjacent.filter(has_both).map(|pair| pair.weight).sum()
}

/// Returns the saturated score of a word that can add `weight` at most and has the posting weight `value`.
fn term_score(value: f32, weight: f32, saturation: f32) -> f32 {
    // The minimum avoids a division by zero if both the value and the saturation are 0.
    weight * value / (saturation + value).max(f32::MIN_POSITIVE)
}
