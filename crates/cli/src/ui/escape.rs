//! Makes untrusted text harmless on a terminal.
//!
//! Skill content may hold escape sequences that move the cursor, set the title or recolour what was printed
//! before, and characters that are invisible or turn the text around. They are shown instead of obeyed.

use std::borrow::Cow;

use repertoire_model::text::is_control_or_invisible;

/// Returns `text` on one line, with every control and invisible character shown as an escape.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    escape_except(text, |_| false)
}

/// Returns `text` with its lines and tabs, and every other control and invisible character as an escape.
pub(crate) fn escape_lines(text: &str) -> Cow<'_, str> {
    escape_except(text, |c| matches!(c, '\n' | '\t'))
}

fn escape_except(text: &str, is_kept: impl Fn(char) -> bool) -> Cow<'_, str> {
    // Most text is plain.
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Cow::Borrowed(text);
    }
    let is_harmful = |c: char| is_control_or_invisible(c) && !is_kept(c);
    if !text.chars().any(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_harmful(c) {
            escaped.push_str(&shown(c));
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

fn shown(c: char) -> String {
    match c {
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        _ => format!("\\u{{{:x}}}", u32::from(c)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmful_characters_are_shown() {
        assert_eq!(escape("a\u{1b}[31mb"), "a\\u{1b}[31mb");
        assert_eq!(escape("a\nb\tc\r"), "a\\nb\\tc\\r");
        assert_eq!(escape("a\u{202e}b\u{200b}c\u{9b}"), "a\\u{202e}b\\u{200b}c\\u{9b}");
        assert_eq!(escape_lines("a\n\tb\u{7}\r\n"), "a\n\tb\\u{7}\\r\n");
        assert!(matches!(escape("plain ü 技"), Cow::Borrowed(_)));
    }
}
