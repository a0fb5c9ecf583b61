//! Makes sense of frontmatter that is not quite YAML.
//!
//! Authors write `description: Use when: a user asks` and every parser refuses it. Where the whole does not parse,
//! each top-level entry is taken alone: what parses is kept, what does not is read as the text it was meant to be,
//! with a [`Repair`] that shows how to write it.

use crate::frontmatter::{self, Division};
use crate::yaml::{self, Entry, Fault, Node, Range, Scalar};

/// A value that was read as text because it is not YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// The key it belongs to.
    pub key: String,
    /// What the parser said.
    pub reason: String,
    /// The lines of the entry in the frontmatter.
    pub range: Range,
    /// What to write in their place, without a line end.
    pub replacement: String,
}

/// Entries recovered from a frontmatter, and the repairs it took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    /// The entries, in order, with offsets into the frontmatter.
    pub entries: Vec<Entry>,
    /// What had to be repaired, in order.
    pub repairs: Vec<Repair>,
}

/// Reads `yaml` entry by entry. Returns `None` where no line looks like a `key: value` at all.
pub fn recover(yaml: &str) -> Option<Recovery> {
    let chunks = chunks(yaml)?;
    let mut recovery = Recovery { entries: Vec::new(), repairs: Vec::new() };
    for chunk in chunks {
        let source = &yaml[chunk.clone()];
        match parse_entries(source) {
            Ok(entries) => {
                recovery.entries.extend(entries.into_iter().map(|entry| shifted(entry, chunk.start)))
            }
            // Breaking the budget is no slip of the pen.
            Err(fault) if fault.over_budget => return None,
            Err(fault) => {
                let (entries, replacement) = repair_entry(source, chunk.start)?;
                let key = entries.first().map(|entry| entry.key.text.clone()).unwrap_or_default();
                recovery.entries.extend(entries);
                let end = chunk.start + source.trim_end_matches(['\n', '\r']).len();
                recovery.repairs.push(Repair {
                    key,
                    reason: fault.message,
                    range: chunk.start..end,
                    replacement,
                });
            }
        }
    }
    Some(recovery)
}

/// Returns `text`, a whole `SKILL.md`, with every safe repair applied, or `None` where none is needed.
///
/// Safe are the quoting that [`recover`] does, and the loss of what stands before the opening fence. The answer is
/// given only if it parses and says the same as what was recovered.
pub fn fix(text: &str) -> Option<String> {
    let Division::Fenced(fenced) = frontmatter::divide(text) else { return None };
    let mut yaml = fenced.yaml.to_owned();
    if yaml::parse(&yaml).is_err() {
        let recovery = recover(&yaml)?;
        for repair in recovery.repairs.iter().rev() {
            yaml.replace_range(repair.range.clone(), &repair.replacement);
        }
        let repaired = parse_entries(&yaml).ok()?;
        if yaml::entries_to_json(&repaired) != yaml::entries_to_json(&recovery.entries) {
            return None;
        }
    }
    let fence_and_body = &text[fenced.offset + fenced.yaml.len()..];
    let opening = if fenced.has_prelude { "---\n" } else { &text[..fenced.offset] };
    let fixed = format!("{opening}{yaml}{fence_and_body}");
    (fixed != text).then_some(fixed)
}

/// Divides a frontmatter into its top-level entries; lines that open none belong to the one before.
fn chunks(yaml: &str) -> Option<Vec<Range>> {
    let mut starts = Vec::new();
    let mut offset = 0;
    for line in yaml.split_inclusive(['\n', '\r']) {
        if key_of(line).is_some() {
            starts.push(offset);
        }
        offset += line.len();
    }
    let first = *starts.first()?;
    // What stands before the first key may only be comments and blanks.
    if yaml[..first].lines().any(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#')) {
        return None;
    }
    let ends = starts.iter().skip(1).copied().chain([yaml.len()]);
    Some(starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect())
}

/// Returns the key and the rest of a line that starts a top-level entry.
fn key_of(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.split_once(':')?;
    let is_key = key.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '"' | '\''))
        && key.len() <= 100
        && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '"' | '\''));
    let ends_well = rest.is_empty() || rest.starts_with([' ', '\t', '\n', '\r']);
    (is_key && ends_well).then_some((key, rest))
}

