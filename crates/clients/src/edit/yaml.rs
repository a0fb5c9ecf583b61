//! Edits YAML by whole lines, under one block: `extensions:` with one entry for each name.
//!
//! The parser of frontmatter gives the positions. Anchors, aliases, tags, several documents and entries in
//! flow style are refused. Only lines of the entry are changed.

use repertoire_model::yaml::{self, MappingEntry, Node, ParsedYaml};
use serde_json::{Map, Value};

use super::text::{EditFault, Spot, line_end, line_start, newline};

/// The indentation of a block relative to its parent.
const INDENT: usize = 2;

/// Returns the document as JSON.
pub(super) fn parse(text: &str) -> Result<Map<String, Value>, EditFault> {
    Ok(yaml::entries_to_json(&entries(text, &parsed(text)?)?))
}

fn parsed(text: &str) -> Result<ParsedYaml, EditFault> {
    yaml::parse(text).map_err(|fault| EditFault::at(text, fault.offset, fault.message))
}

/// Returns the top-level entries.
fn entries(text: &str, parsed: &ParsedYaml) -> Result<Vec<MappingEntry>, EditFault> {
    let entries = match &parsed.root {
        None => Vec::new(),
        Some(Node::Mapping(entries, range)) if !is_flow(text, range.start) => entries.clone(),
        Some(node) if node.is_null() => Vec::new(),
        Some(other) => return Err(EditFault::at(text, other.range().start, "it is not a block of keys")),
    };
    for (index, entry) in entries.iter().enumerate() {
        if entries[..index].iter().any(|earlier| earlier.key.text == entry.key.text) {
            let message = format!("`{}` is there twice", entry.key.text);
            return Err(EditFault::at(text, entry.key.range.start, message));
        }
    }
    Ok(entries)
}

fn is_flow(text: &str, start: usize) -> bool {
    text[start..].starts_with(['{', '['])
}

fn not_editable(text: &str, at: usize) -> EditFault {
    EditFault::at(text, at, "this is written in a way that is not edited for you")
}

/// The lines of an entry, and its indentation.
struct Lines {
    start: usize,
    end: usize,
    indent: usize,
}

/// Returns the lines of `siblings[index]`; the lines of the last one end before `limit`. Comments and blank
/// lines after it do not belong to it.
fn lines(
    text: &str,
    parsed: &ParsedYaml,
    siblings: &[MappingEntry],
    index: usize,
    limit: usize,
) -> Result<Lines, EditFault> {
    let key = siblings[index].key.range.start;
    let start = line_start(text, key);
    if !text[start..key].bytes().all(|byte| byte == b' ') {
        return Err(not_editable(text, key));
    }
    let mut end = siblings.get(index + 1).map_or(limit, |next| line_start(text, next.key.range.start));
    while end > start {
        let last = line_start(text, end - 1);
        let line = &text[last..end];
        let first = last + (line.len() - line.trim_start().len());
        let is_comment = parsed.comments.iter().any(|comment| comment.start == first);
        if last <= start || !(line.trim().is_empty() || is_comment) {
            break;
        }
        end = last;
    }
    Ok(Lines { start, end, indent: key - start })
}

/// The table that contains the entries.
struct Parent {
    children: Vec<MappingEntry>,
    /// The offset after the colon of its key.
    colon: usize,
    /// The position of `{}`, if the table is empty.
    braces: Option<(usize, usize)>,
    /// The offset of what follows the table.
    limit: usize,
}

fn parent(text: &str, parsed: &ParsedYaml, spot: Spot<'_>) -> Result<Option<Parent>, EditFault> {
    let top = entries(text, parsed)?;
    let Some(index) = top.iter().position(|entry| entry.key.text == spot.table) else { return Ok(None) };
    let entry = &top[index];
    let colon = entry.key.range.end;
    if !text[colon..].starts_with(':') {
        return Err(not_editable(text, colon));
    }
    let limit = top.get(index + 1).map_or(text.len(), |next| line_start(text, next.key.range.start));
    let (children, braces) = match &entry.value {
        node if node.is_null() && node.range().is_empty() => (Vec::new(), None),
        Node::Mapping(children, range) if children.is_empty() && text[range.start..].starts_with("{}") => {
            (Vec::new(), Some((range.start, range.start + 2)))
        }
        Node::Mapping(children, range) if !is_flow(text, range.start) => (children.clone(), None),
        other => return Err(not_editable(text, other.range().start)),
    };
    Ok(Some(Parent { children, colon: colon + 1, braces, limit }))
}

/// Changes the entry at `spot`; see [`super::set`]. Comments inside a changed entry are removed.
pub(super) fn set(
    text: &str,
    spot: Spot<'_>,
    existing: Option<&Map<String, Value>>,
    wanted: Option<&Map<String, Value>>,
) -> Result<String, EditFault> {
    match (existing, wanted) {
        (_, None) => remove(text, spot),
        (None, Some(wanted)) => insert(text, spot, wanted),
        (Some(_), Some(wanted)) => replace(text, spot, wanted),
    }
}

