//! Finds the skills that a query is about, best first.
//!
//! In three steps. The words pick candidates, those that tell most first; the lists of the most frequent ones are only looked into.
//! Where they pick few, the meaning picks more; among many, whatever it would pick has some of the words. What is picked is weighed in
//! full: words, words side by side, the share of the name that was said, the meaning, and how much the description says.

use std::cmp::Ordering;
use std::ops::Range;

use fearless_simd::{Level, Simd, dispatch};

use repertoire_model::answer::{Field, MatchedWord};

use super::candidates::{Candidate, Candidates, TermLookup, worth};
use super::logarithm::{ln, ln_1p, pow};
use super::query::Query;
use super::view::View;
use crate::index::{PostingList, SearchIndex, Slot, SlotSet};
use crate::words::{Term, TermPair};

/// The least number of candidates that words select.
const CANDIDATES: usize = 200;
/// The most candidates that the meaning selects.
const NEAREST: usize = 64;
/// The least cosine of a skill that is found by its meaning alone: something is always nearest, and mostly it is not meant.
const NEAR: f32 = 0.25;
/// The share of all weight that the most frequent words may have together and yet pick no candidates: their lists are the longest by far,
/// and whom they alone bring up is seldom what is meant.
const LEFT_OUT: f32 = 0.4;
/// The number of skills from which on words are left out: in fewer, all lists are short. Tests have few.
const LARGE: usize = if cfg!(test) { 64 } else { 2048 };
/// The factor of the number of candidates where words were left out.
const RESERVE: usize = 2;
/// The most steps of the search for the bound of the best scores.
const MAX_HALVINGS: usize = 16;
/// The divisor of the number of scores below which those above the bound are copied, to look at them alone.
const FEW: usize = 16;
/// The number of scores that are compared at the same time.
const LANES: usize = 16;
/// The most words that are looked up: the rarest ones.
const MAX_TERMS: usize = 64;
/// The distance from its expected place within which a hash is looked for first.
const NEIGHBOURS: usize = 32;
/// The weight of a common word in the share of a name.
const COMMON_SHARE: f32 = 0.2;

/// A skill of an index that a query is about.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedSlot {
    /// Its place in the index.
    pub slot: Slot,
    /// Its score, from 0; rarely above 1.
    pub score: f32,
}

/// A word of the query with its weight in the index.
struct WeightedTerm<'a> {
    /// Its place in the query.
    place: usize,
    term: Term,
    list: PostingList<'a>,
    /// The number of visible skills that have it.
    holders: usize,
    /// The rarity: how much it tells skills apart.
    rarity: f32,
    /// The most that it can add to a score.
    weight: f32,
}

impl SearchIndex {
    /// Returns the `limit` skills of `seen` that `query` is most about, best first.
    pub fn search(&self, query: &Query, seen: &SlotSet, limit: usize) -> Vec<RankedSlot> {
        let view = View::of(self, seen);
        self.ranked(query, &view, &self.weighed(query, &view), limit)
    }

    /// Searches as [`SearchIndex::search`] does, and returns with each skill the words that it was found by, those that tell most first.
    pub(crate) fn search_with_words(
        &self,
        query: &Query,
        seen: &SlotSet,
        limit: usize,
    ) -> Vec<(RankedSlot, Vec<MatchedWord>)> {
        let view = View::of(self, seen);
        let terms = self.weighed(query, &view);
        let ranked = self.ranked(query, &view, &terms, limit).into_iter();
        ranked
            .map(|hit| {
                let words = self.matched(query, &terms, hit.slot);
                (hit, words)
            })
            .collect()
    }

