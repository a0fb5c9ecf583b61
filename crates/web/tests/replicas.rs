//! Servers that are replaced while clients use them.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use repertoire_web::http::{HttpLimits, HttpOptions, Token};
use serde_json::json;

use crate::world::{Http, World, changed, event, watched};

const JSON: [(&str, &str); 2] =
    [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];

const TOKENS: [&str; 2] = ["0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"];

/// Returns the options of a server with two tokens.
fn with_tokens() -> HttpOptions {
    let token = |secret: &str, name: &str| {
        let mut token = Token::new(secret, None, "").unwrap();
        token.name = name.into();
        token
    };
    changed(HttpOptions::default(), |options| {
        options.access.tokens = vec![token(TOKENS[0], "ann"), token(TOKENS[1], "bob")];
    })
}

/// Posts a message of a session, and returns the status and everything that came back.
fn post(
    http: &Http,
    path: &str,
    token: &str,
    session: Option<&str>,
    message: &serde_json::Value,
) -> (u16, String) {
    let bearer = format!("Bearer {token}");
    let mut headers = vec![JSON[0], JSON[1], ("Authorization", bearer.as_str())];
    headers.extend(session.map(|session| ("Mcp-Session-Id", session)));
    http.ask("POST", path, &headers, &message.to_string())
}

/// Starts a session, and returns its id.
fn start(http: &Http, path: &str, token: &str) -> String {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let (status, answer) = post(http, path, token, None, &message);
    assert_eq!(status, 200, "{answer}");
    answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().trim().to_owned()
}

fn load(name: &str) -> serde_json::Value {
    let params = json!({"name": "load_skill", "arguments": {"name": name}});
    json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})
}

#[test]
fn a_server_that_drains_answers_requests_and_is_not_ready() {
    let world = World::new();
    let mut limits = HttpLimits::default();
    limits.drain = Duration::from_secs(600);
    let http =
        Http::start(&world.server(), changed(HttpOptions::default(), |options| options.limits = limits));
    assert_eq!(http.get("/readyz").0, 200);
    let mut kept = http.connect();
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", http.address);
    kept.write_all(request.as_bytes()).unwrap();
    let mut answer = vec![0; 12];
    kept.read_exact(&mut answer).unwrap();
    http.stop.stop();
    let (status, answer) = http.get("/readyz");
    assert!(status == 503 && answer.contains("about to stop"), "{answer}");
    assert_eq!(http.get("/.well-known/agent-skills/index.json").0, 200);
    // A connection that a proxy keeps is closed with its next response.
    kept.write_all(request.as_bytes()).unwrap();
    let mut rest = String::new();
    kept.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("connection: close") && rest.ends_with("ok\n"), "{rest}");
    // A second call ends the wait.
    http.end();
}

#[test]
fn a_session_goes_on_at_another_server() {
    let world = World::new();
    let (server, other) = (world.server(), world.server());
    let (one, two) = (Http::start(&server, with_tokens()), Http::start(&other, with_tokens()));
    let _watcher = watched(&other);
    let [ann, bob] = TOKENS;
    let session = start(&one, "/mcp", ann);
    assert_eq!(post(&one, "/mcp", ann, Some(&session), &load("alpha")).0, 200);
    one.end();
    let (status, answer) = post(&two, "/mcp", ann, Some(&session), &load("alpha"));
    assert!(status == 200 && answer.contains("# Alpha"), "{answer}");
    assert_eq!(post(&two, "/mcp", bob, Some(&session), &load("alpha")).0, 404, "it is ann's session");

    // Its event stream tells of changes.
    let mut stream = two.connect();
    let head = format!(
        "GET /mcp HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\nAuthorization: Bearer {ann}\r\n\
         Mcp-Session-Id: {session}\r\nLast-Event-ID: 7\r\n\r\n",
        two.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut start = [0; 12];
    stream.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
    world.skill("zeta", "", "# Zeta\n");
    event(&stream, |message| message["method"] == "notifications/prompts/list_changed");

    let (bearer, id) = (format!("Bearer {ann}"), session.as_str());
    let headers = [("Authorization", bearer.as_str()), ("Mcp-Session-Id", id)];
    assert_eq!(two.ask("DELETE", "/mcp", &headers, "").0, 204);
    assert_eq!(post(&two, "/mcp", ann, Some(&session), &load("alpha")).0, 404, "it was ended");
}

#[test]
fn a_session_is_ended_at_a_server_that_never_had_it() {
    let world = World::new();
    let (one, two) =
        (Http::start(&world.server(), with_tokens()), Http::start(&world.server(), with_tokens()));
    let session = start(&one, "/mcp", TOKENS[0]);
    let bearer = format!("Bearer {}", TOKENS[0]);
    let headers = [("Authorization", bearer.as_str()), ("Mcp-Session-Id", session.as_str())];
    assert_eq!(two.ask("DELETE", "/mcp", &headers, "").0, 204);
    assert_eq!(two.ask("DELETE", "/mcp", &headers, "").0, 404);
    assert_eq!(post(&two, "/mcp", TOKENS[0], Some(&session), &load("alpha")).0, 404);
}

#[test]
fn a_session_for_some_skills_has_no_others_at_another_server() {
    let world = World::new();
    world.skill("omega", "", "# Omega\n");
    let (one, two) =
        (Http::start(&world.server(), with_tokens()), Http::start(&world.server(), with_tokens()));
    let session = start(&one, "/mcp?skills=alpha", TOKENS[0]);
    one.end();
    let ask = |name: &str| post(&two, "/mcp", TOKENS[0], Some(&session), &load(name)).1;
    assert!(ask("alpha").contains("# Alpha"));
    let refused = ask("omega");
    assert!(refused.contains("\"isError\":true") && !refused.contains("# Omega"), "{refused}");
}
