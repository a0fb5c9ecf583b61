//! Classes of characters: control, invisible, direction-changing.

use crate::escape::push_xml;

/// Returns whether `c` takes no room on a screen and so can hide instructions or spoof a name.
///
/// The byte order mark counts: at the very start of a file it is removed earlier.
pub fn is_invisible(c: char) -> bool {
    if c.is_ascii() {
        return false;
    }
    is_bidi_control(c)
        || matches!(
            c,
            '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
                | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200D}' | '\u{2060}'..='\u{2065}' | '\u{206A}'..='\u{206F}'
                | '\u{3164}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}' | '\u{1BCA0}'..='\u{1BCA3}'
                | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}'
        )
}

/// Returns whether `c` only chooses the shape of the character before it; alone it is invisible too.
pub fn is_variation_selector(c: char) -> bool {
    matches!(c, '\u{180B}'..='\u{180D}' | '\u{180F}' | '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}')
}

/// Returns whether `bytes` are UTF-16 text: they start with its byte order mark, or every other byte is zero.
pub fn is_utf16(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(64)];
    let is_ascii = |zero: usize| {
        start.len() >= 4 && start.chunks_exact(2).all(|pair| pair[zero] == 0 && pair[1 - zero] != 0)
    };
    start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") || is_ascii(0) || is_ascii(1)
}

/// Returns whether `c` is reserved for internal use by Unicode; XML forbids some of these.
pub fn is_noncharacter(c: char) -> bool {
    matches!(c, '\u{FDD0}'..='\u{FDEF}') || u32::from(c) & 0xFFFE == 0xFFFE
}

/// Returns whether `c` is a control or invisible: it must not reach a terminal or a prompt as it is.
pub fn is_control_or_invisible(c: char) -> bool {
    c.is_control() || is_invisible(c)
}

/// Returns whether `c` changes the direction of the text around it.
pub fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Returns the characters of `text` that hide something, with offsets: the invisible ones not at work.
///
/// A joiner is at work between two visible characters beyond ASCII: in emoji, in Arabic and Indic words. A
/// variation selector is at work once, after a visible character beyond ASCII, or after a digit, `#` or `*`,
/// which make keycaps. A byte order mark at the very start is harmless.
pub fn hiding(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut chars = text.char_indices().peekable();
    chars.next_if(|(_, c)| *c == '\u{feff}');
    // The character that the next one joins or shapes, and whether it has been given a shape.
    let mut base = '\n';
    let mut is_shaped = false;
    std::iter::from_fn(move || {
        loop {
            let (offset, c) = chars.next()?;
            if matches!(c, '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}') {
                let takes_shape = is_visible_beyond_ascii(base) || matches!(base, '0'..='9' | '#' | '*');
                if is_shaped || !takes_shape {
                    return Some((offset, c));
                }
                is_shaped = true;
                continue;
            }
            let is_joiner = matches!(c, '\u{200C}' | '\u{200D}');
            let next = chars.peek().map_or('\n', |(_, next)| *next);
            let joins = is_joiner && is_visible_beyond_ascii(base) && is_visible_beyond_ascii(next);
            (base, is_shaped) = (c, false);
            if is_invisible(c) && !joins {
                return Some((offset, c));
            }
        }
    })
}

fn is_visible_beyond_ascii(c: char) -> bool {
    !(c.is_ascii()
        || c.is_whitespace()
        || is_control_or_invisible(c)
        || is_variation_selector(c)
        || is_noncharacter(c))
}

/// Returns whether nothing in `text` can be seen.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(is_blank_char)
}

/// Returns whether `c` is white space or cannot be seen.
pub(crate) fn is_blank_char(c: char) -> bool {
    c.is_whitespace() || is_control_or_invisible(c) || is_noncharacter(c)
}

/// Returns `text` with every run of white space one blank and no blanks at the ends.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// Returns `text` as one visible line: controls and invisible characters are dropped.
pub fn visible_line(text: &str) -> String {
    let is_dropped = |c: char| !c.is_whitespace() && (is_control_or_invisible(c) || is_noncharacter(c));
    let kept: String = text.chars().filter(|c| !is_dropped(*c)).collect();
    one_line(&kept)
}

/// Returns `text` as one line like [`visible_line`], with the blanks inside as they are.
pub(crate) fn visible_line_as_written(text: &str) -> String {
    let is_dropped = |c: char| !c.is_whitespace() && (is_control_or_invisible(c) || is_noncharacter(c));
    let is_break = |c: char| c.is_whitespace() && c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let kept = text.trim().chars().filter(|c| !is_dropped(*c));
    kept.map(|c| if is_break(c) { ' ' } else { c }).collect()
}

/// Returns `text` without `mark` at its end, which only the engine may set.
pub(crate) fn unmarked<'a>(mut text: &'a str, mark: &str) -> &'a str {
    while let Some(rest) = text.strip_suffix(mark.trim_start()) {
        text = rest.trim_end();
    }
    text
}

/// Returns `text` as the content of an XML element.
pub fn escape_xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    push_xml(&mut escaped, text);
    escaped
}

