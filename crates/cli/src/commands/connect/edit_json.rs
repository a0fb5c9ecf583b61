//! Edits JSON that may have comments and trailing commas.
//!
//! `jsonc-parser` tells where things stand and the text is changed there. Its own editing is not used, because it
//! breaks objects on one line into several, which no undo could put together again.

use jsonc_parser::ast::{Object, ObjectProp, Value as Node};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Value};

use super::edit::{Fault, Spot, line_start, newline};

/// The indentation of a file that has none.
const INDENT: &str = "  ";

const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Returns everything that `text` says.
pub(super) fn parse(text: &str) -> Result<Map<String, Value>, Fault> {
    match root(text)? {
        None => Ok(Map::new()),
        Some(object) => object_to_json(text, &object),
    }
}

/// Returns the object that `text` is, or none where there are but blanks and comments.
fn root(text: &str) -> Result<Option<Object<'_>>, Fault> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &OPTIONS)
        .map_err(|error| Fault::at(text, error.range().start, error.kind().to_string().to_lowercase()))?;
    match parsed.value {
        None => Ok(None),
        Some(Node::Object(object)) => Ok(Some(object)),
        Some(other) => Err(Fault::at(text, other.start(), "it is not an object")),
    }
}

fn object_to_json(text: &str, object: &Object<'_>) -> Result<Map<String, Value>, Fault> {
    let mut map = Map::new();
    for property in &object.properties {
        let name = property.name.as_str().to_owned();
        if map.contains_key(&name) {
            return Err(Fault::at(text, property.start(), format!("`{name}` is there twice")));
        }
        map.insert(name, to_json(text, &property.value)?);
    }
    Ok(map)
}

fn to_json(text: &str, node: &Node<'_>) -> Result<Value, Fault> {
    Ok(match node {
        Node::Object(object) => Value::Object(object_to_json(text, object)?),
        Node::Array(array) => {
            Value::Array(array.elements.iter().map(|node| to_json(text, node)).collect::<Result<_, _>>()?)
        }
        Node::StringLit(literal) => Value::String(literal.value.to_string()),
        Node::BooleanLit(literal) => Value::Bool(literal.value),
        Node::NullKeyword(_) => Value::Null,
        Node::NumberLit(literal) => serde_json::from_str(literal.value)
            .map_err(|_| Fault::at(text, node.start(), format!("`{}` is not a number", literal.value)))?,
    })
}

/// Returns `text` with `entry` at `spot`, where nothing is yet.
pub(super) fn insert(text: &str, spot: Spot<'_>, entry: &Map<String, Value>) -> Result<String, Fault> {
    let value = Value::Object(entry.clone());
    let Some(root) = root(text)? else {
        let mut table = Map::new();
        table.insert(spot.name.to_owned(), value);
        let mut document = Map::new();
        document.insert(spot.table.to_owned(), Value::Object(table));
        let style = Style { newline: newline(text), unit: INDENT };
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { style.newline };
        let document = style.block(&Value::Object(document), "");
        return Ok(format!("{text}{gap}{document}{}", style.newline));
    };
    match property(&root, spot.table) {
        None => {
            let mut table = Map::new();
            table.insert(spot.name.to_owned(), value);
            Ok(append(text, &root, &root, spot.table, &Value::Object(table)))
        }
        Some(ObjectProp { value: Node::Object(table), .. }) => {
            Ok(append(text, &root, table, spot.name, &value))
        }
        Some(ObjectProp { value: Node::NullKeyword(null), .. }) => {
            let empty = format!("{}{{}}{}", &text[..null.start()], &text[null.end()..]);
            insert(&empty, spot, entry)
        }
        Some(other) => Err(Fault::at(text, other.start(), format!("`{}` is not an object", spot.table))),
    }
}

