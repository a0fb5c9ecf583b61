//! Line ends between the words of a text.

use unicode_width::UnicodeWidthStr as _;

/// Returns `text` with line ends between words, so that lines have at most `width` columns where words allow
/// it. A command in backticks stays on one line, where it can be copied.
pub(crate) fn wrap(text: &str, width: usize) -> String {
    let mut wrapped = String::new();
    let mut room = width;
    for word in words(text) {
        let length = word.width();
        if !wrapped.is_empty() {
            let fits = length < room;
            wrapped.push(if fits { ' ' } else { '\n' });
            room = if fits { room - 1 } else { width };
        }
        wrapped.push_str(word);
        room = room.saturating_sub(length);
    }
    wrapped
}

/// Returns `text` wrapped to `width` columns: `indent` fewer in the first line, as many blanks before others.
pub(crate) fn wrap_indented(text: &str, width: usize, indent: usize) -> String {
    wrap(text, width.saturating_sub(indent)).replace('\n', &format!("\n{}", " ".repeat(indent)))
}

/// Returns the words of `text`. Blanks between a pair of backticks are part of a word.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let has_pairs = text.matches('`').count().is_multiple_of(2);
    let mut is_quoted = false;
    text.split(move |c| {
        is_quoted ^= c == '`' && has_pairs;
        c == ' ' && !is_quoted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_wrapped_between_words() {
        let check = |text: &str, width: usize, expect: &str| assert_eq!(wrap(text, width), expect);
        check("one two three", 100, "one two three");
        check("one two three", usize::MAX, "one two three");
        check("one two three", 7, "one two\nthree");
        check("one two three", 6, "one\ntwo\nthree");
        check("overlong a b", 3, "overlong\na b");
        check("日本 語", 5, "日本\n語");
    }

    #[test]
    fn commands_in_backticks_are_not_wrapped() {
        assert_eq!(wrap("run `rep list --all` now", 8), "run\n`rep list --all`\nnow");
        assert_eq!(wrap("run `rep list --all`, now", 25), "run `rep list --all`, now");
        assert_eq!(wrap("an odd ` mark here", 6), "an odd\n` mark\nhere");
    }

    #[test]
    fn lines_after_the_first_are_indented() {
        assert_eq!(wrap_indented("one two three", 9, 2), "one two\n  three");
        assert_eq!(wrap_indented("one two", usize::MAX, 2), "one two");
    }
}
