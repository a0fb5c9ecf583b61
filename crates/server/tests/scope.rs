//! The scope of agents, over stdio and HTTP.

use repertoire::Agent;
use repertoire_model::Pattern;
use repertoire_server::ServerOptions;
use repertoire_server::http::{HttpOptions, Token};
use serde_json::json;

use crate::world::{Client, Http, World, changed};

fn agent(name: &str, allow: &str) -> Agent {
    let mut agent = Agent::new(name);
    agent.scope.allow = Some(vec![Pattern::new(allow).unwrap()]);
    agent
}

#[tokio::test]
async fn an_agent_is_served_only_skills_in_its_scope() {
    let world = World::new();
    let server = world.server_for(ServerOptions::default(), vec![agent("narrow", "beta")]);
    let mut client = Client::start(&server, Some("narrow"));
    let everything = client.initialize("2025-11-25").await.to_string();
    let mut seen = everything;
    for method in ["tools/list", "prompts/list", "skills/list", "resources/list"] {
        seen.push_str(&client.request(method, json!({})).await.to_string());
    }
    assert!(seen.contains("beta") && !seen.contains("alpha"), "{seen}");
    for (method, params) in [
        ("skills/get", json!({"uri": "skill://alpha/SKILL.md"})),
        ("resources/read", json!({"uri": "skill://alpha/SKILL.md"})),
        ("resources/directory/read", json!({"uri": "skill://alpha"})),
        ("prompts/get", json!({"name": "alpha"})),
    ] {
        let answer = client.request(method, params).await;
        assert!(answer["error"].is_object(), "{method}: {answer}");
    }
    let loaded =
        client.request("tools/call", json!({"name": "load_skill", "arguments": {"name": "alpha"}})).await;
    assert_eq!(loaded["result"]["isError"], json!(true));
    assert!(!loaded.to_string().contains("Do alpha."));
}

#[test]
fn a_token_selects_the_agent() {
    let world = World::new();
    let server = world.server_for(ServerOptions::default(), vec![agent("narrow", "beta")]);
    let (all, narrow) = ("all-0123456789abcdef", "narrow-0123456789abcdef");
    let tokens =
        vec![Token::new(all, None, "").unwrap(), Token::new(narrow, Some("narrow".to_owned()), "").unwrap()];
    let http = Http::start(&server, changed(HttpOptions::default(), |options| options.tokens = tokens));
    let listed = |token: Option<&str>| {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let headers: Vec<(&str, &str)> =
            bearer.iter().map(|bearer| ("Authorization", bearer.as_str())).collect();
        let (status, answer) = http.post_with("skills/list", json!({}), &headers);
        let skills = answer["result"]["skills"].as_array().map(|skills| {
            skills.iter().map(|skill| skill["uri"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
        });
        (status, skills.unwrap_or_default())
    };
    assert_eq!(listed(Some(all)), (200, "skill://alpha/SKILL.md skill://beta/SKILL.md".to_owned()));
    assert_eq!(listed(Some(narrow)), (200, "skill://beta/SKILL.md".to_owned()));
    let texts = [None, Some("Bearer wrong-0123456789abcdef")].map(|bearer| {
        let headers: Vec<(&str, &str)> = bearer.map(|bearer| ("Authorization", bearer)).into_iter().collect();
        http.ask("POST", "/mcp", &headers, "").1
    });
    assert!(texts[0].ends_with("missing token; send Authorization: Bearer TOKEN\n"), "{texts:?}");
    assert!(texts[1].ends_with("invalid token\n"), "{texts:?}");
    assert_eq!(listed(None).0, 401);
    assert_eq!(listed(Some("wrong-0123456789abcdef")).0, 401);
    let bearer = format!("Bearer {narrow}");
    let get = |path: &str, headers: &[(&str, &str)]| http.ask("GET", path, headers, "");
    let (status, index) = get("/.well-known/agent-skills/index.json", &[("Authorization", &bearer)]);
    assert!(status == 200 && !index.contains("alpha"), "{index}");
    assert_eq!(get("/.well-known/agent-skills/alpha.tar.gz", &[("Authorization", &bearer)]).0, 404);
    assert_eq!(get("/.well-known/agent-skills/index.json", &[]).0, 401);
    assert_eq!(get(&format!("/.well-known/agent-skills/index.json?token={all}"), &[]).0, 401);
    assert_eq!(get("/healthz", &[]).0, 200, "health checks need no token");
}

#[test]
fn a_session_belongs_to_its_token() {
    let world = World::new();
    let server = world.server();
    let (one, two) = ("one-0123456789abcdef", "two-0123456789abcdef");
    let tokens = vec![Token::new(one, None, "").unwrap(), Token::new(two, None, "").unwrap()];
    let http = Http::start(&server, changed(HttpOptions::default(), |options| options.tokens = tokens));
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string();
    let post = |token: &str, session: Option<&str>, body: &str| {
        let bearer = format!("Bearer {token}");
        let mut headers = vec![
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        headers.extend(session.map(|session| ("Mcp-Session-Id", session)));
        http.ask("POST", "/mcp", &headers, body)
    };
    let (status, answer) = post(one, None, &initialize);
    assert_eq!(status, 200);
    let session = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().trim();
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}).to_string();
    assert_eq!(post(one, Some(session), &list).0, 200);
    assert_eq!(post(two, Some(session), &list).0, 404);
}
