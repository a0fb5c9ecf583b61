//! What is looked for.

use super::record::{Pair, Term};
use super::vector::Vector;
use super::words::{Cutter, Side};

/// The most bytes of a query that are read.
const MAX_QUERY_BYTES: usize = 32 * 1024;
/// The most different words of a query that are looked up.
pub(super) const MAX_WORDS: usize = 256;

/// What is looked for: the words of a text, and what it means.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Query {
    pub(super) words: Vec<Asked>,
    /// Words that stand side by side, by their places in `words`.
    pub(super) pairs: Vec<(Pair, usize, usize)>,
    pub(super) vector: Option<Vector>,
}

/// A word that is looked for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    /// The first of the words that were typed for it.
    pub(super) word: String,
    pub(super) term: Term,
    /// Whether it says little.
    pub(super) is_common: bool,
    /// How much it tells, of what another word does.
    pub(super) telling: f32,
}

impl Query {
    /// Returns the query `text`. Any text is one: there is no syntax.
    pub fn new(text: &str) -> Self {
        let text = crate::text::start(text, MAX_QUERY_BYTES);
        let mut query = Self::default();
        let mut before = None;
        Cutter::default().each(text, Side::Asked, |word| {
            let place = query.place(word);
            if let (Some(a), Some(b)) = (before, place.filter(|place| !query.words[*place].is_common)) {
                let (first, second): (&Asked, &Asked) = (&query.words[a], &query.words[b]);
                let pair = first.term.pair(second.term);
                if !query.pairs.iter().any(|(other, ..)| *other == pair) && query.pairs.len() < MAX_WORDS {
                    query.pairs.push((pair, a, b));
                }
            }
            before = place.filter(|place| !query.words[*place].is_common);
        });
        query
    }

    /// Returns the same query, which means `vector`.
    pub fn meaning(self, vector: Option<Vector>) -> Self {
        Self { vector, ..self }
    }

    /// Returns the same query, whose words tell as much as `telling` says of each, of what another word does.
    pub fn telling(mut self, telling: impl Fn(&str) -> f32) -> Self {
        self.words.iter_mut().for_each(|asked| asked.telling = telling(&asked.word));
        self
    }

    /// Returns of how many dimensions its meaning is, if it has one.
    pub fn dimensions(&self) -> Option<usize> {
        self.vector.as_ref().map(Vector::dimensions)
    }

    /// Returns whether `word` says little, as `the` does.
    pub fn is_common(word: &str) -> bool {
        Term::known(word).1
    }

    /// Returns whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.vector.is_none()
    }

    /// Returns the place of `word` among the words; `None` where there are too many.
    fn place(&mut self, word: &str) -> Option<usize> {
        let (term, is_common) = Term::known(word);
        if let Some(place) = self.words.iter().position(|other| other.term == term) {
            return Some(place);
        }
        let place = self.words.len();
        (place < MAX_WORDS).then(|| {
            self.words.push(Asked { word: word.to_owned(), term, is_common, telling: 1.0 });
            place
        })
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
    }

    #[test]
    fn words_side_by_side_are_pairs() {
        let query = Query::new("dead letter queue of the dead letter");
        let pairs: Vec<(usize, usize)> = query.pairs.iter().map(|(_, a, b)| (*a, *b)).collect();
        assert_eq!(pairs, [(0, 1), (1, 2)]);
    }
}
