//! Checks values against a schema.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::keywords::{bounds, canonical, count, described, fixed, is_of, lengths, multiple, unknown};
use super::pattern::{Match, Patterns};
use super::violation::{MAX_VIOLATIONS, Violation, Violations};
use super::violation::{item, property, resolve};
use crate::text;

/// The deepest that values and schemas are followed, references included.
const MAX_DEPTH: usize = 64;
/// The most schemas that values are checked against; more count as violated, so that nothing slips through.
const MAX_STEPS: usize = 20_000;

const TOO_INVOLVED: &str = "is too involved to be checked";

/// Returns the violations of `schema` by `value`; empty if there are not any.
///
/// ```
/// use repertoire_model::toolbox::schema::check;
/// use serde_json::json;
/// let schema = json!({"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]});
/// assert_eq!(check(&schema, &json!({"count": 3})), []);
/// assert_eq!(check(&schema, &json!({"count": "3"}))[0].to_string(), "`count` must be an integer");
/// ```
pub fn check(schema: &Value, value: &Value) -> Vec<Violation> {
    let mut checker = Checker { root: schema, steps: 0, gave_up: false, patterns: Patterns::default() };
    let mut found = Violations::default();
    checker.value(schema, value, "", 0, &mut found);
    // Under `not` and `oneOf`, an unchecked value would count as valid.
    if checker.gave_up && !found.violations.iter().any(|violation| violation.message == TOO_INVOLVED) {
        found.violations.insert(0, Violation { place: String::new(), message: TOO_INVOLVED.to_owned() });
        found.violations.truncate(MAX_VIOLATIONS);
    }
    found.violations
}

struct Checker<'s> {
    root: &'s Value,
    steps: usize,
    /// True if something was not checked.
    gave_up: bool,
    patterns: Patterns<'s>,
}

impl<'s> Checker<'s> {
    fn give_up(&mut self, place: &str, found: &mut Violations) {
        self.gave_up = true;
        found.add(place, TOO_INVOLVED);
    }

    fn value(&mut self, schema: &'s Value, value: &Value, place: &str, depth: usize, found: &mut Violations) {
        self.steps += 1;
        if depth > MAX_DEPTH || self.steps > MAX_STEPS {
            return self.give_up(place, found);
        }
        let keywords = match schema {
            Value::Bool(true) => return,
            Value::Object(keywords) => keywords,
            _ => return found.add(place, "is not allowed"),
        };
        if let Some(pointer) = keywords.get("$ref").and_then(Value::as_str) {
            match resolve(self.root, pointer) {
                Some(target) => self.value(target, value, place, depth + 1, found),
                None => found.add(place, "cannot be checked: its schema refers to nothing"),
            }
        }
        if let Some(expected) = keywords.get("type").filter(|kinds| !is_of(kinds, value)) {
            return found.add(place, format!("must be {}", described(expected)));
        }
        fixed(keywords, value, place, found);
        match value {
            Value::String(text) => {
                lengths(keywords, text, place, found);
                self.pattern(keywords, text, place, found);
            }
            Value::Number(number) => {
                multiple(keywords, number, place, found);
                bounds(keywords, number.as_f64().unwrap_or(f64::NAN), place, found);
            }
            Value::Array(items) => self.items(keywords, items, place, depth, found),
            Value::Object(properties) => self.properties(keywords, properties, place, depth, found),
            Value::Null | Value::Bool(_) => {}
        }
        self.combined(keywords, value, place, depth, found);
    }

    fn items(
        &mut self,
        keywords: &'s Map<String, Value>,
        items: &[Value],
        place: &str,
        depth: usize,
        found: &mut Violations,
    ) {
        count(keywords, ["minItems", "maxItems"], items.len(), "items", place, found);
        if keywords.get("uniqueItems") == Some(&Value::Bool(true)) {
            let mut seen = HashSet::new();
            if !items.iter().all(|item| seen.insert(canonical(item))) {
                found.add(place, "must not hold anything twice");
            }
        }
        if let Some(schema) = keywords.get("contains") {
            let fitting =
                items.iter().filter(|item| self.alone(schema, item, place, depth).is_empty()).count();
            let limit = |keyword: &str| keywords.get(keyword).and_then(Value::as_f64);
            let least = limit("minContains").unwrap_or(1.0);
            if (fitting as f64) < least {
                found.add(
                    place,
                    format!("must hold at least {least} items that fit `contains` and holds {fitting}"),
                );
            }
            if let Some(most) = limit("maxContains").filter(|most| fitting as f64 > *most) {
                found.add(
                    place,
                    format!("must hold at most {most} items that fit `contains` and holds {fitting}"),
                );
            }
        }
        let tuple = match (keywords.get("prefixItems"), keywords.get("items")) {
            (Some(Value::Array(schemas)), _) | (None, Some(Value::Array(schemas))) => schemas.as_slice(),
            _ => &[],
        };
        let rest = keywords.get("items").filter(|schema| !schema.is_array());
        for (index, value) in items.iter().enumerate() {
            if let Some(schema) = tuple.get(index).or(rest) {
                self.value(schema, value, &item(place, index), depth + 1, found);
            }
        }
    }

