//! The record of one skill in an index.

use repertoire_model::answer::Field;
use repertoire_model::text::start;

use super::posting::{Counts, Posting};
use crate::skill_text::SkillText;
use crate::words::{Term, TermMap, TermPair, TextRole, WordCutter, clauses};

/// The most bytes of a description that are indexed.
const MAX_DESCRIPTION_BYTES: usize = 4096;
/// The most bytes of a body that are indexed.
const MAX_BODY_BYTES: usize = 64 * 1024;
/// The most tags and keywords that are indexed; more would be keyword stuffing.
const MAX_KEYWORDS: usize = 32;
/// The most bytes of all of them.
const MAX_KEYWORD_BYTES: usize = 4096;
/// The most bytes of the files of a skill that are indexed, including their names.
const MAX_FILE_BYTES: usize = 32 * 1024;
/// The most term pairs that are indexed.
const MAX_PAIRS: usize = 1024;

/// A number of terms that few skills exceed, as the initial capacity.
const USUAL_TERMS: usize = 448;

const DESCRIPTION: [Field; 2] = [Field::Description, Field::Excluded];

/// The record of one skill in an index.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SkillRecord {
    /// The terms, sorted, with their counts by field.
    pub(crate) terms: Vec<(Term, Posting)>,
    /// The terms of the name, in order.
    pub(crate) name: Vec<Term>,
    /// The pairs of adjacent terms, sorted.
    pub(crate) pairs: Vec<TermPair>,
    /// The number of words of the body.
    pub(crate) length: u32,
    /// The number of different words of the description.
    pub(crate) described: u16,
}

impl SkillRecord {
    /// Returns the record of `skill`.
    pub fn of(skill: &SkillText<'_>) -> Self {
        let mut builder = RecordBuilder::default();
        builder.counts.reserve(USUAL_TERMS);
        builder.read(skill.name, Field::Name);
        let name = std::mem::take(&mut builder.last_terms);
        if name.len() > 1 {
            // A name is also searched for without its hyphens.
            let joined: String = skill.name.chars().filter(|letter| letter.is_alphanumeric()).collect();
            builder.read(&joined.to_lowercase(), Field::Name);
        }
        for (clause, is_excluded) in clauses(start(skill.description, MAX_DESCRIPTION_BYTES)) {
            builder.read(clause, if is_excluded { Field::Excluded } else { Field::Description });
        }
        let described = builder.counts.values().filter(|counts| counts.is_in(&DESCRIPTION)).count();
        let described = u16::try_from(described).unwrap_or(u16::MAX);
        let mut room = MAX_KEYWORD_BYTES;
        for keyword in skill.keywords.iter().take(MAX_KEYWORDS) {
            let text = start(keyword, room);
            room -= text.len();
            for (clause, is_excluded) in clauses(text) {
                builder.read(clause, if is_excluded { Field::Excluded } else { Field::Keywords });
            }
        }
        let length = builder.read_body(start(skill.body, MAX_BODY_BYTES));
        let mut room = MAX_FILE_BYTES;
        for file in skill.files {
            let text = start(file, room);
            room -= text.len();
            builder.read(text, Field::Files);
        }
        let mut terms: Vec<(Term, Posting)> =
            builder.counts.iter().map(|(term, counts)| (*term, Posting::of(counts))).collect();
        terms.sort_unstable_by_key(|(term, _)| *term);
        let mut pairs = builder.pairs;
        pairs.sort_unstable();
        pairs.dedup();
        Self { terms, name, pairs, length, described }
    }
}

/// Builds the record of a skill from its parts.
#[derive(Default)]
struct RecordBuilder {
    cutter: WordCutter,
    counts: TermMap<Counts>,
    last_terms: Vec<Term>,
    pairs: Vec<TermPair>,
}

impl RecordBuilder {
    /// Counts the words of `text` in `field`, and returns their number.
    fn read(&mut self, text: &str, field: Field) -> u32 {
        let Self { cutter, counts, last_terms, pairs } = self;
        let mut count = 0;
        let mut before = None;
        last_terms.clear();
        cutter.each(text, TextRole::Document, |word| {
            let (term, is_common) = Term::of(word);
            counts.entry(term).or_default().add(field);
            count += 1;
            last_terms.push(term);
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

    /// Counts the words of a body as prose, code or headings, and returns their number outside headings.
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

    fn counts(record: &SkillRecord, word: &str) -> Vec<(&'static str, u16)> {
        let place = record.terms.binary_search_by_key(&Term::of(word).0, |(term, _)| *term);
        let posting = place.map(|index| record.terms[index].1).unwrap_or_default();
        let counts = Field::ALL.iter().map(|field| (field.as_str(), posting.count(*field)));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    #[test]
    fn words_are_counted_by_field() {
        let body = "# Forms\nFill forms with care.\n```sh\nfill --form\n```\n";
        let skill = SkillText {
            name: "pdf-forms",
            description: "Fills forms. Do not use for images.",
            keywords: &["acroform"],
            body,
            files: &["references/fields.md"],
        };
        let record = SkillRecord::of(&skill);
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
    fn a_skill_without_text_has_an_empty_record() {
        assert_eq!(SkillRecord::of(&SkillText::default()), SkillRecord::default());
    }

    #[test]
    fn indexed_text_is_bounded() {
        let keywords = vec!["stuffing"; 10_000];
        let long = "word ".repeat(1_000_000);
        let skill = SkillText { keywords: &keywords, body: &long, files: &[&long], ..SkillText::default() };
        let record = SkillRecord::of(&skill);
        assert!(record.length as usize <= MAX_BODY_BYTES);
        assert_eq!(counts(&record, "stuffing"), [("keywords", 1)]);
    }
}
