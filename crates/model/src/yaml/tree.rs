//! A YAML document as a tree, and its conversion to JSON.

use serde_json::{Map, Number, Value};

/// A range of bytes in the text that was parsed.
pub type Range = std::ops::Range<usize>;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// Text, perhaps with a type.
    Scalar(Scalar),
    /// A list.
    Sequence(Vec<Node>, Range),
    /// Keys and values, in the order written; a key may occur more than once.
    Mapping(Vec<MappingEntry>, Range),
}

/// A scalar as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar {
    /// Its text, after escapes and folding.
    pub text: String,
    /// True if it is written without quotes or block marks, and so may be a number, a boolean or null.
    pub plain: bool,
    /// Its place.
    pub range: Range,
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappingEntry {
    /// The key; keys are scalars here.
    pub key: Scalar,
    /// The value.
    pub value: Node,
}

/// A parsed text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedYaml {
    /// The document; `None` where the text holds nothing but blanks and comments.
    pub root: Option<Node>,
    /// The ranges of comments.
    pub comments: Vec<Range>,
}

impl Node {
    /// Returns the range of the value.
    pub fn range(&self) -> Range {
        match self {
            Self::Scalar(scalar) => scalar.range.clone(),
            Self::Sequence(_, range) | Self::Mapping(_, range) => range.clone(),
        }
    }

    /// Returns whether the value is nothing: `key:` alone, `~` or `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Scalar(scalar) if scalar.to_json().is_null())
    }

    /// Returns the value as JSON, scalars typed by the YAML 1.2 core schema; the last of equal keys counts.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Scalar(scalar) => scalar.to_json(),
            Self::Sequence(items, _) => Value::Array(items.iter().map(Self::to_json).collect()),
            Self::Mapping(entries, _) => Value::Object(entries_to_json(entries)),
        }
    }
}

/// Returns `entries` as a JSON object; of a repeated key the last one counts.
pub fn entries_to_json(entries: &[MappingEntry]) -> Map<String, Value> {
    entries.iter().map(|entry| (entry.key.text.clone(), entry.value.to_json())).collect()
}

impl Scalar {
    /// Returns the scalar as JSON, typed by the YAML 1.2 core schema; `.inf`, `.nan`, huge numbers stay text.
    pub fn to_json(&self) -> Value {
        let text = self.text.as_str();
        if !self.plain {
            return Value::String(text.to_owned());
        }
        match text {
            "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
            "true" | "True" | "TRUE" => return Value::Bool(true),
            "false" | "False" | "FALSE" => return Value::Bool(false),
            _ => {}
        }
        number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number)
    }

    /// Returns whether other readers of YAML take the scalar for a number that JSON does not have, `.inf` or
    /// `.nan`, or for one that is too large to be held exactly.
    pub fn is_number_beyond_json(&self) -> bool {
        let text = self.text.as_str();
        // The first character excludes most values.
        let may_be =
            self.plain && text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-'));
        may_be && number(text).is_none() && is_core_number(text)
    }
}

/// Returns `true` if `text` is a number in the YAML 1.2 core schema, of any size.
fn is_core_number(text: &str) -> bool {
    let is_all = |digits: &str, radix| !digits.is_empty() && digits.chars().all(|c: char| c.is_digit(radix));
    if let Some(digits) = text.strip_prefix("0o") {
        return is_all(digits, 8);
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return is_all(digits, 16);
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    matches!(text, ".nan" | ".NaN" | ".NAN")
        || matches!(unsigned, ".inf" | ".Inf" | ".INF")
        || (is_decimal(unsigned) && unsigned.parse::<f64>().is_ok())
}

/// Returns whether `unsigned` has the shape of a decimal number.
fn is_decimal(unsigned: &str) -> bool {
    unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned.bytes().any(|b| b.is_ascii_digit())
        && unsigned.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'))
}

fn number(text: &str) -> Option<Number> {
    if let Some(digits) = text.strip_prefix("0o") {
        return i64::from_str_radix(digits, 8).ok().filter(|_| is_unsigned(digits)).map(Number::from);
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return i64::from_str_radix(digits, 16).ok().filter(|_| is_unsigned(digits)).map(Number::from);
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !is_decimal(unsigned) {
        return None;
    }
    let signed = text.strip_prefix('+').unwrap_or(text);
    if unsigned.bytes().all(|b| b.is_ascii_digit())
        && let Ok(integer) = signed.parse::<i64>()
    {
        return Some(Number::from(integer));
    }
    signed.parse::<f64>().ok().and_then(Number::from_f64)
}

fn is_unsigned(digits: &str) -> bool {
    !digits.starts_with(['+', '-'])
}
