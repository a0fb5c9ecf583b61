//! Corrects misspelled words by the vocabulary of a library.

/// The fewest letters of a word that is corrected: of shorter ones, too many others are near. Of three
/// letters, only swapped ones are.
const MIN_LETTERS: usize = 4;
/// The fewest letters of a word that is corrected in two places.
const MIN_LETTERS_FOR_TWO: usize = 7;
/// The most letters of a word that is corrected.
const MAX_LETTERS: usize = 20;

/// Returns the word that is meant by `word`: of those at `distance`, 0 to 2, the one with the highest
/// frequency. `frequency` returns the number of skills that have a word.
///
/// A word is at the distance 0 if two adjacent letters are swapped, and at the distance 1 also if one letter
/// is missing, added or replaced. At the distance 2, one of two mistakes is an added letter or a swap.
pub(crate) fn corrected(word: &str, distance: u8, frequency: impl Fn(&str) -> usize) -> Option<String> {
    let is_plain = word.bytes().all(|letter| letter.is_ascii_lowercase());
    if !is_plain || !(MIN_LETTERS - 1..=MAX_LETTERS).contains(&word.len()) {
        return None;
    }
    let mut best = Best { frequency: 0, word: None };
    if distance == 0 || word.len() < MIN_LETTERS {
        for_each_swap(word.as_bytes(), &mut |edit| best.consider(edit, &frequency));
    } else if distance == 1 {
        for_each_edit(word.as_bytes(), &mut |edit| best.consider(edit, &frequency));
    } else if word.len() >= MIN_LETTERS_FOR_TWO {
        for_each_removal(word.as_bytes(), &mut |edit| {
            let edit = edit.to_vec();
            for_each_edit(&edit, &mut |edit| best.consider(edit, &frequency));
        });
    }
    best.word
}

/// The most frequent of the words considered so far.
struct Best {
    frequency: usize,
    word: Option<String>,
}

impl Best {
    fn consider(&mut self, letters: &[u8], frequency: &impl Fn(&str) -> usize) {
        let Ok(word) = std::str::from_utf8(letters) else { return };
        let found = frequency(word);
        let is_earlier = || self.word.as_deref().is_some_and(|best| word < best);
        if found > self.frequency || (found > 0 && found == self.frequency && is_earlier()) {
            *self = Self { frequency: found, word: Some(word.to_owned()) };
        }
    }
}

/// Calls `take` with `word` less one letter, or with two adjacent letters swapped.
fn for_each_removal(word: &[u8], take: &mut dyn FnMut(&[u8])) {
    let mut edit = Vec::with_capacity(word.len());
    for place in 0..word.len() {
        edit.clear();
        edit.extend_from_slice(&word[..place]);
        edit.extend_from_slice(&word[place + 1..]);
        take(&edit);
    }
    for_each_swap(word, take);
}

/// Calls `take` with `word` with two adjacent letters swapped.
fn for_each_swap(word: &[u8], take: &mut dyn FnMut(&[u8])) {
    let mut edit = word.to_vec();
    for place in 1..word.len() {
        if edit[place - 1] != edit[place] {
            edit.swap(place - 1, place);
            take(&edit);
            edit.swap(place - 1, place);
        }
    }
}

/// Calls `take` with every word at the distance 1 of `word`.
fn for_each_edit(word: &[u8], take: &mut dyn FnMut(&[u8])) {
    for_each_removal(word, take);
    let mut edit = word.to_vec();
    for place in 0..word.len() {
        for letter in (b'a'..=b'z').filter(|letter| *letter != word[place]) {
            edit[place] = letter;
            take(&edit);
        }
        edit[place] = word[place];
    }
    edit.push(0);
    for place in (0..=word.len()).rev() {
        edit[place + 1..].copy_from_slice(&word[place..]);
        for letter in b'a'..=b'z' {
            edit[place] = letter;
            take(&edit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelled_words_are_corrected() {
        let words = [
            ("spreadsheet", 3),
            ("calendar", 2),
            ("interview", 1),
            ("card", 4),
            ("care", 9),
            ("deploy", 1),
            ("git", 5),
        ];
        let frequency =
            |word: &str| words.iter().find(|(other, _)| *other == word).map_or(0, |(_, count)| *count);
        let check = |word: &str, expected: Option<&str>| {
            let found = corrected(word, 1, frequency).or_else(|| corrected(word, 2, frequency));
            assert_eq!(found.as_deref(), expected, "{word}");
        };
        check("spredsheet", Some("spreadsheet"));
        check("spradsheeet", Some("spreadsheet"));
        check("calender", Some("calendar"));
        check("interveiw", Some("interview"));
        check("crad", Some("card"));
        check("carr", Some("care"));
        check("dpeloy", Some("deploy"));
        check("marmalade", None);
        check("gti", Some("git"));
        check("gut", None);
        assert_eq!(corrected("dpeloy", 0, frequency).as_deref(), Some("deploy"));
        assert_eq!(corrected("deplo", 0, frequency), None);
        check("ca", None);
        check("crème", None);
    }
}
