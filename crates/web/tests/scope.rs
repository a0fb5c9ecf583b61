//! The scope of agents, over stdio and HTTP.

use repertoire::Agent;
use repertoire_model::{Pattern, Policy};
use repertoire_web::ServerOptions;
use repertoire_web::http::{HttpOptions, Token};
use serde_json::{Value, json};
use std::io::Write as _;

use crate::world::{Client, Http, Server, World, changed, event, watched};

fn agent(name: &str, allow: &str) -> Agent {
    let mut agent = Agent::new(name);
    agent.scope.allow = Some(vec![Pattern::new(allow).unwrap()]);
    agent
}

#[tokio::test]
async fn an_agent_is_served_only_skills_in_its_scope() {
    let world = World::new();
    let server = world.server_for(ServerOptions::default(), vec![agent("narrow", "beta")]);
    let mut client = Client::start(&server.mcp, Some("narrow"));
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

fn without_alpha(world: &World) -> Server {
    let mut policy = Policy::default();
    policy.disabled = vec![Pattern::new("alpha").unwrap()];
    world.server_under(ServerOptions::default(), Vec::new(), policy)
}

#[tokio::test]
async fn a_disabled_skill_does_not_exist_for_mcp_clients() {
    let world = World::new();
    let mut client = Client::start(&without_alpha(&world).mcp, None);
    let mut seen = client.initialize("2025-11-25").await.to_string();
    for method in ["tools/list", "prompts/list", "skills/list", "resources/list"] {
        seen.push_str(&client.request(method, json!({})).await.to_string());
    }
    assert!(seen.contains("beta") && !seen.contains("alpha"), "{seen}");
    for (method, params) in [
        ("skills/get", json!({"uri": "skill://NAME/SKILL.md"})),
        ("resources/read", json!({"uri": "skill://NAME/SKILL.md"})),
        ("resources/directory/read", json!({"uri": "skill://NAME"})),
        ("prompts/get", json!({"name": "NAME"})),
        ("tools/call", json!({"name": "load_skill", "arguments": {"name": "NAME"}})),
    ] {
        let mut answers = Vec::new();
        for name in ["alpha", "zlpha"] {
            let params = serde_json::from_str(&params.to_string().replace("NAME", name)).unwrap();
            let mut answer = client.request(method, params).await;
            answer["id"] = Value::Null;
            answers.push(answer.to_string().replace(name, "NAME"));
        }
        assert_eq!(answers[0], answers[1], "{method}");
    }
}

#[test]
fn a_disabled_skill_is_not_in_the_index() {
    let world = World::new();
    let http = Http::start(&without_alpha(&world), HttpOptions::default());
    assert!(!http.get("/.well-known/agent-skills/index.json").1.contains("alpha"));
    assert_eq!(http.get("/.well-known/agent-skills/alpha/SKILL.md").0, 404);
    assert_eq!(http.get("/.well-known/agent-skills/beta/SKILL.md").0, 200);
}

#[test]
fn a_token_selects_the_agent() {
    let world = World::new();
    let server = world.server_for(ServerOptions::default(), vec![agent("narrow", "beta")]);
    let (all, narrow) = ("all-0123456789abcdef", "narrow-0123456789abcdef");
    let tokens =
        vec![Token::new(all, None, "").unwrap(), Token::new(narrow, Some("narrow".to_owned()), "").unwrap()];
    let http =
        Http::start(&server, changed(HttpOptions::default(), |options| options.access.tokens = tokens));
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
    let tokens = vec![Token::new(one, None, "one").unwrap(), Token::new(two, None, "two").unwrap()];
    let http =
        Http::start(&server, changed(HttpOptions::default(), |options| options.access.tokens = tokens));
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

#[test]
fn x104_the_url_of_a_request_limits_its_skills() {
    let world = World::new();
    world.skill("gamma", "", "# Gamma\n");
    let mut narrow = agent("narrow", "*a");
    narrow.scope.deny = vec![Pattern::new("gamma").unwrap()];
    let mut bound = Agent::new("bound");
    bound.uses_skills = vec!["beta".to_owned()];
    let server = world.server_for(ServerOptions::default(), vec![narrow, bound]);
    let (all, bound) = ("all-0123456789abcdef", "bound-0123456789abcdef");
    let narrow = "narrow-0123456789abcdef";
    let tokens = [(all, None), (narrow, Some("narrow")), (bound, Some("bound"))]
        .map(|(token, agent)| Token::new(token, agent.map(str::to_owned), "").unwrap());
    let options = changed(HttpOptions::default(), |options| options.access.tokens = tokens.to_vec());
    let http = Http::start(&server, options);
    let post = |token: &str, query: &str, method: &str, params: Value| {
        let bearer = format!("Bearer {token}");
        http.post_to(&format!("/mcp{query}"), method, params, &[("Authorization", &bearer)])
    };
    let check = |token: &str, query: &str, expect: &[&str]| {
        let mut seen = String::new();
        for method in ["server/discover", "skills/list", "resources/list", "prompts/list"] {
            seen.push_str(&post(token, query, method, json!({})).1.to_string());
        }
        for name in ["alpha", "beta", "gamma"] {
            let is_expected = expect.contains(&name);
            assert_eq!(seen.contains(name), is_expected, "{query} {name}: {seen}");
            let load = json!({"name": "load_skill", "arguments": {"name": name}});
            let loaded = post(token, query, "tools/call", load).1;
            assert_eq!(loaded["result"]["isError"] != json!(true), is_expected, "{query} {name}: {loaded}");
            let uri = json!({"uri": format!("skill://{name}/SKILL.md")});
            let read = post(token, query, "resources/read", uri).1;
            assert_eq!(read["result"].is_object(), is_expected, "{query} {name}: {read}");
        }
    };
    check(all, "", &["alpha", "beta", "gamma"]);
    check(all, "?other=1", &["alpha", "beta", "gamma"]);
    check(all, "?skills=alpha", &["alpha"]);
    check(all, "?skills=%2Aa,alpha", &["alpha", "beta", "gamma"]);
    check(all, "?skills=nope", &[]);
    // It only takes away.
    check(narrow, "?skills=*", &["alpha", "beta"]);
    check(narrow, "?skills=beta&skills=gamma", &["beta"]);
    let (status, reason) = post(all, "?skills=a%20b", "skills/list", json!({}));
    let expect = "skills: `a%20b`: no skill's name contains ' ', so it matches nothing\n";
    assert_eq!((status, reason.as_str()), (400, Some(expect)));
    let (status, reason) = post(bound, "?skills=alpha", "skills/list", json!({}));
    let reason = reason.as_str().unwrap();
    assert!(reason.starts_with("skills: name the skills that are bound to the agent as well: "), "{reason}");
    assert!(status == 400 && reason.contains("`beta`"), "{reason}");
    // More sets of skills than are kept.
    for number in 0..40 {
        check(all, &format!("?skills=alpha,x{number}"), &["alpha"]);
    }
    check(all, "?skills=beta", &["beta"]);
}

#[test]
fn x104_a_session_keeps_the_skills_that_its_handshake_named() {
    let world = World::new();
    let server = world.server();
    let http = Http::start(&server, HttpOptions::default());
    let _watcher = watched(&server);
    let post = |query: &str, session: Option<&str>, method: &str, params: Value| {
        let mut headers =
            vec![("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
        headers.extend(session.map(|session| ("Mcp-Session-Id", session)));
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        http.ask("POST", &format!("/mcp{query}"), &headers, &body)
    };
    // It shows the instructions of servers, so they have the catalog.
    let client = json!({"name": "goose", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let (status, answer) = post("?skills=b*", None, "initialize", params);
    assert!(status == 200 && answer.contains("beta") && !answer.contains("alpha"), "{answer}");
    let session = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().trim();
    for query in ["", "?skills=*", "?skills=b*"] {
        let (status, answer) = post(query, Some(session), "skills/list", json!({}));
        assert!(status == 200 && answer.contains("beta") && !answer.contains("alpha"), "{query} {answer}");
    }
    // It follows the library.
    let mut stream = http.connect();
    let head = format!(
        "GET /mcp HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n\r\n",
        http.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    let headers = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("Mcp-Session-Id", session),
    ];
    assert_eq!(http.ask("POST", "/mcp", &headers, &initialized).0, 202);
    world.skill("bravo", "", "# Bravo\n");
    event(&stream, |message| message["method"] == "notifications/resources/list_changed");
    let (_, answer) = post("", Some(session), "skills/list", json!({}));
    assert!(answer.contains("bravo"), "{answer}");
}
