//! Which skills have which terms, packed.

use super::columns::bytes_of;
use super::posting::Posting;
use super::record::Term;

/// The most skills of a segment: their places are written in fifteen bits.
pub(super) const MAX_SKILLS: usize = 1 << 15;
/// Which share of all skills must have a term for its list to begin with a map of them all: looking one up takes no search then.
const MAP_SHARE: u32 = 16;
/// How many skills must have it: small lists are walked along as fast.
const MIN_MAP: usize = 64;
/// How many skills a word of a map stands for.
const WORD: u32 = u64::BITS;
/// How far from where it should be a term is looked for first.
const NEIGHBOURS: usize = 64;

/// Which skills have which terms.
///
/// A list of postings is the number of skills, then their places, and then how often the term stands where in each. Most terms stand in
/// bodies only, so the other half of a posting is written only where there is one, which the place of the skill tells. The places of skills that
/// have what many have are a map of bits instead.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Segment {
    /// The terms, sorted.
    pub(super) terms: Vec<u64>,
    /// Where the list of each term starts.
    pub(super) starts: Vec<u32>,
    pub(super) bytes: Vec<u8>,
}

impl Segment {
    /// Returns the list of `term`.
    pub(super) fn list(&self, term: Term) -> Option<List<'_>> {
        self.list_at(self.find(term.0)?)
    }

    /// Returns the place of `term`. Terms are spread evenly, so it can only be near the place that its value tells; a search that halves
    /// them would wait for memory at every step.
    fn find(&self, term: u64) -> Option<usize> {
        let terms = &self.terms[..];
        let share = |distance: u64| ((u128::from(distance) * terms.len() as u128) >> u64::BITS) as usize;
        let guess = share(term);
        let there = *terms.get(guess)?;
        // What is there tells how far off the guess was.
        let guess = match there <= term {
            true => guess + share(term - there),
            false => guess.saturating_sub(share(there - term)),
        };
        let start = guess.saturating_sub(NEIGHBOURS);
        let near = terms.get(start..terms.len().min(guess + NEIGHBOURS)).unwrap_or_default();
        match (near.first(), near.last()) {
            (Some(first), Some(last)) if *first <= term && term <= *last => {
                near.binary_search(&term).ok().map(|place| start + place)
            }
            _ => terms.binary_search(&term).ok(),
        }
    }

    fn list_at(&self, index: usize) -> Option<List<'_>> {
        let start = *self.starts.get(index)? as usize;
        // No list reaches into the next one: a file that says otherwise would have the same bytes read for ever more terms.
        let end = self.starts.get(index + 1).map_or(self.bytes.len(), |next| *next as usize);
        let (number, bytes) = read_number(self.bytes.get(start..end)?)?;
        let count = (number >> 1) as usize;
        if number & 1 == 0 {
            let (places, bytes) = bytes.split_at_checked(count.checked_mul(2)?)?;
            let (bodies, others) = bytes.split_at_checked(count)?;
            let places = places.as_chunks().0;
            return Some(List { count, form: Form::Places(Places { places, bodies, others }) });
        }
        let (words, bytes) = read_number(bytes)?;
        if words > MAX_SKILLS as u32 / WORD {
            return None;
        }
        let (map, bytes) = bytes.split_at_checked((words as usize).checked_mul(8)?)?;
        let (before, bytes) = bytes.split_at_checked(words as usize * 2)?;
        let postings = bytes.get(..count.checked_mul(2)?)?;
        let map =
            Map { words: map.as_chunks().0, before: before.as_chunks().0, postings: postings.as_chunks().0 };
        Some(List { count, form: Form::Map(map) })
    }

    /// Returns the postings of `inputs` together with those of `loose` skills, by their places, which follow those of all inputs.
    pub(super) fn packed(inputs: &[Input<'_>], loose: &[(u32, &[(Term, Posting)])]) -> Self {
        let mut added: Vec<Added> = loose
            .iter()
            .flat_map(|(slot, terms)| terms.iter().map(move |(term, posting)| (*term, *slot, *posting)))
            .collect();
        added.sort_unstable_by_key(|(term, slot, _)| (*term, *slot));
        let mut added = added.as_slice();
        let mut ahead = vec![0; inputs.len()];
        let mut writer = Writer::default();
        writer.segment.bytes.reserve(inputs.iter().map(|input| input.segment.bytes.len()).sum());
        loop {
            // There are few inputs, so nothing is gained by keeping them in order.
            let terms = inputs.iter().zip(&ahead).filter_map(|(input, at)| input.segment.terms.get(*at));
            let Some(term) = terms.copied().chain(added.first().map(|(term, ..)| term.0)).min() else {
                break;
            };
            for (Input { segment, places }, at) in inputs.iter().zip(&mut ahead) {
                if segment.terms.get(*at) != Some(&term) {
                    continue;
                }
                if let Some(list) = segment.list_at(*at) {
                    list.each(|slot, posting| {
                        let place = places.get(slot as usize).copied().flatten();
                        writer.list.extend(place.map(|place| (place, posting)));
                    });
                }
                *at += 1;
            }
            let (own, rest) = split(added, Term(term));
            added = rest;
            writer.list.extend(own.iter().map(|(_, slot, posting)| (*slot, *posting)));
            writer.finish(Term(term));
        }
        let Segment { mut terms, mut starts, mut bytes } = writer.segment;
        terms.shrink_to_fit();
        starts.shrink_to_fit();
        bytes.shrink_to_fit();
        Self { terms, starts, bytes }
    }

    /// Returns how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        let Self { terms, starts, bytes } = self;
        bytes_of(terms) + bytes_of(starts) + bytes_of(bytes)
    }
}

