//! An index as bytes, so that a process need not read a library to search it.
//!
//! The bytes are its parts one after the other, and a checksum of it all. A part is its columns, low bytes first, after a header
//! that tells how long each is. Whatever is damaged, cut off, of another format or made of something else is refused as a whole: an index
//! is quickly made anew.

use super::columns::{Columns, Lists};
use super::index::{Index, Key};
use super::part::{Part, Postings, Tier};
use super::segment::{MAX_SKILLS, Segment};
use super::vector::Vectors;
use crate::checksum::Checksum;

/// What the bytes start with; its last letters are the version of the format.
const MAGIC: &[u8; 8] = b"REPIDX04";
/// How many bytes of a column are written, or read, at once.
const PIECE: usize = 16 * 1024;
/// How many numbers the header has.
const NUMBERS: usize = 7;

/// How long the columns of a part are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Header {
    skills: usize,
    terms: usize,
    postings: usize,
    names: usize,
    pairs: usize,
    dimensions: usize,
    dropped: usize,
}

impl Header {
    fn of(tier: &Tier, segment: &Segment) -> Self {
        let columns = &tier.part.columns;
        Self {
            skills: columns.len(),
            terms: segment.terms.len(),
            postings: segment.bytes.len(),
            names: columns.names.items.len(),
            pairs: columns.pairs.items.len(),
            dimensions: columns.vectors.dimensions,
            dropped: tier.dropped.len(),
        }
    }

    fn numbers(self) -> [u64; NUMBERS] {
        let Self { skills, terms, postings, names, pairs, dimensions, dropped } = self;
        [skills, terms, postings, names, pairs, dimensions, dropped].map(|number| number as u64)
    }

    fn read<F: FnMut(&mut [u8]) -> Option<()>>(reader: &mut Reader<F>) -> Option<Self> {
        let numbers = reader.column(NUMBERS, u64::from_le_bytes)?;
        let [skills, terms, postings, names, pairs, dimensions, dropped] =
            <[u64; NUMBERS]>::try_from(numbers).ok()?.map(usize::try_from);
        Some(Self {
            skills: skills.ok()?,
            terms: terms.ok()?,
            postings: postings.ok()?,
            names: names.ok()?,
            pairs: pairs.ok()?,
            dimensions: dimensions.ok()?,
            dropped: dropped.ok()?,
        })
    }
}

impl Index {
    /// Returns the index as bytes, for [`Index::from_bytes`].
    ///
    /// `stamp` stands for what the index was made with, such as a table of meanings. How skills are weighed is not among the
    /// bytes. Skills are packed in them, so those at hand are at other slots if some are not.
    ///
    /// ```
    /// use repertoire_model::search::{Index, Key, Record, SkillText};
    /// let mut index = Index::default();
    /// let skill = SkillText { name: "pdf-forms", ..SkillText::default() };
    /// index.add(Key { identity: 1, version: 1 }, Record::of(&skill), None);
    /// let bytes = index.to_bytes(7);
    /// assert_eq!(Index::from_bytes(&bytes, 7).map(|index| index.len()), Some(1));
    /// assert!(Index::from_bytes(&bytes, 8).is_none(), "made with something else");
    /// ```
    pub fn to_bytes(&self, stamp: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write_to(stamp, |piece| bytes.extend_from_slice(piece));
        bytes
    }

    /// Hands the bytes that [`Index::to_bytes`] returns to `take`, piece by piece, so that there need not be room for all of them.
    pub fn write_to(&self, stamp: u64, take: impl FnMut(&[u8])) {
        if self.tiers.iter().any(Tier::is_loose) {
            let mut packed = self.clone();
            packed.pack_loose();
            return packed.write_to(stamp, take);
        }
        write_all(&self.tiers, stamp, take);
    }

    /// Returns the index in `bytes`, which ranks by the default weights.
    ///
    /// `None` where they are not what [`Index::to_bytes`] wrote with this `stamp`.
    pub fn from_bytes(bytes: &[u8], stamp: u64) -> Option<Self> {
        let mut rest = bytes;
        Self::read_from(bytes.len(), stamp, |piece| {
            let (taken, left) = rest.split_at_checked(piece.len())?;
            piece.copy_from_slice(taken);
            rest = left;
            Some(())
        })
    }