    fn ranked(
        &self,
        query: &Query,
        view: &View<'_>,
        terms: &[WeightedTerm<'_>],
        limit: usize,
    ) -> Vec<RankedSlot> {
        let limit = limit.min(self.slots());
        let wanted = CANDIDATES.max(limit);
        // Whatever is added to it, a skill that is not seen stays below all others.
        let mut scores = vec![0.0f32; self.slots()];
        view.hidden.iter().for_each(|slot| scores[*slot as usize] = f32::NEG_INFINITY);
        let done = self.accumulate(terms, view, &mut scores);
        let picked = if done < terms.len() { wanted * RESERVE } else { wanted };
        let mut slots = best_of(&scores, picked);
        let nearest = if slots.len() < wanted { self.nearest(query, &scores) } else { Vec::new() };
        let has_more = slots.len() > wanted;
        slots.extend(nearest);
        slots.sort_unstable();
        slots.dedup();
        let mut candidates = Candidates::new(&slots, &scores);
        self.lookups(terms, done..terms.len(), view).for_each(|lookup| candidates.look_up(&lookup));
        if has_more {
            // Where the words make no difference, the meaning does.
            let nearer = |a: Slot, b: Slot| self.cosine(query, b).total_cmp(&self.cosine(query, a));
            candidates.keep(wanted, |a, b| {
                let by_words = b.score.total_cmp(&a.score);
                by_words.then_with(|| nearer(a.slot, b.slot)).then_with(|| self.order(a.slot, b.slot))
            });
        }
        // What the first words are worth is in the scores already; who has them is asked for by pairs alone.
        if !query.pairs.is_empty() {
            let lookups = self.lookups(terms, 0..done, view);
            lookups.for_each(|lookup| candidates.look_up(&TermLookup { weight: 0.0, ..lookup }));
        }
        let mut hits = self.weighed_in_full(query, terms, candidates.all());
        let better = |a: &RankedSlot, b: &RankedSlot| self.better((a.score, a.slot), (b.score, b.slot));
        if limit > 0 && hits.len() > limit {
            hits.select_nth_unstable_by(limit - 1, better);
        }
        hits.truncate(limit);
        hits.sort_unstable_by(better);
        hits
    }

    /// Orders skills by their scores, best first.
    fn better(&self, a: (f32, Slot), b: (f32, Slot)) -> Ordering {
        b.0.total_cmp(&a.0).then_with(|| self.order(a.1, b.1))
    }

    /// Orders skills that are equally good: by what they say, and only then by where they come from. The same skills rank the same
    /// wherever they lie.
    fn order(&self, a: Slot, b: Slot) -> Ordering {
        let (a, b) = (self.skills[a as usize].key, self.skills[b as usize].key);
        (a.version, a.identity).cmp(&(b.version, b.identity))
    }

    /// Returns the cosine of the embeddings of `query` and of the skill at `slot`; 0 if one has none.
    fn cosine(&self, query: &Query, slot: Slot) -> f32 {
        let vectors = query.vector.as_ref().zip(self.skills[slot as usize].vector.as_ref());
        vectors.map_or(0.0, |(query, skill)| skill.cosine(query))
    }

    /// Returns the words of `query` that the skill at `slot` has, and in which fields.
    fn matched(&self, query: &Query, terms: &[WeightedTerm<'_>], slot: Slot) -> Vec<MatchedWord> {
        let words = terms.iter().filter_map(|term| {
            // A word that the description excludes is no reason to find the skill.
            let posting = term.list.get(slot).filter(|posting| self.table.weigh(*posting, 1.0) > 0.0)?;
            let fields = Field::ALL.into_iter().filter(|field| posting.count(*field) > 0).collect();
            let asked = &query.words[term.place];
            Some(MatchedWord { word: asked.word.clone(), fields, is_common: asked.is_common })
        });
        words.collect()
    }

    /// Returns the words of `query` that some skill of `view` has, those that tell most first.
    fn weighed(&self, query: &Query, view: &View<'_>) -> Vec<WeightedTerm<'_>> {
        let count = view.count as f32;
        let mut terms: Vec<WeightedTerm<'_>> = Vec::with_capacity(query.words.len());
        for (place, asked) in query.words.iter().enumerate() {
            let list = self.postings.list(asked.term);
            let holders = view.holders(list);
            if holders == 0 {
                continue;
            }
            let held = holders as f32;
            let rarity = ln_1p((count - held + 0.5) / (held + 0.5));
            let common = if asked.is_common { self.weights.common } else { 1.0 };
            let telling = pow(asked.importance, self.weights.telling);
            let weight = pow(rarity, self.weights.rarity) * common * telling;
            let rarity = rarity * telling;
            let rarity = if asked.is_common { rarity * COMMON_SHARE } else { rarity };
            terms.push(WeightedTerm { place, term: asked.term, list, holders, rarity, weight });
        }
        terms.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.term.cmp(&b.term)));
        terms.truncate(MAX_TERMS);
        terms
    }

    /// Adds up what the first of `terms` are worth to each skill, and returns how many those are: all, or those before the most frequent
    /// ones where these have long lists and little weight.
    fn accumulate(&self, terms: &[WeightedTerm<'_>], view: &View<'_>, scores: &mut [f32]) -> usize {
        let (brevities, saturation) = (&view.brevities[..], self.weights.saturation);
        let mut postings: usize = terms.iter().map(|term| term.holders).sum();
        let mut open: f32 = terms.iter().map(|term| term.weight).sum();
        let least = open * LEFT_OUT;
        for (index, term) in terms.iter().enumerate() {
            if open < least && view.count > LARGE && postings > view.count / 4 {
                return index;
            }
            open -= term.weight;
            postings -= term.holders;
            for (slot, posting) in term.list.iter() {
                let value = self.table.weigh(posting, brevities[slot as usize]);
                scores[slot as usize] += worth(value, term.weight, saturation);
            }
        }
        terms.len()
    }

    /// Returns what it takes to look the words of `terms` at these places up in some skills.
    fn lookups<'a>(
        &'a self,
        terms: &'a [WeightedTerm<'a>],
        places: Range<usize>,
        view: &'a View<'_>,
    ) -> impl Iterator<Item = TermLookup<'a>> {
        places.map(move |place| TermLookup {
            list: terms[place].list,
            bit: 1 << place,
            weight: terms[place].weight,
            saturation: self.weights.saturation,
            table: &self.table,
            brevities: &view.brevities,
        })
    }

    /// Returns the skills that are nearest to what `query` means.
    fn nearest(&self, query: &Query, scores: &[f32]) -> Vec<Slot> {
        if query.vector.is_none() || self.weights.meaning <= 0.0 {
            return Vec::new();
        }
        let visible = (0..).zip(scores).filter(|(_, score)| score.is_finite());
        let cosines = visible.map(|(slot, _)| (self.cosine(query, slot), slot));
        let mut near: Vec<(f32, Slot)> = cosines.filter(|(cosine, _)| *cosine >= NEAR).collect();
        near.sort_by(|a, b| self.better(*a, *b));
        near.truncate(NEAREST);
        near.into_iter().map(|(_, slot)| slot).collect()
    }

    fn weighed_in_full(
        &self,
        query: &Query,
        terms: &[WeightedTerm<'_>],
        candidates: &[Candidate],
    ) -> Vec<RankedSlot> {
        let weights = &self.weights;
        let (mut rarities, mut bits) = (vec![0.0f32; query.words.len()], vec![0u64; query.words.len()]);
        for (number, term) in terms.iter().enumerate() {
            rarities[term.place] = term.rarity;
            bits[term.place] = 1 << number;
        }
        let total: f32 = rarities.iter().sum();
        let pairs: Vec<QueryPair> = query
            .pairs
            .iter()
            .map(|(pair, a, b)| QueryPair {
                pair: *pair,
                words: bits[*a] | bits[*b],
                worth: (rarities[*a] * rarities[*b]).sqrt(),
            })
            .filter(|pair| pair.worth > 0.0)
            .collect();
        let best = terms.iter().map(|term| term.weight).sum::<f32>()
            + weights.pair * pairs.iter().map(|pair| pair.worth).sum::<f32>()
            + (weights.name_share + weights.meaning) * total.sqrt().max(1.0);
        let said = |candidate: &Candidate| {
            let skill = &self.skills[candidate.slot as usize];
            let side_by_side =
                dispatch!(Level::new(), simd => side_by_side(simd, &skill.pairs, candidate.has, &pairs));
            candidate.score
                + weights.pair * side_by_side
                + weights.name_share * name_share(&skill.name, query, &rarities) * total.sqrt()
        };
        let said: Vec<f32> = candidates.iter().map(said).collect();
        let trust = weights.meaning * total.sqrt().max(1.0) * self.trust_in_meaning(query, &said);
        let hit = |(Candidate { slot, .. }, said): (&Candidate, &f32)| {
            let meaning = self.cosine(query, *slot);
            // However far its meaning is, what has the words is found.
            let score = (said + trust * meaning).max(said * LEAST_SAID) / best;
            let described = weights.described * described(self.skills[*slot as usize].described);
            (score > 0.0).then_some(RankedSlot { slot: *slot, score: score + described })
        };
        candidates.iter().zip(&said).filter_map(hit).collect()
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
}

/// Returns how much a description of so many different words says, from 0 to 1.
fn described(words: u16) -> f32 {
    let times = f32::from(words) / SHORT_DESCRIPTION;
    ln(times.clamp(1.0, LONG_DESCRIPTION)) / ln(LONG_DESCRIPTION)
}

/// Returns how much of `name`, the terms of a name, the query says, from 0 to 1.
fn name_share(name: &[Term], query: &Query, rarities: &[f32]) -> f32 {
    let (mut said, mut all) = (0.0, 0.0);
    for term in name {
        match query.words.iter().position(|asked| asked.term == *term) {
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

/// The number of different words of a short description.
const SHORT_DESCRIPTION: f32 = 25.0;
/// The factor of that at which a description is long: more words say nothing more.
const LONG_DESCRIPTION: f32 = 3.0;
/// The number of words of a query below which its meaning says hardly more than they do.
const FEW_WORDS: f32 = 4.0;
/// The least share of the score of its words that a skill keeps, whatever its meaning.
const LEAST_SAID: f32 = 0.1;
/// The least trust in the meaning where the words put one skill far ahead.
const LEAST_TRUST: f32 = 0.2;
/// The approximate rarity of words of names.
const UNSAID_RARITY: f32 = 4.0;

/// Two words of the query that stand side by side.
struct QueryPair {
    pair: TermPair,
    /// The bits of both.
    words: u64,
    worth: f32,
}

/// Returns what those of `pairs` are worth together that a skill has among its own, `held`, which are sorted, with whatever instructions the
/// processor has. Whoever has not both words, which `has` tells, has them nowhere side by side, and need not be asked.
#[inline(always)]
fn side_by_side<S: Simd>(_: S, held: &[TermPair], has: u64, pairs: &[QueryPair]) -> f32 {
    let both = pairs.iter().filter(|pair| has & pair.words == pair.words);
    both.filter(|pair| is_among(held, pair.pair)).map(|pair| pair.worth).sum()
}

/// Returns whether `wanted` is among `hashes`, which are sorted. They are spread evenly, so it can only be near the place that its value
/// tells; a search that halves them would wait for memory at every step.
#[inline(always)]
fn is_among(hashes: &[TermPair], wanted: TermPair) -> bool {
    let guess = (usize::from(wanted.0) * hashes.len()) >> u16::BITS;
    let near = &hashes[guess.saturating_sub(NEIGHBOURS)..hashes.len().min(guess + NEIGHBOURS)];
    match (near.first(), near.last()) {
        (Some(first), Some(last)) if *first <= wanted && wanted <= *last => {
            near.iter().fold(false, |has_it, hash| has_it | (*hash == wanted))
        }
        _ => hashes.binary_search(&wanted).is_ok(),
    }
}

/// Returns at least `wanted` of the skills with the best scores, few more than that, and all that are as good as the last; fewer where
/// fewer have any.
fn best_of(scores: &[f32], wanted: usize) -> Vec<Slot> {
    let (mut low, mut high) = (0.0f32, dispatch!(Level::new(), simd => highest(simd, scores)));
    // Those that reach `low`, once they are few: then the others are not looked at any more.
    let mut few: Option<(Vec<Slot>, Vec<f32>)> = None;
    for _ in 0..MAX_HALVINGS {
        let among = few.as_ref().map_or(scores, |(_, scores)| scores);
        let middle = (low + high) / 2.0;
        let count = dispatch!(Level::new(), simd => count(simd, among, middle));
        if count < wanted {
            high = middle;
            continue;
        }
        low = middle;
        // As good as it gets: there is room for a few more.
        if count < wanted + wanted / 4 {
            break;
        }
        if few.is_none() && count < scores.len() / FEW {
            let slots = at_least(scores, low, count);
            let scores = slots.iter().map(|slot| scores[*slot as usize]).collect();
            few = Some((slots, scores));
        }
    }
    let least = low.max(f32::MIN_POSITIVE);
    match few {
        None => {
            let count = dispatch!(Level::new(), simd => count(simd, scores, least));
            at_least(scores, least, count)
        }
        Some((mut slots, _)) => {
            slots.retain(|slot| scores[*slot as usize] >= least);
            slots
        }
    }
}

/// Returns the highest of `scores`, or 0, with whatever instructions the processor has.
#[inline(always)]
fn highest<S: Simd>(_: S, scores: &[f32]) -> f32 {
    let higher = |a: f32, b: f32| if a > b { a } else { b };
    let mut lanes = [0.0f32; LANES];
    for scores in scores.chunks(LANES) {
        lanes.iter_mut().zip(scores).for_each(|(lane, score)| *lane = higher(*lane, *score));
    }
    lanes.into_iter().fold(0.0, higher)
}

/// Returns how many of `scores` are at least `least`, with whatever instructions the processor has.
#[inline(always)]
fn count<S: Simd>(_: S, scores: &[f32], least: f32) -> usize {
    // There are no more slots than that.
    scores.iter().map(|score| u32::from(*score >= least)).sum::<u32>() as usize
}

/// Returns the skills whose score is at least `least`, of which there are `count`.
fn at_least(scores: &[f32], least: f32, count: usize) -> Vec<Slot> {
    // One more, for those that are looked at after the last.
    let mut slots = vec![0; count + 1];
    let mut found = 0;
    for (slot, score) in (0..).zip(scores) {
        // Nobody can foresee which those are, so each is written down, and overwritten unless it is one.
        if let Some(place) = slots.get_mut(found) {
            *place = slot;
        }
        found += usize::from(*score >= least);
    }
    slots.truncate(count);
    slots
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_highest_score_is_found_wherever_it_stands() {
        for length in [0, 1, 15, 16, 17, 40] {
            for place in 0..length {
                let scores: Vec<f32> =
                    (0..length).map(|other| if other == place { 2.0 } else { f32::NEG_INFINITY }).collect();
                assert_eq!(dispatch!(Level::new(), simd => highest(simd, &scores)), 2.0);
            }
            let none = vec![f32::NEG_INFINITY; length];
            assert_eq!(dispatch!(Level::new(), simd => highest(simd, &none)), 0.0);
        }
    }

    proptest! {
        #[test]
        fn the_best_are_picked(scores in proptest::collection::vec(-1.0f32..4.0, 0..2000), wanted in 1usize..40) {
            let slots = best_of(&scores, wanted);
            let above = scores.iter().filter(|score| **score > 0.0).count();
            prop_assert!(slots.len() >= wanted.min(above) && slots.len() <= above);
            prop_assert!(slots.windows(2).all(|pair| pair[0] < pair[1]));
            let least = slots.iter().map(|slot| scores[*slot as usize]).fold(f32::INFINITY, f32::min);
            let better = scores.iter().filter(|score| **score >= least).count();
            prop_assert!(slots.is_empty() || (least > 0.0 && better == slots.len()));
        }

        #[test]
        fn a_hash_is_found_wherever_it_is(mut hashes in proptest::collection::vec(any::<u16>(), 0..1100), low in 1u16.., wanted in any::<u16>()) {
            hashes.sort_unstable();
            // Also where they are anything but spread evenly.
            let crowded: Vec<u16> = hashes.iter().map(|hash| hash % low).collect();
            for mut hashes in [hashes, crowded] {
                hashes.sort_unstable();
                let pairs: Vec<TermPair> = hashes.iter().copied().map(TermPair).collect();
                for wanted in hashes.iter().copied().chain([0, wanted, wanted % low, u16::MAX]) {
                    prop_assert_eq!(is_among(&pairs, TermPair(wanted)), hashes.contains(&wanted), "{}", wanted);
                }
            }
        }
    }
}