    fn properties(
        &mut self,
        keywords: &'s Map<String, Value>,
        properties: &Map<String, Value>,
        place: &str,
        depth: usize,
        found: &mut Violations,
    ) {
        count(keywords, ["minProperties", "maxProperties"], properties.len(), "properties", place, found);
        let required = keywords.get("required").and_then(Value::as_array).into_iter().flatten();
        for name in required.filter_map(Value::as_str).filter(|name| !properties.contains_key(*name)) {
            found.add(&property(place, name), "is missing");
        }
        let known = keywords.get("properties").and_then(Value::as_object);
        let patterns = keywords.get("patternProperties").and_then(Value::as_object);
        let others = keywords.get("additionalProperties");
        for (name, value) in properties {
            let inner = property(place, name);
            if let Some(schema) = keywords.get("propertyNames")
                && let Some(fault) =
                    self.alone(schema, &Value::from(name.as_str()), "", depth).violations.first()
            {
                found.add(&inner, format!("is not a name that is allowed: it {}", fault.message));
            }
            let own = known.and_then(|known| known.get(name));
            if let Some(schema) = own {
                self.value(schema, value, &inner, depth + 1, found);
            }
            let mut is_known = own.is_some();
            for (pattern, schema) in patterns.into_iter().flatten() {
                match self.patterns.find(pattern, name) {
                    Match::Yes => {
                        is_known = true;
                        self.value(schema, value, &inner, depth + 1, found);
                    }
                    Match::No => {}
                    // It is unknown which properties the pattern allows.
                    Match::NotUnderstood => is_known = true,
                    Match::TooMuch => self.give_up(&inner, found),
                }
            }
            match others.filter(|_| !is_known) {
                Some(Value::Bool(false)) => {
                    let known: Vec<&str> =
                        known.into_iter().flat_map(Map::keys).map(String::as_str).collect();
                    found.add(&inner, unknown(name, &known));
                }
                Some(schema) => self.value(schema, value, &inner, depth + 1, found),
                None => {}
            }
        }
        self.dependent(keywords, properties, place, depth, found);
    }

    /// Checks an object against the dependencies between properties in its schema.
    fn dependent(
        &mut self,
        keywords: &'s Map<String, Value>,
        properties: &Map<String, Value>,
        place: &str,
        depth: usize,
        found: &mut Violations,
    ) {
        let all = ["dependentRequired", "dependentSchemas", "dependencies"];
        let all = all.iter().filter_map(|keyword| keywords.get(*keyword)?.as_object()).flatten();
        for (name, dependent) in all.filter(|(name, _)| properties.contains_key(*name)) {
            match dependent {
                Value::Array(names) => {
                    let names = names.iter().filter_map(Value::as_str);
                    for missing in names.filter(|name| !properties.contains_key(*name)) {
                        let given = text::shorten(&text::visible_line(name), 80);
                        found.add(&property(place, missing), format!("is missing, and goes with `{given}`"));
                    }
                }
                schema => {
                    let value = Value::Object(properties.clone());
                    self.value(schema, &value, place, depth + 1, found);
                }
            }
        }
    }

    fn pattern(&mut self, keywords: &'s Map<String, Value>, text: &str, place: &str, found: &mut Violations) {
        let Some(pattern) = keywords.get("pattern").and_then(Value::as_str) else { return };
        match self.patterns.find(pattern, text) {
            Match::Yes | Match::NotUnderstood => {}
            Match::No => {
                let shown = text::shorten(&text::visible_line(pattern), 120);
                found.add(place, format!("must match the pattern `{shown}`"));
            }
            Match::TooMuch => self.give_up(place, found),
        }
    }

