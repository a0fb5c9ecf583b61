//! Keywords that concern one value alone: types, choices, lengths and bounds.

use serde_json::{Map, Value};

use super::violation::Violations;
use crate::text;

const MAX_CHOICES: usize = 20;

pub(super) fn is_of(kinds: &Value, value: &Value) -> bool {
    let is_one = |kind: &Value| match (kind.as_str(), value) {
        (Some("string"), Value::String(_))
        | (Some("number"), Value::Number(_))
        | (Some("boolean"), Value::Bool(_))
        | (Some("object"), Value::Object(_))
        | (Some("array"), Value::Array(_))
        | (Some("null"), Value::Null) => true,
        (Some("integer"), Value::Number(number)) => {
            number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        _ => false,
    };
    match kinds {
        Value::Array(kinds) => kinds.iter().any(is_one),
        kind => is_one(kind),
    }
}

/// Returns the types `kinds` as words.
pub(super) fn described(kinds: &Value) -> String {
    let word = |kind: &Value| match kind.as_str() {
        Some("string") => "a string",
        Some("number") => "a number",
        Some("integer") => "an integer",
        Some("boolean") => "true or false",
        Some("object") => "an object",
        Some("array") => "a list",
        Some("null") => "null",
        _ => "something else",
    };
    match kinds {
        Value::Array(kinds) => kinds.iter().map(word).collect::<Vec<_>>().join(" or "),
        kind => word(kind).to_owned(),
    }
}

/// Holds `value` against the values that are allowed.
pub(super) fn fixed(keywords: &Map<String, Value>, value: &Value, place: &str, found: &mut Violations) {
    if let Some(choices) = keywords.get("enum").and_then(Value::as_array)
        && !choices.iter().any(|choice| same(choice, value))
    {
        let listed: Vec<String> = choices.iter().take(MAX_CHOICES).map(shown).collect();
        let more = if choices.len() > MAX_CHOICES { ", …" } else { "" };
        found.add(place, format!("must be one of {}{more}", listed.join(", ")));
    }
    if let Some(only) = keywords.get("const").filter(|only| !same(only, value)) {
        found.add(place, format!("must be {}", shown(only)));
    }
}

fn shown(value: &Value) -> String {
    text::shorten(&text::visible_line(&value.to_string()), 60)
}

pub(super) fn unknown(name: &str, known: &[&str]) -> String {
    match text::nearest(name, known.iter().copied()) {
        Some(near) => {
            format!("is not a parameter (did you mean `{}`?)", text::shorten(&text::visible_line(near), 80))
        }
        None => "is not a parameter".to_owned(),
    }
}

/// Returns whether two values are the same; numbers are compared as such.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(key, x)| y.get(key).is_some_and(|y| same(x, y)))
        }
        _ => a == b,
    }
}

pub(super) fn lengths(keywords: &Map<String, Value>, text: &str, place: &str, found: &mut Violations) {
    if keywords.contains_key("minLength") || keywords.contains_key("maxLength") {
        count(keywords, ["minLength", "maxLength"], text.chars().count(), "characters", place, found);
    }
}

/// Holds a number of things against a least and a most.
pub(super) fn count(
    keywords: &Map<String, Value>,
    [least, most]: [&str; 2],
    number: usize,
    things: &str,
    place: &str,
    found: &mut Violations,
) {
    let limit = |keyword: &str| keywords.get(keyword).and_then(Value::as_f64);
    if let Some(least) = limit(least).filter(|least| (number as f64) < *least) {
        found.add(place, format!("must have at least {least} {things}"));
    }
    if let Some(most) = limit(most).filter(|most| (number as f64) > *most) {
        found.add(place, format!("must have at most {most} {things}"));
    }
}

pub(super) fn bounds(keywords: &Map<String, Value>, number: f64, place: &str, found: &mut Violations) {
    let limit = |keyword: &str| keywords.get(keyword).and_then(Value::as_f64);
    if let Some(least) = limit("minimum").filter(|least| number < *least) {
        found.add(place, format!("must be at least {least}"));
    }
    if let Some(most) = limit("maximum").filter(|most| number > *most) {
        found.add(place, format!("must be at most {most}"));
    }
    if let Some(least) = limit("exclusiveMinimum").filter(|least| number <= *least) {
        found.add(place, format!("must be more than {least}"));
    }
    if let Some(most) = limit("exclusiveMaximum").filter(|most| number >= *most) {
        found.add(place, format!("must be less than {most}"));
    }
}

pub(super) fn multiple(
    keywords: &Map<String, Value>,
    number: &serde_json::Number,
    place: &str,
    found: &mut Violations,
) {
    let Some(step) = keywords.get("multipleOf") else { return };
    let is_multiple = match (number.as_i64(), step.as_i64()) {
        (Some(number), Some(step)) if step > 0 => number % step == 0,
        _ => {
            let (number, step) = (number.as_f64().unwrap_or(f64::NAN), step.as_f64().unwrap_or(0.0));
            let steps = number / step;
            step <= 0.0 || (steps - steps.round()).abs() <= 1e-9
        }
    };
    if !is_multiple {
        found.add(place, format!("must be a multiple of {step}"));
    }
}

/// Returns a text that two values have in common if they are the same; numbers are compared as such.
pub(super) fn canonical(value: &Value) -> String {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if !number.is_f64() && float.abs() < 9e15 => format!("{float}"),
            Some(float) if number.is_f64() => format!("{float}"),
            _ => number.to_string(),
        },
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Value::Object(properties) => {
            let mut all: Vec<(&String, &Value)> = properties.iter().collect();
            all.sort_unstable_by_key(|(name, _)| *name);
            let one = |(name, value): (&String, &Value)| {
                format!("{}:{}", Value::from(name.as_str()), canonical(value))
            };
            format!("{{{}}}", all.into_iter().map(one).collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}