/// Postings that are packed together with others.
pub(super) struct Input<'a> {
    pub(super) segment: &'a Segment,
    /// Where each of its skills goes; those that go nowhere are dropped, and the order stays.
    pub(super) places: &'a [Option<u32>],
}

/// A term that a skill has.
type Added = (Term, u32, Posting);

/// Returns the postings of `term`, which are the first ones if there are any, and the rest.
fn split(added: &[Added], term: Term) -> (&[Added], &[Added]) {
    let count = added.iter().take_while(|(other, ..)| *other == term).count();
    added.split_at(count)
}

/// The postings of a term.
#[derive(Debug, Clone, Copy)]
pub(super) struct List<'a> {
    /// How many skills have the term.
    pub(super) count: usize,
    form: Form<'a>,
}

/// How postings are written.
#[derive(Debug, Clone, Copy)]
enum Form<'a> {
    /// With the places of the skills that have the term.
    Places(Places<'a>),
    /// With a bit for every skill.
    Map(Map<'a>),
    /// Of the one skill that there is.
    One(Posting),
}

impl<'a> List<'a> {
    /// Returns the list of a term that the only skill has.
    pub(super) fn one(posting: Posting) -> Self {
        Self { count: 1, form: Form::One(posting) }
    }

    /// Returns the postings where there is a bit for every skill.
    pub(super) fn map(self) -> Option<Map<'a>> {
        match self.form {
            Form::Map(map) => Some(map),
            _ => None,
        }
    }

    /// Returns how many of `slots`, which are sorted, have the term.
    pub(super) fn count_of(self, slots: &[u32]) -> usize {
        if slots.is_empty() {
            return 0;
        }
        let mut cursor = self.cursor();
        slots.iter().filter(|slot| cursor.seek(**slot).is_some()).count()
    }

    /// Calls `take` with every skill that has the term, in order.
    #[inline]
    pub(super) fn each(self, mut take: impl FnMut(u32, Posting)) {
        match self.form {
            Form::Places(places) => places.each(take),
            Form::Map(map) => map.each(take),
            Form::One(posting) => take(0, posting),
        }
    }

    /// Returns what looks skills up that come in order.
    pub(super) fn cursor(self) -> Cursor<'a> {
        match self.form {
            Form::Places(list) => Cursor::Walk(Walk { list, index: 0, others: 0 }),
            Form::Map(map) => Cursor::Map(map),
            Form::One(posting) => Cursor::One(posting),
        }
    }
}

