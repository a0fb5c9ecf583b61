//! An index as bytes, so that a process need not read a library to search it.
//!
//! The bytes are the columns one after the other, low bytes first, after a header that tells how long each is, and before a
//! checksum of it all. Whatever is damaged, cut off, of another format or made of something else is refused as a whole: an index
//! is quickly made anew.

use super::columns::{Columns, Lists, roomy};
use super::index::{Index, Key};
use super::segment::Segment;
use super::sketch::{self, Sketches};
use super::vector::Vectors;
use crate::checksum;

/// What the bytes start with; its last letters are the version of the format.
const MAGIC: &[u8; 8] = b"REPIDX01";
/// How many numbers the header has.
const NUMBERS: usize = 6;

/// How long the columns are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Header {
    skills: usize,
    terms: usize,
    postings: usize,
    names: usize,
    pairs: usize,
    dimensions: usize,
}

impl Header {
    fn of(columns: &Columns, packed: &Segment) -> Self {
        Self {
            skills: columns.len(),
            terms: packed.terms.len(),
            postings: packed.bytes.len(),
            names: columns.names.items.len(),
            pairs: columns.pairs.items.len(),
            dimensions: columns.vectors.dimensions,
        }
    }

    fn numbers(self) -> [u64; NUMBERS] {
        let Self { skills, terms, postings, names, pairs, dimensions } = self;
        [skills, terms, postings, names, pairs, dimensions].map(|number| number as u64)
    }

    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let numbers = reader.column(NUMBERS, u64::from_le_bytes)?;
        let [skills, terms, postings, names, pairs, dimensions] =
            <[u64; NUMBERS]>::try_from(numbers).ok()?.map(usize::try_from);
        Some(Self {
            skills: skills.ok()?,
            terms: terms.ok()?,
            postings: postings.ok()?,
            names: names.ok()?,
            pairs: pairs.ok()?,
            dimensions: dimensions.ok()?,
        })
    }
}

impl Index {
    /// Returns the index as bytes, for [`Index::from_bytes`].
    ///
    /// `stamp` stands for what the index was made with, such as a table of meanings. How skills are weighed is not among the
    /// bytes. Skills are packed in them, so those at hand are at other slots if some are loose or dropped.
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
        if self.is_packed() {
            return written(&self.columns, &self.packed, stamp);
        }
        let mut packed = self.clone();
        packed.pack();
        written(&packed.columns, &packed.packed, stamp)
    }

    /// Returns the index in `bytes`, which ranks by the default weights.
    ///
    /// `None` where they are not what [`Index::to_bytes`] wrote with this `stamp`.
    pub fn from_bytes(bytes: &[u8], stamp: u64) -> Option<Self> {
        let (content, sum) = bytes.split_at_checked(bytes.len().checked_sub(8)?)?;
        let mut reader = Reader(content);
        let is_ours = reader.take(MAGIC.len())? == MAGIC && reader.take(8)? == stamp.to_le_bytes();
        if !is_ours || sum != checksum(content).to_le_bytes() {
            return None;
        }
        read(&mut reader)
    }
}

