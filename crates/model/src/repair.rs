//! Repairs frontmatter that is not valid YAML.
//!
//! Authors write `description: Use when: a user asks` and every parser refuses it. If the whole does not
//! parse, each top-level entry is parsed alone: valid ones are kept, others are read as the text they were
//! meant to be, with a [`Repair`] that shows how to write it.

use crate::frontmatter::{self, Division, Line, Lines};
use crate::text;
use crate::yaml::{self, MappingEntry, Node, Range, Scalar, YamlFault};

/// A value that is not YAML, and its replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repair {
    /// The key it belongs to.
    pub key: String,
    /// The repair.
    pub kind: RepairKind,
    /// The parser's message.
    pub reason: String,
    /// The lines of the entry in the frontmatter.
    pub range: Range,
    /// The text to write in their place, without a line end; `None` if it is unknown.
    pub replacement: Option<String>,
}

/// The repair of a value that is not valid YAML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairKind {
    /// The tabs that lines start with became blanks.
    Indented,
    /// Values were put in quotes where they stand.
    Quoted,
    /// Brackets were closed at the end of the line.
    Closed,
    /// Several lines were read as one line of text, without their structure.
    Flattened,
    /// Several lines were kept as they are written, as text.
    Raw,
}

impl RepairKind {
    /// Returns whether the replacement keeps all that the author wrote, so that nobody has to be asked.
    pub fn is_safe(self) -> bool {
        match self {
            Self::Indented | Self::Quoted => true,
            Self::Closed | Self::Flattened | Self::Raw => false,
        }
    }
}

/// Entries recovered from a frontmatter, and the repairs it took.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecoveredEntries {
    /// The entries, in order, with offsets into the frontmatter.
    pub entries: Vec<MappingEntry>,
    /// The repairs, in order.
    pub repairs: Vec<Repair>,
}

/// The fields that are running text, so that lines which are not YAML can only be more of it.
const TEXT_FIELDS: [&str; 2] = ["name", "description"];

/// The field that people write as a number and mean as text.
const VERSION_FIELD: &str = "version";

/// The blanks that replace a tab at the start of a line.
const TAB: &str = "  ";

/// Returns whether `text` has the conflict markers that git leaves after a merge.
pub fn has_conflict_markers(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> "))
}

/// Reads `yaml` entry by entry. Returns `None` where no line looks like a `key: value` at all, and where the
/// whole is over the budget of a frontmatter.
pub fn recover(yaml: &str) -> Option<RecoveredEntries> {
    if yaml.len() > frontmatter::MAX_BYTES {
        return None;
    }
    let mut nodes = yaml::MAX_NODES;
    let mut recovery = RecoveredEntries { entries: Vec::new(), repairs: Vec::new() };
    for chunk in chunks(yaml)? {
        let source = &yaml[chunk.clone()];
        match parse_entries(source, &mut nodes) {
            Ok(entries) => {
                recovery.entries.extend(entries.into_iter().map(|entry| shifted(entry, chunk.start)))
            }
            // Breaking the budget is not a slip of the pen.
            Err(fault) if fault.over_budget => return None,
            Err(fault) => {
                let (entries, mut repair) = repair_entry(source, fault, &mut nodes)?;
                repair.range = chunk.start + repair.range.start..chunk.start + repair.range.end;
                // A rewrite moves everything behind it, so every offset becomes that of the entry.
                let range = chunk.start..chunk.start + source.trim_end().len();
                recovery.entries.extend(entries.into_iter().map(|entry| relocated(entry, &range)));
                recovery.repairs.push(repair);
            }
        }
    }
    Some(recovery)
}

