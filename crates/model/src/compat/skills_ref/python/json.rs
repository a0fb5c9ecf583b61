//! `json.dumps(value, indent=2)`.

use super::super::error::Crash;
use super::super::value::Value;
use super::surrogate::surrogate;

/// Returns the JSON of an object with `entries`, in their order.
pub(in super::super) fn to_json(entries: &[(&str, &Value)]) -> Result<String, Crash> {
    let mut json = String::new();
    write_object(&mut json, entries.iter().copied(), 0)?;
    Ok(json)
}

fn write_value(json: &mut String, value: &Value, depth: usize) -> Result<(), Crash> {
    match value {
        Value::Text(text) => write_text(json, text),
        Value::Opaque(_) => {
            return Err(Crash::new("TypeError: Object of type TaggedScalar is not JSON serializable"));
        }
        Value::List(items) if items.is_empty() => json.push_str("[]"),
        Value::List(items) => {
            json.push('[');
            for (position, item) in items.iter().enumerate() {
                new_line(json, position, depth + 1);
                write_value(json, item, depth + 1)?;
            }
            new_line(json, 0, depth);
            json.push(']');
        }
        Value::Map(pairs) => {
            write_object(json, pairs.iter().map(|(key, value)| (key.as_str(), value)), depth)?;
        }
    }
    Ok(())
}

fn write_object<'a>(
    json: &mut String,
    pairs: impl ExactSizeIterator<Item = (&'a str, &'a Value)>,
    depth: usize,
) -> Result<(), Crash> {
    if pairs.len() == 0 {
        json.push_str("{}");
        return Ok(());
    }
    json.push('{');
    for (position, (key, value)) in pairs.enumerate() {
        new_line(json, position, depth + 1);
        write_text(json, key);
        json.push_str(": ");
        write_value(json, value, depth + 1)?;
    }
    new_line(json, 0, depth);
    json.push('}');
    Ok(())
}

fn new_line(json: &mut String, position: usize, depth: usize) {
    if position > 0 {
        json.push(',');
    }
    json.push('\n');
    json.push_str(&"  ".repeat(depth));
}

fn write_text(json: &mut String, text: &str) {
    json.push('"');
    for c in text.chars() {
        match c {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            '\u{8}' => json.push_str("\\b"),
            '\u{c}' => json.push_str("\\f"),
            ' '..='~' => json.push(c),
            _ => match surrogate(c) {
                Some(code) => json.push_str(&format!("\\u{code:04x}")),
                None => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        json.push_str(&format!("\\u{unit:04x}"));
                    }
                }
            },
        }
    }
    json.push('"');
}