/// Returns `text` with `value` as the `key` of the entry at `spot`, or without that key.
pub(super) fn change(text: &str, spot: Spot<'_>, key: &str, value: Option<&Value>) -> Result<String, Fault> {
    let root = root(text)?.ok_or_else(|| gone(spot))?;
    let entry = object(&root, spot.table).and_then(|table| object(table, spot.name));
    let entry = entry.ok_or_else(|| gone(spot))?;
    let position = entry.properties.iter().position(|property| property.name.as_str() == key);
    Ok(match (position, value) {
        (None, None) => text.to_owned(),
        (None, Some(value)) => append(text, &root, entry, key, value),
        (Some(index), None) => cut(text, entry, index),
        (Some(index), Some(value)) => {
            let range = entry.properties[index].value.range();
            format!("{}{}{}", &text[..range.start], one_line(value), &text[range.end..])
        }
    })
}

/// Returns `text` without the entry at `spot`.
pub(super) fn remove(text: &str, spot: Spot<'_>) -> Result<String, Fault> {
    let root = root(text)?.ok_or_else(|| gone(spot))?;
    let table = object(&root, spot.table).ok_or_else(|| gone(spot))?;
    let position = table.properties.iter().position(|property| property.name.as_str() == spot.name);
    Ok(cut(text, table, position.ok_or_else(|| gone(spot))?))
}

fn gone(spot: Spot<'_>) -> Fault {
    Fault::of(format!("there is no `{}.{}`", spot.table, spot.name))
}

fn property<'o, 'a>(object: &'o Object<'a>, name: &str) -> Option<&'o ObjectProp<'a>> {
    object.properties.iter().find(|property| property.name.as_str() == name)
}

fn object<'o, 'a>(parent: &'o Object<'a>, name: &str) -> Option<&'o Object<'a>> {
    match &property(parent, name)?.value {
        Node::Object(object) => Some(object),
        _ => None,
    }
}

/// How a file is laid out.
struct Style<'a> {
    newline: &'static str,
    unit: &'a str,
}

impl Style<'_> {
    /// Returns `value` over several lines, of which all but the first start with `indent`.
    fn block(&self, value: &Value, indent: &str) -> String {
        match value {
            Value::Object(map) if !map.is_empty() => {
                let inner = format!("{indent}{}", self.unit);
                let properties = map.iter().map(|(key, value)| {
                    format!("{inner}{}: {}", Value::from(key.as_str()), self.block(value, &inner))
                });
                let properties: Vec<String> = properties.collect();
                let separator = format!(",{}", self.newline);
                format!("{{{0}{1}{0}{indent}}}", self.newline, properties.join(&separator))
            }
            other => one_line(other),
        }
    }
}

