//! Finds the skills that a query is about, best first.
//!
//! In three steps. The words pick candidates, those that tell most first; the lists of the most frequent ones are only looked into.
//! Where they pick few, the meaning picks more; among many, whatever it would pick has some of the words. What is picked is weighed in
//! full: words, words side by side, the share of the name that was said, the meaning, and how much the description says.

use std::cmp::Ordering;

use fearless_simd::{Level, Simd, dispatch};

use super::index::{Index, Slot};
use super::posting::{Field, Posting, WeightTable};
use super::query::Query;
use super::record::Term;
use super::segment::List;
use super::slots::SlotSet;
use super::view::View;

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
/// How many scores are added to together.
const LANES: usize = 16;
/// The most words that are looked up: the rarest ones.
const MAX_TERMS: usize = 64;
/// How far from where it should be a hash is looked for first.
const NEIGHBOURS: usize = 32;
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
    /// Who has it, by the numbers of the parts they are in.
    lists: Vec<(usize, List<'a>)>,
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
        let view = View::of(self, seen);
        let terms = self.weighed(query, &view);
        let wanted = CANDIDATES.max(limit);
        // Whatever is added to it, a skill that is not seen stays below all others.
        let mut scores = vec![0.0f32; self.slots()];
        view.hidden(self).for_each(|slot| scores[slot as usize] = f32::NEG_INFINITY);
        let done = self.accumulate(&terms, &view, &mut scores);
        let picked = if done < terms.len() { wanted * RESERVE } else { wanted };
        let mut candidates: Vec<Slot> = at_least(&scores, reached_by(picked, &scores));
        let nearest = if candidates.len() < wanted { self.nearest(query, &scores) } else { Vec::new() };
        candidates.extend(&nearest);
        candidates.sort_unstable();
        candidates.dedup();
        for term in &terms[done..] {
            self.probe(term, &view, &candidates, &mut scores);
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
        let identity = |slot: Slot| self.key(slot).map(|key| key.identity);
        b.0.total_cmp(&a.0).then_with(|| identity(a.1).cmp(&identity(b.1)))
    }

    /// Returns which words of `query` each of the skills at `slots` has, and where; those that tell most among `seen` first.
    pub fn matches<'q>(
        &self,
        query: &'q Query,
        seen: &SlotSet,
        slots: &[Slot],
    ) -> Vec<Vec<(&'q str, Vec<Field>)>> {
        let terms = self.weighed(query, &View::of(self, seen));
        let fields = |posting: Posting| Field::ALL.into_iter().filter(move |field| posting.count(*field) > 0);
        let matches = |slot: &Slot| {
            let Some(number) = self.tier_of(*slot) else { return Vec::new() };
            let place = slot - self.tiers[number].first;
            let words = terms.iter().filter_map(|term| {
                let (_, list) = term.lists.iter().find(|(other, _)| *other == number)?;
                // What it is not for is no reason to find it.
                let posting =
                    list.cursor().seek(place).filter(|posting| self.table().weigh(*posting, 1.0) > 0.0)?;
                Some((query.words[term.place].word.as_str(), fields(posting).collect()))
            });
            words.collect()
        };
        slots.iter().map(matches).collect()
    }

    /// Returns the words of `query` that some skill of `view` has, those that tell most first.
    fn weighed(&self, query: &Query, view: &View<'_>) -> Vec<Weighed<'_>> {
        let count = view.count as f32;
        let mut terms: Vec<Weighed<'_>> = Vec::with_capacity(query.words.len());
        for (place, asked) in query.words.iter().enumerate() {
            let lists = self.tiers.iter().enumerate();
            let lists = lists.filter_map(|(number, tier)| Some((number, tier.part.list(asked.term)?)));
            let lists: Vec<(usize, List<'_>)> = lists.collect();
            let holders: usize = lists.iter().map(|(number, list)| view.holders(*number, *list)).sum();
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
            terms.push(Weighed { place, term: asked.term, lists, holders, rarity, weight });
        }
        terms.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.term.cmp(&b.term)));
        terms.truncate(MAX_TERMS);
        terms
    }

    /// Adds up what the first of `terms` are worth to each skill, and returns how many those are: all, or those before the most frequent
    /// ones where these have long lists and little weight.
    fn accumulate(&self, terms: &[Weighed<'_>], view: &View<'_>, scores: &mut [f32]) -> usize {
        let (table, brevities, saturation) = (self.table(), &view.brevities, self.weights.saturation);
        // By what the skills are, not by how they are packed: the same ones rank the same.
        let mut postings: usize = terms.iter().map(|term| term.holders).sum();
        let mut open: f32 = terms.iter().map(|term| term.weight).sum();
        let least = open * LEFT_OUT;
        for (index, term) in terms.iter().enumerate() {
            if open < least && view.count > LARGE && postings > view.count / 4 {
                return index;
            }
            open -= term.weight;
            postings -= term.holders;
            for (number, list) in &term.lists {
                let range = self.tiers[*number].range();
                let (scores, brevities) = (&mut scores[range.clone()], &brevities[range]);
                if let Some(row) = list.row().filter(|_| saturation > 0.0) {
                    let add = RowOf { row, weight: term.weight, saturation, table };
                    dispatch!(Level::new(), simd => add.to(simd, brevities, scores));
                    continue;
                }
                list.each(|place, posting| {
                    if let (Some(score), Some(brevity)) =
                        (scores.get_mut(place as usize), brevities.get(place as usize))
                    {
                        let value = table.weigh(posting, *brevity);
                        *score += term.weight * value / (saturation + value);
                    }
                });
            }
        }
        terms.len()
    }

    /// Adds up what `term` is worth to each of `slots`, which are sorted.
    fn probe(&self, term: &Weighed<'_>, view: &View<'_>, slots: &[Slot], scores: &mut [f32]) {
        let (table, brevities, saturation) = (self.table(), &view.brevities, self.weights.saturation);
        for (number, list) in &term.lists {
            let range = self.tiers[*number].range();
            let before = |bound: usize| slots.partition_point(|slot| (*slot as usize) < bound);
            let mut cursor = list.cursor();
            for slot in &slots[before(range.start)..before(range.end)] {
                if let Some(posting) = cursor.seek(slot - range.start as Slot) {
                    let value = table.weigh(posting, brevities[*slot as usize]);
                    scores[*slot as usize] += term.weight * value / (saturation + value);
                }
            }
        }
    }

    /// Returns the skills that are nearest to what `query` means.
    fn nearest(&self, query: &Query, scores: &[f32]) -> Vec<Slot> {
        let Some(vector) = query.vector.as_ref().filter(|_| self.weights.meaning > 0.0) else {
            return Vec::new();
        };
        let near = self.tiers.iter().flat_map(|tier| {
            let near = tier.part.columns.vectors.near(vector, NEAR);
            near.map(|(cosine, place)| (cosine, tier.first + place))
        });
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
            let Some((tier, place)) = self.at(*slot) else { return 0.0 };
            let columns = &tier.part.columns;
            let held = columns.pairs.get(place);
            let side_by_side = pairs.iter().filter(|(pair, _)| has(held, *pair));
            let side_by_side: f32 = side_by_side.map(|(_, worth)| worth).sum();
            scores[*slot as usize]
                + weights.pair * side_by_side
                + weights.name_share * name_share(columns.names.get(place), query, &rarities) * total.sqrt()
        };
        let said: Vec<f32> = candidates.iter().map(said).collect();
        let trust = weights.meaning * total.sqrt().max(1.0) * self.trust_in_meaning(query, &said);
        let hit = |(slot, said): (&Slot, &f32)| {
            let (tier, place) = self.at(*slot)?;
            let columns = &tier.part.columns;
            let meaning = query.vector.as_ref().map_or(0.0, |vector| columns.vectors.cosine(place, vector));
            // However far its meaning is, what has the words is found.
            let score = (said + trust * meaning).max(said * LEAST_SAID) / best;
            let described = weights.described * described(columns.described[place]);
            (score > 0.0).then_some(Hit { slot: *slot, score: score + described })
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

/// The row of a term, and what it is worth.
struct RowOf<'a> {
    row: &'a [[u8; 2]],
    weight: f32,
    saturation: f32,
    table: &'a WeightTable,
}

impl RowOf<'_> {
    /// Adds up what the term is worth to each skill, with whatever instructions the processor has. To a skill without the term that is
    /// 0, which costs less than to ask whether it has it.
    #[inline(always)]
    fn to<S: Simd>(self, _: S, brevities: &[f32], scores: &mut [f32]) {
        let Self { row, weight, saturation, table } = self;
        let add = |bits: &[[u8; 2]], brevities: &[f32], scores: &mut [f32]| {
            let mut values = [0.0f32; LANES];
            for ((value, bits), brevity) in values.iter_mut().zip(bits).zip(brevities) {
                *value = table.weigh(Posting::from_bits(u16::from_le_bytes(*bits)), *brevity);
            }
            let worths = values.map(|value| weight * value / (saturation + value));
            scores.iter_mut().zip(worths).for_each(|(score, worth)| *score += worth);
        };
        let count = row.len().min(scores.len()).min(brevities.len());
        let rows = row[..count].chunks(LANES).zip(brevities[..count].chunks(LANES));
        rows.zip(scores[..count].chunks_mut(LANES))
            .for_each(|((bits, brevities), scores)| add(bits, brevities, scores));
    }
}