fn parse_entries(source: &str) -> Result<Vec<Entry>, Fault> {
    match yaml::parse(source)?.root {
        None => Ok(Vec::new()),
        Some(Node::Mapping(entries, _)) => Ok(entries),
        Some(other) => Err(Fault {
            over_budget: false,
            message: "expected `key: value`".to_owned(),
            offset: other.range().start,
        }),
    }
}

/// Repairs one entry: by quoting the lines that need it, or else by taking all of its value as text.
fn repair_entry(source: &str, offset: usize) -> Option<(Vec<Entry>, String)> {
    let quoted: String = source.split_inclusive('\n').map(quote_line).collect();
    if quoted != source
        && let Ok(entries) = parse_entries(&quoted)
    {
        // The quotes moved everything behind them, so all offsets become that of the entry.
        let range = offset..offset + source.trim_end().len();
        let entries = entries.into_iter().map(|entry| relocated(entry, &range)).collect();
        return Some((entries, quoted.trim_end_matches(['\n', '\r']).to_owned()));
    }
    let (key, value) = key_of(source)?;
    let text = whole_value(value);
    let key = unquoted(key);
    let replacement = format!("{key}: {}", quote(&text));
    let range = offset..offset + source.trim_end().len();
    let key = Scalar { text: key.to_owned(), plain: false, range: offset..offset + key.len() };
    Some((vec![Entry { key, value: Node::Scalar(Scalar { text, plain: false, range }) }], replacement))
}

/// Quotes the value of a `key: value` line, at any depth, where it cannot stand without quotes.
fn quote_line(line: &str) -> String {
    let content = line.trim_end_matches(['\n', '\r']);
    let ending = &line[content.len()..];
    let indent = content.len() - content.trim_start_matches([' ', '-']).len();
    let Some((key, rest)) = key_of(&content[indent..]) else { return line.to_owned() };
    let value = rest.trim();
    let is_marked = value.starts_with(['"', '\'', '|', '>', '{', '&', '!']) || value.is_empty();
    let needs_quotes = value.contains(": ")
        || value.ends_with(':')
        || value.starts_with(['@', '`', '*', '%', '[', ',', ']']);
    if is_marked || !needs_quotes || is_flow_sequence(value) {
        return line.to_owned();
    }
    format!("{}{key}: {}{ending}", &content[..indent], quote(value))
}

fn is_flow_sequence(value: &str) -> bool {
    value.starts_with('[') && yaml::parse(value).is_ok()
}

/// Returns a value of one or more lines as one line of text, without the quotes or block mark round it.
fn whole_value(value: &str) -> String {
    let mut text = crate::text::one_line(value);
    for mark in ["|-", ">-", "|", ">"] {
        if let Some(rest) = text.strip_prefix(mark) {
            text = rest.trim_start().to_owned();
            break;
        }
    }
    unquoted(&text).to_owned()
}

fn unquoted(text: &str) -> &str {
    ['"', '\'']
        .into_iter()
        .find_map(|mark| text.strip_prefix(mark)?.strip_suffix(mark).filter(|inner| !inner.contains(mark)))
        .unwrap_or(text)
}

