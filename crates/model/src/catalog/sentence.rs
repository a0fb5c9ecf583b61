//! The first sentence of a description: what a skill keeps when its whole description does not fit.

use std::borrow::Cow;

use crate::text::shorten;

/// The longest first sentence that is shown whole, in characters.
pub const MAX_SENTENCE_CHARS: usize = 200;

/// Words after which a full stop ends nothing, in lower case.
const ABBREVIATIONS: &[&str] =
    &["approx", "cf", "dr", "esp", "fig", "incl", "mr", "mrs", "ms", "no", "resp", "st", "vs"];

/// Returns the first sentence of `line`, or all of it where no end is found, cut to [`MAX_SENTENCE_CHARS`].
///
/// A single word is not a sentence: `Testing. Use when …` gives both.
pub fn first_sentence(line: &str) -> Cow<'_, str> {
    let sentence = &line[..sentence_end(line)];
    if sentence.len() <= MAX_SENTENCE_CHARS || sentence.chars().count() <= MAX_SENTENCE_CHARS {
        return Cow::Borrowed(sentence);
    }
    let cut = shorten(sentence, MAX_SENTENCE_CHARS);
    match cut.rfind(' ') {
        Some(blank) if blank > 0 => Cow::Owned(format!("{}…", &cut[..blank])),
        _ => Cow::Owned(cut),
    }
}

/// Returns the byte offset at which the first sentence ends.
fn sentence_end(line: &str) -> usize {
    for (index, c) in line.char_indices() {
        let after = index + c.len_utf8();
        match c {
            '。' | '！' | '？' | '｡' => return after,
            '.' | '!' | '?' => {
                let rest = line[after..]
                    .trim_start_matches([')', '"', '\'', ']', '”', '’', '*', '`', '.', '!', '?']);
                let end = line.len() - rest.len();
                let Some(next) = rest.strip_prefix(' ') else { continue };
                let starts_anew = !next.starts_with(|c: char| c.is_lowercase());
                if starts_anew
                    && line[..index].contains(' ')
                    && !(c == '.' && is_abbreviation(&line[..index]))
                {
                    return end;
                }
            }
            _ => {}
        }
    }
    line.len()
}

/// Returns whether the last word of `before` is one that a full stop shortens, as in `vs.` and `e.g.`.
fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit([' ', '(']).next().unwrap_or(before);
    let initials = word.contains('.') && word.split('.').all(|part| part.chars().count() == 1);
    initials || ABBREVIATIONS.contains(&word.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sentence_ends_where_a_reader_ends_it() {
        let check = |line: &str, expected: &str| assert_eq!(first_sentence(line), expected);
        check("Get weather data. Use when asked.", "Get weather data.");
        check("Get weather data", "Get weather data");
        check("Parse PDFs (e.g. Forms). Use when…", "Parse PDFs (e.g. Forms).");
        check("Compare React vs. Vue. Use it.", "Compare React vs. Vue.");
        check("Edit SKILL.md. Use it.", "Edit SKILL.md.");
        check("Runs on v1.2 or later. Use it.", "Runs on v1.2 or later.");
        check("Testing. Use when testing. More.", "Testing. Use when testing.");
        check("Say \"hello.\" Then go.", "Say \"hello.\"");
        check("Is it slow?! Find out why.", "Is it slow?!");
        check("处理表格。用于报表。", "处理表格。");
        check("Handles files, dirs etc. and more. Use it.", "Handles files, dirs etc. and more.");
        check("", "");
    }

    #[test]
    fn a_long_sentence_is_cut_between_words() {
        let sentence = first_sentence(&"word ".repeat(80)).into_owned();
        assert!(sentence.ends_with("word…"), "{sentence}");
        assert!(sentence.chars().count() <= MAX_SENTENCE_CHARS);
        let unbroken = first_sentence(&"技".repeat(300)).into_owned();
        assert_eq!(unbroken.chars().count(), MAX_SENTENCE_CHARS);
        assert!(unbroken.ends_with("技…"));
    }
}