fn insert(text: &str, spot: Spot<'_>, entry: &Map<String, Value>) -> Result<String, EditFault> {
    let parsed = parsed(text)?;
    let nl = newline(text);
    let Some(parent) = parent(text, &parsed, spot)? else {
        let block = block(spot, entry, INDENT, nl);
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { nl };
        return Ok(format!("{text}{gap}{}:{nl}{block}", spot.table));
    };
    if let Some(last) = parent.children.len().checked_sub(1) {
        let lines = lines(text, &parsed, &parent.children, last, parent.limit)?;
        let block = block(spot, entry, lines.indent, nl);
        return Ok(spliced(text, lines.end, lines.end, &block));
    }
    let block = block(spot, entry, INDENT, nl);
    let text = match parent.braces {
        None => text.to_owned(),
        Some((start, end)) => {
            let blanks = text[parent.colon..start].len();
            format!("{}{}", &text[..start - blanks], &text[end..])
        }
    };
    let at = line_end(&text, parent.colon);
    Ok(spliced(&text, at, at, &block))
}

/// Returns `text` with `block`, whole lines, between `start` and `end`. A file without a final line end
/// stays without one.
fn spliced(text: &str, start: usize, end: usize, block: &str) -> String {
    let (before, behind) = (&text[..start], &text[end..]);
    let is_open = behind.is_empty() && !text.ends_with('\n') && !text.is_empty();
    let gap = if before.is_empty() || before.ends_with('\n') { "" } else { newline(text) };
    let joined = format!("{before}{gap}{block}{behind}");
    if is_open { joined.trim_end_matches(['\n', '\r']).to_owned() } else { joined }
}

fn block(spot: Spot<'_>, entry: &Map<String, Value>, indent: usize, nl: &str) -> String {
    let mut text = format!("{}{}:{nl}", " ".repeat(indent), spot.name);
    for (key, value) in entry {
        text.push_str(&pair(key, value, indent + INDENT, nl));
    }
    text
}

fn pair(key: &str, value: &Value, indent: usize, nl: &str) -> String {
    let blanks = " ".repeat(indent);
    match value {
        Value::Array(items) if !items.is_empty() => {
            let items: String = items.iter().map(|item| format!("{blanks}- {}{nl}", scalar(item))).collect();
            format!("{blanks}{key}:{nl}{items}")
        }
        other => format!("{blanks}{key}: {}{nl}", scalar(other)),
    }
}

/// Returns `value` on one line: as a plain scalar if that means the same, else as JSON, which is also YAML.
fn scalar(value: &Value) -> String {
    let Value::String(text) = value else { return value.to_string() };
    let is_plain = yaml::parse(&format!("x: {text}\n")).is_ok_and(|parsed| match parsed.root {
        Some(Node::Mapping(entries, _)) => match entries.as_slice() {
            [MappingEntry { value: Node::Scalar(scalar), .. }] => {
                scalar.plain && scalar.text == *text && scalar.to_json().is_string()
            }
            _ => false,
        },
        _ => false,
    });
    // Words that older YAML takes for booleans are quoted too.
    let is_word = !matches!(text.to_lowercase().as_str(), "yes" | "no" | "on" | "off" | "y" | "n");
    if is_plain && is_word { text.clone() } else { value.to_string() }
}

fn replace(text: &str, spot: Spot<'_>, entry: &Map<String, Value>) -> Result<String, EditFault> {
    let parsed = parsed(text)?;
    let (siblings, index, limit) = find(text, &parsed, spot)?;
    let own = lines(text, &parsed, &siblings, index, limit)?;
    Ok(spliced(text, own.start, own.end, &block(spot, entry, own.indent, newline(text))))
}

fn find(
    text: &str,
    parsed: &ParsedYaml,
    spot: Spot<'_>,
) -> Result<(Vec<MappingEntry>, usize, usize), EditFault> {
    let parent = parent(text, parsed, spot)?.ok_or_else(|| EditFault::missing(spot))?;
    let index = parent.children.iter().position(|entry| entry.key.text == spot.name);
    let index = index.ok_or_else(|| EditFault::missing(spot))?;
    Ok((parent.children, index, parent.limit))
}

fn remove(text: &str, spot: Spot<'_>) -> Result<String, EditFault> {
    let parsed = parsed(text)?;
    let (siblings, index, limit) = find(text, &parsed, spot)?;
    let own = lines(text, &parsed, &siblings, index, limit)?;
    if siblings.len() > 1 {
        return Ok(spliced(text, own.start, own.end, ""));
    }
    let colon = parent(text, &parsed, spot)?.map_or(own.start, |parent| parent.colon);
    let kept = format!("{} {{}}{}", &text[..colon], &text[colon..own.start]);
    Ok(spliced(&format!("{kept}{}", &text[own.start..]), kept.len(), kept.len() + (own.end - own.start), ""))
}
