//! Questions about characters that several modules ask.

/// Returns whether `c` takes no room on a screen and so can hide instructions or spoof a name.
///
/// The byte order mark counts: at the very start of a file it is removed before anything asks.
pub fn is_invisible(c: char) -> bool {
    is_bidi_control(c)
        || matches!(
            c,
            '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
                | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200D}' | '\u{2060}'..='\u{2065}' | '\u{206A}'..='\u{206F}'
                | '\u{3164}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}' | '\u{1BCA0}'..='\u{1BCA3}'
                | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}'
        )
}

/// Returns whether `c` only chooses the shape of the character before it; alone it is as invisible as the others.
pub fn is_variation_selector(c: char) -> bool {
    matches!(c, '\u{180B}'..='\u{180D}' | '\u{180F}' | '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}')
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
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&folded, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= (candidate.chars().count() / 3).clamp(1, 3))
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let fields = ["name", "description", "trigger_keywords", "license"];
        assert_eq!(nearest("descripton", fields), Some("description"));
        assert_eq!(nearest("Licence", fields), Some("license"));
        assert_eq!(nearest("homepage", fields), None);
    }

    #[test]
    fn shorten_counts_characters() {
        assert_eq!(shorten("über", 4), "über");
        assert_eq!(shorten("übermut", 4), "übe…");
    }
}
