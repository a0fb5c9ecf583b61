//! Edits TOML: the entry is a table with a heading of its own, at the end of the file.
//!
//! `toml_edit` tells where things stand and the text is changed there, because written out by it a file loses its line
//! ends of Windows, and a table that is removed takes the comments above it along.

use serde_json::{Map, Value};
use toml_edit::{Document, Item, Table};

use super::edit::{Fault, Spot, line_end, line_start, newline};

/// Returns everything that `text` says.
pub(super) fn parse(text: &str) -> Result<Map<String, Value>, Fault> {
    document(text)?;
    let table: toml::Table =
        toml::from_str(text).map_err(|error| fault(text, error.message(), error.span()))?;
    match serde_json::to_value(table) {
        Ok(Value::Object(map)) => Ok(map),
        _ => Err(Fault::of("it holds what JSON cannot say")),
    }
}

fn document(text: &str) -> Result<Document<&str>, Fault> {
    Document::parse(text).map_err(|error| fault(text, error.message(), error.span()))
}

fn fault(text: &str, message: &str, span: Option<std::ops::Range<usize>>) -> Fault {
    let message = message.lines().next().unwrap_or("it is not TOML").to_lowercase();
    match span {
        Some(span) => Fault::at(text, span.start, message),
        None => Fault::of(message),
    }
}

fn not_sure(spot: Spot<'_>) -> Fault {
    Fault::of(format!("`{}` is written in a way that is not edited for you", spot.table))
}

/// Returns the table with a heading of its own that the entry at `spot` is.
fn entry<'d>(document: &'d Document<&str>, spot: Spot<'_>) -> Result<&'d Table, Fault> {
    let table = document.get(spot.table).and_then(Item::as_table_like);
    let entry = table.and_then(|table| table.get(spot.name)).and_then(Item::as_table);
    entry.filter(|entry| !entry.is_dotted() && !entry.is_implicit()).ok_or_else(|| not_sure(spot))
}

/// Returns `text` with `entry` at `spot`, where nothing is yet.
pub(super) fn insert(text: &str, spot: Spot<'_>, entry: &Map<String, Value>) -> Result<String, Fault> {
    let document = document(text)?;
    match document.get(spot.table) {
        None => {}
        Some(Item::Table(table)) if !table.is_dotted() => {}
        Some(_) => return Err(not_sure(spot)),
    }
    let nl = newline(text);
    let mut block = format!("[{}.{}]{nl}", spot.table, spot.name);
    for (key, value) in entry {
        block.push_str(&format!("{key} = {}{nl}", rendered(value)?));
    }
    Ok(match text {
        "" => block,
        text if text.ends_with('\n') => format!("{text}{nl}{block}"),
        // A file that ended without a line end goes on doing so, which tells the way back.
        text => format!("{text}{nl}{nl}{}", block.trim_end()),
    })
}

fn rendered(value: &Value) -> Result<String, Fault> {
    let value = toml::Value::try_from(value).map_err(|_| Fault::of("TOML cannot say this"))?;
    Ok(value.to_string())
}

/// Returns `text` with `value` as the `key` of the entry at `spot`, or without that key.
pub(super) fn change(text: &str, spot: Spot<'_>, key: &str, value: Option<&Value>) -> Result<String, Fault> {
    let document = document(text)?;
    let entry = entry(&document, spot)?;
    let Some(existing) = entry.get(key) else {
        let Some(value) = value else { return Ok(text.to_owned()) };
        let heading = entry.span().ok_or_else(|| not_sure(spot))?;
        let at = line_end(text, heading.end);
        let gap = if text[..at].ends_with('\n') { "" } else { newline(text) };
        let line = format!("{gap}{key} = {}{}", rendered(value)?, newline(text));
        return Ok(format!("{}{line}{}", &text[..at], &text[at..]));
    };
    let span = existing.as_value().and_then(toml_edit::Value::span).ok_or_else(|| not_sure(spot))?;
    Ok(match value {
        Some(value) => format!("{}{}{}", &text[..span.start], rendered(value)?, &text[span.end..]),
        None => {
            let key = entry.key(key).and_then(toml_edit::Key::span).ok_or_else(|| not_sure(spot))?;
            let (start, end) = (line_start(text, key.start), line_end(text, span.end));
            format!("{}{}", &text[..start], &text[end..])
        }
    })
}

/// Returns `text` without the entry at `spot` and the tables in it.
pub(super) fn remove(text: &str, spot: Spot<'_>) -> Result<String, Fault> {
    let document = document(text)?;
    let mut regions = Vec::new();
    collect(text, entry(&document, spot)?, &mut regions).ok_or_else(|| not_sure(spot))?;
    regions.sort_unstable();
    let mut kept = String::new();
    let mut at = 0;
    for (start, end) in regions {
        kept.push_str(&text[at..without_blank_line(text, start).max(at)]);
        at = end;
    }
    kept.push_str(&text[at..]);
    if !text.ends_with('\n') && at == text.len() {
        let length = kept.trim_end_matches(['\n', '\r']).len();
        kept.truncate(length);
    }
    Ok(kept)
}

/// Collects where `table` and those in it stand: from the heading to the last of its own lines.
fn collect(text: &str, table: &Table, regions: &mut Vec<(usize, usize)>) -> Option<()> {
    if let Some(heading) = table.span().filter(|_| !table.is_implicit()) {
        let mut end = heading.end;
        for (_, item) in table.iter() {
            match item {
                Item::Value(value) => end = end.max(value.span()?.end),
                Item::Table(inner) if inner.is_dotted() => end = end.max(dotted_end(inner)?),
                Item::Table(_) => {}
                _ => return None,
            }
        }
        regions.push((line_start(text, heading.start), line_end(text, end)));
    }
    for (_, item) in table.iter() {
        if let Item::Table(inner) = item
            && !inner.is_dotted()
        {
            collect(text, inner, regions)?;
        }
    }
    Some(())
}

/// Returns where the values of a table end whose keys have dots.
fn dotted_end(table: &Table) -> Option<usize> {
    let ends = table.iter().map(|(_, item)| match item {
        Item::Value(value) => value.span().map(|span| span.end),
        Item::Table(inner) => dotted_end(inner),
        _ => None,
    });
    ends.collect::<Option<Vec<_>>>()?.into_iter().max()
}

/// Returns the start of the blank line before the line that starts at `start`, or `start` where there is none.
fn without_blank_line(text: &str, start: usize) -> usize {
    let Some(before) = start.checked_sub(1) else { return start };
    let line = line_start(text, before);
    if text[line..start].trim().is_empty() { line } else { start }
}
