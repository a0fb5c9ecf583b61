//! Property tests: reading any `schema.json` gives tools that can be offered.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::schema::{check, review};
use super::{Capabilities, Toolbox, is_tool_name};
use crate::validate::TOOL_NAMES;

fn any_json() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "name",
        "type",
        "object",
        "string",
        "properties",
        "required",
        "items",
        "anyOf",
        "$ref",
        "#",
        "tools",
        "command",
        "parameters",
        "function",
        "write",
        "env",
        "enum",
        "load_skill",
        "x",
        "",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        any::<i64>().prop_map(Value::from),
        words.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((words.clone(), inner), 0..6)
                .prop_map(|pairs| pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn reading_is_total(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Toolbox::read(&bytes);
    }

    #[test]
    fn every_parsed_toolbox_is_valid(value in any_json()) {
        let (toolbox, _) = Toolbox::read(value.to_string().as_bytes());
        let mut names: Vec<&str> = toolbox.names().collect();
        prop_assert!(names.iter().all(|name| is_tool_name(name) && !TOOL_NAMES.contains(name)));
        names.sort_unstable();
        names.dedup();
        prop_assert_eq!(names.len(), toolbox.tools.len());
        prop_assert!(toolbox.tools.iter().all(|tool| tool.parameters.is_object()));
        let capabilities = Capabilities::of(&toolbox);
        prop_assert_eq!(Capabilities::from_json(&capabilities.to_json()), Some(capabilities));
    }

    #[test]
    fn checking_is_total_and_bounded(schema in any_json(), value in any_json()) {
        let _ = review(&schema);
        prop_assert!(check(&schema, &value).len() <= 10);
    }
}
