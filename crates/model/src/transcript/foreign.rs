//! Results that are not in our words: those of other loaders, and what hosts put in their place.

/// What hosts write in place of an old result to save room, in lower case. Compared with the whole text, without the brackets
/// around it and a final period.
///
/// The first is Claude Code's, the second the one of Anthropic's context editing examples; the others are what agent
/// frameworks write. A text that is missing here makes a skill pass for one whose instructions could not be recognised, and
/// those are given again too.
const CLEARED: [&str; 14] = [
    "old tool result content cleared",
    "cleared to save context",
    "cleared",
    "tool result cleared",
    "tool output cleared",
    "content cleared",
    "result cleared",
    "removed",
    "content removed",
    "tool result removed",
    "omitted",
    "tool result omitted",
    "tool use was aborted",
    "request interrupted by user for tool use",
];

/// How the errors of other hosts and loaders begin, in lower case.
const ERRORS: [&str; 5] = ["error:", "error ", "<error>", "<tool_use_error>", "{\"error\""];

/// Returns whether a text in nobody's known words may well be instructions.
///
/// When in doubt it is not.
pub(super) fn may_be_instructions(texts: &[&str]) -> bool {
    let mut pieces = texts.iter().map(|text| text.trim()).filter(|text| !text.is_empty());
    let Some(first) = pieces.next() else { return false };
    let is_error =
        |error: &str| first.get(..error.len()).is_some_and(|start| start.eq_ignore_ascii_case(error));
    let is_cleared = |text: &str| CLEARED.iter().any(|cleared| bare(text).eq_ignore_ascii_case(cleared));
    let is_gone = is_cleared(first) && pieces.all(is_cleared);
    !is_gone && !ERRORS.into_iter().any(is_error)
}

fn bare(text: &str) -> &str {
    text.trim_matches(|c: char| {
        c.is_whitespace() || matches!(c, '[' | ']' | '(' | ')' | '<' | '>' | '.' | '…')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_and_errors_are_no_instructions() {
        for text in [
            "",
            " \n",
            "[Old tool result content cleared]",
            "[cleared]",
            "(Tool result omitted.)",
            "<removed>",
            "Error: no such skill",
            "<tool_use_error>File not found</tool_use_error>",
            "{\"error\": \"x\"}",
        ] {
            assert!(!may_be_instructions(&[text]), "{text:?}");
        }
        assert!(!may_be_instructions(&[]));
        assert!(!may_be_instructions(&["", "[cleared]", "[removed]"]));
        for text in ["Commit often.", "Errors are values.", "[cleared] caches make builds slow", "é"] {
            assert!(may_be_instructions(&[text]), "{text:?}");
        }
        assert!(may_be_instructions(&["[cleared]", "Commit often."]));
    }
}