    fn combined(
        &mut self,
        keywords: &'s Map<String, Value>,
        value: &Value,
        place: &str,
        depth: usize,
        found: &mut Violations,
    ) {
        let schemas = |keyword: &str| keywords.get(keyword).and_then(Value::as_array);
        for schema in schemas("allOf").into_iter().flatten() {
            self.value(schema, value, place, depth + 1, found);
        }
        if let Some(choices) = schemas("anyOf") {
            let mut nearest: Option<Violations> = None;
            for schema in choices {
                let of = self.alone(schema, value, place, depth);
                if of.is_empty() {
                    nearest = None;
                    break;
                }
                let is_nearer = |known: &Violations| of.violations.len() < known.violations.len();
                if nearest.as_ref().is_none_or(is_nearer) {
                    nearest = Some(of);
                }
            }
            // The violations of the best alternative are the most helpful.
            for violation in nearest.into_iter().flat_map(|of| of.violations) {
                found.add(&violation.place, violation.message);
            }
        }
        if let Some(choices) = schemas("oneOf") {
            let fitting =
                choices.iter().filter(|schema| self.alone(schema, value, place, depth).is_empty()).count();
            if fitting != 1 {
                found.add(
                    place,
                    format!("must fit exactly one of {} schemas and fits {fitting}", choices.len()),
                );
            }
        }
        if let Some(condition) = keywords.get("if") {
            let is_met = self.alone(condition, value, place, depth).is_empty();
            if let Some(schema) = keywords.get(if is_met { "then" } else { "else" }) {
                self.value(schema, value, place, depth + 1, found);
            }
        }
        if let Some(schema) = keywords.get("not")
            && self.alone(schema, value, place, depth).is_empty()
        {
            found.add(place, "is what its schema excludes");
        }
    }

