//! `repr` and `str` of text, lists and mappings.

use super::super::value::Value;
use super::surrogate::surrogate;
use super::tables;

/// Returns `repr(text)`.
///
/// ```
/// use repertoire_model::compat::skills_ref::python::repr;
/// assert_eq!(repr("it's\n"), r#""it's\n""#);
/// ```
pub fn repr(text: &str) -> String {
    let mut shown = String::new();
    write_repr(&mut shown, text);
    shown
}

/// Returns `repr` of a text of one character.
pub(in super::super) fn repr_char(c: char) -> String {
    repr(c.encode_utf8(&mut [0; 4]))
}

/// Returns `str(value)`.
pub(in super::super) fn str_value(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Opaque(text) => (*text).to_owned(),
        Value::List(_) | Value::Map(_) => repr_value(value),
    }
}

/// Returns `repr(value)`.
fn repr_value(value: &Value) -> String {
    let mut shown = String::new();
    write_value(&mut shown, value);
    shown
}

fn write_value(shown: &mut String, value: &Value) {
    match value {
        Value::Text(text) => write_repr(shown, text),
        // Python adds the object's address, which differs from run to run.
        Value::Opaque(_) => shown.push_str("<strictyaml.ruamel.comments.TaggedScalar object at 0x0>"),
        Value::List(items) => {
            shown.push('[');
            for (position, item) in items.iter().enumerate() {
                shown.push_str(if position > 0 { ", " } else { "" });
                write_value(shown, item);
            }
            shown.push(']');
        }
        Value::Map(pairs) => {
            shown.push('{');
            for (position, (key, value)) in pairs.iter().enumerate() {
                shown.push_str(if position > 0 { ", " } else { "" });
                write_repr(shown, key);
                shown.push_str(": ");
                write_value(shown, value);
            }
            shown.push('}');
        }
    }
}

fn write_repr(shown: &mut String, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    shown.push(quote);
    for c in text.chars() {
        match c {
            '\\' => shown.push_str("\\\\"),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if c == quote => shown.extend(['\\', c]),
            ' '..='~' => shown.push(c),
            c if tables::contains(&tables::PRINTABLE, c) => shown.push(c),
            c => {
                let code = surrogate(c).unwrap_or(u32::from(c));
                shown.push_str(&match code {
                    0..=0xff => format!("\\x{code:02x}"),
                    0x100..=0xffff => format!("\\u{code:04x}"),
                    _ => format!("\\U{code:08x}"),
                });
            }
        }
    }
    shown.push(quote);
}