/// Postings of skills whose places are written one after the other.
#[derive(Debug, Clone, Copy)]
struct Places<'a> {
    /// The place of each skill, twice, and 1 more where there is another half of its posting.
    places: &'a [[u8; 2]],
    /// The half of each posting that tells of the body.
    bodies: &'a [u8],
    /// The other halves, of those that have one.
    others: &'a [u8],
}

impl Places<'_> {
    /// Returns the number at `index`: a place, and whether there is another half.
    #[inline]
    fn number(&self, index: usize) -> Option<u16> {
        self.places.get(index).map(|bytes| u16::from_le_bytes(*bytes))
    }

    #[inline]
    fn each(self, mut take: impl FnMut(u32, Posting)) {
        let mut others = 0;
        for (number, body) in self.places.iter().zip(self.bodies) {
            let number = u16::from_le_bytes(*number);
            // Nobody can foresee which have another half, so that is not asked but reckoned.
            let has_other = number & 1;
            let other = self.others.get(others).copied().unwrap_or_default() * has_other as u8;
            others += usize::from(has_other);
            take(u32::from(number >> 1), Posting::from_bits(u16::from_le_bytes([*body, other])));
        }
    }
}

/// Postings of skills that have a bit each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Map<'a> {
    words: &'a [[u8; 8]],
    /// How many postings come before those of each word.
    before: &'a [[u8; 2]],
    postings: &'a [[u8; 2]],
}

impl Map<'_> {
    #[inline]
    fn each(self, mut take: impl FnMut(u32, Posting)) {
        let mut postings = self.postings.iter();
        for (first, word) in (0..).step_by(WORD as usize).zip(self.words) {
            let mut bits = u64::from_le_bytes(*word);
            while bits != 0 {
                let Some(posting) = postings.next() else { return };
                take(first + bits.trailing_zeros(), Posting::from_bits(u16::from_le_bytes(*posting)));
                bits &= bits - 1;
            }
        }
    }

    /// Returns the posting of the skill `slot`; its bits are 0 where it has none. It takes the same steps in any case.
    #[inline(always)]
    pub(super) fn posting(&self, slot: u32) -> Posting {
        let (index, bit) = ((slot / WORD) as usize, 1u64 << (slot % WORD));
        let word = u64::from_le_bytes(self.words.get(index).copied().unwrap_or_default());
        let before = u16::from_le_bytes(self.before.get(index).copied().unwrap_or_default());
        let place = usize::from(before) + (word & (bit - 1)).count_ones() as usize;
        let bits = u16::from_le_bytes(self.postings.get(place).copied().unwrap_or_default());
        Posting::from_bits(bits * u16::from(word & bit != 0))
    }
}

/// Looks skills up in the postings of a term, in order.
#[derive(Debug)]
pub(super) enum Cursor<'a> {
    Walk(Walk<'a>),
    Map(Map<'a>),
    One(Posting),
}

impl Cursor<'_> {
    /// Returns the posting of the skill `slot`; each is at or after the one looked up before.
    #[inline]
    pub(super) fn seek(&mut self, slot: u32) -> Option<Posting> {
        match self {
            Self::Walk(walk) => walk.seek(slot),
            Self::Map(map) => Some(map.posting(slot)).filter(|posting| posting.bits() != 0),
            Self::One(posting) => (slot == 0).then_some(*posting),
        }
    }
}

/// A way along the places of skills.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    list: Places<'a>,
    /// Where it has come to.
    index: usize,
    /// How many before that have another half.
    others: usize,
}

