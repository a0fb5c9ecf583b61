//! The hard rules of a skill, which matter even where there is no room for the rest.

use std::collections::HashSet;

use crate::text;

/// The most lines that an essence has.
pub const MAX_ESSENCE_LINES: usize = 40;

/// The most characters that one of its lines has.
pub const MAX_ESSENCE_LINE_CHARS: usize = 400;

/// The words that make a line a rule, if they are written like this.
const RULES: [&str; 6] = ["MUST", "NEVER", "ALWAYS", "DO NOT", "REQUIRED", "FORBIDDEN"];

/// Returns the lines of `body` that say what must and must not be done, each once and without those in fenced code.
///
/// ```
/// use repertoire_model::reattach::essence;
/// assert_eq!(essence("# Git\n\nSome prose.\n- NEVER force-push.\n"), "- NEVER force-push.");
/// ```
pub fn essence(body: &str) -> String {
    let mut fence: Option<&str> = None;
    let mut known = HashSet::new();
    let mut rules = Vec::new();
    for line in body.lines().map(str::trim) {
        match (fence, fence_of(line)) {
            (None, Some(opened)) => fence = Some(opened),
            (Some(opened), Some(closing)) if closing.starts_with(opened) && closing.len() == line.len() => {
                fence = None
            }
            (None, None) if RULES.into_iter().any(|rule| holds_word(line, rule)) && known.insert(line) => {
                rules.push(text::shorten(&text::visible_line(line), MAX_ESSENCE_LINE_CHARS));
            }
            _ => (),
        }
    }
    let more = rules.len().saturating_sub(MAX_ESSENCE_LINES);
    rules.truncate(MAX_ESSENCE_LINES);
    if more > 0 {
        rules.push(format!("({more} more rules)"));
    }
    rules.join("\n")
}

/// Returns the characters with which `line` opens or closes a block of code.
fn fence_of(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(mark).len();
    (length >= 3).then(|| &line[..length])
}

fn holds_word(line: &str, word: &str) -> bool {
    let is_apart = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
    line.match_indices(word).any(|(start, _)| {
        is_apart(line[..start].chars().next_back()) && is_apart(line[start + word.len()..].chars().next())
    })
}
