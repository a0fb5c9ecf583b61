//! Which skills have which terms, packed.

use super::columns::bytes_of;
use super::posting::Posting;
use super::record::Term;

/// How many postings of a term stand between two places to jump to.
const STRIDE: usize = 16;
/// Which share of all skills must have a term for its postings to be a row, with a place for every skill: it is larger, and looking
/// a skill up takes no search.
const ROW_SHARE: u32 = 4;
/// How many skills must have it: small lists are walked along as fast.
const MIN_ROW: usize = 64;

/// Which skills have which terms.
///
/// A list of postings is the number of skills, for long lists a table of places to jump to, and then for each skill how far it is
/// from the one before, with how often the term stands where. Most postings take two bytes. What most skills have is a row instead,
/// with a place for every skill.
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
        let index = self.terms.binary_search(&term.0).ok()?;
        self.list_at(index)
    }

    fn list_at(&self, index: usize) -> Option<List<'_>> {
        let bytes = self.bytes.get(*self.starts.get(index)? as usize..)?;
        let (number, bytes) = read_number(bytes)?;
        let count = (number >> 1) as usize;
        if number & 1 == 1 {
            let (skills, bytes) = read_number(bytes)?;
            let row = bytes.get(..(skills as usize).checked_mul(2)?)?;
            return Some(List { count, form: Form::Row(row) });
        }
        let jumps = if count > STRIDE { count.div_ceil(STRIDE) * 8 } else { 0 };
        let (jumps, postings) = bytes.split_at_checked(jumps)?;
        Some(List { count, form: Form::Steps { jumps, postings } })
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
    /// From one skill that has the term to the next.
    Steps { jumps: &'a [u8], postings: &'a [u8] },
    /// For every skill, two bytes each.
    Row(&'a [u8]),
    /// Of the one skill that there is.
    One(Posting),
}

impl<'a> List<'a> {
    /// Returns the list of a term that the only skill has.
    pub(super) fn one(posting: Posting) -> Self {
        Self { count: 1, form: Form::One(posting) }
    }

    /// Returns the postings where there is one for every skill; those of skills without the term are 0.
    pub(super) fn row(self) -> Option<&'a [[u8; 2]]> {
        match self.form {
            Form::Row(row) => Some(row.as_chunks::<2>().0),
            _ => None,
        }
    }

    /// Returns how many of `slots`, which are sorted, have the term.
    pub(super) fn count_of(self, slots: &[u32]) -> usize {
        if slots.is_empty() {
            return 0;
        }
        // Looking one up takes some steps, so a list that is not much longer is walked along.
        if let Form::Steps { postings, .. } = self.form
            && self.count / 4 < slots.len()
        {
            let mut rest = slots;
            let has = |(slot, _): &(u32, Posting)| {
                while let [first, after @ ..] = rest
                    && first < slot
                {
                    rest = after;
                }
                rest.first() == Some(slot)
            };
            return Postings::new(postings, self.count).filter(has).count();
        }
        let mut cursor = self.cursor();
        slots.iter().filter(|slot| cursor.seek(**slot).is_some()).count()
    }

    /// Calls `take` with every skill that has the term, in order.
    #[inline]
    pub(super) fn each(self, mut take: impl FnMut(u32, Posting)) {
        match self.form {
            Form::Steps { postings, .. } => {
                Postings::new(postings, self.count).for_each(|(slot, posting)| take(slot, posting));
            }
            Form::Row(row) => {
                let (row, _) = row.as_chunks::<2>();
                for (slot, bits) in (0..).zip(row) {
                    let bits = u16::from_le_bytes(*bits);
                    if bits != 0 {
                        take(slot, Posting::from_bits(bits));
                    }
                }
            }
            Form::One(posting) => take(0, posting),
        }
    }

    /// Returns what looks skills up that come in order.
    pub(super) fn cursor(self) -> Cursor<'a> {
        match self.form {
            Form::Row(row) => Cursor::Row(row.as_chunks::<2>().0),
            Form::One(posting) => Cursor::One(posting),
            Form::Steps { jumps, postings } => {
                let mut ahead = Postings::new(postings, self.count);
                let next = ahead.next();
                Cursor::Steps(Walk { count: self.count, jumps, postings, ahead, next })
            }
        }
    }
}

/// The skills that have a term, in order.
#[derive(Debug, Clone)]
struct Postings<'a> {
    bytes: &'a [u8],
    slot: u32,
    left: usize,
    /// How many were read.
    index: usize,
}

impl<'a> Postings<'a> {
    fn new(bytes: &'a [u8], count: usize) -> Self {
        Self { bytes, slot: 0, left: count, index: 0 }
    }
}

impl Iterator for Postings<'_> {
    type Item = (u32, Posting);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        // Most are near to the one before, and stand in bodies only.
        if let [number, body, rest @ ..] = self.bytes
            && number & 0x81 == 0
        {
            self.slot = self.slot.checked_add(u32::from(number >> 1))?;
            self.index += 1;
            self.bytes = rest;
            return Some((self.slot, Posting::from_bits(u16::from(*body))));
        }
        let (number, bytes) = read_number(self.bytes)?;
        self.slot = self.slot.checked_add(number >> 1)?;
        self.index += 1;
        // Most terms stand in bodies only, so the other half of the posting is left out.
        let (bits, bytes) = match (number & 1, bytes) {
            (0, [body, rest @ ..]) => (u16::from(*body), rest),
            (1, [body, short, rest @ ..]) => (u16::from_le_bytes([*body, *short]), rest),
            _ => return None,
        };
        self.bytes = bytes;
        Some((self.slot, Posting::from_bits(bits)))
    }
}