/// Returns `text`, a whole `SKILL.md`, with every safe repair applied, or `None` if no repair applies.
///
/// Safe are the quoting and the indenting that [`recover`] does, quotes round a version that is a number, and
/// the loss of what stands before the opening fence. A value of several lines is never made one line. The
/// answer is given only if it says the same as what was read before.
pub fn fix(text: &str) -> Option<String> {
    let Division::Fenced(fenced) = frontmatter::divide(text) else { return None };
    if fenced.yaml.len() > frontmatter::MAX_BYTES {
        return None;
    }
    let mut yaml = fenced.yaml.to_owned();
    match yaml::parse(&yaml) {
        Ok(_) => {}
        Err(fault) if fault.over_budget => return None,
        // The markers would become parts of values.
        Err(_) if has_conflict_markers(&yaml) => return None,
        Err(_) => {
            let recovery = recover(&yaml)?;
            yaml = repaired(&yaml, &recovery.repairs);
            // Quotes take room too.
            if yaml.len() > frontmatter::MAX_BYTES {
                return None;
            }
            let reread = parse_entries(&yaml, &mut { yaml::MAX_NODES })
                .ok()
                .or_else(|| recover(&yaml).map(|recovery| recovery.entries))?;
            if yaml::entries_to_json(&reread) != yaml::entries_to_json(&recovery.entries) {
                return None;
            }
        }
    }
    let yaml = with_quoted_version(yaml);
    let fence_and_body = &text[fenced.offset + fenced.yaml.len()..];
    let opening = if fenced.has_prelude { "---\n" } else { &text[..fenced.offset] };
    let fixed = format!("{opening}{yaml}{fence_and_body}");
    (fixed != text).then_some(fixed)
}

/// Returns `yaml` with quotes round a version that is a number, so that `1.10` stays `1.10` to every reader.
fn with_quoted_version(mut yaml: String) -> String {
    let entries = parse_entries(&yaml, &mut { yaml::MAX_NODES }).unwrap_or_default();
    // From the last to the first, so that offsets stay as they were found.
    for entry in entries.iter().rev().filter(|entry| entry.key.text == VERSION_FIELD) {
        if let Node::Scalar(scalar) = &entry.value
            && scalar.to_json().is_number()
            && yaml.get(scalar.range.clone()) == Some(&scalar.text)
            && yaml.len() + 2 <= frontmatter::MAX_BYTES
        {
            yaml.replace_range(scalar.range.clone(), &quote(&scalar.text));
        }
    }
    yaml
}

/// Returns `yaml` with the safe ones of `repairs`, which are in order, put in place.
fn repaired(yaml: &str, repairs: &[Repair]) -> String {
    let mut fixed = String::with_capacity(yaml.len() + 64);
    let mut copied = 0;
    for repair in repairs.iter().filter(|repair| repair.kind.is_safe()) {
        if let Some(replacement) = &repair.replacement {
            fixed.push_str(&yaml[copied..repair.range.start]);
            fixed.push_str(replacement);
            copied = repair.range.end;
        }
    }
    fixed.push_str(&yaml[copied..]);
    fixed
}

/// Divides a frontmatter into its top-level entries; lines that open none belong to the one before.
fn chunks(yaml: &str) -> Option<Vec<Range>> {
    let mut starts = Vec::new();
    for line in Lines::new(yaml, 0) {
        if key_of(line.text).is_some() {
            starts.push(line.start);
        } else if starts.is_empty() && !is_blank_or_comment(line.text) {
            // Only comments and blanks may precede the first key.
            return None;
        }
    }
    starts.first()?;
    let ends = starts.iter().skip(1).copied().chain([yaml.len()]);
    Some(starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect())
}

