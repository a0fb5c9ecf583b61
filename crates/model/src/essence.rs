//! The essence of a skill: the lines with its hard rules, for a context that cannot hold its instructions.

use std::collections::BTreeSet;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use crate::text;

/// The most lines that are kept.
pub const MAX_LINES: usize = 24;
/// The most characters of one line.
pub const MAX_LINE_CHARS: usize = 240;
/// The most characters of all lines together.
pub const MAX_CHARS: usize = 2_400;

/// Words that bind wherever they stand, as they are written here.
const LOUD: [&str; 4] = ["MUST", "NEVER", "ALWAYS", "REQUIRED"];
/// Words that bind at the start of a list item or a sentence.
const QUIET: [&str; 3] = ["never", "always", "must"];
/// Phrases that bind wherever they stand, in any case.
const PHRASES: [&str; 3] = ["do not", "don't", "don’t"];

/// Returns the lines of `body` that say what must or must not be done, in order, without their list markers.
///
/// Code is left out, and so are repetitions. The result is empty where nothing binds.
///
/// ```
/// use repertoire_model::essence::essence;
/// assert_eq!(essence("# Git\n\n- Commit often.\n- NEVER force-push.\n"), "NEVER force-push.");
/// ```
pub fn essence(body: &str) -> String {
    let code = code_blocks(body);
    let mut seen = BTreeSet::new();
    let mut kept: Vec<String> = Vec::new();
    let mut room = MAX_CHARS;
    let mut offset = 0;
    for whole in body.split_inclusive('\n') {
        let start = offset;
        offset += whole.len();
        if kept.len() == MAX_LINES || is_within(&code, start) {
            continue;
        }
        let line = text::visible_line(unmarked(whole));
        if !binds(&line) || !seen.insert(line.to_lowercase()) {
            continue;
        }
        let line = text::shorten(&line, MAX_LINE_CHARS);
        let Some(left) = room.checked_sub(line.chars().count() + 1) else { break };
        room = left;
        kept.push(line);
    }
    kept.join("\n")
}

/// Returns the ranges of the code blocks of `body`, in order.
fn code_blocks(body: &str) -> Vec<std::ops::Range<usize>> {
    let mut blocks = Vec::new();
    let mut start = None;
    for (event, range) in Parser::new(body).into_offset_iter() {
        match event {
            // The range of indented code starts behind its indentation.
            Event::Start(Tag::CodeBlock(_)) => {
                start = Some(body[..range.start].rfind('\n').map_or(0, |index| index + 1));
            }
            Event::End(TagEnd::CodeBlock) => blocks.extend(start.take().map(|start| start..range.end)),
            _ => {}
        }
    }
    blocks
}

fn is_within(blocks: &[std::ops::Range<usize>], offset: usize) -> bool {
    let index = blocks.partition_point(|block| block.end <= offset);
    blocks.get(index).is_some_and(|block| block.contains(&offset))
}

/// Returns `line` without the markers of quotes, headings and list items that it starts with.
fn unmarked(line: &str) -> &str {
    let mut rest = line.trim();
    loop {
        let next = rest.trim_start_matches(['>', '#']).trim_start();
        let next = ["- ", "* ", "+ ", "• ", "[ ] ", "[x] "]
            .iter()
            .find_map(|marker| next.strip_prefix(marker))
            .unwrap_or(next)
            .trim_start();
        let digits = next.bytes().take_while(u8::is_ascii_digit).count();
        let next = match &next[digits..] {
            after if digits > 0 && (after.starts_with(". ") || after.starts_with(") ")) => {
                after[2..].trim_start()
            }
            _ => next,
        };
        if next == rest {
            return rest;
        }
        rest = next;
    }
}

/// Returns `true` if `line` says what must or must not be done.
fn binds(line: &str) -> bool {
    let folded = line.to_lowercase();
    has_word(line, &LOUD)
        || has_word(&folded, &PHRASES)
        || sentences(&folded).any(|sentence| starts_with_word(sentence, &QUIET))
}

/// Returns the sentences of a line, without the emphasis that they may start with.
fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let pieces = line.split_inclusive(['.', '!', '?', ':', ';', '—']);
    pieces.map(|piece| piece.trim_start_matches(|c: char| !c.is_alphanumeric()))
}

fn starts_with_word(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.strip_prefix(word).is_some_and(|rest| !rest.starts_with(is_of_word)))
}

fn has_word(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| {
        text.match_indices(word).any(|(place, _)| {
            !text[..place].ends_with(is_of_word) && !text[place + word.len()..].starts_with(is_of_word)
        })
    })
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expect: &[&str]) {
        assert_eq!(essence(body), expect.join("\n"), "{body}");
    }

    #[test]
    fn lines_that_bind_are_kept_in_order() {
        check("", &[]);
        check("# Title\n\nSome advice you should follow.\n", &[]);
        check(
            "# Rules\n\n1. You MUST ask first.\n   - [ ] NEVER push.\n> **ALWAYS** test.\n* A token is REQUIRED here.\n",
            &["You MUST ask first.", "NEVER push.", "**ALWAYS** test.", "A token is REQUIRED here."],
        );
        check(
            "Please do not guess.\nDon't stop.\nWe don’t.\n",
            &["Please do not guess.", "Don't stop.", "We don’t."],
        );
    }

    #[test]
    fn quiet_words_bind_only_where_a_sentence_starts() {
        check(
            "- never do it\n- **Always** do it\nFine. Must be so.\n",
            &["never do it", "**Always** do it", "Fine. Must be so."],
        );
        check("It is never wrong, and always must be.\nNevertheless.\nMusty.\n", &[]);
    }

    #[test]
    fn words_are_whole() {
        check("MUSTARD, ALWAYS_ON, do nothing, redo notes, NEVER-NEVER\n", &[]);
    }

    #[test]
    fn code_is_left_out() {
        check(
            "```\nMUST not count\n```\n\n    NEVER\n\n- a\n\n  ```sh\n  # ALWAYS\n  ```\n- MUST count\n",
            &["MUST count"],
        );
    }

    #[test]
    fn repetitions_and_line_ends_vanish() {
        check("- You MUST.\r\n* you MUST.\r\n\u{200b}You  MUST.\n", &["You MUST."]);
    }

    #[test]
    fn the_essence_is_bounded() {
        let many: String = (0..99).map(|number| format!("- MUST do {number}\n")).collect();
        assert_eq!(essence(&many).lines().count(), MAX_LINES);
        let long: String = (0..99).map(|number| format!("- MUST {number} {}\n", "x ".repeat(900))).collect();
        let essence = essence(&long);
        assert!(essence.chars().count() <= MAX_CHARS);
        assert!(essence.lines().all(|line| line.chars().count() <= MAX_LINE_CHARS));
    }
}
