//! Queries.

use repertoire_model::text::ends;

use crate::meaning::Vector;
use crate::words::{Term, TermMap, TermPair, TextRole, WordCutter};

/// The most bytes of a query that are read, half of them at each end.
const MAX_QUERY_BYTES: usize = 32 * 1024;
/// The most different words of a query that are looked up, half of them at each end: the request comes before or after a
/// pasted text.
pub(crate) const MAX_WORDS: usize = 256;

/// A query: the words of a text, and its embedding.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Query {
    pub(crate) words: Vec<QueryWord>,
    /// Adjacent words, with their indexes in `words`.
    pub(crate) pairs: Vec<(TermPair, usize, usize)>,
    pub(crate) vector: Option<Vector>,
}

/// A word of a query.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QueryWord {
    /// The first spelling of the word in the query.
    pub(crate) word: String,
    pub(crate) term: Term,
    /// `true` for a stop word.
    pub(crate) is_common: bool,
    /// The importance relative to an average word.
    pub(crate) importance: f32,
}

impl Query {
    /// Returns the query `text`. Any text is valid: there is no syntax.
    pub fn new(text: &str) -> Self {
        let mut builder = QueryBuilder::default();
        let (head, tail) = ends(text, MAX_QUERY_BYTES);
        let mut cutter = WordCutter::default();
        [head, tail]
            .into_iter()
            .for_each(|text| cutter.each(text, TextRole::Query, |word| builder.push(word)));
        let words = builder.kept();
        Self { pairs: builder.pairs(&words), words, vector: None }
    }

    /// Returns the same query with this embedding.
    pub fn with_vector(self, vector: Option<Vector>) -> Self {
        Self { vector, ..self }
    }

    /// Returns the same query with the importance of each word from `importance`, relative to an average word.
    pub fn with_importance(mut self, importance: impl Fn(&str) -> f32) -> Self {
        self.words.iter_mut().for_each(|asked| asked.importance = importance(&asked.word));
        self
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
#[derive(Default)]
struct QueryBuilder {
    /// All words of the text in order, as indexes in `words`.
    order: Vec<usize>,
    words: Vec<QueryWord>,
    places: TermMap<usize>,
}

impl QueryBuilder {
    /// Adds the next word of the text.
    fn push(&mut self, word: &str) {
        let (term, is_common) = Term::of(word);
        let place = *self.places.entry(term).or_insert(self.words.len());
        if place == self.words.len() {
            self.words.push(QueryWord { word: word.to_owned(), term, is_common, importance: 1.0 });
        }
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
    fn adjacent_words_are_pairs() {
        let query = Query::new("dead letter queue of the dead letter");
        let pairs: Vec<(usize, usize)> = query.pairs.iter().map(|(_, a, b)| (*a, *b)).collect();
        assert_eq!(pairs, [(0, 1), (1, 2)]);
    }
}