fn is_blank_or_comment(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
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

fn parse_entries(source: &str, nodes: &mut usize) -> Result<Vec<MappingEntry>, YamlFault> {
    match yaml::parse_within(source, nodes)?.root {
        None => Ok(Vec::new()),
        Some(Node::Mapping(entries, _)) => Ok(entries),
        Some(other) => Err(YamlFault {
            over_budget: false,
            message: "expected `key: value`".to_owned(),
            offset: other.range().start,
        }),
    }
}

/// Repairs one entry: by what keeps its structure if that will do, or else by taking its value as text.
///
/// Returns `None` where that breaks the budget. The range is that of the part of `source` that is replaced.
fn repair_entry(source: &str, fault: YamlFault, nodes: &mut usize) -> Option<(Vec<MappingEntry>, Repair)> {
    let (key, value) = key_of(source)?;
    let key = unquoted(key).to_owned();
    let whole = source.trim_end_matches(['\n', '\r']).len();
    let repair = |kind, end: usize, replacement: Option<String>| Repair {
        key: key.clone(),
        kind,
        reason: fault.message.clone(),
        range: 0..end,
        replacement,
    };

    let indented = map_lines(source, indent_line);
    let quoted = map_lines(source, quote_line);
    let both = map_lines(&indented, quote_line);
    for (kind, attempt) in
        [(RepairKind::Indented, indented), (RepairKind::Quoted, quoted), (RepairKind::Quoted, both)]
    {
        if attempt == source {
            continue;
        }
        match parse_entries(&attempt, nodes) {
            Ok(entries) => {
                let replacement = attempt.trim_end_matches(['\n', '\r']).to_owned();
                return Some((entries, repair(kind, whole, Some(replacement))));
            }
            Err(fault) if fault.over_budget => return None,
            Err(_) => {}
        }
    }

    *nodes = nodes.checked_sub(2)?;
    let first = Lines::new(source, 0).next().map_or(0, |line| line.text.len());
    let is_nested = Lines::new(source, first).any(|line| !is_blank_or_comment(line.text));
    let (kind, end, text) = if !is_nested {
        let value = value[..first - (source.len() - value.len())].trim();
        if let Some(closed) = closed(value) {
            let replacement = format!("{key}: {closed}");
            if let Ok(entries) = parse_entries(&replacement, nodes) {
                return Some((entries, repair(RepairKind::Closed, first, Some(replacement))));
            }
        }
        // An open quote or bracket was to be closed on a line that now passes for an entry of its own.
        let kind = if is_open(value) { RepairKind::Flattened } else { RepairKind::Quoted };
        (kind, first, whole_value(value))
    } else if TEXT_FIELDS.contains(&key.as_str()) {
        (RepairKind::Flattened, whole, whole_value(value))
    } else {
        (RepairKind::Raw, whole, value.trim().to_owned())
    };
    let replacement = (kind != RepairKind::Raw).then(|| format!("{key}: {}", quote(&text)));
    let scalar = |text: String| Scalar { text, plain: false, range: 0..0 };
    let entry = MappingEntry { key: scalar(key.clone()), value: Node::Scalar(scalar(text)) };
    Some((vec![entry], repair(kind, end, replacement)))
}

fn map_lines(source: &str, change: fn(Line<'_>) -> String) -> String {
    Lines::new(source, 0).map(change).collect()
}

/// Replaces the tabs at the start of a line by blanks: YAML has no other indentation.
fn indent_line(line: Line<'_>) -> String {
    let rest = line.text.trim_start_matches('\t');
    let tabs = line.text.len() - rest.len();
    [&TAB.repeat(tabs), rest, line.ending].concat()
}

/// Quotes the value of a `key: value` line, at any depth, where it cannot stand without quotes.
fn quote_line(line: Line<'_>) -> String {
    let (content, ending) = (line.text, line.ending);
    let indent = content.len() - content.trim_start_matches([' ', '-']).len();
    let unchanged = || [content, ending].concat();
    let Some((key, rest)) = key_of(&content[indent..]) else { return unchanged() };
    let value = rest.trim();
    let is_marked = value.starts_with(['"', '\'', '|', '>', '{', '&', '!']) || value.is_empty();
    let needs_quotes = value.contains(": ")
        || value.ends_with(':')
        || value.starts_with(['@', '`', '*', '%', '[', ',', ']']);
    if is_marked || !needs_quotes || is_open(value) || is_flow_sequence(value) {
        return unchanged();
    }
    format!("{}{key}: {}{ending}", &content[..indent], quote(value))
}

/// Returns `value` with the brackets closed that are open at its end, if it closes some itself: others may be
/// closed on a later line.
fn closed(value: &str) -> Option<String> {
    if !value.starts_with(['{', '[']) || is_open(value) {
        return None;
    }
    let mut open = Vec::new();
    let mut quote = None;
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some('"'), '\\') => drop(chars.next()),
            (Some(mark), _) if c == mark => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '{') => open.push('}'),
            (None, '[') => open.push(']'),
            (None, '}' | ']') if open.pop() != Some(c) => return None,
            (None, _) => {}
        }
    }
    let missing: String = open.into_iter().rev().collect();
    (quote.is_none() && !missing.is_empty()).then(|| format!("{value}{missing}"))
}

/// Returns whether `value` opens a quote or a bracket that it does not close.
fn is_open(value: &str) -> bool {
    let close = match value.chars().next() {
        Some(mark @ ('"' | '\'')) => mark,
        Some('[') => ']',
        Some('{') => '}',
        _ => return false,
    };
    !value[1..].contains(close)
}

