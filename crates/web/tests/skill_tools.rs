//! Tools that skills bring along, over MCP.

use std::sync::Arc;

use repertoire::session::ToolExposure;
use repertoire::tool::OfferedTools;
use repertoire::{HandlerError, SessionOptions};
use repertoire_web::http::HttpOptions;
use serde_json::{Map, Value, json};

use crate::world::{Client, Http, Server, World};

const DECLARED: &str = r#"[
  {"name": "add", "description": "Adds.", "parameters": {
    "type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}
]"#;

fn server(world: &World, exposure: ToolExposure) -> Server {
    world.write("alpha/schema.json", DECLARED);
    let add = |arguments: &Map<String, Value>| -> Result<String, HandlerError> {
        arguments["a"]
            .as_i64()
            .map(|a| (a + 1).to_string())
            .ok_or_else(|| HandlerError::new("TypeError", "a"))
    };
    let mut options = SessionOptions::default();
    options.running.exposure = exposure;
    world.server_equipped(options, |builder| builder.handler("alpha", "add", Arc::new(add)))
}

async fn names(client: &mut Client) -> Vec<String> {
    let listed = client.request("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

async fn call(client: &mut Client, tool: &str, arguments: Value) -> Value {
    client.request("tools/call", json!({"name": tool, "arguments": arguments})).await
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn call_skill_tool_calls_tools_of_skills_this_client_loaded() {
    let world = World::new();
    let server = server(&world, ToolExposure::Stable);
    let (mut client, mut other) = (Client::start(&server.mcp, None), Client::start(&server.mcp, None));
    client.initialize("2025-11-25").await;
    other.initialize("2025-11-25").await;
    let before = client.request("tools/list", json!({})).await;
    let gateway = &before["result"]["tools"][0];
    assert_eq!(
        (&gateway["name"], &gateway["annotations"]["readOnlyHint"]),
        (&json!("call_skill_tool"), &json!(false))
    );
    let add = json!({"skill": "alpha", "tool": "add", "arguments": {"a": 1}});
    let early = call(&mut client, "call_skill_tool", add.clone()).await;
    assert!(text(&early).contains("Skill `alpha` is not loaded"), "{early}");
    assert_eq!(early["result"]["isError"], true);

    let loaded = call(&mut client, "load_skill", json!({"name": "alpha"})).await;
    assert!(text(&loaded).contains("Tools of skill alpha:") && text(&loaded).contains("call_skill_tool"));
    let added = call(&mut client, "call_skill_tool", add.clone()).await;
    assert!(text(&added).contains("\n2\n"), "{added}");
    let wrong = call(
        &mut client,
        "call_skill_tool",
        json!({"skill": "alpha", "tool": "add", "arguments": {"a": "1"}}),
    )
    .await;
    assert!(text(&wrong).contains("`a` must be an integer"), "{wrong}");
    // A skill loaded by one client is not loaded for another.
    let elsewhere = call(&mut other, "call_skill_tool", add.clone()).await;
    assert!(text(&elsewhere).contains("is not loaded"), "{elsewhere}");

    call(&mut client, "unload_skill", json!({"name": "alpha"})).await;
    let gone = call(&mut client, "call_skill_tool", add).await;
    assert!(text(&gone).contains("is not loaded"), "{gone}");
    assert_eq!(client.request("tools/list", json!({})).await["result"], before["result"]);
}

#[tokio::test]
async fn dynamic_tools_are_announced_when_skills_are_loaded_and_unloaded() {
    let world = World::new();
    let server = server(&world, ToolExposure::Dynamic);
    let (mut client, mut other) = (Client::start(&server.mcp, None), Client::start(&server.mcp, None));
    client.initialize("2025-11-25").await;
    other.initialize("2025-11-25").await;
    let before = names(&mut client).await;
    assert!(!before.contains(&"add".to_owned()) && !before.contains(&"call_skill_tool".to_owned()));
    call(&mut client, "load_skill", json!({"name": "alpha"})).await;
    client.notification("notifications/tools/list_changed").await;
    let with = names(&mut client).await;
    assert_eq!(with.iter().filter(|name| !before.contains(name)).collect::<Vec<_>>(), ["add"]);
    assert!(with.is_sorted());
    assert!(text(&call(&mut client, "add", json!({"a": 41})).await).contains("42"));
    call(&mut client, "unload_skill", json!({"name": "alpha"})).await;
    client.notification("notifications/tools/list_changed").await;
    assert_eq!(names(&mut client).await, before);
    let gone = call(&mut client, "add", json!({"a": 41})).await;
    assert_eq!(gone["result"]["isError"], true);
    assert!(text(&gone).contains("There is no tool `add`"), "{gone}");
    // Loads and unloads of one client do not notify another.
    assert_eq!(names(&mut other).await, before);
    assert_eq!(other.others(), &[] as &[Value]);
}

#[tokio::test]
async fn h42_a_skill_without_tools_is_unloaded_for_the_client_that_loaded_it() {
    let world = World::new();
    let mut options = SessionOptions::default();
    options.tools.offered = OfferedTools::Only(["unload_skill".to_owned()].into());
    let server = world.server_equipped(options, |builder| builder);
    let (mut client, mut other) = (Client::start(&server.mcp, None), Client::start(&server.mcp, None));
    client.initialize("2025-11-25").await;
    other.initialize("2025-11-25").await;
    assert_eq!(names(&mut client).await, ["load_skill", "unload_skill"]);
    let alpha = json!({"name": "alpha"});
    call(&mut client, "load_skill", alpha.clone()).await;
    let elsewhere = call(&mut other, "unload_skill", alpha.clone()).await;
    assert_eq!(text(&elsewhere), "Skill not loaded: alpha");
    assert_eq!(text(&call(&mut client, "unload_skill", alpha.clone()).await), "Skill unloaded: alpha");
    assert_eq!(text(&call(&mut client, "unload_skill", alpha).await), "Skill not loaded: alpha");
}

#[tokio::test]
async fn an_invoked_skill_brings_its_tools() {
    let world = World::new();
    let server = server(&world, ToolExposure::Dynamic);
    let (mut client, mut other) = (Client::start(&server.mcp, None), Client::start(&server.mcp, None));
    client.initialize("2025-11-25").await;
    other.initialize("2025-11-25").await;
    client.request("prompts/get", json!({"name": "alpha"})).await;
    client.notification("notifications/tools/list_changed").await;
    assert!(names(&mut client).await.contains(&"add".to_owned()));
    assert!(text(&call(&mut client, "add", json!({"a": 41})).await).contains("42"));
    assert!(!names(&mut other).await.contains(&"add".to_owned()));
}

#[tokio::test]
async fn stateless_clients_can_call_skill_tools() {
    let world = World::new();
    let server = server(&world, ToolExposure::Stable);
    let mut client = Client::start(&server.mcp, None);
    let add = json!({"name": "call_skill_tool", "arguments": {"skill": "alpha", "tool": "add", "arguments": {"a": 1}}});
    assert!(text(&client.modern("tools/call", add.clone()).await).contains("is not loaded"));
    client.modern("tools/call", json!({"name": "load_skill", "arguments": {"name": "alpha"}})).await;
    assert!(text(&client.modern("tools/call", add).await).contains("\n2\n"));
}

#[test]
fn load_skill_over_http_is_not_blocked_by_a_running_tool() {
    let world = World::new();
    world.write("alpha/schema.json", DECLARED);
    let (begun, begins) = std::sync::mpsc::channel();
    let (end, ends) = std::sync::mpsc::channel::<()>();
    let ends = std::sync::Mutex::new(ends);
    let slow = move |_: &Map<String, Value>| -> Result<String, HandlerError> {
        begun.send(()).unwrap();
        let _ = ends.lock().unwrap().recv();
        Ok("done".to_owned())
    };
    let server = world.server_equipped(SessionOptions::default(), |builder| {
        builder.handler("alpha", "add", Arc::new(slow))
    });
    let http = Http::start(&server, HttpOptions::default());
    let load = json!({"name": "load_skill", "arguments": {"name": "alpha"}});
    assert_eq!(http.post("tools/call", load.clone()).0, 200);
    std::thread::scope(|scope| {
        let add = json!({"skill": "alpha", "tool": "add", "arguments": {"a": 1}});
        let run = json!({"name": "call_skill_tool", "arguments": add});
        let running = scope.spawn(|| http.post("tools/call", run));
        begins.recv().unwrap();
        assert_eq!(http.post("tools/call", load).0, 200);
        end.send(()).unwrap();
        let (status, answer) = running.join().unwrap();
        assert!(status == 200 && text(&answer).contains("done"), "{answer}");
    });
}
