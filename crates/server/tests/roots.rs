//! Skills for the files in the roots of a client.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::world::{Client, World, watched};

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

/// Answers the server's question for the roots with one.
async fn answer_with(client: &mut Client, root: &Path) {
    let asked = client.notification("roots/list").await;
    let result = json!({"roots": [{"uri": format!("file://{}", root.display()), "name": "shop"}]});
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result})).await;
}

async fn load(client: &mut Client) -> Vec<Value> {
    let params = json!({"name": "load_skill", "arguments": {"name": "alpha"}});
    let answer = client.request("tools/call", params).await;
    answer["result"]["content"].as_array().unwrap().clone()
}

/// Calls a tool until its result has a note behind it, and returns the note.
async fn note(client: &mut Client) -> String {
    let noted = async {
        loop {
            if let [_, note] = &load(client).await[..] {
                return note["text"].as_str().unwrap().to_owned();
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), noted).await.expect("a note")
}

#[tokio::test]
async fn p1_skills_for_the_files_in_the_roots_are_offered_once() {
    let (world, project) = (world(), project());
    let mut client = Client::start(&world.server(), None);
    client.initialize_with("2025-11-25", json!({"roots": {"listChanged": true}})).await;
    answer_with(&mut client, &project.path().join("deploy")).await;
    assert_eq!(
        note(&mut client).await,
        "Skills for the files you work on; load one with `load_skill` before you change these files:\n\
         <skills_for_files>\n\
         - terraform: Does terraform things well. Use when terraform is asked for.\n\
         </skills_for_files>"
    );
    assert_eq!(load(&mut client).await.len(), 1, "once is enough");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})).await;
    answer_with(&mut client, project.path()).await;
    let note = note(&mut client).await;
    assert!(note.contains("- migrations: ") && !note.contains("- terraform: "), "{note}");
    client.end().await;
}

#[tokio::test]
async fn clients_are_asked_for_roots_only_if_they_have_some_and_a_skill_is_for_files() {
    for (world, version, capabilities) in
        [(world(), "2025-11-25", json!({})), (World::new(), "2025-11-25", json!({"roots": {}}))]
    {
        let mut client = Client::start(&world.server(), None);
        client.initialize_with(version, capabilities).await;
        assert_eq!(load(&mut client).await.len(), 1);
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
        json!({}),
    ] {
        let mut client = Client::start(&world.server(), None);
        client.initialize_with("2025-06-18", json!({"roots": {}})).await;
        let asked = client.notification("roots/list").await;
        let mut message = json!({"jsonrpc": "2.0", "id": asked["id"]});
        message.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
        client.send(&message).await;
        assert_eq!(load(&mut client).await.len(), 1, "{answer}");
        client.end().await;
    }
}

#[tokio::test]
async fn a_client_that_never_answers_about_roots_is_served_and_can_leave() {
    let world = world();
    let mut client = Client::start(&world.server(), None);
    client.initialize_with("2025-11-25", json!({"roots": {}})).await;
    client.notification("roots/list").await;
    assert_eq!(load(&mut client).await.len(), 1);
    client.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_stay_current_for_a_client_with_roots() {
    let (world, project) = (world(), project());
    let server = world.server();
    let _watcher = watched(&server);
    let mut client = Client::start(&server, None);
    client.initialize_with("2025-11-25", json!({"roots": {}})).await;
    answer_with(&mut client, project.path()).await;
    note(&mut client).await;
    world.skill("gamma", "", "# Gamma\n");
    client.notification("notifications/tools/list_changed").await;
    assert!(client.request("tools/list", json!({})).await.to_string().contains("gamma"));
    client.end().await;
}
