//! The loop of an agent: the model gets a catalog and tools, and loads a skill when a task needs it.
//!
//! The model here follows a script, so that the example runs anywhere. Replace `model` by a call to your
//! vendor's API.

use repertoire::{Library, MemoryProvider, SkillDefinition};
use serde_json::{Value, json};

/// Returns the next message of a model for a system prompt, tools and the messages so far.
fn model(_system: &str, _tools: &[Value], messages: &[Value]) -> Value {
    if messages.len() == 1 {
        let call = json!({"type": "tool_use", "id": "1", "name": "load_skill", "input": {"name": "greet"}});
        return json!({"role": "assistant", "content": [call]});
    }
    json!({"role": "assistant", "content": [{"type": "text", "text": "Welcome, I am glad you are here!"}]})
}

async fn converse() -> anyhow::Result<()> {
    let greet =
        SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "# Greet\n\nBe warm.\n");
    let library = Library::builder()
        .directory("skills")
        .provider(MemoryProvider::new("builtin", vec![greet]))
        .open()
        .await?;
    let session = library.session().await?;

    // Level 1: the catalog is part of the system prompt and stays the same bytes for the whole conversation.
    let system = format!("You are a host.\n\n{}", session.catalog().text);
    let tools: Vec<Value> = session
        .tools()
        .iter()
        .map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}))
        .collect();

    let mut messages = vec![json!({"role": "user", "content": "Hello!"})];
    loop {
        let message = model(&system, &tools, &messages);
        messages.push(message.clone());
        let mut results = Vec::new();
        for block in message["content"].as_array().into_iter().flatten() {
            if block["type"] != "tool_use" {
                continue;
            }
            // Levels 2 and 3: a call never fails; a problem is an answer that the model can read.
            let reply = session.call(block["name"].as_str().unwrap_or_default(), &block["input"]).await;
            results.push(json!({
                "type": "tool_result",
                "tool_use_id": block["id"],
                "content": reply.text(),
                "is_error": reply.is_error(),
            }));
        }
        if results.is_empty() {
            break;
        }
        messages.push(json!({"role": "user", "content": results}));
    }
    println!("{}", serde_json::to_string_pretty(&messages)?);

    // A harness that was restarted knows from the messages alone which skills are loaded.
    let restarted = library.session().await?;
    restarted.observe(&messages);
    assert_eq!(restarted.context().loaded()[0].as_str(), "greet");
    Ok(())
}

fn main() -> anyhow::Result<()> {
    pollster::block_on(converse())
}
