//! A tool of the host. It stands beside the built-in tools in `session.tools()` and is called the same way.

use repertoire::{BoxFuture, Library, MemoryProvider, SkillDefinition, Tool, ToolCall, ToolReply};
use serde_json::{Value, json};

/// Adds two numbers.
struct Add;

impl Tool for Add {
    fn name(&self) -> &str {
        "add"
    }

    fn description(&self) -> String {
        "Adds two numbers.".to_owned()
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
        })
    }

    fn call<'a>(&'a self, call: ToolCall<'a>) -> BoxFuture<'a, ToolReply> {
        Box::pin(async move {
            let a = call.arguments.get("a").and_then(Value::as_f64);
            let b = call.arguments.get("b").and_then(Value::as_f64);
            match (a, b) {
                (Some(a), Some(b)) => ToolReply::text((a + b).to_string()),
                // The model reads this and can call again with better arguments.
                _ => ToolReply::error("`a` and `b` must be numbers"),
            }
        })
    }
}

async fn add() -> anyhow::Result<()> {
    let sums = SkillDefinition::new("sums", "Does sums. Use when numbers are to be added.", "Call `add`.\n");
    let library =
        Library::builder().provider(MemoryProvider::new("builtin", vec![sums])).tool(Add).open().await?;
    let session = library.session().await?;
    let reply = session.call("add", &json!({"a": 1, "b": 2})).await;
    println!("1 + 2 = {}", reply.text());
    assert_eq!(reply.text(), "3");
    assert!(session.call("add", &json!({"a": "one"})).await.is_error());
    Ok(())
}

fn main() -> anyhow::Result<()> {
    pollster::block_on(add())
}