/// Returns the bytes of an index of these parts.
fn written(columns: &Columns, packed: &Segment, stamp: u64) -> Vec<u8> {
    let Columns { keys, lengths, names, pairs, vectors } = columns;
    let Segment { terms, starts, bytes: postings } = packed;
    // Their dimensions are in the header.
    let Vectors { dimensions: _, steps, scales, sketches } = vectors;
    // About as much as it takes in memory.
    let mut bytes = Vec::with_capacity(columns.bytes() + packed.bytes() + 8 * (NUMBERS + 4));
    bytes.extend_from_slice(MAGIC);
    write(&mut bytes, &[stamp], u64::to_le_bytes);
    write(&mut bytes, &Header::of(columns, packed).numbers(), u64::to_le_bytes);
    write(&mut bytes, terms, u64::to_le_bytes);
    write(&mut bytes, starts, u32::to_le_bytes);
    bytes.extend_from_slice(postings);
    write(&mut bytes, keys, |key| {
        let mut pair = [0; 16];
        pair[..8].copy_from_slice(&key.identity.to_le_bytes());
        pair[8..].copy_from_slice(&key.version.to_le_bytes());
        pair
    });
    write(&mut bytes, lengths, u32::to_le_bytes);
    write(&mut bytes, &names.ends, u32::to_le_bytes);
    write(&mut bytes, &names.items, u64::to_le_bytes);
    write(&mut bytes, &pairs.ends, u32::to_le_bytes);
    write(&mut bytes, &pairs.items, u16::to_le_bytes);
    write(&mut bytes, scales, f32::to_le_bytes);
    write(&mut bytes, steps, i8::to_le_bytes);
    sketches.columns().for_each(|column| write(&mut bytes, column, u64::to_le_bytes));
    let sum = checksum(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

/// Returns the index that `reader` is at the header of.
fn read(reader: &mut Reader<'_>) -> Option<Index> {
    let Header { skills, terms, postings, names, pairs, dimensions } = Header::read(reader)?;
    if skills == 0 && dimensions > 0 {
        return None;
    }
    let lists = skills.checked_add(1)?;
    let packed = Segment {
        terms: reader.column(terms, u64::from_le_bytes)?,
        starts: reader.column(terms, u32::from_le_bytes)?,
        bytes: reader.take(postings)?.to_vec(),
    };
    let columns = Columns {
        keys: reader.column(skills, |pair: [u8; 16]| {
            // Both halves at once, low bytes first.
            let pair = u128::from_le_bytes(pair);
            Key { identity: pair as u64, version: (pair >> 64) as u64 }
        })?,
        lengths: reader.column(skills, u32::from_le_bytes)?,
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
            sketches: sketches(reader, skills, dimensions)?,
        },
    };
    reader.0.is_empty().then(|| Index::of_parts(columns, packed))
}

/// Reads the sketches of the directions of so many skills, if they have any.
fn sketches(reader: &mut Reader<'_>, skills: usize, dimensions: usize) -> Option<Sketches> {
    if dimensions == 0 {
        return Some(Sketches::default());
    }
    let planes = (0..sketch::planes_of(dimensions)).map(|_| reader.column(skills, u64::from_le_bytes));
    let planes = planes.collect::<Option<_>>()?;
    Some(Sketches { planes, trailers: reader.column(skills, u64::from_le_bytes)? })
}

fn write<T: Copy, const N: usize>(bytes: &mut Vec<u8>, column: &[T], to_bytes: impl Fn(T) -> [u8; N]) {
    let start = bytes.len();
    bytes.resize(start + column.len() * N, 0);
    let (places, _) = bytes[start..].as_chunks_mut::<N>();
    places.iter_mut().zip(column).for_each(|(place, item)| *place = to_bytes(*item));
}

/// What was not read yet.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// Reads `count` items of `N` bytes; no more is made room for than there are bytes.
    fn column<T, const N: usize>(
        &mut self,
        count: usize,
        from_bytes: impl Fn([u8; N]) -> T,
    ) -> Option<Vec<T>> {
        let bytes = self.take(count.checked_mul(N)?)?;
        let (items, _) = bytes.as_chunks::<N>();
        let mut column = Vec::with_capacity(roomy(count));
        column.extend(items.iter().map(|item| from_bytes(*item)));
        Some(column)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
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
            for hit in index.search(&query, &SlotSet::all(index.slots()), 10) {
                index.matches(&query, hit.slot);
            }
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
        assert_eq!(read.columns, index.columns);
        assert_eq!(read.packed, index.packed);
        assert_eq!(index.to_bytes(STAMP), bytes, "packing is all that happens");
        index.drop(1);
        let read = Index::from_bytes(&index.to_bytes(STAMP), STAMP).unwrap();
        assert_eq!(read.keys().map(|(_, key)| key.identity).collect::<Vec<_>>(), [1, 3]);
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
        for number in 0..NUMBERS {
            for value in [1 << 40, u64::MAX, u64::MAX / 16] {
                let mut content = content.to_vec();
                content[16 + number * 8..][..8].copy_from_slice(&value.to_le_bytes());
                assert!(Index::from_bytes(&sealed(content), STAMP).is_none(), "{number} {value}");
            }
        }
    }

    /// Every format that was ever written is kept: it is read as it was meant or refused. To add one, write
    /// `sample().to_bytes(STAMP)` to the directory.
    #[test]
    fn files_of_all_formats_are_read_or_refused() {
        let formats: [(&[u8], Option<&[u64]>); 1] =
            [(include_bytes!("../../testdata/search/format-01.index"), Some(&[1, 2, 3]))];
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
        fn nonsense_that_looks_whole_is_no_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12)) {
            let bytes = sample().to_bytes(STAMP);
            let mut content = bytes[..bytes.len() - 8].to_vec();
            let first = 16 + NUMBERS * 8;
            for (at, value) in changes {
                let at = first + at.index(content.len() - first);
                content[at] = value;
            }
            Index::from_bytes(&sealed(content), STAMP).into_iter().for_each(ask);
        }
    }
}