/// Returns `value` on one line.
fn one_line(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(one_line).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let property = |(key, value): (&String, &Value)| {
                format!("{}: {}", Value::from(key.as_str()), one_line(value))
            };
            format!("{{{}}}", map.iter().map(property).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Returns the blanks that the line of `offset` starts with.
fn indentation(text: &str, offset: usize) -> &str {
    let line = &text[line_start(text, offset)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Returns whether nothing but blanks stands before `offset` on its line.
fn starts_line(text: &str, offset: usize) -> bool {
    text[line_start(text, offset)..offset].trim_matches([' ', '\t']).is_empty()
}

/// Returns `text` with the property `key` at the end of `object`.
fn append(text: &str, root: &Object<'_>, object: &Object<'_>, key: &str, value: &Value) -> String {
    let key = Value::from(key).to_string();
    let own_line = |property: &ObjectProp<'_>| starts_line(text, property.start());
    let unit = root.properties.first().filter(|property| own_line(property));
    let unit = unit.map_or("", |property| indentation(text, property.start()));
    let style = Style { newline: newline(text), unit: if unit.is_empty() { INDENT } else { unit } };
    let (open, close) = (object.range.start + 1, object.range.end - 1);
    let Some(last) = object.properties.last() else {
        let inner = &text[open..close];
        let outer = indentation(text, object.range.start);
        let is_compact =
            !root.properties.is_empty() && !text[root.range.start..root.range.end].contains('\n');
        if inner.contains('\n') || (inner.trim().is_empty() && !is_compact) {
            let indent = format!("{outer}{}", style.unit);
            let kept = inner.trim_end();
            let value = style.block(value, &indent);
            let nl = style.newline;
            return format!("{}{kept}{nl}{indent}{key}: {value}{nl}{outer}{}", &text[..open], &text[close..]);
        }
        let kept = inner.trim_end();
        let gap = if kept.is_empty() { "" } else { " " };
        let blanks = if kept.is_empty() { "" } else { &inner[kept.len()..] };
        return format!("{}{kept}{gap}{key}: {}{blanks}{}", &text[..open], one_line(value), &text[close..]);
    };
    let comma = comma(text, last.end(), close);
    let behind = comma.map_or(last.end(), |comma| comma + 1);
    let lead = if comma.is_some() { "" } else { "," };
    let tail = if comma.is_some() { "," } else { "" };
    if own_line(last) {
        let indent = indentation(text, last.start());
        let at = same_line(text, behind, close);
        let value = style.block(value, indent);
        let (middle, rest) = (&text[behind..at], &text[at..]);
        return format!(
            "{}{lead}{middle}{}{indent}{key}: {value}{tail}{rest}",
            &text[..behind],
            style.newline
        );
    }
    format!("{}{lead} {key}: {}{tail}{}", &text[..behind], one_line(value), &text[behind..])
}

/// Returns `text` without the property of `object` at `index`.
fn cut(text: &str, object: &Object<'_>, index: usize) -> String {
    let property = &object.properties[index];
    let (open, close) = (object.range.start + 1, object.range.end - 1);
    let next = object.properties.get(index + 1).map_or(close, |next| next.range.start);
    let comma_behind = comma(text, property.end(), next);
    let behind = comma_behind.map_or(property.end(), |comma| comma + 1);
    let before = index.checked_sub(1).map(|index| object.properties[index].end());
    // The object was empty before: nothing but blanks is left.
    if object.properties.len() == 1
        && text[open..property.start()].trim().is_empty()
        && text[behind..close].trim().is_empty()
    {
        return format!("{}{}", &text[..open], &text[close..]);
    }
    let (start, end) = if starts_line(text, property.start()) && line_start(text, property.start()) > open {
        let break_at = line_start(text, property.start()) - 1;
        let start = if text[..break_at].ends_with('\r') { break_at - 1 } else { break_at };
        (start, same_line(text, behind, next))
    } else if before.is_none() && index + 1 < object.properties.len() {
        (property.start(), behind + (text[behind..next].len() - text[behind..next].trim_start().len()))
    } else {
        (text[..property.start()].trim_end_matches([' ', '\t']).len(), behind)
    };
    let kept = &text[..start];
    // The comma that set this one apart from the one before has nothing to set apart any more.
    let superfluous = before
        .filter(|_| comma_behind.is_none())
        .and_then(|before| comma(text, before, property.start()))
        .filter(|comma| *comma < start);
    let kept = match superfluous {
        Some(comma) => format!("{}{}", &kept[..comma], &kept[comma + 1..]),
        None => kept.to_owned(),
    };
    format!("{kept}{}", &text[end..])
}

/// Returns where the comma between `from` and `to` stands; what is in comments is none.
fn comma(text: &str, from: usize, to: usize) -> Option<usize> {
    let mut at = from;
    while at < to {
        let rest = &text[at..to];
        if rest.starts_with(',') {
            return Some(at);
        }
        at += comment(rest).unwrap_or_else(|| rest.chars().next().map_or(1, char::len_utf8));
    }
    None
}

/// Returns the length of the comment that `text` starts with.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    let inner = text.strip_prefix("/*")?;
    Some(inner.find("*/").map_or(text.len(), |index| index + 4))
}

/// Returns the end of the comments that stand on the same line behind `from`.
fn same_line(text: &str, from: usize, to: usize) -> usize {
    let mut end = from;
    loop {
        let rest = &text[end..to];
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        match comment(&rest[blanks..]) {
            Some(length) if !rest[blanks..blanks + length].contains('\n') => {
                let comment = &rest[blanks..blanks + length];
                end += blanks + comment.trim_end_matches('\r').len();
                if comment.starts_with("//") {
                    return end;
                }
            }
            _ => return end,
        }
    }
}
