//! Edits one entry of a client's configuration file in any format, and keeps everything else, comments included.
//!
//! The result is parsed again and must mean what was wanted, nothing more and nothing less; otherwise nothing is written.

mod json;
mod text;
mod toml;
mod yaml;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

pub(super) use self::text::{Fault, Spot};
use crate::clients::Format;

/// The byte order mark, with which some editors mark a file as UTF-8.
const BOM: &str = "\u{feff}";

/// Returns the document as JSON.
pub(crate) fn parse(format: Format, text: &str) -> Result<Map<String, Value>, Fault> {
    let text = text.strip_prefix(BOM).unwrap_or(text);
    match format {
        Format::Json => json::parse(text),
        Format::Toml => toml::parse(text),
        Format::Yaml => yaml::parse(text),
    }
}

fn find<'d>(document: &'d Map<String, Value>, spot: Spot<'_>) -> Option<&'d Value> {
    document.get(spot.table)?.get(spot.name)
}

/// Returns the entry at `spot`, if `text` has one.
pub(crate) fn read(format: Format, text: &str, spot: Spot<'_>) -> Result<Option<Value>, Fault> {
    Ok(find(&parse(format, text)?, spot).cloned())
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
    match find(&before, spot) {
        None => {
            table.insert(spot.name.to_owned(), Value::Object(entry.clone()));
            after = match format {
                Format::Json => json::insert(&after, spot, entry)?,
                Format::Toml => toml::insert(&after, spot, entry)?,
                Format::Yaml => yaml::insert(&after, spot, entry)?,
            };
        }
        Some(Value::Object(existing)) => {
            let mut wanted = existing.clone();
            wanted.retain(|key, _| entry.contains_key(key) || !obsolete.contains(&key.as_str()));
            wanted.extend(entry.clone());
            if wanted != *existing {
                after = match format {
                    Format::Json => json::change(&after, spot, &wanted)?,
                    Format::Toml => toml::change(&after, spot, &wanted)?,
                    Format::Yaml => yaml::replace(&after, spot, &wanted)?,
                };
            }
            table.insert(spot.name.to_owned(), Value::Object(wanted));
        }
        Some(_) => {
            return Err(Fault::of(format!("`{}.{}` is not a table of settings", spot.table, spot.name)));
        }
    }
    verified(format, bom, after, &expect, spot)
}

/// Returns `text` without the entry at `spot`, which has to be there.
pub(crate) fn remove(format: Format, text: &str, spot: Spot<'_>) -> Result<String, Fault> {
    let (bom, body) = split_bom(text);
    let mut expect = parse(format, body)?;
    if let Some(table) = expect.get_mut(spot.table).and_then(Value::as_object_mut) {
        table.remove(spot.name);
    }
    let after = match format {
        Format::Json => json::remove(body, spot)?,
        Format::Toml => toml::remove(body, spot)?,
        Format::Yaml => yaml::remove(body, spot)?,
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
