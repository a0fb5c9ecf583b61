//! What the index keeps of one skill.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use serde::{Deserialize, Serialize};

use super::exclusion;
use super::field::Field;
use super::posting::{Counts, Posting};
use super::stem::{Stem, stem};
use super::vocabulary::{Known, known};
use super::words::{Cutter, Side};

/// The most bytes of a description that are indexed; the open standard allows as many characters.
const MAX_DESCRIPTION_BYTES: usize = 4096;
/// The most bytes of a body that are indexed.
const MAX_BODY_BYTES: usize = 64 * 1024;
/// The most tags and keywords that are indexed: more are no hints but a net.
const MAX_KEYWORDS: usize = 32;
/// The most bytes of the files beside a skill that are indexed, their names included.
const MAX_FILE_BYTES: usize = 32 * 1024;
/// The most pairs of words that are kept.
const MAX_PAIRS: usize = 1024;

/// How many terms most skills have at most.
const USUAL_TERMS: usize = 448;

/// A skill, as it is indexed.
#[derive(Debug, Clone, Copy, Default)]
pub struct SkillText<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its description.
    pub description: &'a str,
    /// Its tags and trigger keywords.
    pub keywords: &'a [&'a str],
    /// Its instructions.
    pub body: &'a str,
    /// The names and the texts of files beside it.
    pub files: &'a [&'a str],
}

/// A word as it is compared: spellings and forms of one word are one term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Term(pub(super) u64);

impl Term {
    /// Returns the term of `word`, which is in lower case, and whether it says little.
    pub(super) fn known(word: &str) -> (Self, bool) {
        let Known { spelling, is_common } = known(word);
        (Self::spelt(spelling), is_common)
    }

    fn spelt(spelling: &str) -> Self {
        const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0000_0100_0000_01b3;
        let Stem { start, end } = stem(spelling);
        let bytes = start.bytes().chain(end.bytes());
        let hash = bytes.fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
        // The low bits of such a product are weak, and tables go by them.
        Self((hash ^ hash >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// Returns what stands for this term followed by `next`.
    pub(super) fn pair(self, next: Self) -> Pair {
        Pair(((self.0.rotate_left(17) ^ next.0).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as u16)
    }
}

/// Two terms side by side. Others may look the same: one in a few hundred, which only ever adds a little to a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Pair(pub(super) u16);

/// Terms are spread evenly as they are.
#[derive(Default)]
pub(super) struct TermHasher(u64);

impl Hasher for TermHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, term: u64) {
        self.0 = term;
    }
}

pub(super) type TermMap<T> = HashMap<Term, T, BuildHasherDefault<TermHasher>>;

/// The fields of a description.
const DESCRIPTION: [Field; 2] = [Field::Description, Field::Excluded];

/// What the index keeps of one skill.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record {
    /// Its terms, sorted, each with where it stands.
    pub(super) terms: Vec<(Term, Posting)>,
    /// The terms of its name, in order.
    pub(super) name: Vec<Term>,
    /// Which terms stand side by side, sorted.
    pub(super) pairs: Vec<Pair>,
    /// How many words its body has.
    pub(super) length: u32,
    /// How many different words say what it is for, and what it is not for.
    pub(super) described: u16,
}

impl Record {
    /// Returns what the index keeps of `skill`.
    pub fn of(skill: &SkillText<'_>) -> Self {
        let mut reader = Reader::default();
        reader.counts.reserve(USUAL_TERMS);
        reader.read(skill.name, Field::Name);
        let name = std::mem::take(&mut reader.said);
        if name.len() > 1 {
            // A name is also asked for without its hyphens.
            let joined: String = skill.name.chars().filter(|letter| letter.is_alphanumeric()).collect();
            reader.read(&joined.to_lowercase(), Field::Name);
        }
        for (clause, is_excluded) in exclusion::clauses(start(skill.description, MAX_DESCRIPTION_BYTES)) {
            reader.read(clause, if is_excluded { Field::Excluded } else { Field::Description });
        }
        let described = reader.counts.values().filter(|counts| counts.is_in(&DESCRIPTION)).count();
        let described = u16::try_from(described).unwrap_or(u16::MAX);
        for keyword in skill.keywords.iter().take(MAX_KEYWORDS) {
            reader.read(keyword, Field::Keywords);
        }
        let length = reader.read_body(start(skill.body, MAX_BODY_BYTES));
        let mut room = MAX_FILE_BYTES;
        for file in skill.files {
            let text = start(file, room);
            room -= text.len();
            reader.read(text, Field::Files);
        }
        let mut terms: Vec<(Term, Posting)> =
            reader.counts.iter().map(|(term, counts)| (*term, Posting::of(counts))).collect();
        terms.sort_unstable_by_key(|(term, _)| *term);
        let mut pairs = reader.pairs;
        pairs.sort_unstable();
        pairs.dedup();
        Self { terms, name, pairs, length, described }
    }
}

/// Returns the longest beginning of `text` of at most `limit` bytes.
fn start(text: &str, limit: usize) -> &str {
    crate::text::start(text, limit)
}

/// Reads the parts of a skill.
#[derive(Default)]
struct Reader {
    cutter: Cutter,
    counts: TermMap<Counts>,
    /// The terms of what was read last.
    said: Vec<Term>,
    pairs: Vec<Pair>,
}

impl Reader {
    /// Counts the words of `text` in `field`, and returns how many there are.
    fn read(&mut self, text: &str, field: Field) -> u32 {
        let Self { cutter, counts, said, pairs } = self;
        let mut count = 0;
        let mut before = None;
        said.clear();
        cutter.each(text, Side::Indexed, |word| {
            let (term, is_common) = Term::known(word);
            counts.entry(term).or_default().add(field);
            count += 1;
            said.push(term);
            let term = (!is_common).then_some(term);
            if let (Some(before), Some(term)) = (before, term)
                && pairs.len() < MAX_PAIRS
            {
                pairs.push(Term::pair(before, term));
            }
            before = term;
        });
        count
    }

