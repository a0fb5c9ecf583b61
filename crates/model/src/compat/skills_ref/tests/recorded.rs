//! A hundred and more small documents, good and bad, with the reference's full answers.

use serde_json::Value;

use super::super::{Crash, Entry, Error, python, read_properties, to_prompt, validate};

const RECORDED: &str = include_str!("../../../../testdata/skills_ref/recorded.json");

#[test]
fn answers_are_those_of_the_reference() {
    let cases: Vec<Value> = serde_json::from_str(RECORDED).unwrap();
    assert!(cases.len() > 100);
    for case in cases {
        let content = case["content"].as_str().unwrap();
        assert_eq!(validate_answer(content), case["validate"], "validate {:?}", case["case"]);
        assert_eq!(properties_answer(content), case["properties"], "read-properties {:?}", case["case"]);
    }
}

fn validate_answer(content: &str) -> Value {
    match validate(content, "a") {
        Ok(errors) => errors.iter().map(|error| python::shown(error)).collect(),
        Err(crash) => crashed(&crash),
    }
}

/// Returns the JSON and the prompt, or the complaint.
fn properties_answer(content: &str) -> Value {
    let properties = match read_properties(content) {
        Ok(properties) => properties,
        Err(Error::Crash(crash)) => return crashed(&crash),
        Err(error) => return error.to_string().into(),
    };
    let json = match properties.to_json() {
        Ok(json) => json,
        Err(crash) => return crashed(&crash),
    };
    let prompt = to_prompt(&[Entry { properties: &properties, location: "/x" }]);
    let prompt = match python::encode_strictly(&prompt) {
        Ok(prompt) => prompt.into(),
        Err(crash) => crashed(&crash),
    };
    vec![Value::from(json), prompt].into()
}

fn crashed(crash: &Crash) -> Value {
    format!("UNCAUGHT {}", crash.last_line()).into()
}