    /// Returns the index in `length` bytes that `fill` gives piece by piece, as [`Index::from_bytes`] does of them all.
    ///
    /// `fill` fills what it is given as a whole, or returns `None`.
    pub fn read_from(length: usize, stamp: u64, fill: impl FnMut(&mut [u8]) -> Option<()>) -> Option<Self> {
        let content = length.checked_sub(8)?;
        let mut reader = Reader { left: content, sum: Checksum::new(content), fill };
        let [magic, other] = <[[u8; 8]; 2]>::try_from(reader.column(2, |word| word)?).ok()?;
        if magic != *MAGIC || other != stamp.to_le_bytes() {
            return None;
        }
        let [count] = <[u64; 1]>::try_from(reader.column(1, u64::from_le_bytes)?).ok()?;
        // No more room is made than there are bytes for.
        let mut parts = Vec::new();
        for _ in 0..count {
            parts.push(read(&mut reader)?);
        }
        let Reader { left: 0, sum, mut fill } = reader else { return None };
        let mut expected = [0; 8];
        fill(&mut expected)?;
        (expected == sum.finish().to_le_bytes()).then(|| Self::of_parts(parts))
    }
}

/// Writes an index of these parts, all of which are packed.
fn write_all(tiers: &[Tier], stamp: u64, take: impl FnMut(&[u8])) {
    let packed = || {
        tiers.iter().filter_map(|tier| match &tier.part.postings {
            Postings::Packed(segment) => Some((tier, segment)),
            Postings::Loose(_) => None,
        })
    };
    let length = packed().map(|(tier, segment)| length(tier, segment)).sum::<usize>() + MAGIC.len() + 8 * 2;
    let mut writer = Writer { sum: Checksum::new(length), take };
    writer.bytes(MAGIC);
    writer.column(&[stamp, packed().count() as u64], u64::to_le_bytes);
    packed().for_each(|(tier, segment)| write(&mut writer, tier, segment));
    let Writer { sum, mut take } = writer;
    take(&sum.finish().to_le_bytes());
}

/// Returns how many bytes [`write`] writes.
fn length(tier: &Tier, segment: &Segment) -> usize {
    let Columns { keys, lengths, described, names, pairs, vectors } = &tier.part.columns;
    let Segment { terms, starts, bytes: postings } = segment;
    // Their dimensions are in the header.
    let Vectors { dimensions: _, steps, scales } = vectors;
    let lists = size_of_val(&names.ends[..]) + size_of_val(&names.items[..]) + size_of_val(&pairs.ends[..]);
    8 * NUMBERS
        + (size_of_val(&terms[..]) + size_of_val(&starts[..]) + postings.len())
        + (size_of_val(&keys[..]) + size_of_val(&lengths[..]) + size_of_val(&described[..]))
        + (lists + size_of_val(&pairs.items[..]))
        + (size_of_val(&scales[..]) + steps.len())
        + size_of_val(&tier.dropped[..])
}

/// Writes a part.
fn write<F: FnMut(&[u8])>(writer: &mut Writer<F>, tier: &Tier, segment: &Segment) {
    let Columns { keys, lengths, described, names, pairs, vectors } = &tier.part.columns;
    writer.column(&Header::of(tier, segment).numbers(), u64::to_le_bytes);
    writer.column(&segment.terms, u64::to_le_bytes);
    writer.column(&segment.starts, u32::to_le_bytes);
    writer.bytes(&segment.bytes);
    writer.column(keys, |key| {
        let mut pair = [0; 16];
        pair[..8].copy_from_slice(&key.identity.to_le_bytes());
        pair[8..].copy_from_slice(&key.version.to_le_bytes());
        pair
    });
    writer.column(lengths, u32::to_le_bytes);
    writer.column(described, u16::to_le_bytes);
    writer.column(&names.ends, u32::to_le_bytes);
    writer.column(&names.items, u64::to_le_bytes);
    writer.column(&pairs.ends, u32::to_le_bytes);
    writer.column(&pairs.items, u16::to_le_bytes);
    writer.column(&vectors.scales, f32::to_le_bytes);
    writer.column(&vectors.steps, i8::to_le_bytes);
    writer.column(&tier.dropped, u32::to_le_bytes);
}

/// Returns the part that `reader` is at the header of, and which of its skills are gone.
fn read<F: FnMut(&mut [u8]) -> Option<()>>(reader: &mut Reader<F>) -> Option<(Part, Vec<u32>)> {
    let Header { skills, terms, postings, names, pairs, dimensions, dropped } = Header::read(reader)?;
    if skills == 0 || skills > MAX_SKILLS {
        return None;
    }
    let lists = skills.checked_add(1)?;
    let segment = Segment {
        terms: reader.column(terms, u64::from_le_bytes)?,
        starts: reader.column(terms, u32::from_le_bytes)?,
        bytes: reader.bytes(postings)?,
    };
    let columns = Columns {
        keys: reader.column(skills, |pair: [u8; 16]| {
            // Both halves at once, low bytes first.
            let pair = u128::from_le_bytes(pair);
            Key { identity: pair as u64, version: (pair >> 64) as u64 }
        })?,
        lengths: reader.column(skills, u32::from_le_bytes)?,
        described: reader.column(skills, u16::from_le_bytes)?,
        names: Lists {
            ends: reader.column(lists, u32::from_le_bytes)?,
            items: reader.column(names, u64::from_le_bytes)?,
        },
        pairs: Lists {
            ends: reader.column(lists, u32::from_le_bytes)?,
            items: reader.column(pairs, u16::from_le_bytes)?,
        },
        vectors: Vectors {
            dimensions,
            scales: reader.column(skills, f32::from_le_bytes)?,
            steps: reader.column(skills.checked_mul(dimensions)?, i8::from_le_bytes)?,
        },
    };
    let dropped = reader.column(dropped, u32::from_le_bytes)?;
    let is_sorted = dropped.windows(2).all(|pair| pair[0] < pair[1]);
    let is_within = dropped.last().is_none_or(|last| (*last as usize) < skills);
    (is_sorted && is_within).then_some((Part { columns, postings: Postings::Packed(segment) }, dropped))
}

