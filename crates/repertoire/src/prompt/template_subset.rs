//! Checks that a template uses only the supported part of Jinja.

const STATEMENTS: [&str; 7] = ["if", "elif", "else", "endif", "for", "endfor", "set"];

/// Operators that build texts or lists; each could double its input.
const REFUSED: [char; 9] = ['~', '*', '+', '/', '%', '[', ']', '{', '}'];

/// The reason that a template is refused.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
#[error("line {line}: {what}")]
pub(super) struct TemplateRefusal {
    line: usize,
    what: String,
}

/// A file that a template includes.
pub(super) struct Include<'a> {
    /// The range of the tag in the template.
    pub(super) range: std::ops::Range<usize>,
    /// The path, as it is written.
    #[cfg_attr(not(feature = "fs"), expect(dead_code, reason = "files are included from directories alone"))]
    pub(super) path: &'a str,
}

/// Returns the reason that `template` may not be rendered, if there is one. Files are included before.
pub(super) fn check(template: &str) -> Result<(), TemplateRefusal> {
    match includes(template)?.first() {
        None => Ok(()),
        Some(include) => {
            let line = template[..include.range.start].matches('\n').count() + 1;
            Err(TemplateRefusal { line, what: "this template may not use `include`".to_owned() })
        }
    }
}

/// Returns the files that `template` includes, in order, or the reason that it may not be rendered.
///
/// It splits the template as Jinja does: at `{{`, `{%` and `{#`, regardless of strings within these.
pub(super) fn includes(template: &str) -> Result<Vec<Include<'_>>, TemplateRefusal> {
    let mut includes = Vec::new();
    let mut rest = template;
    while let Some(start) = rest.find('{') {
        let tag = &rest[start..];
        let refuse = |at: &str, what: String| {
            let line = template[..template.len() - at.len()].matches('\n').count() + 1;
            Err(TemplateRefusal { line, what })
        };
        if let Some(raw) = tag.strip_prefix("{%").and_then(|tag| behind_tag(tag, "raw")) {
            match behind_raw(raw) {
                Some(behind) => rest = behind,
                None => return refuse(tag, "`{% raw %}` is never closed".to_owned()),
            }
            continue;
        }
        rest = match tag.get(..2) {
            Some("{#") => match tag[2..].find("#}") {
                Some(end) => &tag[2 + end + 2..],
                None => return refuse(tag, "`{#` is never closed".to_owned()),
            },
            Some(open @ ("{{" | "{%")) => {
                let close = if open == "{{" { "}}" } else { "%}" };
                let Some(inner) = inner(&tag[2..], close) else {
                    return refuse(tag, format!("`{open}` is never closed"));
                };
                let behind = &tag[2 + inner.len() + 2..];
                let code = inner.trim_matches(['-', '+']).trim();
                if let Some(c) = outside_strings(code).find(|c| REFUSED.contains(c)) {
                    return refuse(tag, format!("templates may not use `{c}`"));
                }
                if open == "{%" {
                    let word =
                        code.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
                    if word == "include" {
                        let Some(path) = quoted(code["include".len()..].trim()) else {
                            return refuse(tag, "`include` needs one path in quotes".to_owned());
                        };
                        let range = template.len() - tag.len()..template.len() - behind.len();
                        includes.push(Include { range, path });
                    } else if !STATEMENTS.contains(&word) {
                        return refuse(tag, format!("templates may not use `{word}`"));
                    }
                    if word == "set" && !outside_strings(code).any(|c| c == '=') {
                        return refuse(tag, "`set` needs a value".to_owned());
                    }
                    // A plain value is shared; what a filter makes of it is one more copy to keep.
                    if word == "set" && outside_strings(code).any(|c| c == '|') {
                        return refuse(tag, "`set` takes no filters".to_owned());
                    }
                }
                behind
            }
            _ => &tag[1..],
        };
    }
    Ok(includes)
}

/// Returns the text in quotes that `code` is, without escapes in it.
fn quoted(code: &str) -> Option<&str> {
    let quote = code.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let text = code[1..].strip_suffix(quote)?;
    (!text.contains([quote, '\\'])).then_some(text)
}

