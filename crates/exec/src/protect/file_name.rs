//! File names as case-insensitive file systems compare them: those of macOS, and some of Linux (`chattr +F`).

use std::borrow::Cow;

/// Non-ASCII characters that case folding turns into ASCII (Unicode's `CaseFolding`, status C and F).
const FOLDS_TO_ASCII: &[(char, &str)] = &[
    ('\u{df}', "ss"),
    ('\u{17f}', "s"),
    ('\u{1e9e}', "ss"),
    ('\u{212a}', "k"),
    ('\u{fb00}', "ff"),
    ('\u{fb01}', "fi"),
    ('\u{fb02}', "fl"),
    ('\u{fb03}', "ffi"),
    ('\u{fb04}', "ffl"),
    ('\u{fb05}', "st"),
    ('\u{fb06}', "st"),
];

/// Returns whether a character is ignored in comparisons (Unicode's `Default_Ignorable_Code_Point`).
fn is_ignorable(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Returns the case-folded characters of a name without ignorable ones. Only ASCII is folded to lower case.
pub(crate) fn folded_chars(name: &[u8]) -> impl Iterator<Item = char> {
    letters(name).filter(|letter| !is_ignorable(*letter)).flat_map(folded)
}

/// Returns a name without ignorable characters. ASCII names keep their case: compare the result without case.
pub(crate) fn normalized(name: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(name) {
        Ok(text) if text.is_ascii() => Cow::Borrowed(text),
        _ => Cow::Owned(folded_chars(name).collect()),
    }
}

fn folded(letter: char) -> impl Iterator<Item = char> {
    let same = FOLDS_TO_ASCII.iter().find(|(other, _)| !letter.is_ascii() && *other == letter);
    let same = same.map(|(_, text)| text.chars());
    let own = same.is_none().then(|| letter.to_ascii_lowercase());
    same.into_iter().flatten().chain(own)
}

/// Returns the characters of a name, with a replacement character for each invalid byte.
fn letters(mut rest: &[u8]) -> impl Iterator<Item = char> {
    std::iter::from_fn(move || {
        let first = *rest.first()?;
        let letter = if first.is_ascii() { Some(char::from(first)) } else { first_letter(rest) };
        rest = &rest[letter.map_or(1, char::len_utf8)..];
        Some(letter.unwrap_or(char::REPLACEMENT_CHARACTER))
    })
}

fn first_letter(bytes: &[u8]) -> Option<char> {
    let start = &bytes[..bytes.len().min(4)];
    let valid = str::from_utf8(start).map_or_else(|error| error.valid_up_to(), str::len);
    str::from_utf8(&start[..valid]).ok()?.chars().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_folded_and_stripped() {
        for (name, expect) in [
            (&b"AGENTS.md"[..], "agents.md"),
            ("AGENT\u{17f}.md".as_bytes(), "agents.md"),
            ("\u{feff}.g\u{200c}i\u{ad}T".as_bytes(), ".git"),
            ("o\u{fb03}ce-\u{212a}".as_bytes(), "office-k"),
            ("f\u{ee}n".as_bytes(), "f\u{ee}n"),
            (b".g\xffit", ".g\u{fffd}it"),
            (b"x\xe2\x80", "x\u{fffd}\u{fffd}"),
            (b"", ""),
        ] {
            assert_eq!(folded_chars(name).collect::<String>(), expect);
            assert!(normalized(name).eq_ignore_ascii_case(expect), "{expect}");
        }
    }
}
