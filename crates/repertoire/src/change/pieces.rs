//! The pieces by which two texts differ, so that the one can be made of the other without keeping either.

use serde::{Deserialize, Serialize};

/// The most pairs of words that are compared.
const MAX_PAIRS: usize = 8_000_000;

/// A piece of a text that was put in the place of another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// The offset in the new text, in bytes.
    at: usize,
    /// The piece of the old text.
    was: String,
    /// The piece of the new text.
    pub now: String,
}

impl Piece {
    /// Returns how many bytes it has.
    pub(super) fn size(&self) -> usize {
        self.was.len() + self.now.len()
    }

    /// Returns the piece that is the whole of both texts.
    pub(super) fn whole(was: &str, now: &str) -> Self {
        Self { at: 0, was: was.to_owned(), now: now.to_owned() }
    }
}

/// Returns the pieces by which `now` differs from `was`; `None` if the texts differ in too many words. Pieces
/// consist of whole words, and no word that both texts have in the same order is in one.
pub(super) fn pieces(was: &str, now: &str) -> Option<Vec<Piece>> {
    let (old, new) = (words(was), words(now));
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    let (height, width) = (old.len() + 1, new.len() + 1);
    if height.saturating_mul(width) > MAX_PAIRS {
        return None;
    }
    // The number of words that the rests of both texts have in common.
    let mut common = vec![0_u32; height * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            let (below, right) = ((i + 1) * width + j, i * width + j + 1);
            let is_same = old[i] == new[j];
            common[i * width + j] =
                if is_same { common[below + 1] + 1 } else { common[below].max(common[right]) };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut at: usize = words(now)[..head].iter().map(|word| word.len()).sum();
    let mut pieces: Vec<Piece> = Vec::new();
    let mut is_open = false;
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j, at, is_open) = (i + 1, j + 1, at + new[j].len(), false);
            continue;
        }
        if !is_open {
            pieces.push(Piece { at, was: String::new(), now: String::new() });
            is_open = true;
        }
        let Some(piece) = pieces.last_mut() else { break };
        let is_new =
            i == old.len() || (j < new.len() && common[i * width + j + 1] >= common[(i + 1) * width + j]);
        if is_new {
            piece.now.push_str(new[j]);
            (j, at) = (j + 1, at + new[j].len());
        } else {
            piece.was.push_str(old[i]);
            i += 1;
        }
    }
    Some(pieces)
}

/// Returns the old text of which the new text `now` was made; `None` if it does not have the new pieces.
pub(super) fn without(now: &str, pieces: &[Piece]) -> Option<String> {
    let mut text = now.to_owned();
    for piece in pieces.iter().rev() {
        let range = piece.at..piece.at.checked_add(piece.now.len())?;
        if text.get(range.clone())? != piece.now {
            return None;
        }
        text.replace_range(range, &piece.was);
    }
    Some(text)
}

/// Returns the words of `text`, and every other character for itself.
fn words(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let (mut words, mut start, mut last) = (Vec::new(), 0, None);
    for (at, c) in text.char_indices() {
        if last.is_some_and(|last| !is_word(last) || !is_word(c)) {
            words.push(&text[start..at]);
            start = at;
        }
        last = Some(c);
    }
    if !text.is_empty() {
        words.push(&text[start..]);
    }
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_piece_holds_nothing_of_the_text_around_it() {
        let was = "{\"token\": \"secret-1\", \"a\": {\"b\": [\"secret-2\"]}}";
        let now = "{\n  \"x\": 1,\n  \"token\": \"secret-1\",\n  \"a\": {\n    \"b\": [\"secret-2\"],\n    \"mcp\": {}\n  }\n}";
        let found = pieces(was, now).unwrap();
        assert!(found.iter().all(|piece| !piece.was.contains("secret") && !piece.now.contains("secret")));
        assert_eq!(without(now, &found).unwrap(), was);
        assert_eq!(without(was, &found), None);
    }

    proptest! {
        #[test]
        fn the_old_text_comes_back(was in "[a-c{}é\n ]{0,40}", now in "[a-c{}é\n ]{0,40}") {
            let found = pieces(&was, &now).unwrap();
            prop_assert_eq!(without(&now, &found), Some(was));
        }
    }
}
