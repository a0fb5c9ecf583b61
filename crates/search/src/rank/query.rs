//! Queries.

use repertoire_model::text::ends;

use crate::meaning::Vector;
use crate::words::{Term, TermMap, TermPair, TextRole, WordCutter};

/// The most bytes of a query that are read, half of them at each end.
const MAX_QUERY_BYTES: usize = 32 * 1024;
/// The most different words of a query that are looked up, half of them at each end: what is wanted is said before or after whatever
/// is pasted.
pub(crate) const MAX_WORDS: usize = 256;

/// A query: the words of a text, and its embedding.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Query {
    pub(crate) words: Vec<QueryWord>,
    /// Words that stand side by side, by their places in `words`.
    pub(crate) pairs: Vec<(TermPair, usize, usize)>,
    pub(crate) vector: Option<Vector>,
}

/// A word of a query.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QueryWord {
    /// The first of the words that were typed for it.
    pub(crate) word: String,
    pub(crate) term: Term,
    /// `true` for a stop word.
    pub(crate) is_common: bool,
    /// Its importance relative to an average word.
    pub(crate) importance: f32,
}

impl Query {
    /// Returns the query `text`. Any text is one: there is no syntax.
    pub fn new(text: &str) -> Self {
        let mut builder = QueryBuilder::default();
        let (head, tail) = ends(text, MAX_QUERY_BYTES);
        let mut cutter = WordCutter::default();
        [head, tail]
            .into_iter()
            .for_each(|text| cutter.each(text, TextRole::Query, |word| builder.say(word)));
        let words = builder.kept();
        Self { pairs: builder.pairs(&words), words, vector: None }
    }

    /// Returns the same query with this embedding.
    pub fn with_vector(self, vector: Option<Vector>) -> Self {
        Self { vector, ..self }
    }

    /// Returns the same query, whose words have the importance that `importance` returns, relative to an average word.
    pub fn with_importance(mut self, importance: impl Fn(&str) -> f32) -> Self {
        self.words.iter_mut().for_each(|asked| asked.importance = importance(&asked.word));
        self
    }

    /// Returns the number of dimensions of its embedding, if it has one.
    pub(crate) fn dimensions(&self) -> Option<usize> {
        self.vector.as_ref().map(Vector::dimensions)
    }

    /// Returns whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.vector.is_none()
    }
}

/// Collects the words of a query.
#[derive(Default)]
struct QueryBuilder {
    /// The text, word for word, as places in `words`.
    said: Vec<usize>,
    words: Vec<QueryWord>,
    places: TermMap<usize>,
}

impl QueryBuilder {
    /// Takes the next word.
    fn say(&mut self, word: &str) {
        let (term, is_common) = Term::of(word);
        let place = *self.places.entry(term).or_insert(self.words.len());
        if place == self.words.len() {
            self.words.push(QueryWord { word: word.to_owned(), term, is_common, importance: 1.0 });
        }
        self.said.push(place);
    }

    /// Returns the words that are looked up, in the order in which they are first said.
    fn kept(&self) -> Vec<QueryWord> {
        if self.words.len() <= MAX_WORDS {
            return self.words.clone();
        }
        let mut is_kept = vec![false; self.words.len()];
        is_kept[..MAX_WORDS / 2].fill(true);
        let mut room = MAX_WORDS - MAX_WORDS / 2;
        for place in self.said.iter().rev() {
            room -= usize::from(!std::mem::replace(&mut is_kept[*place], true));
            if room == 0 {
                break;
            }
        }
        let kept = self.words.iter().zip(is_kept).filter(|(_, is_kept)| *is_kept);
        kept.map(|(word, _)| word.clone()).collect()
    }

    /// Returns the pairs of `words` that are said side by side.
    fn pairs(&self, words: &[QueryWord]) -> Vec<(TermPair, usize, usize)> {
        let telling = words.iter().enumerate().filter(|(_, word)| !word.is_common);
        let places: TermMap<usize> = telling.map(|(place, word)| (word.term, place)).collect();
        let place = |said: usize| places.get(&self.words[said].term).copied();
        let mut pairs: Vec<(TermPair, usize, usize)> = Vec::new();
        // What is said last is most of what is wanted, where there are too many.
        for said in self.said.windows(2).rev() {
            let (Some(a), Some(b)) = (place(said[0]), place(said[1])) else { continue };
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
        assert_eq!(ends, ["word0", "word9999"], "what is wanted may come after what is pasted");
    }

    #[test]
    fn words_side_by_side_are_pairs() {
        let query = Query::new("dead letter queue of the dead letter");
        let pairs: Vec<(usize, usize)> = query.pairs.iter().map(|(_, a, b)| (*a, *b)).collect();
        assert_eq!(pairs, [(0, 1), (1, 2)]);
    }
}