fn is_flow_sequence(value: &str) -> bool {
    value.starts_with('[') && yaml::parse(value).is_ok()
}

/// Returns a value of one or more lines as one line of text, without the quotes or block mark round it.
fn whole_value(value: &str) -> String {
    let mut text = text::one_line(value);
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
            c if text::is_control_or_invisible(c)
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

fn shifted(entry: MappingEntry, by: usize) -> MappingEntry {
    map_ranges(entry, &|range: Range| range.start + by..range.end + by)
}

fn relocated(entry: MappingEntry, to: &Range) -> MappingEntry {
    map_ranges(entry, &|_| to.clone())
}

fn map_ranges(entry: MappingEntry, change: &dyn Fn(Range) -> Range) -> MappingEntry {
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
    MappingEntry { key: scalar(entry.key, change), value: node(entry.value, change) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn check(yaml: &str, expect: Value, replacements: &[&str]) {
        let recovery = recover(yaml).unwrap();
        assert_eq!(Value::Object(yaml::entries_to_json(&recovery.entries)), expect, "{yaml:?}");
        let found: Vec<&str> =
            recovery.repairs.iter().map(|repair| repair.replacement.as_deref().unwrap_or("-")).collect();
        assert_eq!(found, replacements, "{yaml:?}");
        let text = format!("---\n{yaml}---\nbody\n");
        if let Some(fixed) = fix(&text) {
            let Division::Fenced(fenced) = frontmatter::divide(&fixed) else { panic!() };
            let entries = parse_entries(fenced.yaml, &mut { yaml::MAX_NODES }).unwrap();
            assert_eq!(Value::Object(yaml::entries_to_json(&entries)), expect);
            assert!(fixed.ends_with("---\nbody\n"));
            assert_eq!(fix(&fixed), None);
        }
    }

    #[test]
    fn an_unquoted_colon() {
        check(
            "name: x\ndescription: Use when: a user asks\nrevision: 1.0\n",
            json!({"name": "x", "description": "Use when: a user asks", "revision": 1.0}),
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
    fn an_open_bracket_is_closed_and_never_written_without_a_question() {
        let line = r#"metadata: {"a": {"b": ["c"], "d": {"e": "}"}}"#;
        check(
            &format!("{line}\nname: x\n"),
            json!({"metadata": {"a": {"b": ["c"], "d": {"e": "}"}}}, "name": "x"}),
            &[&format!("{line}}}")],
        );
        assert_eq!(fix(&format!("---\n{line}\n---\nbody\n")), None);
        for value in ["{\"a\": 1}", "{", "[a, b", "{a: [b}", "{\"a\": {}, \"b}"] {
            assert_eq!(closed(value), None, "{value}");
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

    fn kinds(yaml: &str) -> Vec<RepairKind> {
        recover(yaml).unwrap().repairs.into_iter().map(|repair| repair.kind).collect()
    }

    fn fixed(yaml: &str) -> Option<String> {
        let text = fix(&format!("---\n{yaml}---\nbody\n"))?;
        Some(text.strip_prefix("---\n").unwrap().strip_suffix("---\nbody\n").unwrap().to_owned())
    }

    #[test]
    fn tabs_become_blanks_and_structure_stays() {
        let yaml = "name: x\ntags:\n\t- a\n\t- b\nmetadata:\n\tk: v\n\tdeep:\n\t\tn: 1\n";
        check(
            yaml,
            json!({"name": "x", "tags": ["a", "b"], "metadata": {"k": "v", "deep": {"n": 1}}}),
            &["tags:\n  - a\n  - b", "metadata:\n  k: v\n  deep:\n    n: 1"],
        );
        assert_eq!(kinds(yaml), [RepairKind::Indented; 2]);
        assert_eq!(fixed(yaml).unwrap(), yaml.replace('\t', "  "));
        let yaml = "metadata:\n\tnote: a: b\n";
        assert_eq!(fixed(yaml).unwrap(), "metadata:\n  note: \"a: b\"\n");
    }

    #[test]
    fn lines_end_as_they_like() {
        for ending in ["\n", "\r\n", "\r"] {
            let lines =
                ["name: x", "description: Use when: asked", "tags:", "  - a", "metadata:", "  k: b: c", ""];
            let yaml = lines.join(ending);
            check(
                &yaml,
                json!({"name": "x", "description": "Use when: asked", "tags": ["a"], "metadata": {"k": "b: c"}}),
                &["description: \"Use when: asked\"", &["metadata:", "  k: \"b: c\""].join(ending)],
            );
            let expect = yaml.replace("Use when: asked", "\"Use when: asked\"").replace("b: c", "\"b: c\"");
            assert_eq!(fixed(&yaml).unwrap(), expect);
        }
    }

    #[test]
    fn several_lines_are_never_rewritten_as_one() {
        // It is read as text, so that the skill loads; but only its author knows the intent.
        let yaml = "description: Use when: one\n  or two: three\n";
        assert_eq!(kinds(yaml), [RepairKind::Flattened]);
        assert_eq!(fixed(yaml), None);
        let yaml = "metadata:\n  a: [\n  b: c\n";
        check(yaml, json!({"metadata": "a: [\n  b: c"}), &["-"]);
        assert_eq!(kinds(yaml), [RepairKind::Raw]);
        assert_eq!(fixed(yaml), None);
        // Other entries beside it are repaired.
        let beside = format!("description: a: b\n{yaml}");
        assert_eq!(fixed(&beside).unwrap(), format!("description: \"a: b\"\n{yaml}"));
    }

    #[test]
    fn values_closed_on_a_later_line_are_not_quoted() {
        for yaml in ["tags: [a,\nb: c: d]\n", "hint: \"one\ntwo: three\" four\n"] {
            let fixed = fixed(yaml).unwrap_or_else(|| yaml.to_owned());
            assert_eq!(fixed.lines().next(), yaml.lines().next());
        }
    }

    #[test]
    fn comments_below_an_entry_stay() {
        assert_eq!(
            fixed("hint: \"a\" b\n# note\nname: x\n").unwrap(),
            "hint: \"\\\"a\\\" b\"\n# note\nname: x\n"
        );
    }

    #[test]
    fn all_entries_share_one_budget() {
        let entry = |key: usize| format!("k{key}: [{}]\n", "x, ".repeat(1000));
        let broken = "description: a: b\n";
        assert!(recover(&(format!("{broken}{}", entry(1)))).is_some());
        assert_eq!(recover(&(format!("{broken}{}", (0..5).map(entry).collect::<String>()))), None);
    }

    #[test]
    fn too_large_a_frontmatter_is_left_alone() {
        let large = format!("description: a: b\n# {}\n", "x".repeat(frontmatter::MAX_BYTES));
        assert_eq!((recover(&large), fixed(&large)), (None, None));
        let line = "description: a: b\n";
        let full = format!("{line}#{}\n", "x".repeat(frontmatter::MAX_BYTES - line.len() - 2));
        assert!(recover(&full).is_some());
        assert_eq!(fixed(&full), None);
        assert_eq!(crate::document::frontmatter_json(&format!("---\n{large}---\n")), None);
    }

    #[test]
    fn budgets_are_not_repaired() {
        assert_eq!(recover("a: &x 1\nb: *x\n"), None);
        assert_eq!(recover("just text\n"), None);
    }

    #[test]
    fn a_version_that_is_a_number_is_quoted() {
        for (yaml, expect) in [
            ("name: x\nversion: 1.0\n", Some("name: x\nversion: \"1.0\"\n")),
            ("version: 1.10 # the tenth\nname: x\n", Some("version: \"1.10\" # the tenth\nname: x\n")),
            ("version:   2\r\n", Some("version:   \"2\"\r\n")),
            ("{name: x, version: 1e3}\n", Some("{name: x, version: \"1e3\"}\n")),
            ("description: a: b\nversion: 1.0\n", Some("description: \"a: b\"\nversion: \"1.0\"\n")),
            ("version: 1.0.0\n", None),
            ("version: \"1.0\"\n", None),
            ("version: v1\nmetadata:\n  version: 1.0\n", None),
            ("version: [1.0]\n", None),
        ] {
            assert_eq!(fixed(yaml).as_deref(), expect, "{yaml:?}");
            if let Some(expect) = expect {
                assert_eq!(fixed(expect), None);
            }
        }
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