impl Walk<'_> {
    #[inline]
    fn seek(&mut self, slot: u32) -> Option<Posting> {
        let is_before =
            |index: usize| self.list.number(index).is_some_and(|number| u32::from(number >> 1) < slot);
        // Ahead by ever larger steps, then back by halves.
        let (mut index, mut step) = (self.index, 1);
        while is_before(index + step - 1) {
            index += step;
            step *= 2;
        }
        while step > 1 {
            step /= 2;
            if is_before(index + step - 1) {
                index += step;
            }
        }
        let passed = self.list.places.get(self.index..index).unwrap_or_default();
        self.others += passed.iter().map(|number| usize::from(number[0] & 1)).sum::<usize>();
        self.index = index;
        let number = self.list.number(index).filter(|number| u32::from(number >> 1) == slot)?;
        let body = *self.list.bodies.get(index)?;
        let other = if number & 1 == 1 { *self.list.others.get(self.others)? } else { 0 };
        Some(Posting::from_bits(u16::from_le_bytes([body, other])))
    }
}

/// Writes lists one after the other.
#[derive(Default)]
struct Writer {
    segment: Segment,
    /// The list being written.
    list: Vec<(u32, Posting)>,
}

impl Writer {
    /// Ends the list of `term`; terms come in order.
    fn finish(&mut self, term: Term) {
        // The last one is the highest, unless the list was read from a damaged file.
        let Some(last) = self.list.iter().map(|(slot, _)| *slot).max() else { return };
        debug_assert!((last as usize) < MAX_SKILLS);
        let (count, skills) = (self.list.len() as u32, last + 1);
        // A word that there is no room for finds nothing, like one that nobody says.
        let Ok(start) = u32::try_from(self.segment.bytes.len()) else { return self.list.clear() };
        self.segment.terms.push(term.0);
        self.segment.starts.push(start);
        if self.list.len() >= MIN_MAP && count >= skills / MAP_SHARE {
            write_number(&mut self.segment.bytes, count << 1 | 1);
            self.map(skills);
        } else {
            write_number(&mut self.segment.bytes, count << 1);
            self.places();
        }
        self.list.clear();
    }

    fn map(&mut self, skills: u32) {
        let bytes = &mut self.segment.bytes;
        let mut words = vec![0u64; skills.div_ceil(WORD) as usize];
        self.list.iter().for_each(|(slot, _)| words[(slot / WORD) as usize] |= 1 << (slot % WORD));
        write_number(bytes, words.len() as u32);
        words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        let mut before = 0u16;
        for word in words {
            bytes.extend(before.to_le_bytes());
            before += word.count_ones() as u16;
        }
        self.list.iter().for_each(|(_, posting)| bytes.extend(posting.bits().to_le_bytes()));
    }

    fn places(&mut self) {
        let bytes = &mut self.segment.bytes;
        let halves = self.list.iter().map(|(slot, posting)| (*slot as u16, posting.bits().to_le_bytes()));
        halves
            .clone()
            .for_each(|(slot, [_, other])| bytes.extend((slot << 1 | u16::from(other != 0)).to_le_bytes()));
        bytes.extend(halves.clone().map(|(_, [body, _])| body));
        bytes.extend(halves.map(|(_, [_, other])| other).filter(|other| *other != 0));
    }
}

/// Appends `number`, seven bits a byte, low ones first.
fn write_number(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads what [`write_number`] wrote, and returns the rest.
#[inline]
fn read_number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    match bytes {
        [byte, rest @ ..] if *byte < 0x80 => Some((u32::from(*byte), rest)),
        _ => read_long_number(bytes),
    }
}