/// Hands on bytes, and adds them up.
struct Writer<F> {
    sum: Checksum,
    take: F,
}

impl<F: FnMut(&[u8])> Writer<F> {
    fn bytes(&mut self, bytes: &[u8]) {
        self.sum.add(bytes);
        (self.take)(bytes);
    }

    fn column<T: Copy, const N: usize>(&mut self, column: &[T], to_bytes: impl Fn(T) -> [u8; N]) {
        let mut piece = [0; PIECE];
        for items in column.chunks(PIECE / N) {
            let (places, _) = piece.as_chunks_mut::<N>();
            places.iter_mut().zip(items).for_each(|(place, item)| *place = to_bytes(*item));
            self.bytes(&piece[..items.len() * N]);
        }
    }
}

/// What was not read yet.
struct Reader<F> {
    left: usize,
    sum: Checksum,
    fill: F,
}

impl<F: FnMut(&mut [u8]) -> Option<()>> Reader<F> {
    /// Fills `bytes`.
    fn read(&mut self, bytes: &mut [u8]) -> Option<()> {
        self.left = self.left.checked_sub(bytes.len())?;
        (self.fill)(bytes)?;
        self.sum.add(bytes);
        Some(())
    }

    /// Reads `count` items of `N` bytes; no more is made room for than there are bytes.
    fn column<T, const N: usize>(
        &mut self,
        count: usize,
        from_bytes: impl Fn([u8; N]) -> T,
    ) -> Option<Vec<T>> {
        if count.checked_mul(N)? > self.left {
            return None;
        }
        let mut column = Vec::with_capacity(count);
        let mut piece = [0; PIECE];
        while column.len() < count {
            let items = (count - column.len()).min(PIECE / N);
            self.read(&mut piece[..items * N])?;
            let (items, _) = piece[..items * N].as_chunks::<N>();
            column.extend(items.iter().map(|item| from_bytes(*item)));
        }
        Some(column)
    }

