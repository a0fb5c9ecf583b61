//! A light stemmer for English.
//!
//! It only removes inflectional endings: plurals, `-ed`, `-ing` and the silent `e` they leave behind.
//! Measured on public skills this finds more than a full stemmer, which merges `universal` and `university`.

/// The length of the shortest word that is stemmed.
const MIN_LETTERS: usize = 4;
/// The fewest letters that must remain.
const MIN_STEM: usize = 4;

/// Returns the stem of `word`, which is in lower case.
pub(crate) fn stem(word: &str) -> Stem<'_> {
    if word.len() < MIN_LETTERS || !word.bytes().all(|letter| letter.is_ascii_lowercase()) {
        return Stem { start: word, end: "" };
    }
    let (start, end) = without_plural(word);
    if end.is_empty() { Stem { start: without_e(without_tense(start)), end } } else { Stem { start, end } }
}

/// The stem of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stem<'a> {
    /// The part of the word that remains.
    pub(crate) start: &'a str,
    /// The letter that replaces the ending, or nothing.
    pub(crate) end: &'static str,
}

fn without_plural(word: &str) -> (&str, &'static str) {
    match word {
        _ if word.len() > MIN_LETTERS && word.ends_with("ies") => (&word[..word.len() - 3], "y"),
        _ if word.ends_with("sses") => (&word[..word.len() - 2], ""),
        _ if ["ss", "us", "is"].iter().any(|ending| word.ends_with(ending)) => (word, ""),
        _ => (word.strip_suffix('s').unwrap_or(word), ""),
    }
}

fn without_tense(word: &str) -> &str {
    let tenses = ["ing", "ed"].into_iter();
    let stem = tenses.filter_map(|ending| word.strip_suffix(ending)).find(|stem| stem.len() >= MIN_STEM);
    let Some(stem) = stem else { return word };
    // `planning` becomes `plan`, `calling` becomes `call`.
    match stem.as_bytes() {
        [.., a, b] if a == b && !b"lsz".contains(b) => &stem[..stem.len() - 1],
        _ => stem,
    }
}

fn without_e(word: &str) -> &str {
    match word.strip_suffix('e') {
        Some(stem) if stem.len() >= MIN_STEM => stem,
        _ => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_have_the_same_stem() {
        let check = |forms: &[&str]| {
            let stems: Vec<String> = forms
                .iter()
                .map(|form| {
                    let Stem { start, end } = stem(form);
                    format!("{start}{end}")
                })
                .collect();
            assert!(stems.windows(2).all(|pair| pair[0] == pair[1]), "{forms:?} {stems:?}");
        };
        check(&["deploy", "deploys", "deployed", "deploying"]);
        check(&["create", "creates", "created", "creating"]);
        check(&["query", "queries"]);
        check(&["planned", "planning"]);
        check(&["class", "classes"]);
        check(&["migrate", "migrating"]);
    }

    #[test]
    fn other_words_have_different_stems() {
        let check = |a: &str, b: &str| assert_ne!(stem(a), stem(b), "{a} {b}");
        check("status", "stat");
        check("analysis", "analyst");
        check("string", "str");
        check("need", "ne");
        check("go", "goes");
        check("日本語s", "日本語");
    }
}