/// Returns the text before `close`, which does not count inside strings.
fn inner<'a>(text: &'a str, close: &str) -> Option<&'a str> {
    let mut quote = None;
    let mut escaped = false;
    for (index, c) in text.char_indices() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if text[index..].starts_with(close) => return Some(&text[..index]),
            None if matches!(c, '"' | '\'') => quote = Some(c),
            None => {}
        }
    }
    None
}

/// Returns the characters of `code` that are in no string.
fn outside_strings(code: &str) -> impl Iterator<Item = char> {
    let mut quote = None;
    let mut escaped = false;
    code.chars().filter(move |c| {
        let was_outside = quote.is_none();
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if *c == '\\' => escaped = true,
            Some(open) if *c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'') => quote = Some(*c),
            None => {}
        }
        was_outside
    })
}

/// Returns the text behind the end of a raw block.
fn behind_raw(text: &str) -> Option<&str> {
    let mut rest = text;
    while let Some(start) = rest.find("{%") {
        rest = &rest[start + 2..];
        if let Some(behind) = behind_tag(rest, "endraw") {
            return Some(behind);
        }
    }
    None
}

/// Returns the text behind the tag `name`, if `text` starts with that tag.
///
/// It parses exactly as Jinja does: if the two disagreed on the end of a raw block, the check would be of
/// another template.
fn behind_tag<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let is_blank = |c: char| c.is_ascii_whitespace();
    let text = text.strip_prefix(['-', '+']).unwrap_or(text).trim_start_matches(is_blank);
    let text = text.strip_prefix(name)?.trim_start_matches(is_blank);
    text.strip_prefix(['-', '+']).unwrap_or(text).strip_prefix("%}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_blocks_and_comments_end_where_jinja_ends_them() {
        let check =
            |template: &str, what: &str| assert_eq!(check(template).unwrap_err().what, what, "{template}");
        check("{% raw %}{%--endraw%}{{ '{% endraw %}{{ x ~ x }}", "templates may not use `~`");
        check("{% raw %}{% endraw x %}{{ '{% endraw %}{{ x ~ x }}", "templates may not use `~`");
        check("{%- raw -%}{%-\nendraw+%}{{ x ~ x }}", "templates may not use `~`");
        check("{% raw x %}{{ x ~ x }}{% endraw %}", "templates may not use `raw`");
        check("{#}{{ '#}{{ x ~ x }}' }}", "templates may not use `~`");
        check("{{ '\\'' ~ x }}", "templates may not use `~`");
        check("{{ \"'\" ~ x }}", "templates may not use `~`");
        check("{% set x %}{{ '=' }}", "`set` needs a value");
        check("{% set x = y|upper %}", "`set` takes no filters");
        check("{{{ x }}}", "templates may not use `{`");
    }
}

#[cfg(test)]
mod properties {
    use proptest::prelude::*;
    use proptest::sample::select;

    use crate::prompt::{Jinja, Renderer};

    /// The delimiters of raw blocks, comments and strings, and constructs not to be executed between them.
    const PIECES: &[&str] = &[
        "{{ a ~ a }}",
        "{% raw %}",
        "{%- raw -%}",
        "{%+raw%}",
        "{% raw x %}",
        "{% endraw %}",
        "{%--endraw%}",
        "{%-endraw+%}",
        "{% endraw",
        "{#",
        "#}",
        "{#-",
        "-#}",
        "{#}",
        "{{ '",
        "' }}",
        "{{ \"",
        "\" }}",
        "'",
        "\"",
        "\\",
        "{{",
        "}}",
        "{%",
        "%}",
        "-",
        "{% set b = '",
        "' %}",
        "{% if a %}",
        "{% endif %}",
        " ",
        "\n",
        "ü",
        "{",
        "\u{a0}",
        "\u{b}",
        "{% set b %}",
        "{{ b ~ a }}",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn refused_constructs_are_never_rendered(pieces in prop::collection::vec(select(PIECES), 0..12)) {
            let variables = [("a".to_owned(), "A".to_owned())].into();
            if let Ok(text) = Jinja.render(&pieces.concat(), &variables) {
                prop_assert!(!text.contains('A'), "{:?}", text);
            }
        }
    }
}
