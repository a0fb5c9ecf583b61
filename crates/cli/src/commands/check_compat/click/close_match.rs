//! Python's `difflib.get_close_matches`: words that share long runs of characters.

/// The least share of common characters, doubled, per character of both words.
const CUTOFF: f64 = 0.6;

/// Returns those of `known` that are close to `word`. Python keeps the best three; there are never more here.
pub(super) fn close_matches<'a>(word: &str, known: &[&'a str]) -> Vec<&'a str> {
    let word: Vec<char> = word.chars().collect();
    let is_close = |known: &&&'a str| {
        let known: Vec<char> = known.chars().collect();
        let total = known.len() + word.len();
        total > 0 && 2.0 * common(&known, &word) as f64 / total as f64 >= CUTOFF
    };
    known.iter().filter(is_close).copied().collect()
}

/// Returns how many characters the longest common run and the runs to its left and right hold.
fn common(a: &[char], b: &[char]) -> usize {
    let (mut length, mut at_a, mut at_b) = (0, 0, 0);
    let mut runs = vec![0; b.len() + 1];
    for (i, x) in a.iter().enumerate() {
        // From right to left, so that the entry for the previous character of both is still the old one.
        for (j, y) in b.iter().enumerate().rev() {
            runs[j + 1] = if x == y { runs[j] + 1 } else { 0 };
            // Of equally long runs the first one in `a`, then in `b`, counts.
            let start = (i + 1 - runs[j + 1], j + 1 - runs[j + 1]);
            if runs[j + 1] > length || (runs[j + 1] == length && length > 0 && start < (at_a, at_b)) {
                (length, at_a, at_b) = (runs[j + 1], start.0, start.1);
            }
        }
    }
    if length == 0 {
        return 0;
    }
    let left = common(&a[..at_a], &b[..at_b]);
    left + length + common(&a[at_a + length..], &b[at_b + length..])
}

#[cfg(test)]
mod tests {
    use super::close_matches;

    #[test]
    fn close_words_are_found() {
        let known = ["read-properties", "to-prompt", "validate"];
        for (word, expected) in [
            ("validat", Some("validate")),
            ("prompt", Some("to-prompt")),
            ("to_prompt", Some("to-prompt")),
            ("read", None),
            ("", None),
        ] {
            assert_eq!(close_matches(word, &known).first().copied(), expected, "{word:?}");
        }
    }
}