    /// Counts the words of a body by what they stand in, and returns how many there are outside headings.
    fn read_body(&mut self, body: &str) -> u32 {
        let mut length = 0;
        let mut fence = None;
        for line in body.lines() {
            let text = line.trim_start();
            let mark = ["```", "~~~"].into_iter().find(|mark| text.starts_with(mark));
            match (fence, mark) {
                (None, Some(mark)) => fence = Some(mark),
                (Some(open), Some(mark)) if open == mark => fence = None,
                (Some(_), _) => length += self.read(text, Field::Code),
                (None, None) if text.starts_with('#') => {
                    self.read(text, Field::Headings);
                }
                (None, None) => length += self.read(text, Field::Prose),
            }
        }
        length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(record: &Record, word: &str) -> Vec<(&'static str, u16)> {
        let place = record.terms.binary_search_by_key(&Term::known(word).0, |(term, _)| *term);
        let posting = place.map(|index| record.terms[index].1).unwrap_or_default();
        let counts = Field::ALL.iter().map(|field| (field.as_str(), posting.count(*field)));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    #[test]
    fn words_are_counted_by_where_they_stand() {
        let body = "# Forms\nFill forms with care.\n```sh\nfill --form\n```\n";
        let skill = SkillText {
            name: "pdf-forms",
            description: "Fills forms. Do not use for images.",
            keywords: &["acroform"],
            body,
            files: &["references/fields.md"],
        };
        let record = Record::of(&skill);
        assert_eq!(
            counts(&record, "form"),
            [("name", 1), ("description", 1), ("headings", 1), ("body", 1), ("code", 1)]
        );
        assert_eq!(counts(&record, "filling"), [("description", 1), ("body", 1), ("code", 1)]);
        assert_eq!(counts(&record, "images"), [("excluded", 1)]);
        assert_eq!(counts(&record, "acroform"), [("keywords", 1)]);
        assert_eq!(counts(&record, "pdfforms"), [("name", 1)]);
        assert_eq!(counts(&record, "fields"), [("files", 1)]);
        assert_eq!(record.length, 6);
    }

    #[test]
    fn forms_and_spellings_of_a_word_are_one_term() {
        assert_eq!(Term::known("k8s"), Term::known("kubernetes"));
        assert_eq!(Term::known("queries"), Term::known("query"));
        assert_ne!(Term::known("form"), Term::known("format"));
    }

    #[test]
    fn a_skill_without_text_is_fine() {
        assert_eq!(Record::of(&SkillText::default()), Record::default());
    }

    #[test]
    fn what_is_indexed_is_bounded() {
        let keywords = vec!["stuffing"; 10_000];
        let long = "word ".repeat(1_000_000);
        let skill = SkillText { keywords: &keywords, body: &long, files: &[&long], ..SkillText::default() };
        let record = Record::of(&skill);
        assert!(record.length as usize <= MAX_BODY_BYTES);
        assert_eq!(counts(&record, "stuffing"), [("keywords", 1)]);
    }
}
