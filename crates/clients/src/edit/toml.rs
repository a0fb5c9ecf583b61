//! Edits TOML with `toml_edit`: the entry is a table with a heading of its own.
//!
//! Removing a table removes the comments above it.

use serde_json::{Map, Value};
use toml_edit::{DocumentMut, Item, Table};

use super::text::{EditFault, Spot, newline, split_bom};

/// Returns the document as JSON.
pub(super) fn parse(text: &str) -> Result<Map<String, Value>, EditFault> {
    let table: toml::Table =
        toml::from_str(text).map_err(|error| fault(text, error.message(), error.span()))?;
    match serde_json::to_value(table) {
        Ok(Value::Object(map)) => Ok(map),
        _ => Err(EditFault::of("it holds what JSON cannot say")),
    }
}

pub(super) fn document(text: &str) -> Result<DocumentMut, EditFault> {
    text.parse().map_err(|error: toml_edit::TomlError| fault(text, error.message(), error.span()))
}

fn fault(text: &str, message: &str, span: Option<std::ops::Range<usize>>) -> EditFault {
    let message = message.lines().next().unwrap_or("it is not TOML").to_lowercase();
    match span {
        Some(span) => EditFault::at(text, span.start, message),
        None => EditFault::of(message),
    }
}

fn not_editable(spot: Spot<'_>) -> EditFault {
    EditFault::of(format!("`{}` is written in a way that is not edited for you", spot.table))
}

/// Changes the entry at `spot`; see [`super::set`].
pub(super) fn set(
    text: &str,
    spot: Spot<'_>,
    existing: Option<&Map<String, Value>>,
    wanted: Option<&Map<String, Value>>,
) -> Result<String, EditFault> {
    let mut document = document(text)?;
    let servers = document.entry(spot.table).or_insert_with(implicit_table);
    let servers = servers.as_table_mut().ok_or_else(|| not_editable(spot))?;
    let Some(wanted) = wanted else {
        servers.remove(spot.name).ok_or_else(|| EditFault::missing(spot))?;
        return Ok(toml_text(text, &document));
    };
    if existing.is_none() && servers.is_dotted() {
        return Err(not_editable(spot));
    }
    let entry = servers.entry(spot.name).or_insert_with(|| Item::Table(Table::new()));
    let entry = entry.as_table_mut().ok_or_else(|| not_editable(spot))?;
    entry.retain(|key, _| wanted.contains_key(key));
    let is_right = |key: &str, value| existing.and_then(|existing| existing.get(key)) == Some(value);
    for (key, value) in wanted.iter().filter(|(key, value)| !is_right(key, value)) {
        let mut item = converted(value)?;
        // A comment after the value is kept.
        if let (Some(old), Some(new)) = (entry.get(key).and_then(Item::as_value), item.as_value_mut()) {
            *new.decor_mut() = old.decor().clone();
        }
        entry.insert(key, item);
    }
    Ok(toml_text(text, &document))
}

pub(crate) fn implicit_table() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

fn converted(value: &Value) -> Result<Item, EditFault> {
    let value = toml::Value::try_from(value).map_err(|_| EditFault::of("TOML cannot say this"))?;
    let value = value.to_string().parse::<toml_edit::Value>();
    value.map(Item::Value).map_err(|error| EditFault::of(error.message()))
}

/// Returns the text of `document` with the byte order mark and line ends of `text`, which `toml_edit` drops.
pub(crate) fn toml_text(text: &str, document: &DocumentMut) -> String {
    let (bom, _) = split_bom(text);
    bom.to_owned() + &document.to_string().replace("\r\n", "\n").replace('\n', newline(text))
}
