//! Reads a query for the skills it searches: corrects misspelled words and translates other languages' words.

use std::borrow::Cow;

use hashbrown::HashSet;
use repertoire_model::text::ends;

use super::query::{MAX_QUERY_BYTES, MAX_REPLACED, Query};
use crate::index::{SearchIndex, SlotSet};
use crate::meaning::EmbeddingTable;
use crate::words::{Term, TextRole, Translation, WordCutter, corrected, everyday, is_dense};

/// The most unknown words of a query that are replaced, half of them at each end: a pasted log has hundreds.
const MAX_UNKNOWN: usize = MAX_REPLACED;
/// The most unknown words of a query that are corrected: a text with more of them is not misspelled.
const MAX_CORRECTED: usize = 6;
/// The most unknown words of a query that are corrected in two places, which takes ten times as long.
const MAX_CORRECTED_TWICE: usize = 2;
/// Added to the frequency of a word of the embedding table where several words may be meant.
const KNOWN_FREQUENCY: usize = 1 << 24;

impl SearchIndex {
    /// Returns the query `text` for the skills in `visible`. `table` knows the words that are not mistakes,
    /// and how important they are.
    pub fn query(&self, text: &str, visible: &SlotSet, table: Option<&EmbeddingTable<'_>>) -> Query {
        let reader = QueryReader { index: self, visible, table };
        let (head, tail) = ends(text, MAX_QUERY_BYTES);
        let text = &if tail.is_empty() { Cow::Borrowed(head) } else { Cow::Owned(format!("{head}\n{tail}")) };
        let translation = Translation::of(text);
        let unknown = reader.unknown_words(text);
        let replaced = |word: &str| reader.replaced(word, &translation, &unknown);
        Query::read(text, &translation.dense, &replaced).with_importance(|word| reader.importance(word))
    }
}

/// The words of a query that no visible skill has.
struct UnknownWords {
    /// The words that the embedding table does not know either: they may be misspelled.
    unknown: HashSet<String>,
    /// The words that it knows, if the skills have no word of the query: they may be of another language.
    foreign: HashSet<String>,
}

struct QueryReader<'a> {
    index: &'a SearchIndex,
    visible: &'a SlotSet,
    table: Option<&'a EmbeddingTable<'a>>,
}

impl QueryReader<'_> {
    /// Returns the words of `text` that may be misspelled or foreign, at most [`MAX_UNKNOWN`] of each.
    fn unknown_words(&self, text: &str) -> UnknownWords {
        let (mut unknown, mut foreign): (Vec<String>, Vec<String>) = Default::default();
        let mut is_any_held = false;
        WordCutter::default().each(text, TextRole::Query, |word| {
            if word.starts_with(is_dense) || Term::of(word).1 {
                return;
            }
            if self.is_held(word) {
                is_any_held = true;
            } else if self.importance(word).is_some() {
                foreign.push(word.to_owned());
            } else {
                unknown.push(word.to_owned());
            }
        });
        if is_any_held {
            foreign.clear();
        }
        for words in [&mut unknown, &mut foreign] {
            if words.len() > MAX_UNKNOWN {
                words.drain(MAX_UNKNOWN / 2..words.len() - MAX_UNKNOWN / 2);
            }
        }
        UnknownWords { unknown: unknown.into_iter().collect(), foreign: foreign.into_iter().collect() }
    }

    /// Returns the words that stand for `word`, if there are any.
    fn replaced(&self, word: &str, translation: &Translation, words: &UnknownWords) -> Option<Vec<String>> {
        if word.starts_with(is_dense) {
            let is_translated = !translation.dense.is_empty() && !self.is_held(word);
            return is_translated.then(Vec::new);
        }
        if translation.is_foreign() {
            let mut words = translation.word(word)?;
            let is_function_word = words.is_empty();
            words.extend((!is_function_word && self.is_held(word)).then(|| word.to_owned()));
            return Some(words);
        }
        if let Some(usual) = everyday(word).filter(|usual| self.is_held(usual)) {
            let own = self.is_held(word).then_some(word);
            return Some([Some(usual), own].into_iter().flatten().map(str::to_owned).collect());
        }
        if words.foreign.contains(word) {
            return translation.word(word);
        }
        if !words.unknown.contains(word) {
            return None;
        }
        let corrected = |distance, most: usize, frequency: &dyn Fn(&str) -> usize| {
            let word = if words.unknown.len() > most { None } else { corrected(word, distance, frequency) };
            Some(vec![word?])
        };
        let held = |word: &str| self.frequency(word);
        // A word that no skill has may have a meaning that some skill has.
        let known = |word: &str| usize::from(self.importance(word).is_some());
        corrected(1, MAX_CORRECTED, &held)
            .or_else(|| translation.word(word))
            .or_else(|| corrected(2, MAX_CORRECTED_TWICE, &held))
            .or_else(|| corrected(0, MAX_CORRECTED, &known))
    }

    fn importance(&self, word: &str) -> Option<f32> {
        self.table?.importance(word)
    }

    /// Returns whether a visible skill has `word`.
    fn is_held(&self, word: &str) -> bool {
        let list = self.index.postings.list(Term::of(word).0);
        list.slots.iter().any(|slot| self.visible.contains(*slot))
    }

    /// Returns the number of visible skills that have `word`; words of the table come before all others.
    fn frequency(&self, word: &str) -> usize {
        let list = self.index.postings.list(Term::of(word).0);
        let holders = list.slots.iter().filter(|slot| self.visible.contains(**slot)).count();
        if holders > 0 && self.importance(word).is_some() { KNOWN_FREQUENCY + holders } else { holders }
    }
}