    fn alone(&mut self, schema: &'s Value, value: &Value, place: &str, depth: usize) -> Violations {
        let mut found = Violations::default();
        self.value(schema, value, place, depth + 1, &mut found);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn violations(schema: &Value, value: &Value) -> Vec<String> {
        check(schema, value).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn violations_name_the_field() {
        let schema = json!({
            "type": "object",
            "properties": {
                "message": {"type": "string", "minLength": 1, "maxLength": 5},
                "count": {"type": "integer", "minimum": 1, "maximum": 10},
                "paths": {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": true},
                "mode": {"enum": ["fast", "slow"]},
                "step": {"type": "number", "multipleOf": 0.5, "exclusiveMinimum": 0},
                "maybe": {"type": ["string", "null"]},
                "deep": {"type": "object", "properties": {"x": {"const": 1}}, "required": ["y"]},
            },
            "required": ["message"],
            "additionalProperties": false,
        });
        let check =
            |value: Value, expect: &[&str]| assert_eq!(violations(&schema, &value), expect, "{value}");
        check(json!({"message": "hi", "count": 3.0, "step": 1.5, "maybe": null, "mode": "fast"}), &[]);
        check(json!([]), &["must be an object"]);
        check(json!({}), &["`message` is missing"]);
        check(json!({"message": 3}), &["`message` must be a string"]);
        check(json!({"message": ""}), &["`message` must have at least 1 characters"]);
        check(json!({"message": "ääääää"}), &["`message` must have at most 5 characters"]);
        check(json!({"message": "a", "count": 1.5}), &["`count` must be an integer"]);
        check(json!({"message": "a", "count": 11}), &["`count` must be at most 10"]);
        check(json!({"message": "a", "paths": ["a", 1]}), &["`paths[1]` must be a string"]);
        check(json!({"message": "a", "paths": []}), &["`paths` must have at least 1 items"]);
        check(json!({"message": "a", "paths": ["a", "a"]}), &["`paths` must not hold anything twice"]);
        check(json!({"message": "a", "mode": "x"}), &["`mode` must be one of \"fast\", \"slow\""]);
        check(json!({"message": "a", "step": 0.3}), &["`step` must be a multiple of 0.5"]);
        check(json!({"message": "a", "maybe": 1}), &["`maybe` must be a string or null"]);
        check(json!({"message": "a", "deep": {"x": 2}}), &["`deep.y` is missing", "`deep.x` must be 1"]);
        check(
            json!({"message": "a", "massage": 1}),
            &["`massage` is not a parameter (did you mean `message`?)"],
        );
    }

    #[test]
    fn choices_and_references_are_followed() {
        let schema = json!({
            "$defs": {"size": {"type": "integer", "minimum": 0}},
            "properties": {
                "any": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/size"}]},
                "one": {"oneOf": [{"type": "integer"}, {"type": "number"}]},
                "all": {"allOf": [{"minimum": 1}, {"maximum": 2}]},
                "not": {"not": {"type": "null"}},
            },
        });
        let check =
            |value: Value, expect: &[&str]| assert_eq!(violations(&schema, &value), expect, "{value}");
        check(json!({"any": 3, "one": 1.5, "all": 2, "not": 1}), &[]);
        check(json!({"any": -1}), &["`any` must be a string"]);
        check(json!({"one": 1}), &["`one` must fit exactly one of 2 schemas and fits 2"]);
        check(json!({"all": 3}), &["`all` must be at most 2"]);
        check(json!({"not": null}), &["`not` is what its schema excludes"]);
    }

    #[test]
    fn patterns_conditions_and_dependencies_are_checked() {
        let schema = json!({
            "properties": {
                "branch": {"type": "string", "pattern": "^[a-z]+/[0-9]+$"},
                "list": {"contains": {"const": 1}, "minContains": 2, "maxContains": 3, "uniqueItems": false},
                "set": {"uniqueItems": true},
                "many": {"multipleOf": 2},
                "odd": {"pattern": "(?!x)"},
                "kind": {},
            },
            "patternProperties": {"^x-": {"type": "string"}},
            "propertyNames": {"maxLength": 8},
            "dependentRequired": {"many": ["kind"]},
            "dependentSchemas": {"odd": {"required": ["set"]}},
            "dependencies": {"list": ["kind"]},
            "if": {"properties": {"kind": {"const": "a"}}, "required": ["kind"]},
            "then": {"required": ["branch"]},
            "else": {"properties": {"branch": false}},
            "additionalProperties": false,
        });
        let check =
            |value: Value, expect: &[&str]| assert_eq!(violations(&schema, &value), expect, "{value}");
        check(json!({"kind": "a", "branch": "fix/12", "x-y": "z", "list": [1, 2, 1.0], "many": 4}), &[]);
        check(json!({"kind": "a", "branch": "fix"}), &["`branch` must match the pattern `^[a-z]+/[0-9]+$`"]);
        check(json!({"kind": "a"}), &["`branch` is missing"]);
        check(json!({"kind": "b", "branch": "fix/1"}), &["`branch` is not allowed"]);
        check(json!({"x-y": 1}), &["`x-y` must be a string"]);
        check(json!({"y": 1}), &["`y` is not a parameter"]);
        check(
            json!({"x-23456789": ""}),
            &["`x-23456789` is not a name that is allowed: it must have at most 8 characters"],
        );
        check(json!({"many": 2}), &["`kind` is missing, and goes with `many`"]);
        check(json!({"many": 9_007_199_254_740_993_i64, "kind": 1}), &["`many` must be a multiple of 2"]);
        check(json!({"odd": "x"}), &["`set` is missing"]);
        check(
            json!({"kind": 1, "list": [1]}),
            &["`list` must hold at least 2 items that fit `contains` and holds 1"],
        );
        check(json!({"list": [1, 1]}), &["`kind` is missing, and goes with `list`"]);
        check(
            json!({"kind": 1, "list": [1, 1, 1, 1]}),
            &["`list` must hold at most 3 items that fit `contains` and holds 4"],
        );
        let mut set: Vec<Value> = (0..1000).map(Value::from).collect();
        check(json!({"set": set}), &[]);
        set.push(json!(999.0));
        check(json!({"set": set}), &["`set` must not hold anything twice"]);
        check(
            json!({"set": [{"a": 1, "b": 2}, {"b": 2.0, "a": 1}]}),
            &["`set` must not hold anything twice"],
        );
        check(json!({"set": ["1", 1, [1], "[1]"]}), &[]);
    }

    #[test]
    fn recursive_schemas_are_bounded() {
        let round = json!({"$ref": "#"});
        assert_eq!(violations(&round, &json!(1)), ["is too involved to be checked"]);
        // Each level doubles the work.
        let wide = json!({"$defs": {"x": {"anyOf": [{"$ref": "#/$defs/x"}, {"$ref": "#/$defs/x"}]}}, "$ref": "#/$defs/x"});
        assert_eq!(violations(&wide, &json!(1)).len(), 1);
        // A value that was not checked is not valid because of a `not`.
        let many = json!(vec![1; MAX_STEPS + 1]);
        let none = json!({"not": {"type": "array", "items": {"type": "integer"}}});
        assert_eq!(violations(&none, &json!([1])).len(), 1);
        assert_eq!(violations(&none, &many), ["is too involved to be checked"]);
    }
}
