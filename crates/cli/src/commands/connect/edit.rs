//! Edits one entry of a client's configuration file, whatever its format, and leaves every other byte as it is.
//!
//! Each format finds where things stand with a parser and changes the text there. What comes out is parsed again and
//! must mean what was wanted, nothing more and nothing less; otherwise nothing is written.

use serde_json::{Map, Value};

use super::{edit_json, edit_toml, edit_yaml};
use crate::clients::Format;

/// Why a file is not edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// What is wrong, in lower case.
    pub(crate) message: String,
    /// The line, counted from 1.
    pub(crate) line: Option<usize>,
}

impl Fault {
    /// Returns the fault about the byte at `offset` of `text`.
    pub(super) fn at(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        Self { message: message.into(), line: Some(before.matches('\n').count() + 1) }
    }

    /// Returns a fault about the file as a whole.
    pub(super) fn of(message: impl Into<String>) -> Self {
        Self { message: message.into(), line: None }
    }
}

/// The entry `name` of the table `table`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spot<'a> {
    pub(crate) table: &'a str,
    pub(crate) name: &'a str,
}

impl Spot<'_> {
    fn find(self, document: &Map<String, Value>) -> Option<&Value> {
        document.get(self.table)?.get(self.name)
    }
}

/// What starts a file that some editors mark as UTF-8.
const BOM: &str = "\u{feff}";

/// Returns everything that `text` says.
pub(crate) fn parse(format: Format, text: &str) -> Result<Map<String, Value>, Fault> {
    let text = text.strip_prefix(BOM).unwrap_or(text);
    match format {
        Format::Json => edit_json::parse(text),
        Format::Toml => edit_toml::parse(text),
        Format::Yaml => edit_yaml::parse(text),
    }
}

/// Returns the entry at `spot`, if `text` has one.
pub(crate) fn read(format: Format, text: &str, spot: Spot<'_>) -> Result<Option<Value>, Fault> {
    Ok(spot.find(&parse(format, text)?).cloned())
}

/// Returns `text` with the keys of `entry` at `spot`, and without those of `obsolete`; other keys stay.
pub(crate) fn write(
    format: Format,
    text: &str,
    spot: Spot<'_>,
    entry: &Map<String, Value>,
    obsolete: &[&str],
) -> Result<String, Fault> {
    let (bom, body) = split_bom(text);
    let before = parse(format, body)?;
    let mut expect = before.clone();
    let mut after = body.to_owned();
    let table = expect.entry(spot.table).or_insert_with(|| Value::Object(Map::new()));
    if table.is_null() {
        *table = Value::Object(Map::new());
    }
    let Some(table) = table.as_object_mut() else {
        return Err(Fault::of(format!("`{}` is not a table of servers", spot.table)));
    };
    match spot.find(&before) {
        None => {
            table.insert(spot.name.to_owned(), Value::Object(entry.clone()));
            after = match format {
                Format::Json => edit_json::insert(&after, spot, entry)?,
                Format::Toml => edit_toml::insert(&after, spot, entry)?,
                Format::Yaml => edit_yaml::insert(&after, spot, entry)?,
            };
        }
        Some(Value::Object(existing)) => {
            let mut wanted = existing.clone();
            for key in obsolete.iter().filter(|key| !entry.contains_key(**key)) {
                if wanted.remove(*key).is_some() {
                    after = change(format, &after, spot, key, None)?;
                }
            }
            for (key, value) in entry.iter().filter(|(key, value)| existing.get(*key) != Some(*value)) {
                wanted.insert(key.clone(), value.clone());
                after = change(format, &after, spot, key, Some(value))?;
            }
            table.insert(spot.name.to_owned(), Value::Object(wanted));
        }
        Some(_) => {
            return Err(Fault::of(format!("`{}.{}` is not a table of settings", spot.table, spot.name)));
        }
    }
    verified(format, bom, after, &expect, spot)
}

fn change(
    format: Format,
    text: &str,
    spot: Spot<'_>,
    key: &str,
    value: Option<&Value>,
) -> Result<String, Fault> {
    match format {
        Format::Json => edit_json::change(text, spot, key, value),
        Format::Toml => edit_toml::change(text, spot, key, value),
        Format::Yaml => edit_yaml::change(text, spot, key, value),
    }
}

/// Returns `text` without the entry at `spot`, which has to be there.
pub(crate) fn remove(format: Format, text: &str, spot: Spot<'_>) -> Result<String, Fault> {
    let (bom, body) = split_bom(text);
    let mut expect = parse(format, body)?;
    if let Some(table) = expect.get_mut(spot.table).and_then(Value::as_object_mut) {
        table.remove(spot.name);
    }
    let after = match format {
        Format::Json => edit_json::remove(body, spot)?,
        Format::Toml => edit_toml::remove(body, spot)?,
        Format::Yaml => edit_yaml::remove(body, spot)?,
    };
    verified(format, bom, after, &expect, spot)
}

fn split_bom(text: &str) -> (&str, &str) {
    text.strip_prefix(BOM).map_or(("", text), |body| (BOM, body))
}

/// Returns `after` if it means `expect`; a table without entries is as good as none.
fn verified(
    format: Format,
    bom: &str,
    after: String,
    expect: &Map<String, Value>,
    spot: Spot<'_>,
) -> Result<String, Fault> {
    let without_empty = |document: &Map<String, Value>| {
        let mut document = document.clone();
        if document.get(spot.table).and_then(Value::as_object).is_some_and(Map::is_empty) {
            document.remove(spot.table);
        }
        document
    };
    match parse(format, &after) {
        Ok(found) if without_empty(&found) == without_empty(expect) => Ok(format!("{bom}{after}")),
        _ => Err(Fault::of("it is written in a way that is not edited for you")),
    }
}

/// Returns the text that holds nothing but the entry, for a person to paste.
pub(crate) fn snippet(format: Format, spot: Spot<'_>, entry: &Map<String, Value>) -> Result<String, Fault> {
    write(format, "", spot, entry, &[])
}

/// Returns how lines end in `text`.
pub(super) fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(index) if text[..index].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Returns the offset of the start of the line that `offset` is on.
pub(super) fn line_start(text: &str, offset: usize) -> usize {
    text[..offset].rfind('\n').map_or(0, |index| index + 1)
}

/// Returns the offset behind the line that `offset` is on, its end included.
pub(super) fn line_end(text: &str, offset: usize) -> usize {
    text[offset..].find('\n').map_or(text.len(), |index| offset + index + 1)
}
