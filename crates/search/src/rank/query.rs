//! Queries.

use hashbrown::HashSet;
use repertoire_model::text::ends;

use super::logarithm::ln;
use crate::meaning::Vector;
use crate::words::{Term, TermMap, TermPair, TextRole, WordCutter};

/// The most bytes of a query that are read, half of them at each end.
pub(crate) const MAX_QUERY_BYTES: usize = 32 * 1024;
/// The most different words of a query that are looked up, half of them at each end: the request comes before
/// or after a pasted text.
pub(crate) const MAX_WORDS: usize = 256;

/// The numbers of different words, without stop words, of a short and of a long query.
const SHORT_QUERY: f32 = 15.0;
const LONG_QUERY: f32 = 84.0;
/// The most words that stand for others: corrected and translated ones.
pub(crate) const MAX_REPLACED: usize = 32;

/// A query: the words of a text, and its embedding.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Query {
    pub(crate) words: Vec<QueryWord>,
    /// Adjacent words, with their indexes in `words`.
    pub(crate) pairs: Vec<(TermPair, usize, usize)>,
    pub(crate) vector: Option<Vector>,
    /// The words that stand for others of the text: corrected and translated ones.
    added: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QueryWord {
    /// The first spelling of the word in the query.
    pub(crate) word: String,
    pub(crate) term: Term,
    /// `true` for a stop word.
    pub(crate) is_common: bool,
    /// The importance relative to an average word.
    pub(crate) importance: f32,
    /// The number of times that the word is in the query, repeated lines left out.
    pub(crate) count: u32,
    /// `true` for a number, a hash or other data.
    pub(crate) is_data: bool,
}

impl QueryWord {
    /// Returns whether the word says what is asked for: it is neither a stop word nor data.
    pub(crate) fn is_content(&self) -> bool {
        !self.is_common && !self.is_data
    }
}

impl Query {
    /// Returns the query `text`. Any text is valid: there is no syntax.
    pub fn new(text: &str) -> Self {
        Self::read(text, &[], &|_| None)
    }

    /// Returns the query `text` with the words `added`; `replaced` returns the words that stand for a word of
    /// it, if there are any.
    pub(crate) fn read(text: &str, added: &[&str], replaced: &dyn Fn(&str) -> Option<Vec<String>>) -> Self {
        let mut builder = QueryBuilder::new(replaced);
        let (head, tail) = ends(text, MAX_QUERY_BYTES);
        let mut cutter = WordCutter::default();
        let mut seen = HashSet::new();
        for line in head.lines().chain(tail.lines()) {
            builder.is_new_line = seen.insert(line.trim());
            cutter.each(line, TextRole::Query, |word| builder.push(word));
        }
        for word in added {
            builder.take(word);
            builder.added.push((*word).to_owned());
        }
        let mut words = builder.kept();
        // Somebody who asks for nothing but `iso27001` means it.
        if words.iter().all(|word| word.is_common || word.is_data) {
            words.iter_mut().for_each(|word| word.is_data = false);
        }
        Self { pairs: builder.pairs(&words), words, vector: None, added: builder.added }
    }

    /// Returns `text`, which is that of the query, with the words that stand for some of it.
    pub fn embedded_text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for word in &self.added {
            text.push(' ');
            text.push_str(word);
        }
        text
    }

    /// Returns the same query with this embedding.
    pub fn with_vector(self, vector: Option<Vector>) -> Self {
        Self { vector, ..self }
    }

    /// Returns the query with the importance of each word from `importance`, relative to an average word.
    pub fn with_importance(mut self, importance: impl Fn(&str) -> Option<f32>) -> Self {
        self.words.iter_mut().for_each(|asked| asked.importance = importance(&asked.word).unwrap_or(1.0));
        self
    }

    /// Returns how long the query is, from 0 for a sentence to 1 for a page.
    pub(crate) fn length(&self) -> f32 {
        let words = self.words.iter().filter(|word| !word.is_common).count() as f32;
        (ln(words / SHORT_QUERY) / ln(LONG_QUERY / SHORT_QUERY)).clamp(0.0, 1.0)
    }

    /// Returns the number of dimensions of the embedding, if there is one.
    pub(crate) fn dimensions(&self) -> Option<usize> {
        self.vector.as_ref().map(Vector::dimensions)
    }

    /// Returns whether the query has neither words nor an embedding.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.vector.is_none()
    }
}

/// Collects the words of a query.
struct QueryBuilder<'a> {
    replaced: &'a dyn Fn(&str) -> Option<Vec<String>>,
    added: Vec<String>,
    /// All words of the text in order, as indexes in `words`.
    order: Vec<usize>,
    words: Vec<QueryWord>,
    places: TermMap<usize>,
    /// `true` if the current line is not there before.
    is_new_line: bool,
}