/// Returns how much a description of so many different words says, from 0 to 1.
fn described(words: u16) -> f32 {
    (f32::from(words) / SHORT_DESCRIPTION).ln().clamp(0.0, LONG_DESCRIPTION.ln()) / LONG_DESCRIPTION.ln()
}

/// Returns how much of `name`, the terms of a name, the query says, from 0 to 1.
fn name_share(name: &[u64], query: &Query, rarities: &[f32]) -> f32 {
    let (mut said, mut all) = (0.0, 0.0);
    for term in name {
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

/// Returns whether `wanted` is among `hashes`, which are sorted. They are spread evenly, so it can only be near the place that its value
/// tells; a search that halves them would wait for memory at every step.
fn has(hashes: &[u16], wanted: u16) -> bool {
    let guess = (usize::from(wanted) * hashes.len()) >> u16::BITS;
    let near = &hashes[guess.saturating_sub(NEIGHBOURS)..hashes.len().min(guess + NEIGHBOURS)];
    match (near.first(), near.last()) {
        (Some(first), Some(last)) if *first <= wanted && wanted <= *last => {
            near.iter().fold(false, |has_it, hash| has_it | (*hash == wanted))
        }
        _ => hashes.binary_search(&wanted).is_ok(),
    }
}

/// Returns a score that at least `wanted` of `scores` reach, about the highest one; 0 where fewer have any.
fn reached_by(wanted: usize, scores: &[f32]) -> f32 {
    let (mut low, mut high) = (0.0f32, dispatch!(Level::new(), simd => highest(simd, scores)));
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Weights;
    use super::*;

    proptest! {
        #[test]
        fn a_row_adds_what_its_postings_do(
            row in proptest::collection::vec((any::<u16>(), any::<bool>()), 0..100),
            brevities in proptest::collection::vec(0.1f32..2.0, 100),
            weight in 0.0f32..3.0,
        ) {
            let row: Vec<[u8; 2]> = row.iter().map(|(bits, has)| if *has { bits.to_le_bytes() } else { [0; 2] }).collect();
            let weights = Weights::default();
            let (table, saturation) = (WeightTable::new(&weights), weights.saturation);
            let mut expected = vec![0.5f32; row.len()];
            for (place, bits) in row.iter().enumerate().filter(|(_, bits)| **bits != [0; 2]) {
                let value = table.weigh(Posting::from_bits(u16::from_le_bytes(*bits)), brevities[place]);
                expected[place] += weight * value / (saturation + value);
            }
            let mut found = vec![0.5f32; row.len()];
            let add = RowOf { row: &row, weight, saturation, table: &table };
            dispatch!(Level::new(), simd => add.to(simd, &brevities, &mut found));
            prop_assert_eq!(found, expected);
        }
    }

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
        fn a_hash_is_found_wherever_it_is(mut hashes in proptest::collection::vec(any::<u16>(), 0..1100), low in 1u16.., wanted in any::<u16>()) {
            hashes.sort_unstable();
            // Also where they are anything but spread evenly.
            let crowded: Vec<u16> = hashes.iter().map(|hash| hash % low).collect();
            for mut hashes in [hashes, crowded] {
                hashes.sort_unstable();
                for wanted in hashes.iter().copied().chain([0, wanted, wanted % low, u16::MAX]) {
                    prop_assert_eq!(has(&hashes, wanted), hashes.contains(&wanted), "{}", wanted);
                }
            }
        }
    }
}
