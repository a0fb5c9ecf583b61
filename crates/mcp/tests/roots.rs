//! Skills for the files in the roots of a client, or in the project of the server.

use std::fs;
use std::path::Path;

use repertoire::Agent;
use repertoire_mcp::McpOptions;
use repertoire_model::Pattern;
use serde_json::{Value, json};

use crate::server::watched;
use crate::world::{Client, World, changed};

/// A library with a skill for files of Terraform, and one for migrations.
fn world() -> World {
    let world = World::new();
    world.skill("terraform", "paths: [\"*.tf\"]\n", "# Terraform\n");
    world.skill("migrations", "paths: [\"api/migrations/**\"]\n", "# Migrations\n");
    world
}

/// A project with files of Terraform.
fn project() -> tempfile::TempDir {
    let project = tempfile::tempdir().unwrap();
    for path in [".git/config", "deploy/main.tf", "api/migrations/1.sql", "api/main.py"] {
        let path = project.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    project
}

/// Returns the options of a server that was started in `project`.
fn options_in(project: &Path) -> McpOptions {
    changed(McpOptions::default(), |options| options.project = Some(project.to_owned()))
}

/// Loads a skill, and answers the server's question for the roots meanwhile if there is an `answer`.
async fn load(client: &mut Client, answer: Option<Value>) -> Vec<Value> {
    let params = json!({"name": "load_skill", "arguments": {"name": "alpha"}});
    let id = client.start_request("tools/call", params).await;
    if let Some(answer) = answer {
        let asked = client.notification("roots/list").await;
        let mut message = json!({"jsonrpc": "2.0", "id": asked["id"]});
        message.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
        client.send(&message).await;
    }
    client.answer_to(id).await["result"]["content"].as_array().unwrap().clone()
}

/// Returns the answer of a client with one root.
fn root(path: &Path) -> Option<Value> {
    Some(json!({"result": {"roots": [{"uri": format!("file://{}", path.display()), "name": "shop"}]}}))
}

fn note(content: &[Value]) -> &str {
    assert_eq!(content.len(), 2, "{content:?}");
    content[1]["text"].as_str().unwrap()
}

#[tokio::test]
async fn p1_skills_for_the_files_in_the_roots_are_offered_once() {
    let (world, project) = (world(), project());
    let mut client = Client::start(&world.server(), None);
    client.initialize_with("2025-11-25", json!({"roots": {"listChanged": true}})).await;
    let content = load(&mut client, root(&project.path().join("deploy"))).await;
    assert_eq!(
        note(&content),
        "Skills for some files of this project; load one with `load_skill` before you change such files:\n\
         <skills_for_files>\n\
         - terraform: Does terraform things well. Use when terraform is asked for.\n\
         </skills_for_files>"
    );
    assert_eq!(load(&mut client, None).await.len(), 1, "once is enough");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})).await;
    // The notification is handled by a task of its own.
    client.request("ping", json!({})).await;
    let content = load(&mut client, root(project.path())).await;
    assert!(note(&content).contains("- migrations: ") && !note(&content).contains("- terraform: "));
    client.end().await;
}

#[tokio::test]
async fn without_roots_the_files_are_those_of_the_project_of_the_server() {
    let (world, project) = (world(), project());
    let options = options_in(&project.path().join("api"));
    let server = world.server_with(options);
    let mut older = Client::start(&server, None);
    older.initialize("2025-06-18").await;
    let content = load(&mut older, None).await;
    assert!(note(&content).contains("- migrations: ") && !note(&content).contains("- terraform: "));
    older.end().await;
    let mut newer = Client::start(&server, None);
    let params = json!({"name": "load_skill", "arguments": {"name": "alpha"}});
    let answer = newer.modern("tools/call", params).await;
    assert!(note(answer["result"]["content"].as_array().unwrap()).contains("- migrations: "));
    newer.end().await;
}

#[tokio::test]
async fn clients_are_asked_for_roots_only_if_they_have_some_and_answer_and_a_skill_is_for_files() {
    let roots = json!({"roots": {}});
    for (world, version, capabilities) in [
        (world(), "2025-11-25", json!({})),
        (World::new(), "2025-11-25", roots.clone()),
        // Clients of these versions may not answer, and end at the cancellation.
        (world(), "2025-03-26", roots.clone()),
        (world(), "2024-11-05", roots),
    ] {
        let mut client = Client::start(&world.server(), None);
        client.initialize_with(version, capabilities).await;
        assert_eq!(load(&mut client, None).await.len(), 1);
        assert!(client.others().is_empty(), "{:?}", client.others());
        client.end().await;
    }
}