fn read_long_number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let mut number = 0u32;
    for (index, byte) in bytes.iter().enumerate().take(5) {
        number |= u32::from(byte & 0x7f) << (7 * index);
        if *byte < 0x80 {
            return Some((number, &bytes[index + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn record(terms: &BTreeMap<u8, u16>) -> Vec<(Term, Posting)> {
        let terms = terms.iter().map(|(term, bits)| (Term(u64::from(*term)), Posting::from_bits(*bits)));
        terms.collect()
    }

    fn check(segment: &Segment, kept: &[&BTreeMap<u8, u16>]) {
        for term in 0..=u8::MAX {
            let expected: Vec<(u32, u16)> = (0u32..)
                .zip(kept)
                .filter_map(|(slot, terms)| terms.get(&term).map(|bits| (slot, *bits)))
                .collect();
            let list = segment.list(Term(u64::from(term)));
            let mut found: Vec<(u32, u16)> = Vec::new();
            list.into_iter().for_each(|list| list.each(|slot, posting| found.push((slot, posting.bits()))));
            assert_eq!(found, expected);
            if let Some(list) = list {
                assert_eq!(list.count, expected.len());
                for step in [1, 7, 50] {
                    let slots: Vec<u32> = (0..kept.len() as u32).step_by(step).collect();
                    let count = expected.iter().filter(|(slot, _)| slots.contains(slot)).count();
                    assert_eq!(list.count_of(&slots), count);
                }
                for step in [1, 3, 70] {
                    let mut cursor = list.cursor();
                    for slot in (0..kept.len() as u32).step_by(step) {
                        let expected = kept[slot as usize].get(&term).copied();
                        assert_eq!(cursor.seek(slot).map(Posting::bits), expected);
                    }
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn lists_hold_what_was_put_in(
            first in proptest::collection::vec(proptest::collection::btree_map(0u8..6, 1u16.., 0..6), 0..300),
            second in proptest::collection::vec(proptest::collection::btree_map(0u8..9, 1u16.., 0..6), 0..100),
            dropped in proptest::collection::vec(any::<bool>(), 300),
            split in any::<prop::sample::Index>(),
        ) {
            let packed = |skills: &[BTreeMap<u8, u16>]| {
                let records: Vec<_> = skills.iter().map(record).collect();
                Segment::packed(&[], &(0..).zip(records.iter().map(Vec::as_slice)).collect::<Vec<_>>())
            };
            let (one, other) = first.split_at(split.index(first.len() + 1));
            let segments = [packed(one), packed(other)];
            check(&segments[0], &one.iter().collect::<Vec<_>>());
            check(&segments[1], &other.iter().collect::<Vec<_>>());

            let mut next = 0;
            let places: Vec<Option<u32>> = (0..first.len())
                .map(|index| (!dropped[index]).then(|| { next += 1; next - 1 }))
                .collect();
            let (of_one, of_other) = places.split_at(one.len());
            let inputs =
                [Input { segment: &segments[0], places: of_one }, Input { segment: &segments[1], places: of_other }];
            let records: Vec<_> = second.iter().map(record).collect();
            let loose: Vec<_> = (next..).zip(records.iter().map(Vec::as_slice)).collect();
            let kept = first.iter().zip(&dropped).filter(|(_, dropped)| !**dropped).map(|(terms, _)| terms);
            check(&Segment::packed(&inputs, &loose), &kept.chain(&second).collect::<Vec<_>>());
        }

        #[test]
        fn no_list_reaches_into_the_next(starts in proptest::collection::vec(0u32..60, 2..40), bytes in proptest::collection::vec(any::<u8>(), 60)) {
            let segment = Segment { terms: (0..).take(starts.len()).collect(), starts, bytes };
            let mut read = 0;
            for index in 0..segment.terms.len() {
                segment.list_at(index).into_iter().for_each(|list| list.each(|_, _| read += 1));
            }
            // However often lists begin, each begins before the next one or is none.
            let rises = segment.starts.windows(2).filter(|pair| pair[0] < pair[1]).count() + 1;
            prop_assert!(read <= rises * segment.bytes.len());
        }

        #[test]
        fn damage_is_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), slots in proptest::collection::vec(any::<u32>(), 0..20)) {
            let segment = Segment { terms: vec![1], starts: vec![0], bytes };
            if let Some(list) = segment.list(Term(1)) {
                list.each(|_, _| {});
                list.count_of(&[0, 1, 5, 1000]);
                let mut cursor = list.cursor();
                for slot in slots { cursor.seek(slot); }
            }
        }
    }
}