/// Returns `text` as a double-quoted YAML scalar on one line.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            // YAML takes the separators for line ends, and refuses the non-characters.
            c if c.is_control()
                || crate::text::is_invisible(c)
                || matches!(c, '\u{2028}' | '\u{2029}' | '\u{FFFE}' | '\u{FFFF}') =>
            {
                match u32::from(c) {
                    code @ 0..=0xFFFF => quoted.push_str(&format!("\\u{code:04X}")),
                    code => quoted.push_str(&format!("\\U{code:08X}")),
                }
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn shifted(entry: Entry, by: usize) -> Entry {
    map_ranges(entry, &|range: Range| range.start + by..range.end + by)
}

fn relocated(entry: Entry, to: &Range) -> Entry {
    map_ranges(entry, &|_| to.clone())
}

fn map_ranges(entry: Entry, change: &dyn Fn(Range) -> Range) -> Entry {
    fn scalar(scalar: Scalar, change: &dyn Fn(Range) -> Range) -> Scalar {
        Scalar { range: change(scalar.range.clone()), ..scalar }
    }
    fn node(value: Node, change: &dyn Fn(Range) -> Range) -> Node {
        match value {
            Node::Scalar(inner) => Node::Scalar(scalar(inner, change)),
            Node::Sequence(items, range) => {
                Node::Sequence(items.into_iter().map(|item| node(item, change)).collect(), change(range))
            }
            Node::Mapping(entries, range) => Node::Mapping(
                entries.into_iter().map(|entry| map_ranges(entry, change)).collect(),
                change(range),
            ),
        }
    }
    Entry { key: scalar(entry.key, change), value: node(entry.value, change) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn check(yaml: &str, expect: Value, replacements: &[&str]) {
        let recovery = recover(yaml).unwrap();
        assert_eq!(Value::Object(yaml::entries_to_json(&recovery.entries)), expect, "{yaml:?}");
        let found: Vec<&str> = recovery.repairs.iter().map(|repair| repair.replacement.as_str()).collect();
        assert_eq!(found, replacements, "{yaml:?}");
        let text = format!("---\n{yaml}---\nbody\n");
        if let Some(fixed) = fix(&text) {
            let Division::Fenced(fenced) = frontmatter::divide(&fixed) else { panic!() };
            let entries = parse_entries(fenced.yaml).unwrap();
            assert_eq!(Value::Object(yaml::entries_to_json(&entries)), expect);
            assert!(fixed.ends_with("---\nbody\n"));
            assert_eq!(fix(&fixed), None);
        }
    }

    #[test]
    fn an_unquoted_colon() {
        check(
            "name: x\ndescription: Use when: a user asks\nversion: 1.0\n",
            json!({"name": "x", "description": "Use when: a user asks", "version": 1.0}),
            &["description: \"Use when: a user asks\""],
        );
    }

    #[test]
    fn leading_marks() {
        for mark in ["[Beta] does", "@scope does", "*bold* does", "%d does", "`code` does"] {
            let line = format!("description: {mark}");
            check(
                &format!("{line}\n"),
                json!({ "description": mark }),
                &[&format!("description: \"{mark}\"")],
            );
        }
    }

    #[test]
    fn several_lines() {
        check(
            "description: Use when: one\n  or two: three\nname: x\n",
            json!({"description": "Use when: one or two: three", "name": "x"}),
            &["description: \"Use when: one or two: three\""],
        );
    }

    #[test]
    fn nested_values() {
        check(
            "metadata:\n  note: a: b\n  list:\n    - k: c: d\n",
            json!({"metadata": {"note": "a: b", "list": [{"k": "c: d"}]}}),
            &["metadata:\n  note: \"a: b\"\n  list:\n    - k: \"c: d\""],
        );
    }

    #[test]
    fn text_after_a_closing_quote() {
        check(
            "hint: \"[a]\" or \"b\"\n",
            json!({"hint": "\"[a]\" or \"b\""}),
            &["hint: \"\\\"[a]\\\" or \\\"b\\\"\""],
        );
    }

    #[test]
    fn a_line_without_a_key_belongs_to_the_one_before() {
        check(
            "description: text\nmore text\nname: x\n",
            json!({"description": "text more text", "name": "x"}),
            &["description: \"text more text\""],
        );
    }

    #[test]
    fn budgets_are_not_repaired() {
        assert_eq!(recover("a: &x 1\nb: *x\n"), None);
        assert_eq!(recover("just text\n"), None);
    }

    #[test]
    fn a_prelude_is_removed() {
        assert_eq!(fix("\n\n---\nname: x\n---\nbody").as_deref(), Some("---\nname: x\n---\nbody"));
        assert_eq!(fix("---\nname: x\n---\nbody"), None);
        assert_eq!(fix("# no frontmatter"), None);
    }

    #[test]
    fn quoting_round_trips() {
        for text in ["plain", "a \"b\" \\ c", "tab\tnew\nline", "zero\u{200b}width", "\u{e0041}", "é: #"] {
            let parsed = yaml::parse(&format!("k: {}", quote(text))).unwrap().root.unwrap().to_json();
            assert_eq!(parsed, json!({ "k": text }));
        }
    }
}
