//! Tests of the shapes of model APIs.

use serde_json::{Value, json};

use super::*;

fn answered(answer: &Value) -> Option<Vec<Value>> {
    let (format, calls) = calls(answer)?;
    Some(messages(format, calls.iter().map(|call| call.result(call.name, false)).collect()))
}

#[test]
fn tools_are_written_as_each_api_takes_them() {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let of = |format| Value::from(tools(format, [("load", "Loads.", &schema)]));
    assert_eq!(
        of(ApiFormat::Anthropic),
        json!([{"name": "load", "description": "Loads.", "input_schema": schema}])
    );
    assert_eq!(
        of(ApiFormat::OpenAi),
        json!([{"type": "function", "function": {"name": "load", "description": "Loads.", "parameters": schema}}])
    );
    assert_eq!(
        of(ApiFormat::OpenAiResponses),
        json!([{"type": "function", "name": "load", "description": "Loads.", "parameters": schema, "strict": false}])
    );
    assert_eq!(
        of(ApiFormat::Gemini),
        json!([{"functionDeclarations": [{"name": "load", "description": "Loads.", "parametersJsonSchema": schema}]}])
    );
    assert_eq!(
        of(ApiFormat::JsonSchema),
        json!([{"title": "load", "description": "Loads.", "type": "object", "properties": {"name": {"type": "string"}}}])
    );
    for format in ApiFormat::ALL {
        assert!(tools(format, []).is_empty());
        assert_eq!(ApiFormat::parse(format.as_str()), Some(format));
    }
}

#[test]
fn calls_are_answered_in_the_shape_that_they_came_in() {
    let check = |answer: Value, expect: Value| assert_eq!(answered(&answer), Some(vec![expect]), "{answer}");
    let block = json!({"type": "tool_use", "id": "1", "name": "a", "input": {}});
    let result =
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "a"}]});
    check(
        json!({"id": "m", "role": "assistant", "content": [{"type": "text", "text": "x"}, block]}),
        result.clone(),
    );
    check(json!([block]), result.clone());
    check(block, result);
    let call = json!({"id": "1", "type": "function", "function": {"name": "a", "arguments": "{}"}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let result = json!({"role": "tool", "tool_call_id": "1", "content": "a"});
    check(json!({"choices": [{"message": message}]}), result.clone());
    check(message, result.clone());
    check(call, result);
    let item = json!({"type": "function_call", "id": "fc", "call_id": "1", "name": "a", "arguments": "{}"});
    check(
        json!({"output": [{"type": "reasoning"}, item]}),
        json!({"type": "function_call_output", "call_id": "1", "output": "a"}),
    );
    for key in ["functionCall", "function_call"] {
        for function in [json!({"name": "a", "args": {}}), json!({"name": "a"})] {
            check(
                json!({"candidates": [{"content": {"role": "model", "parts": [{key: function}]}}]}),
                json!({"role": "user", "parts": [{"functionResponse": {"name": "a", "response": {"output": "a"}}}]}),
            );
        }
    }
}

#[test]
fn an_error_is_marked_where_the_api_has_a_mark() {
    let block = json!({"type": "tool_use", "id": "1", "name": "a", "input": {}});
    assert_eq!(ModelCall::read(&block).unwrap().result("no", true)["is_error"], true);
    let part = json!({"functionCall": {"id": "7", "name": "a", "args": {}}});
    let result = ModelCall::read(&part).unwrap().result("no", true);
    assert_eq!(result, json!({"functionResponse": {"name": "a", "id": "7", "response": {"error": "no"}}}));
}

#[test]
fn an_answer_without_calls_gives_no_messages_and_another_value_is_refused() {
    for answer in [
        json!({"role": "assistant", "content": [{"type": "text", "text": "x"}]}),
        json!({"role": "assistant", "content": "x"}),
        json!({"choices": [{"message": {"role": "assistant", "content": "x"}}]}),
        json!({"choices": [{"message": {"content": "x", "tool_calls": null}}]}),
        json!({"output": []}),
        json!({"candidates": [{"content": {"parts": [{"text": "x"}]}}]}),
        json!({"candidates": [{"finishReason": "SAFETY"}]}),
        json!({"candidates": []}),
        json!([]),
    ] {
        assert_eq!(answered(&answer), Some(Vec::new()), "{answer}");
    }
    for other in [json!(null), json!("x"), json!({}), json!({"tool": "load_skill"}), json!(7)] {
        assert_eq!(answered(&other), None, "{other}");
    }
}
