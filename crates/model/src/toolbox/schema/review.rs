//! Validates a tool's input schema and lists keywords that are ignored.

use std::collections::BTreeSet;

use serde_json::Value;

use super::pattern;
use super::violation::{property, resolve};

/// The deepest that schemas may nest.
const MAX_DEPTH: usize = 32;
const MAX_FAULTS: usize = 10;
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];
/// Keywords about values that are not checked.
const UNCHECKED: [&str; 3] = ["unevaluatedProperties", "unevaluatedItems", "$dynamicRef"];

/// The faults of a schema, and its ignored keywords.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Review {
    /// Its faults, as `type of paths is not a type`.
    pub faults: Vec<String>,
    /// The keywords in it that are not checked, sorted.
    pub unchecked: BTreeSet<String>,
}

/// Returns the faults of `schema`, and its keywords that are not checked.
pub fn review(schema: &Value) -> Review {
    let mut reviewer = Reviewer { root: schema, review: Review::default() };
    reviewer.schema(schema, "", 0);
    reviewer.review
}

struct Reviewer<'s> {
    root: &'s Value,
    review: Review,
}

impl Reviewer<'_> {
    fn fault(&mut self, place: &str, message: &str) {
        if self.review.faults.len() < MAX_FAULTS {
            let place = if place.is_empty() { String::new() } else { format!(" at {place}") };
            self.review.faults.push(format!("{message}{place}"));
        }
    }

    fn schema(&mut self, schema: &Value, place: &str, depth: usize) {
        let keywords = match schema {
            Value::Bool(_) => return,
            Value::Object(keywords) => keywords,
            _ => return self.fault(place, "neither an object nor true or false"),
        };
        if depth > MAX_DEPTH {
            return self.fault(place, "nested too deep");
        }
        for (keyword, value) in keywords {
            match keyword.as_str() {
                "type" => self.kinds(value, place),
                "pattern" => match value.as_str() {
                    Some(text) if pattern::compile(text).is_some() => {}
                    Some(_) => drop(self.review.unchecked.insert(keyword.to_owned())),
                    None => self.fault(place, "`pattern` is not text"),
                },
                "dependentRequired" => {
                    let is_sound = |names: &Value| {
                        names.as_array().is_some_and(|names| names.iter().all(Value::is_string))
                    };
                    if !value.as_object().is_some_and(|all| all.values().all(is_sound)) {
                        self.fault(place, "`dependentRequired` is not an object of lists of names");
                    }
                }
                "properties" | "$defs" | "definitions" | "patternProperties" | "dependentSchemas"
                | "dependencies" => match value {
                    Value::Object(schemas) => {
                        for (name, schema) in schemas {
                            if keyword == "patternProperties" && pattern::compile(name).is_none() {
                                self.review.unchecked.insert(keyword.to_owned());
                            }
                            // Before 2019-09 names that go together stood here too.
                            if keyword == "dependencies" && schema.is_array() {
                                continue;
                            }
                            self.schema(schema, &property(place, name), depth + 1);
                        }
                    }
                    _ => self.fault(place, &format!("`{keyword}` is not an object")),
                },
                "additionalProperties" | "not" | "propertyNames" | "contains" | "if" | "then" | "else" => {
                    self.schema(value, &property(place, keyword), depth + 1)
                }
                // Before 2020-12 a list of schemas stood here.
                "items" if value.is_array() => self.schemas(keyword, value, place, depth),
                "items" => self.schema(value, &property(place, keyword), depth + 1),
                "anyOf" | "oneOf" | "allOf" | "prefixItems" => self.schemas(keyword, value, place, depth),
                "required" => {
                    let is_sound = |names: &Vec<Value>| names.iter().all(Value::is_string);
                    if !value.as_array().is_some_and(is_sound) {
                        self.fault(place, "`required` is not a list of names");
                    }
                }
                "enum" if !value.is_array() => self.fault(place, "`enum` is not a list"),
                "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
                | "minContains" | "maxContains"
                    if value.as_f64().is_none_or(|number| number < 0.0) =>
                {
                    self.fault(place, &format!("`{keyword}` is not a count"));
                }
                "minimum" | "maximum" | "multipleOf" if !value.is_number() => {
                    self.fault(place, &format!("`{keyword}` is not a number"));
                }
                "$ref" => {
                    let target = value.as_str().and_then(|pointer| resolve(self.root, pointer));
                    if target.is_none() {
                        self.fault(place, "`$ref` leads nowhere in the schema");
                    }
                }
                keyword if UNCHECKED.contains(&keyword) => {
                    self.review.unchecked.insert(keyword.to_owned());
                }
                _ => {}
            }
        }
    }

    fn schemas(&mut self, keyword: &str, value: &Value, place: &str, depth: usize) {
        match value {
            Value::Array(schemas) => {
                let place = property(place, keyword);
                schemas.iter().for_each(|schema| self.schema(schema, &place, depth + 1));
            }
            _ => self.fault(place, &format!("`{keyword}` is not a list of schemas")),
        }
    }

    fn kinds(&mut self, value: &Value, place: &str) {
        let is_type = |kind: &Value| kind.as_str().is_some_and(|kind| TYPES.contains(&kind));
        let is_sound = match value {
            Value::Array(kinds) => !kinds.is_empty() && kinds.iter().all(is_type),
            kind => is_type(kind),
        };
        if !is_sound {
            self.fault(place, "`type` is not a type");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn invalid_schemas_are_reported() {
        let check = |schema: Value, expect: &[&str]| assert_eq!(review(&schema).faults, expect, "{schema}");
        check(json!({"type": "object", "properties": {"a": {"type": "string"}}}), &[]);
        check(json!(true), &[]);
        check(json!(3), &["neither an object nor true or false"]);
        check(json!({"type": "text"}), &["`type` is not a type"]);
        check(json!({"properties": {"a": {"type": []}}}), &["`type` is not a type at a"]);
        check(json!({"properties": []}), &["`properties` is not an object"]);
        check(json!({"required": "a"}), &["`required` is not a list of names"]);
        check(json!({"$ref": "#/$defs/x"}), &["`$ref` leads nowhere in the schema"]);
        check(json!({"$ref": "https://example.com/x"}), &["`$ref` leads nowhere in the schema"]);
        check(json!({"anyOf": {}}), &["`anyOf` is not a list of schemas"]);
        check(json!({"maxItems": -1}), &["`maxItems` is not a count"]);
        let deep = (0..40).fold(json!({}), |inner, _| json!({"items": inner}));
        assert_eq!(review(&deep).faults.len(), 1);
    }

    #[test]
    fn unchecked_keywords_are_reported() {
        let schema = json!({"properties": {
            "a": {"pattern": "^x", "if": {}, "format": "date"}, "b": {"pattern": "(?=x)", "unevaluatedItems": false},
            "c": {"patternProperties": {"\\p{L}": true}},
        }});
        let unchecked: Vec<String> = review(&schema).unchecked.into_iter().collect();
        assert_eq!(unchecked, ["pattern", "patternProperties", "unevaluatedItems"]);
        assert_eq!(review(&json!({"pattern": 1})).faults, ["`pattern` is not text"]);
        let broken = review(&json!({"dependentRequired": {"a": "b"}, "contains": 1}));
        assert_eq!(broken.faults.len(), 2);
    }
}