    /// Reads `count` bytes.
    fn bytes(&mut self, count: usize) -> Option<Vec<u8>> {
        if count > self.left {
            return None;
        }
        let mut bytes = vec![0; count];
        self.read(&mut bytes)?;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::checksum;
    use crate::search::{Query, Record, SkillText, SlotSet, Vector};

    const STAMP: u64 = 0x5EED;

    fn key(identity: u64) -> Key {
        Key { identity, version: identity * 10 }
    }

    fn sample() -> Index {
        let mut index = Index::default();
        let skills = [
            ("pdf-forms", "Fills PDF forms. Do not use for images.", "# Fill\nRun `fill form.pdf`.\n"),
            ("image-resize", "Resizes images in bulk.", "# Resize\nUse the resize tool on images.\n"),
            ("api-client", "Calls an HTTP API with retries.", ""),
        ];
        for (number, (name, description, body)) in (1..).zip(skills) {
            let text = SkillText { name, description, body, ..SkillText::default() };
            let vector = (number < 3).then(|| Vector::of(&[number as f32, 1.0, -2.0, 0.5]).unwrap());
            index.add(key(number), Record::of(&text), vector.as_ref());
        }
        index
    }

    /// Asks `index` for all sorts of things; the answers are worth nothing, but there are some.
    fn ask(mut index: Index) {
        let vector = Vector::of(&[1.0, 1.0, 0.0, 0.0]);
        for text in ["fill pdf forms", "resize images with the api", ""] {
            let query = Query::new(text).meaning(vector.clone());
            index.explained(&query, &SlotSet::all(index.slots()), 10);
        }
        index.drop(1);
        index.add(key(9), Record::of(&SkillText { name: "pdf-api", ..SkillText::default() }), None);
        index.search(&Query::new("pdf"), &SlotSet::all(9), 10);
        index.pack();
        index.to_bytes(STAMP);
    }

    /// Returns `content` with the checksum that makes it look whole.
    fn sealed(mut content: Vec<u8>) -> Vec<u8> {
        let sum = checksum(&content);
        content.extend(sum.to_le_bytes());
        content
    }

    #[test]
    fn what_was_written_is_read() {
        let mut index = sample();
        let bytes = index.to_bytes(STAMP);
        let read = Index::from_bytes(&bytes, STAMP).unwrap();
        index.pack();
        let parts = |index: &Index| -> Vec<_> { index.tiers.iter().map(|tier| tier.part.clone()).collect() };
        assert_eq!(parts(&read), parts(&index));
        assert_eq!(index.to_bytes(STAMP), bytes, "packing is all that happens");
        index.drop(1);
        let read = Index::from_bytes(&index.to_bytes(STAMP), STAMP).unwrap();
        assert_eq!(read.keys().map(|(_, key)| key.identity).collect::<Vec<_>>(), [1, 3]);
        index.add(key(4), Record::default(), None);
        let read = Index::from_bytes(&index.to_bytes(STAMP), STAMP).unwrap();
        assert_eq!(read.keys().map(|(_, key)| key.identity).collect::<Vec<_>>(), [1, 3, 4]);
        let empty = Index::from_bytes(&Index::default().to_bytes(STAMP), STAMP).unwrap();
        assert!(empty.is_empty());
        ask(empty);
    }

    #[test]
    fn what_was_made_with_something_else_is_refused() {
        let bytes = sample().to_bytes(STAMP);
        assert!(Index::from_bytes(&bytes, STAMP + 1).is_none());
        assert!(Index::from_bytes(&[], STAMP).is_none());
        assert!(Index::from_bytes(b"SQLite format 3\0 and whatever follows it", STAMP).is_none());
        let mut longer = bytes[..bytes.len() - 8].to_vec();
        longer.push(0);
        assert!(Index::from_bytes(&sealed(longer), STAMP).is_none(), "something is left over");
    }

    #[test]
    fn a_header_cannot_ask_for_more_than_there_is() {
        let bytes = sample().to_bytes(STAMP);
        let content = &bytes[..bytes.len() - 8];
        // How many parts there are is a number before those of the first.
        for number in 0..=NUMBERS {
            for value in [1 << 40, u64::MAX, u64::MAX / 16] {
                let mut content = content.to_vec();
                content[16 + number * 8..][..8].copy_from_slice(&value.to_le_bytes());
                assert!(Index::from_bytes(&sealed(content), STAMP).is_none(), "{number} {value}");
            }
        }
    }

    /// Every format that was ever written is kept: it is read as it was meant or refused. To add one, write
    /// `sample().to_bytes(STAMP)` to the directory, without the skill at slot 1.
    #[test]
    fn files_of_all_formats_are_read_or_refused() {
        let formats: [(&[u8], Option<&[u64]>); 4] = [
            (include_bytes!("../../testdata/search/format-01.index"), None),
            (include_bytes!("../../testdata/search/format-02.index"), None),
            (include_bytes!("../../testdata/search/format-03.index"), None),
            (include_bytes!("../../testdata/search/format-04.index"), Some(&[1, 3])),
        ];
        for (bytes, expected) in formats {
            let read = Index::from_bytes(bytes, STAMP);
            let found = read.as_ref().map(|index| index.keys().map(|(_, key)| key.identity).collect());
            assert_eq!(found, expected.map(<[u64]>::to_vec));
            read.into_iter().for_each(ask);
        }
        let (latest, _) = formats[formats.len() - 1];
        assert_eq!(latest[..8], *MAGIC, "the format that is written now is not among them");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn damage_is_found(at in any::<prop::sample::Index>(), bit in 0..8u32, length in any::<prop::sample::Index>()) {
            let bytes = sample().to_bytes(STAMP);
            let mut flipped = bytes.clone();
            flipped[at.index(bytes.len())] ^= 1 << bit;
            prop_assert!(Index::from_bytes(&flipped, STAMP).is_none());
            prop_assert!(Index::from_bytes(&bytes[..length.index(bytes.len())], STAMP).is_none());
        }

        #[test]
        fn nonsense_that_looks_whole_is_no_panic(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
            // Where many have a word, its list is of another form.
            more in prop_oneof![Just(0), Just(200)],
        ) {
            let mut index = sample();
            for number in 0..more {
                let text = SkillText { name: "pdf", description: "Fills forms.", ..SkillText::default() };
                index.add(key(10 + number), Record::of(&text), None);
            }
            let bytes = index.to_bytes(STAMP);
            let mut content = bytes[..bytes.len() - 8].to_vec();
            let first = 24 + NUMBERS * 8;
            for (at, value) in changes {
                let at = first + at.index(content.len() - first);
                content[at] = value;
            }
            Index::from_bytes(&sealed(content), STAMP).into_iter().for_each(ask);
        }
    }
}