impl<'a> QueryBuilder<'a> {
    fn new(replaced: &'a dyn Fn(&str) -> Option<Vec<String>>) -> Self {
        Self {
            replaced,
            added: Vec::new(),
            order: Vec::new(),
            words: Vec::new(),
            places: TermMap::default(),
            is_new_line: false,
        }
    }

    /// Adds the next word of the text, or the words that stand for it.
    fn push(&mut self, word: &str) {
        let is_new = !self.places.contains_key(&Term::of(word).0);
        if is_new
            && self.added.len() < MAX_REPLACED
            && let Some(words) = (self.replaced)(word)
        {
            words.iter().for_each(|word| self.take(word));
            self.added.extend(words);
        } else {
            self.take(word);
        }
    }

    fn take(&mut self, word: &str) {
        let (term, is_common) = Term::of(word);
        let place = *self.places.entry(term).or_insert(self.words.len());
        if place == self.words.len() {
            self.words.push(QueryWord {
                word: word.to_owned(),
                term,
                is_common,
                importance: 1.0,
                count: 0,
                is_data: is_data(word),
            });
        }
        self.words[place].count += u32::from(self.is_new_line);
        self.order.push(place);
    }

    /// Returns the words to look up, in order of their first occurrence.
    fn kept(&self) -> Vec<QueryWord> {
        if self.words.len() <= MAX_WORDS {
            return self.words.clone();
        }
        let mut is_kept = vec![false; self.words.len()];
        is_kept[..MAX_WORDS / 2].fill(true);
        let mut room = MAX_WORDS - MAX_WORDS / 2;
        for place in self.order.iter().rev() {
            room -= usize::from(!std::mem::replace(&mut is_kept[*place], true));
            if room == 0 {
                break;
            }
        }
        let kept = self.words.iter().zip(is_kept).filter(|(_, is_kept)| *is_kept);
        kept.map(|(word, _)| word.clone()).collect()
    }

    /// Returns the pairs of `words` that are adjacent in the text, without stop words.
    fn pairs(&self, words: &[QueryWord]) -> Vec<(TermPair, usize, usize)> {
        let content = words.iter().enumerate().filter(|(_, word)| !word.is_common);
        let places: TermMap<usize> = content.map(|(place, word)| (word.term, place)).collect();
        let place = |word: usize| places.get(&self.words[word].term).copied();
        let mut pairs: Vec<(TermPair, usize, usize)> = Vec::new();
        // From the end, because with too many pairs the last ones matter most.
        for adjacent in self.order.windows(2).rev() {
            let (Some(a), Some(b)) = (place(adjacent[0]), place(adjacent[1])) else { continue };
            let pair = words[a].term.pair(words[b].term);
            if pairs.len() < MAX_WORDS && !pairs.iter().any(|(other, ..)| *other == pair) {
                pairs.push((pair, a, b));
            }
        }
        pairs
    }
}

/// Returns whether `word` is a number, a hash or another identifier of data.
fn is_data(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let is_hex = word.len() >= 6 && digits > 0 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    digits == word.len() || digits >= 3 || is_hex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_a_query() {
        let words =
            |text: &str| Query::new(text).words.into_iter().map(|asked| asked.word).collect::<Vec<_>>();
        assert_eq!(words("fill forms, fill a form"), ["fill", "forms", "a"]);
        assert_eq!(words("\" OR NEAR(* -x"), ["or", "near", "x"]);
        assert!(Query::new("🙂").is_empty());
        assert!(Query::new("").is_empty());
        let long: String = (0..10_000).map(|number| format!("word{number} ")).collect();
        assert_eq!(words(&long).len(), MAX_WORDS);
        let ends = [&words(&long)[0], &words(&long)[MAX_WORDS - 1]];
        assert_eq!(ends, ["word0", "word9999"], "the request may come after a pasted text");
    }

    #[test]
    fn a_number_is_data_beside_other_words_only() {
        let is_data = |text: &str| Query::new(text).words.iter().any(|word| word.is_data);
        assert!(is_data("why did 20240131 fail") && is_data("deploy 3f2a9c1"));
        assert!(!is_data("iso27001") && !is_data("the rfc6749") && !is_data(""));
    }

    #[test]
    fn adjacent_words_are_pairs() {
        let query = Query::new("dead letter queue of the dead letter");
        let pairs: Vec<(usize, usize)> = query.pairs.iter().map(|(_, a, b)| (*a, *b)).collect();
        assert_eq!(pairs, [(0, 1), (1, 2)]);
    }
}
