//! Classifies results of other skill loaders, and the placeholders that hosts put in their place.
//!
//! Hosts clear old results in ever new words, so placeholders are recognised by their shape: short, one
//! sentence or in brackets, and saying that something is gone. A text that is wrongly taken for a placeholder
//! costs its tokens again; one that is wrongly taken for instructions passes for those of a skill, though
//! only as one whose instructions could not be recognised.

use crate::text;

/// The longest text that is taken for a placeholder or a message of an error, in bytes.
const MAX_PLACEHOLDER_BYTES: usize = 512;

/// The beginnings of placeholders for a result that lies elsewhere, in lower case.
const WRAPPERS: [&str; 4] = ["<persisted-output", "<truncated", "<compacted", "<cleared"];

/// Words of placeholders; each is the start of a word, in lower case.
const GONE: [&str; 38] = [
    "abort",
    "archived",
    "cancel",
    "clear",
    "collapsed",
    "compact",
    "condensed",
    "deleted",
    "denied",
    "discard",
    "dropped",
    "elid",
    "elision",
    "evict",
    "exceed",
    "expired",
    "hidden",
    "interrupt",
    "no longer",
    "no output",
    "not available",
    "not shown",
    "offload",
    "omit",
    "output saved",
    "persisted",
    "prun",
    "redact",
    "reject",
    "remov",
    "saved to",
    "shortened",
    "snip",
    "stripped",
    "summari",
    "too large",
    "too long",
    "trunc",
];

/// The beginnings of errors of other hosts and loaders, in lower case.
const ERRORS: [&str; 10] = [
    "error:",
    "error ",
    "<error>",
    "<tool_use_error>",
    "{\"error\"",
    "there is no skill",
    "no such skill",
    "unknown skill",
    "skill not found",
    "traceback (most recent call last)",
];

/// The beginnings of short error messages, in lower case.
const SHORT_ERRORS: [&str; 11] = [
    "not found",
    "no skill",
    "failed",
    "failure",
    "exception",
    "invalid",
    "cannot ",
    "could not ",
    "unable to ",
    "permission denied",
    "mcp error",
];

/// Words of short error messages, in lower case.
const SAYS_ERROR: [&str; 4] = ["not found", "does not exist", "doesn't exist", "no such "];

/// Returns whether a text in no known format may well be instructions.
///
/// When in doubt it is not.
pub(super) fn may_be_instructions(texts: &[&str]) -> bool {
    let mut pieces = pieces(texts).peekable();
    pieces.peek().is_some() && !is_error(texts) && !pieces.all(is_placeholder)
}

/// Returns whether a text in no known format says that a call failed.
pub(super) fn is_error(texts: &[&str]) -> bool {
    let Some(first) = pieces(texts).next() else { return false };
    let first = start(first).to_ascii_lowercase();
    let begins = |errors: &[&str]| errors.iter().any(|error| first.starts_with(error));
    let is_short = || is_short(texts) && is_one_line(&first);
    begins(&ERRORS)
        || (is_short() && (begins(&SHORT_ERRORS) || SAYS_ERROR.iter().any(|words| first.contains(words))))
}

fn pieces<'a>(texts: &[&'a str]) -> impl Iterator<Item = &'a str> {
    texts.iter().map(|text| text.trim()).filter(|text| !text.is_empty())
}

fn is_short(texts: &[&str]) -> bool {
    texts.iter().map(|text| text.len()).sum::<usize>() <= MAX_PLACEHOLDER_BYTES
}

/// Returns the part of `text` that is examined.
fn start(text: &str) -> &str {
    text::start(text, MAX_PLACEHOLDER_BYTES)
}

fn is_placeholder(text: &str) -> bool {
    let lower = start(text).to_ascii_lowercase();
    if WRAPPERS.iter().any(|wrapper| lower.starts_with(wrapper)) {
        return true;
    }
    // A host may have written a line of its own before it or behind it.
    let is_last = || text.lines().last().is_some_and(|line| is_gone(line, is_one_sentence));
    text.len() <= MAX_PLACEHOLDER_BYTES
        && (is_gone(text, is_enclosed) || text.lines().any(|line| is_gone(line, is_enclosed)) || is_last())
}

/// Returns whether `text` has this shape and says that something is gone.
fn is_gone(text: &str, is_shaped: fn(&str) -> bool) -> bool {
    let text = text.trim_matches(['.', '!', '…', ' ']);
    let lower = text.to_ascii_lowercase();
    is_shaped(text) && GONE.iter().any(|word| has_word(&lower, word))
}

