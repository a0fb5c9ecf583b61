//! Changes while clients are connected.

use repertoire_mcp::McpOptions;
use serde_json::{Value, json};

use crate::server::watched;
use crate::world::{Client, World, changed, with_meta};

const TOOLS: &str = "notifications/tools/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";
const RESOURCES: &str = "notifications/resources/list_changed";

#[tokio::test(flavor = "multi_thread")]
async fn a_new_skill_is_announced_and_served() {
    let world = World::new();
    let server = world.server();
    let _watcher = watched(&server);
    let mut client = Client::start(&server, None);
    client.initialize("2025-11-25").await;
    client.request("tools/list", json!({})).await;
    world.skill("gamma", "", "# Gamma\n");
    for method in [TOOLS, PROMPTS, RESOURCES] {
        client.notification(method).await;
    }
    let tools = client.request("tools/list", json!({})).await.to_string();
    assert!(tools.contains("gamma"));
    let got = client.request("skills/get", json!({"uri": "skill://gamma/SKILL.md"})).await;
    assert!(got["result"]["skill"].is_object());
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_stay_current_after_a_person_invoked_a_skill() {
    let world = World::new();
    world.skill("own", "disable-model-invocation: true\n", "# Own\n");
    let server = world.server();
    let _watcher = watched(&server);
    let mut client = Client::start(&server, None);
    client.initialize("2025-11-25").await;
    client.request("prompts/get", json!({"name": "own"})).await;
    world.skill("gamma", "", "# Gamma\n");
    client.notification(TOOLS).await;
    let tools = client.request("tools/list", json!({})).await.to_string();
    assert!(tools.contains("gamma"));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_changed_lists_are_announced() {
    let world = World::new();
    let server = world.server();
    let _watcher = watched(&server);
    let mut client = Client::start(&server, None);
    client.initialize("2025-11-25").await;
    client.request("tools/list", json!({})).await;
    // Other instructions change digests and nothing else.
    world.skill("beta", "", "# Beta\n\nDo beta, and do it twice.\n");
    client.notification(RESOURCES).await;
    client.request("tools/list", json!({})).await;
    // The watcher may have seen the file half-written, which is one more change.
    let is_resources = |message: &Value| message["method"] == RESOURCES;
    assert!(client.others().iter().all(is_resources), "{:?}", client.others());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_gets_only_the_lists_it_asked_for() {
    let world = World::new();
    let server = world.server();
    let _watcher = watched(&server);
    let mut client = Client::start(&server, None);
    let params = with_meta(
        json!({"notifications": {"promptsListChanged": true, "resourceSubscriptions": ["skill://x/y"]}}),
    );
    client
        .send(&json!({"jsonrpc": "2.0", "id": 77, "method": "subscriptions/listen", "params": params}))
        .await;
    let acknowledged = client.receive().await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"]["notifications"], json!({"promptsListChanged": true}));
    let id = |message: &Value| message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].clone();
    assert_eq!(id(&acknowledged), 77);
    world.skill("gamma", "", "# Gamma\n");
    let told = client.notification(PROMPTS).await;
    assert_eq!(id(&told), 77);
    assert!(client.others().is_empty(), "{:?}", client.others());
    client.stop.stop();
    assert_eq!(client.answer_to(77).await["result"]["resultType"], "complete");
    client.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_file_is_never_served_under_an_old_digest() {
    let world = World::new();
    let server = world.server();
    let _watcher = watched(&server);
    let mut client = Client::start(&server, None);
    client.initialize("2025-11-25").await;
    let uri = "skill://alpha/references/guide%20one.md";
    let digest_of = |answer: &Value| {
        let resources = answer["result"]["skill"]["resources"].as_array().unwrap().clone();
        resources.iter().find(|resource| resource["uri"] == uri).map(|resource| resource["digest"].clone())
    };
    let get = json!({"uri": "skill://alpha/SKILL.md"});
    let before = digest_of(&client.request("skills/get", get.clone()).await);
    // As long as the other, and within the same second.
    world.write("alpha/references/guide one.md", "uno\ndue\n");
    let read = client.request("resources/read", json!({"uri": uri})).await;
    assert_eq!(read["error"]["code"], -32603, "{read}");
    assert!(read["error"]["message"].as_str().unwrap().contains("skills/get"));
    client.notification(RESOURCES).await;
    let after = digest_of(&client.request("skills/get", get.clone()).await);
    assert_ne!(before, after);
    let read = client.request("resources/read", json!({"uri": uri})).await;
    assert_eq!(read["result"]["contents"][0]["text"], "uno\ndue\n");
    // skills/get returns the new digest at once.
    world.write("alpha/references/guide one.md", "eins\nzwei\n");
    let newest = digest_of(&client.request("skills/get", get.clone()).await);
    assert_ne!(after, newest);
    // A file that came is there, one that went is not.
    world.write("alpha/references/new.md", "new\n");
    let read = client.request("resources/read", json!({"uri": "skill://alpha/references/new.md"})).await;
    assert_eq!(read["result"]["contents"][0]["text"], "new\n");
    std::fs::remove_file(world.path("alpha/references/new.md")).unwrap();
    let read = client.request("resources/read", json!({"uri": "skill://alpha/references/new.md"})).await;
    assert!(read.get("error").is_some());
    let got = client.request("skills/get", get).await.to_string();
    assert!(!got.contains("new.md"));
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_and_removed_skills_are_not_served() {
    let world = World::new();
    let server = world.server();
    let _watcher = watched(&server);
    let mut client = Client::start(&server, None);
    client.initialize("2025-11-25").await;
    let uri = json!({"uri": "skill://beta/SKILL.md"});
    assert!(client.request("skills/get", uri.clone()).await["result"].is_object());
    world.write("beta/SKILL.md", "---\nname: beta\n");
    assert_eq!(client.request("skills/get", uri.clone()).await["error"]["code"], -32602);
    std::fs::remove_dir_all(world.path("beta")).unwrap();
    assert_eq!(client.request("skills/get", uri).await["error"]["code"], -32602);
    let listed = client.request("skills/list", json!({})).await;
    assert_eq!(listed["result"]["skills"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_that_are_switched_off_are_not_announced() {
    let world = World::new();
    let server = world.server_with(changed(McpOptions::default(), |options| {
        options.tools = false;
        options.extension = false;
    }));
    let mut client = Client::start(&server, None);
    let wanted = json!({"promptsListChanged": true, "toolsListChanged": true, "resourcesListChanged": true});
    let params = with_meta(json!({"notifications": wanted}));
    client
        .send(&json!({"jsonrpc": "2.0", "id": 77, "method": "subscriptions/listen", "params": params}))
        .await;
    let acknowledged = client.receive().await;
    assert_eq!(acknowledged["params"]["notifications"], json!({"promptsListChanged": true}));
}

#[tokio::test(flavor = "multi_thread")]
async fn initialized_sent_twice_brings_each_notification_once() {
    let world = World::new();
    let server = world.server();
    let _watcher = watched(&server);
    let mut client = Client::start(&server, None);
    client.initialize("2025-11-25").await;
    for _ in 0..5 {
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    }
    client.request("tools/list", json!({})).await;
    world.skill("beta", "", "# Beta\n\nDo beta, and do it twice.\n");
    client.notification(RESOURCES).await;
    for _ in 0..5 {
        client.request("tools/list", json!({})).await;
    }
    assert!(client.others().is_empty(), "{:?}", client.others());
}