#[tokio::test]
async fn bad_answers_about_roots_are_no_error() {
    let world = world();
    for answer in [
        json!({"error": {"code": -32601, "message": "method not found"}}),
        json!({"result": {"roots": [{"uri": "https://example.com"}, {"uri": "file:///no/such/place"}]}}),
        json!({"result": {"roots": "none"}}),
    ] {
        let mut client = Client::start(&world.server(), None);
        client.initialize_with("2025-06-18", json!({"roots": {}})).await;
        assert_eq!(load(&mut client, Some(answer.clone())).await.len(), 1, "{answer}");
        client.end().await;
    }
}

#[tokio::test]
async fn a_client_that_never_answers_about_roots_gets_its_result() {
    let world = world();
    let mut client = Client::start(&world.server(), None);
    client.initialize_with("2025-11-25", json!({"roots": {}})).await;
    assert_eq!(load(&mut client, None).await.len(), 1);
    let asked = client.notification("roots/list").await;
    let cancelled = client.notification("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], asked["id"]);
    client.end().await;
}

#[tokio::test]
async fn a_call_that_is_cancelled_leaves_the_note_for_the_next() {
    let (world, project) = (world(), project());
    let mut client = Client::start(&world.server(), None);
    client.initialize_with("2025-11-25", json!({"roots": {}})).await;
    let params = json!({"name": "load_skill", "arguments": {"name": "alpha"}});
    let id = client.start_request("tools/call", params).await;
    client.notification("roots/list").await;
    let cancelled = json!({"requestId": id});
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled})).await;
    assert!(note(&load(&mut client, root(project.path())).await).contains("- terraform: "));
    client.end().await;
}

#[tokio::test]
async fn roots_that_change_while_they_are_named_are_asked_for_again() {
    let (world, project) = (world(), project());
    let mut client = Client::start(&world.server(), None);
    client.initialize_with("2025-11-25", json!({"roots": {"listChanged": true}})).await;
    let params = json!({"name": "load_skill", "arguments": {"name": "alpha"}});
    let id = client.start_request("tools/call", params).await;
    let asked = client.notification("roots/list").await;
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})).await;
    client.request("ping", json!({})).await;
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": []}})).await;
    client.answer_to(id).await;
    assert!(note(&load(&mut client, root(project.path())).await).contains("- terraform: "));
    client.end().await;
}

#[tokio::test]
async fn of_several_calls_at_once_one_gets_the_note() {
    let (world, project) = (world(), project());
    let mut client = Client::start(&world.server(), None);
    client.initialize_with("2025-11-25", json!({"roots": {}})).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let params = json!({"name": "load_skill", "arguments": {"name": "alpha"}});
        ids.push(client.start_request("tools/call", params).await);
    }
    let asked = client.notification("roots/list").await;
    let mut message = root(project.path()).unwrap();
    message["jsonrpc"] = json!("2.0");
    message["id"] = asked["id"].clone();
    client.send(&message).await;
    let mut blocks = Vec::new();
    for id in ids {
        blocks.push(client.answer_to(id).await["result"]["content"].as_array().unwrap().len());
    }
    blocks.sort_unstable();
    assert_eq!(blocks, [1, 1, 2]);
    assert!(client.others().is_empty(), "{:?}", client.others());
    client.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn skills_for_files_that_come_later_are_offered() {
    let (world, project) = (World::new(), project());
    let options = options_in(project.path());
    let server = world.server_with(options);
    let _watcher = watched(&server);
    let mut client = Client::start(&server, None);
    client.initialize("2025-11-25").await;
    assert_eq!(load(&mut client, None).await.len(), 1);
    world.skill("terraform", "paths: [\"*.tf\"]\n", "# Terraform\n");
    client.notification("notifications/tools/list_changed").await;
    assert!(note(&load(&mut client, None).await).contains("- terraform: "));
    client.end().await;
}

#[tokio::test]
async fn skills_that_an_agent_may_not_see_are_not_offered() {
    let (world, project) = (world(), project());
    let options = options_in(project.path());
    let mut agent = Agent::new("narrow");
    agent.scope.deny = vec![Pattern::new("terra*").unwrap()];
    let mut client = Client::start(&world.server_for(options, vec![agent]), Some("narrow"));
    client.initialize("2025-11-25").await;
    let content = load(&mut client, None).await;
    assert!(note(&content).contains("- migrations: ") && !note(&content).contains("terraform"));
    client.end().await;
}

#[tokio::test]
async fn a_skill_that_was_loaded_is_not_offered() {
    let (world, project) = (world(), project());
    let options = options_in(project.path());
    let mut client = Client::start(&world.server_with(options), None);
    client.initialize("2025-11-25").await;
    let params = json!({"name": "load_skill", "arguments": {"name": "terraform"}});
    let answer = client.request("tools/call", params).await;
    let content = answer["result"]["content"].as_array().unwrap();
    assert!(note(content).contains("- migrations: ") && !note(content).contains("- terraform: "));
    client.end().await;
}