/// Returns whether `text` stands in brackets of some kind.
fn is_enclosed(text: &str) -> bool {
    let pairs = [('[', ']'), ('(', ')'), ('<', '>'), ('{', '}'), ('*', '*'), ('_', '_')];
    pairs.iter().any(|(open, close)| text.starts_with(*open) && text.ends_with(*close))
}

fn is_one_line(text: &str) -> bool {
    !text.trim_end().contains(['\n', '\r'])
}

/// Returns whether `text` is a single line with no sentence behind its first.
fn is_one_sentence(text: &str) -> bool {
    let ends_early = || text.contains(". ") || text.contains("! ") || text.contains("? ");
    is_one_line(text) && !text.starts_with('#') && !ends_early()
}

/// Returns whether a word of `text` starts with `word`.
fn has_word(text: &str, word: &str) -> bool {
    let is_start = |place: usize| !text[..place].ends_with(char::is_alphanumeric);
    text.match_indices(word).any(|(place, _)| is_start(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_no_instructions() {
        for text in [
            "",
            " \n",
            "[Old tool result content cleared]",
            "[Tool result cleared to save context]",
            "[cleared to save context]",
            "[cleared]",
            "(Tool result omitted.)",
            "(output omitted)",
            "[truncated]",
            "... [truncated] ...",
            "[Output truncated: 12345 characters]",
            "<removed>",
            "<removed/>",
            "{removed}",
            "*elided*",
            "…elided…",
            "Old tool result content cleared",
            "Tool result removed",
            "Content was pruned to save space.",
            "[content compacted]",
            "[This tool result was compacted. Load it again if you need it.]",
            "Output too large to include",
            "Tool output exceeded the limit and was dropped.",
            "[tool result no longer available]",
            "[REDACTED]",
            "<tool_result_cleared tool=\"load_skill\" />",
            "<persisted-output>Output too large (56.2KB)</persisted-output>",
            "[Request interrupted by user for tool use]",
            "Tool use was aborted",
            "[summarized above]",
            "<system>ok</system>\n[Old tool result content cleared]",
            "[truncated]\n(see the log)",
            "Result:\n\nTool result was pruned.",
        ] {
            assert!(!may_be_instructions(&[text]), "{text:?}");
        }
        let preview = "# Git\nCommit often.\n".repeat(100);
        let persisted = format!(
            "<persisted-output>\nOutput too large (56.2KB). Full output saved to: /tmp/x.txt\n\nPreview (first 2KB):\n{preview}\n\
             ...\n</persisted-output>"
        );
        assert!(!may_be_instructions(&[&persisted]));
        assert!(!may_be_instructions(&[]));
        assert!(!may_be_instructions(&["", "[cleared]", "[removed]"]));
    }

    #[test]
    fn errors_are_no_instructions() {
        for text in [
            "Error: no such skill",
            "error reading skill",
            "There is no skill git",
            "There is no skill `git`. Available: 3.",
            "Unknown skill: git",
            "not found",
            "Not found: git",
            "Skill 'git' not found",
            "Skill git does not exist.",
            "Failed to load skill git",
            "Could not load skill: permission denied",
            "MCP error -32602: Tool load_skill not found",
            "<tool_use_error>File not found</tool_use_error>",
            "{\"error\": \"x\"}",
            "Traceback (most recent call last):\n  File \"x.py\"",
        ] {
            assert!(is_error(&[text]), "{text:?}");
            assert!(!may_be_instructions(&[text]), "{text:?}");
        }
        assert!(!is_error(&[]) && !is_error(&["ok"]) && !is_error(&["[cleared]"]));
    }

    #[test]
    fn other_texts_may_be_instructions() {
        let long = format!("Write in clear words. {}", "Commit often. ".repeat(50));
        for text in [
            "Commit often.",
            "Errors are values.",
            "é",
            "# Cleared caches\nThey make builds slow.",
            "Remove files with care.\nAsk first.",
            "# Git\n\nIf a branch is not found, fetch.",
            "Truncate nothing. Commit often.",
            &long,
        ] {
            assert!(may_be_instructions(&[text]), "{text:?}");
        }
        assert!(may_be_instructions(&["[cleared]", "Commit often."]));
    }
}
