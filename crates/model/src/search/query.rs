//! What is looked for.

use super::record::{Pair, Term, TermMap};
use super::vector::Vector;
use super::words::{Cutter, Side};

/// The most bytes of a query that are read, half of them at each end.
const MAX_QUERY_BYTES: usize = 32 * 1024;
/// The most different words of a query that are looked up, half of them at each end: what is wanted is said before or after whatever
/// is pasted.
pub(super) const MAX_WORDS: usize = 256;

/// What is looked for: the words of a text, and what it means.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Query {
    pub(super) words: Vec<QueryWord>,
    /// Words that stand side by side, by their places in `words`.
    pub(super) pairs: Vec<(Pair, usize, usize)>,
    pub(super) vector: Option<Vector>,
}

/// A word that is looked for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct QueryWord {
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
        let mut reader = Reader::default();
        let (head, tail) = crate::text::ends(text, MAX_QUERY_BYTES);
        let mut cutter = Cutter::default();
        [head, tail].into_iter().for_each(|text| cutter.each(text, Side::Asked, |word| reader.say(word)));
        let words = reader.kept();
        Self { pairs: reader.pairs(&words), words, vector: None }
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
}

/// Reads what a query says.
#[derive(Default)]
struct Reader {
    /// What is said, word for word, by places in `words`.
    said: Vec<usize>,
    words: Vec<QueryWord>,
    places: TermMap<usize>,
}

impl Reader {
    /// Takes the next word.
    fn say(&mut self, word: &str) {
        let (term, is_common) = Term::known(word);
        let place = *self.places.entry(term).or_insert(self.words.len());
        if place == self.words.len() {
            self.words.push(QueryWord { word: word.to_owned(), term, is_common, telling: 1.0 });
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
    fn pairs(&self, words: &[QueryWord]) -> Vec<(Pair, usize, usize)> {
        let telling = words.iter().enumerate().filter(|(_, word)| !word.is_common);
        let places: TermMap<usize> = telling.map(|(place, word)| (word.term, place)).collect();
        let place = |said: usize| places.get(&self.words[said].term).copied();
        let mut pairs: Vec<(Pair, usize, usize)> = Vec::new();
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