/// Returns the longest beginning of `text` of at most `limit` bytes.
///
/// ```
/// use repertoire_model::text::start;
/// assert_eq!((start("añb", 2), start("añb", 3), start("añb", 9)), ("a", "añ", "añb"));
/// ```
pub fn start(text: &str, limit: usize) -> &str {
    let end = (0..=limit.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    &text[..end]
}

/// Returns the two ends of `text`, of at most `limit` bytes together; all of it and the empty text if it is
/// no longer than that.
///
/// ```
/// use repertoire_model::text::ends;
/// assert_eq!((ends("añb", 4), ends("abñcd", 4), ends("abcñ", 3)), (("añb", ""), ("ab", "cd"), ("a", "")));
/// ```
pub fn ends(text: &str, limit: usize) -> (&str, &str) {
    if text.len() <= limit {
        return (text, "");
    }
    let first = text.len() - limit / 2;
    let rest = (first..=text.len()).find(|index| text.is_char_boundary(*index)).unwrap_or(text.len());
    (start(text, limit / 2), &text[rest..])
}

/// Returns at most `limit` characters of `text`, with an ellipsis in place of what was cut.
pub fn shorten(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some(_) => {
            let end = text.char_indices().nth(limit.saturating_sub(1)).map_or(0, |(index, _)| index);
            format!("{}…", text[..end].trim_end())
        }
    }
}

/// Returns the candidates nearest to `query`, best first, at most `limit` of them.
///
/// Near is: holding the query or held by it, or a few slips away.
pub fn ranked<'a, T: AsRef<str> + ?Sized>(
    query: &str,
    candidates: impl IntoIterator<Item = &'a T>,
    limit: usize,
) -> Vec<&'a T> {
    let query = shorten(&query.to_lowercase(), MAX_COMPARED_CHARS);
    let allowed = (query.chars().count() / 2).clamp(2, 6);
    let mut near: Vec<(usize, &str, &T)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let folded = candidate.as_ref().to_lowercase();
            let held = query.chars().count() > 2 && (folded.contains(&query) || query.contains(&folded));
            let distance = if held { 1 } else { strsim::damerau_levenshtein(&query, &folded) };
            (distance <= allowed).then_some((distance, candidate.as_ref(), candidate))
        })
        .collect();
    near.sort_by_key(|(distance, text, _)| (*distance, *text));
    near.into_iter().take(limit).map(|(_, _, candidate)| candidate).collect()
}

/// The most characters of a word that is compared with others; the cost is quadratic.
const MAX_COMPARED_CHARS: usize = 128;

/// Returns the candidate nearest to `word`, if one is near enough to be a likely slip.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > MAX_COMPARED_CHARS {
        return None;
    }
    let folded = word.to_lowercase();
    let length = folded.chars().count();
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let lowercase = candidate.to_lowercase();
            let other_length = lowercase.chars().count();
            let allowed = (other_length / 3).clamp(1, 3);
            // The distance is at least the difference of the lengths, and takes much longer to compute.
            let is_possible = length.abs_diff(other_length) <= allowed;
            let distance = is_possible.then(|| strsim::damerau_levenshtein(&folded, &lowercase))?;
            (distance <= allowed).then_some((distance, candidate))
        })
        .min()
        .map(|(_, candidate)| candidate)
}

/// Returns `items` as a list in a sentence.
pub fn list(items: &[&str]) -> String {
    match items {
        [others @ .., one, last] => [others, &[&*format!("{one} and {last}")]].concat().join(", "),
        items => items.concat(),
    }
}

/// Returns `number` with `noun`, as in `1 skill` and `2 skills`.
pub fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Returns an address without what may be secret in it: the name and password of a user, and the query.
pub fn public_address(url: &str) -> String {
    let address = url.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = address.find("://").map_or(("", address), |at| address.split_at(at + "://".len()));
    // A password may hold a slash, so the last `@` counts wherever it is.
    let rest = rest.rsplit('@').next().unwrap_or_default();
    format!("{scheme}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_secrets() {
        assert_eq!(
            public_address("http://user:hunter2@host:4318/v1/traces?key=x"),
            "http://host:4318/v1/traces"
        );
        assert_eq!(public_address("http://user:hun/ter2@host/v1"), "http://host/v1");
        assert_eq!(public_address("user:hunter2@127.0.0.1:1"), "127.0.0.1:1");
        assert_eq!(public_address("https://host"), "https://host");
        assert_eq!(public_address("host?key=x@y"), "host");
    }

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let fields = ["name", "description", "trigger_keywords", "license"];
        assert_eq!(nearest("descripton", fields), Some("description"));
        assert_eq!(nearest("Licence", fields), Some("license"));
        assert_eq!(nearest("homepage", fields), None);
    }

    #[test]
    fn invisible_characters_at_work_hide_nothing() {
        let count = |text: &str| hiding(text).count();
        for text in [
            "\u{feff}plain",
            "👩\u{200d}💻",
            "🏳\u{fe0f}\u{200d}🌈 ❤\u{fe0f}",
            "1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3}",
            "می\u{200c}خواهم",
            "葛\u{e0100}",
        ] {
            assert_eq!(count(text), 0, "{text:?}");
        }
        for (text, expect) in [
            ("x\u{200d}y", 1),
            ("é\u{200d}y", 1),
            ("é\u{200d}\u{200d}é", 2),
            ("é\u{200d}\u{202e}é", 2),
            ("é\u{a0}\u{200d}é", 1),
            ("a\u{fe0f}", 1),
            (" \u{fe0f}", 1),
            ("\u{e0141}", 1),
            ("❤\u{fe0f}\u{fe00}\u{e0141}\u{e0142}", 3),
            ("é\u{200b}\u{fe0f}", 2),
            ("a\u{feff}", 1),
        ] {
            assert_eq!(count(text), expect, "{text:?}");
        }
    }

    #[test]
    fn visible_line_drops_invisible_characters() {
        assert_eq!(visible_line(" a\u{200b}b\r\n\tc\u{1b}[0m \u{2028} d\u{202e}\u{ffff} "), "ab c[0m d");
    }

    #[test]
    fn shorten_counts_characters() {
        assert_eq!(shorten("über", 4), "über");
        assert_eq!(shorten("übermut", 4), "übe…");
    }
}