/// Looks skills up in the postings of a term, in order.
#[derive(Debug)]
pub(super) enum Cursor<'a> {
    Steps(Walk<'a>),
    Row(&'a [[u8; 2]]),
    One(Posting),
}

impl Cursor<'_> {
    /// Returns the posting of the skill `slot`; each is at or after the one looked up before.
    #[inline]
    pub(super) fn seek(&mut self, slot: u32) -> Option<Posting> {
        match self {
            Self::Steps(walk) => walk.seek(slot),
            Self::Row(row) => {
                let bits = u16::from_le_bytes(*row.get(slot as usize)?);
                (bits != 0).then_some(Posting::from_bits(bits))
            }
            Self::One(posting) => (slot == 0).then_some(*posting),
        }
    }
}

/// A way along postings that go from skill to skill.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    count: usize,
    jumps: &'a [u8],
    postings: &'a [u8],
    ahead: Postings<'a>,
    next: Option<(u32, Posting)>,
}

impl Walk<'_> {
    fn seek(&mut self, slot: u32) -> Option<Posting> {
        self.jump(slot);
        loop {
            match self.next {
                Some((found, _)) if found < slot => self.next = self.ahead.next(),
                Some((found, posting)) if found == slot => return Some(posting),
                _ => return None,
            }
        }
    }

    /// Goes to the last stride that starts at or before `slot`, if that is ahead.
    fn jump(&mut self, slot: u32) {
        let stride = self.ahead.index.saturating_sub(1) / STRIDE;
        let is_at_or_before = |index: usize| self.stride(index).is_some_and(|(first, _)| first <= slot);
        if !is_at_or_before(stride + 1) {
            return;
        }
        // Ahead by ever larger steps, then back by halves.
        let (mut low, mut step) = (stride + 1, 1);
        while is_at_or_before(low + step) {
            low += step;
            step *= 2;
        }
        while step > 0 {
            if is_at_or_before(low + step) {
                low += step;
            }
            step /= 2;
        }
        if let Some((first, offset)) = self.stride(low)
            && let Some(bytes) = self.postings.get(offset..)
        {
            let index = low * STRIDE;
            // The first posting of a stride tells how far it is from the one before, which nobody knows here.
            let Some((number, _)) = read_number(bytes) else { return };
            let before = first.saturating_sub(number >> 1);
            self.ahead = Postings { bytes, slot: before, left: self.count - index, index };
            self.next = self.ahead.next();
        }
    }

    /// Returns the first skill of the stride `index` and where its postings start.
    fn stride(&self, index: usize) -> Option<(u32, usize)> {
        let entry = self.jumps.get(index * 8..index * 8 + 8)?;
        let (slot, offset) = entry.split_at_checked(4)?;
        let number = |bytes: &[u8]| bytes.try_into().ok().map(u32::from_le_bytes);
        Some((number(slot)?, number(offset)? as usize))
    }
}

/// Writes lists one after the other.
#[derive(Default)]
struct Writer {
    segment: Segment,
    /// The list being written.
    list: Vec<(u32, Posting)>,
    /// Its postings and its places to jump to, where they are written as steps.
    postings: Vec<u8>,
    jumps: Vec<u8>,
}

impl Writer {
    /// Ends the list of `term`; terms come in order.
    fn finish(&mut self, term: Term) {
        let Some((last, _)) = self.list.last() else { return };
        let (count, skills) = (self.list.len() as u32, last + 1);
        self.segment.terms.push(term.0);
        self.segment.starts.push(self.segment.bytes.len() as u32);
        if self.list.len() >= MIN_ROW && count >= skills / ROW_SHARE {
            write_number(&mut self.segment.bytes, count << 1 | 1);
            self.row(skills);
        } else {
            write_number(&mut self.segment.bytes, count << 1);
            self.steps();
        }
        self.list.clear();
    }

    fn row(&mut self, skills: u32) {
        write_number(&mut self.segment.bytes, skills);
        let start = self.segment.bytes.len();
        self.segment.bytes.resize(start + skills as usize * 2, 0);
        let (row, _) = self.segment.bytes[start..].as_chunks_mut::<2>();
        for (slot, posting) in &self.list {
            row[*slot as usize] = posting.bits().to_le_bytes();
        }
    }

    fn steps(&mut self) {
        self.jumps.clear();
        self.postings.clear();
        let mut before = 0;
        for (index, (slot, posting)) in self.list.iter().enumerate() {
            if index.is_multiple_of(STRIDE) {
                self.jumps.extend(slot.to_le_bytes());
                self.jumps.extend((self.postings.len() as u32).to_le_bytes());
            }
            let [body, short] = posting.bits().to_le_bytes();
            write_number(&mut self.postings, (slot - before) << 1 | u32::from(short != 0));
            self.postings.push(body);
            if short != 0 {
                self.postings.push(short);
            }
            before = *slot;
        }
        if self.list.len() > STRIDE {
            self.segment.bytes.append(&mut self.jumps);
        }
        self.segment.bytes.append(&mut self.postings);
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
