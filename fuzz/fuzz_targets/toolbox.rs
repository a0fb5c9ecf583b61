//! Feeds arbitrary bytes to what reads a `schema.json`, and holds what must hold of any toolbox.
#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use repertoire_model::Capabilities;
use repertoire_model::toolbox::{MAX_TOOLS, Toolbox, is_tool_name, schema};
use serde_json::json;

fuzz_target!(|bytes: &[u8]| {
    let (toolbox, problems) = Toolbox::read(bytes);
    assert!(toolbox.tools.len() <= MAX_TOOLS);
    assert!(problems.iter().all(|problem| !problem.message.is_empty() && !problem.help.is_empty()));
    let names: HashSet<&str> = toolbox.names().collect();
    assert_eq!(names.len(), toolbox.tools.len(), "no two have the same name");
    for tool in &toolbox.tools {
        assert!(is_tool_name(&tool.name) && tool.parameters.is_object());
        for path in &tool.needs.write {
            assert!(!path.is_empty() && !path.starts_with('/') && path.split('/').all(|part| part != ".."));
        }
        // Whatever the schema, a call is held against it and that ends.
        schema::check(&tool.parameters, &json!({}));
        schema::check(&tool.parameters, &json!({"a": [1, "b", null, {"c": 1.5}], "": true}));
    }
    let capabilities = Capabilities::of(&toolbox);
    assert_eq!(Capabilities::from_json(&capabilities.to_json()), Some(capabilities));
});
