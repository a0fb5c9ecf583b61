//! HTTP as it is on the wire.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use repertoire::session::ToolExposure;
use repertoire::{HandlerError, SessionOptions};
use repertoire_server::http::{HttpOptions, Limits, Token};
use repertoire_server::{ErrorKind, Server, Stop};
use serde_json::{Map, Value, json};

use crate::world::{Http, MODERN, PATIENCE, World, event, watched, with_meta};

const INDEX: &str = "/.well-known/agent-skills/index.json";

/// Shakes hands, and returns the conversation that was begun.
fn shake_hands(http: &Http) -> String {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string();
    let (_, answer) = http.ask("POST", "/mcp", &JSON, &initialize);
    let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().trim().to_owned();
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    let headers = [JSON[0], JSON[1], ("Mcp-Session-Id", id.as_str())];
    assert_eq!(http.ask("POST", "/mcp", &headers, &initialized).0, 202);
    id
}

const JSON: [(&str, &str); 2] =
    [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];

#[test]
fn requests_are_answered_without_a_handshake() {
    let world = World::new();
    let http = Http::start(&world.server(), HttpOptions::default());
    for (method, params) in [
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        ("tools/call", json!({"name": "load_skill", "arguments": {"name": "alpha"}})),
        ("skills/list", json!({})),
        ("skills/get", json!({"uri": "skill://alpha/SKILL.md"})),
        ("resources/read", json!({"uri": "skill://alpha/SKILL.md"})),
        ("resources/list", json!({})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "alpha"})),
    ] {
        let (status, answer) = http.post(method, params);
        assert_eq!(
            (status, &answer["result"]["resultType"]),
            (200, &json!("complete")),
            "{method}: {answer}"
        );
        assert_eq!(
            answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "repertoire",
            "{method}"
        );
    }
    let (status, answer) = http.post("nope", json!({}));
    assert_eq!((status, answer["error"]["code"].as_i64()), (404, Some(-32601)));
}

#[test]
fn what_a_person_invoked_is_there_for_the_audience_where_there_are_no_conversations() {
    let world = World::new();
    world.skill("own", "disable-model-invocation: true\n", "# Own\n");
    world.write("own/references/more.md", "more\n");
    let http = Http::start(&world.server(), HttpOptions::default());
    let read = || http.post("resources/read", json!({"uri": "skill://own/references/more.md"})).1;
    assert!(read()["error"].is_object());
    assert!(http.post("prompts/get", json!({"name": "own"})).1["result"].is_object());
    assert_eq!(read()["result"]["contents"][0]["text"], "more\n");
}

#[test]
fn headers_are_held_against_the_body() {
    let world = World::new();
    let http = Http::start(&world.server(), HttpOptions::default());
    let body = |method: &str| {
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": with_meta(json!({}))}).to_string()
    };
    let post = |more: &[(&str, &str)], body: &str| {
        let headers: Vec<(&str, &str)> = JSON.iter().chain(more).copied().collect();
        http.ask("POST", "/mcp", &headers, body)
    };
    let (status, answer) =
        post(&[("MCP-Protocol-Version", MODERN), ("Mcp-Method", "tools/call")], &body("tools/list"));
    assert!(status == 400 && answer.contains("-32020"), "{answer}");
    let (status, answer) = post(&[("MCP-Protocol-Version", MODERN)], &body("tools/list"));
    assert!(status == 400 && answer.contains("-32020"), "{answer}");
    let (status, _) = post(&[("MCP-Protocol-Version", "1999-01-01")], &body("tools/list"));
    assert_eq!(status, 400);
    let today = [("MCP-Protocol-Version", MODERN), ("Mcp-Method", "initialize")];
    let (status, answer) = post(&today, &body("initialize"));
    assert!(status == 404 && answer.contains("-32601"), "{answer}");
    assert_eq!(http.ask("PUT", "/mcp", &JSON, "").0, 405);
    let (status, _) =
        http.ask("GET", "/mcp", &[("Accept", "text/event-stream"), ("MCP-Protocol-Version", MODERN)], "");
    assert_eq!(status, 405, "there are no streams of that kind any more");
}

#[test]
fn bodies_that_are_no_messages() {
    let world = World::new();
    let limits = Limits { body_bytes: 10_000, ..Limits::default() };
    let http = Http::start(&world.server(), HttpOptions { limits, ..HttpOptions::default() });
    for (body, code) in [("not json", "-32700"), ("", ""), ("[]", "-32600"), ("{\"id\":1}", "-32600")] {
        let (status, answer) = http.ask("POST", "/mcp", &JSON, body);
        assert!(status == 400 && answer.contains(code), "{body}: {answer}");
    }
    assert_eq!(http.ask("POST", "/mcp", &JSON, &"x".repeat(10_001)).0, 413);
    assert_eq!(http.ask("POST", "/mcp", &[JSON[1], ("Content-Type", "text/plain")], "{}").0, 415);
    assert_eq!(http.ask("POST", "/mcp", &[JSON[0]], "{}").0, 406);
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string();
    for (kind, accepted) in [
        ("application/json", "*/*"),
        ("Application/JSON; charset=utf-8", "application/json, text/plain, */*"),
        ("application/json", "APPLICATION/*, Text/*"),
    ] {
        let headers = [("Content-Type", kind), ("Accept", accepted)];
        assert_eq!(http.ask("POST", "/mcp", &headers, &initialize).0, 200, "{kind} {accepted}");
    }
    assert_eq!(http.exchange("GARBAGE\r\n\r\n").0, 400);
    assert_eq!(http.ask("GET", INDEX, &[("X", &"x".repeat(60_000))], "").0, 200);
    assert_eq!(http.post("tools/list", json!({})).0, 200, "the next request is served");
}

#[test]
fn bodies_are_limited_each_and_all_together() {
    let world = World::new();
    let limits = Limits { all_body_bytes: 1024 * 1024, ..Limits::default() };
    let http = Http::start(&world.server(), HttpOptions { limits, ..HttpOptions::default() });
    let head = |length: usize, more: &str| {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {length}\r\n{more}\r\n",
            http.address
        )
    };
    let is_told = |(status, answer): (u16, String)| {
        assert_eq!(status, 413, "{answer}");
        assert!(answer.contains("connection: close\r\n"), "{answer}");
        assert!(answer.ends_with("\r\n\r\nthe body is too large; send at most 4194304 bytes\n"), "{answer}");
    };
    // Whoever asks beforehand is told before anything is sent, everybody else when everything is.
    is_told(http.exchange(head(4 * 1024 * 1024 + 1, "Expect: 100-continue\r\n")));
    let body = "x".repeat(5_000_000);
    for _ in 0..5 {
        is_told(http.exchange(head(body.len(), "") + &body));
    }
    let chunked = head(0, "").replace("Content-Length: 0", "Transfer-Encoding: chunked");
    is_told(http.exchange(format!("{chunked}{:x}\r\n{body}\r\n0\r\n\r\n", body.len())));
    let mut half = http.connect();
    half.write_all(head(1024 * 1024, "").as_bytes()).unwrap();
    half.write_all(&vec![b' '; 1024 * 1024 - 1]).unwrap();
    let large = format!("{}{}", " ".repeat(512 * 1024), json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    let is_refused = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        let (status, answer) = http.ask("POST", "/mcp", &JSON, &large);
        assert!(status != 503 || answer.contains("too many large bodies"), "{answer}");
        status == 503
    });
    assert!(is_refused, "one that stands still takes nearly all the room");
    assert_eq!(http.post("tools/list", json!({})).0, 200, "there is room for small ones");
    drop(half);
    let is_heard = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        http.ask("POST", "/mcp", &JSON, &large).0 == 400
    });
    assert!(is_heard, "it is given back");
}

#[test]
fn whatever_is_refused_says_what_to_do_in_one_line() {
    let world = World::new();
    let http = Http::start(&world.server(), HttpOptions::default());
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let check = |method: &str, headers: &[(&str, &str)], body: &str, expect: (u16, &str)| {
        let (status, answer) = http.ask(method, "/mcp", headers, body);
        let text = answer.split_once("\r\n\r\n").map(|(_, text)| text).unwrap_or_default();
        assert_eq!((status, text), (expect.0, format!("{}\n", expect.1).as_str()), "{method} {headers:?}");
        assert!(answer.contains("content-type: text/plain"), "{answer}");
        assert!(status != 405 || answer.contains("allow: "), "{answer}");
    };
    check("PUT", &JSON, "", (405, "this method is not allowed here; send requests with POST"));
    check("GET", &[], "", (406, "the client must accept text/event-stream"));
    let both = "the client must accept both application/json and text/event-stream";
    check("POST", &[JSON[0]], &ping, (406, both));
    let plain = [JSON[1], ("Content-Type", "text/plain")];
    check("POST", &plain, &ping, (415, "the body must be of the type application/json"));
    let gone = [JSON[0], JSON[1], ("Mcp-Session-Id", "gone")];
    let none = "there is no such conversation, or no longer; begin one with initialize";
    check("POST", &gone, &ping, (404, none));
    check("DELETE", &gone, "", (404, none));
    let alone = "the request belongs to no conversation; begin one with initialize and name it in Mcp-Session-Id, or send MCP-Protocol-Version: 2026-07-28, which has none";
    check("GET", &[("Accept", "text/event-stream")], "", (400, alone));
    check("DELETE", &[], "", (400, alone));
    check("POST", &JSON, &ping, (400, alone));
    let unknown = "this MCP-Protocol-Version is not known; send one of 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28";
    check("POST", &[JSON[0], JSON[1], ("MCP-Protocol-Version", "1999")], &ping, (400, unknown));
}

#[test]
fn pages_and_names_from_elsewhere_are_turned_away() {
    let world = World::new();
    let origins = vec!["https://app.test".to_owned()];
    let http =
        Http::start(&world.server(), HttpOptions { allowed_origins: origins, ..HttpOptions::default() });
    for path in ["/mcp", "/.well-known/agent-skills/index.json", "/.well-known/skills/index.json"] {
        assert_eq!(http.ask("GET", path, &[("Origin", "http://evil.test")], "").0, 403, "{path}");
        assert_eq!(http.ask("GET", path, &[("Host", "evil.test")], "").0, 403, "{path}");
        assert_eq!(http.ask("GET", path, &[("Origin", "null")], "").0, 403, "{path}");
        assert_eq!(http.ask("OPTIONS", path, &[("Origin", "http://evil.test")], "").0, 403, "{path}");
    }
    let own = format!("http://127.0.0.1:{}", http.address.port());
    for origin in [own.as_str(), "https://app.test"] {
        let (status, answer) = http.ask("GET", INDEX, &[("Origin", origin)], "");
        assert_eq!(status, 200);
        assert!(answer.contains(&format!("access-control-allow-origin: {origin}")), "{answer}");
        assert_eq!(http.ask("OPTIONS", "/mcp", &[("Origin", origin)], "").0, 204);
    }
    let (_, answer) = http.get(INDEX);
    assert!(!answer.contains("access-control-allow-origin"), "nobody asked");
}

#[test]
fn an_address_that_others_reach_needs_a_token() {
    let world = World::new();
    let server = world.server();
    for address in ["0.0.0.0:0", "[::]:0"] {
        let options = HttpOptions { address: address.parse().unwrap(), ..HttpOptions::default() };
        assert_eq!(server.bind_http(options).err().unwrap().kind(), ErrorKind::TokenNeeded);
    }
}

#[test]
fn slow_clients_are_not_waited_for() {
    let world = World::new();
    let time = Duration::from_millis(300);
    let limits = Limits { head_time: time, body_time: time, ..Limits::default() };
    let http = Http::start(&world.server(), HttpOptions { limits, ..HttpOptions::default() });
    let started = Instant::now();
    let host = http.address;
    let slow_body = format!(
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
    );
    // Nothing, half a head, half a body: each is ended.
    for bytes in ["", "POST /mcp HTTP/1.1\r\nHost: x", slow_body.as_str()] {
        let (status, _) = http.exchange(bytes);
        assert!(matches!(status, 0 | 408), "{status} for {bytes:?}");
    }
    // One that was answered once and asks nothing more is ended too.
    let (status, _) = http.exchange(format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    assert_eq!(status, 200);
    assert!(started.elapsed() < Duration::from_secs(10));
    assert_eq!(http.get("/readyz").0, 200);
}

#[test]
fn there_is_only_so_much_room() {
    let world = World::new();
    let limits = Limits { connections: 4, ..Limits::default() };
    let http = Http::start(&world.server(), HttpOptions { limits, ..HttpOptions::default() });
    let idle: Vec<_> = (0..4).map(|_| http.connect()).collect();
    // The server may not have taken all of them yet.
    let turned_away = (0..50).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        http.get(INDEX).0 == 503
    });
    assert!(turned_away);
    assert!(http.get(INDEX).1.contains("retry-after: 1\r\n"));
    assert_eq!(http.get("/healthz").0, 200, "whoever watches over the server is told that it is well");
    assert_eq!(http.get("/readyz").0, 200);
    drop(idle);
    let is_served = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        http.get(INDEX).0 == 200
    });
    assert!(is_served, "room is given back");
}

#[test]
fn a_crowd_that_asks_nothing_hides_nothing() {
    let world = World::new();
    let limits = Limits { connections: 2, head_time: Duration::from_secs(15), ..Limits::default() };
    let http = Http::start(&world.server(), HttpOptions { limits, ..HttpOptions::default() });
    let _idle: Vec<_> = (0..64).map(|_| http.connect()).collect();
    let is_told = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        http.get("/healthz").0 == 200
    });
    assert!(is_told);
}

#[test]
fn streams_and_conversations_are_counted() {
    let world = World::new();
    let limits = Limits { streams: 2, sessions: 2, ..Limits::default() };
    let http = Http::start(&world.server(), HttpOptions { limits, ..HttpOptions::default() });
    let listen = || {
        let params = with_meta(json!({"notifications": {"toolsListChanged": true}}));
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params})
            .to_string();
        let mut stream = http.connect();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: {MODERN}\r\nMcp-Method: subscriptions/listen\r\nContent-Length: {}\r\n\r\n{body}",
            http.address,
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut start = [0; 12];
        stream.read_exact(&mut start).unwrap();
        (stream, String::from_utf8_lossy(&start).into_owned())
    };
    let (one, two, mut three) = (listen(), listen(), listen());
    assert_eq!(
        (one.1.as_str(), two.1.as_str(), three.1.as_str()),
        ("HTTP/1.1 200", "HTTP/1.1 200", "HTTP/1.1 503")
    );
    let mut refusal = String::new();
    three.0.read_to_string(&mut refusal).unwrap();
    assert!(refusal.contains("connection: close"), "who is sent away keeps no place: {refusal}");
    drop((one, two));
    assert!((0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        listen().1 == "HTTP/1.1 200"
    }));
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string();
    let begin = || {
        let (status, answer) = http.ask("POST", "/mcp", &JSON, &initialize);
        assert_eq!(status, 200);
        let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        id.unwrap().trim().to_owned()
    };
    let ping = |id: &str| {
        let body = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}).to_string();
        http.ask("POST", "/mcp", &[JSON[0], JSON[1], ("Mcp-Session-Id", id)], &body)
    };
    let (one, two) = (begin(), begin());
    assert_eq!(ping(&one).0, 200);
    let three = begin();
    let (status, answer) = ping(&two);
    assert_eq!(status, 404, "the longest idle one made room");
    assert!(answer.ends_with("there is no such conversation, or no longer; begin one with initialize\n"));
    assert_eq!((ping(&one).0, ping(&three).0), (200, 200));
    assert_eq!(http.post("tools/list", json!({})).0, 200, "what needs no conversation is served");
}

/// A server whose skill `alpha` has a tool that waits for a word.
struct Waiting {
    server: Server,
    has_begun: mpsc::Receiver<()>,
    go_on: mpsc::Sender<()>,
}

impl Waiting {
    fn new(world: &World) -> Self {
        let declared = r#"[{"name": "wait", "description": "Waits.", "parameters": {"type": "object"}}]"#;
        world.write("alpha/schema.json", declared);
        let (begun, has_begun) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel();
        let (begun, may_go_on) = (Mutex::new(begun), Mutex::new(may_go_on));
        let wait = move |_: &Map<String, Value>| -> Result<String, HandlerError> {
            begun.lock().unwrap().send(()).unwrap();
            may_go_on.lock().unwrap().recv_timeout(PATIENCE).unwrap();
            Ok("waited".to_owned())
        };
        let mut options = SessionOptions::default();
        options.exposure = ToolExposure::Stable;
        let server =
            world.server_equipped(options, |builder| builder.handler("alpha", "wait", Arc::new(wait)));
        Self { server, has_begun, go_on }
    }

    /// Returns the parameters of the call that waits.
    fn call() -> Value {
        let arguments = json!({"skill": "alpha", "tool": "wait", "arguments": {}});
        json!({"name": "call_skill_tool", "arguments": arguments})
    }
}

/// Asks in a conversation, and returns the status and everything that came back.
fn ask_in(http: &Http, conversation: &str, id: i64, method: &str, params: Value) -> (u16, String) {
    let headers = [JSON[0], JSON[1], ("Mcp-Session-Id", conversation)];
    let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
    http.ask("POST", "/mcp", &headers, &body)
}

#[test]
fn requests_under_one_id_are_answered_one_after_the_other() {
    let world = World::new();
    let waiting = Waiting::new(&world);
    let http = Http::start(&waiting.server, HttpOptions::default());
    let conversation = shake_hands(&http);
    let ask = |id: i64, method: &str, params: Value| ask_in(&http, &conversation, id, method, params);
    assert_eq!(ask(4, "tools/call", json!({"name": "load_skill", "arguments": {"name": "alpha"}})).0, 200);
    std::thread::scope(|scope| {
        let called = scope.spawn(|| ask(5, "tools/call", Waiting::call()));
        waiting.has_begun.recv_timeout(PATIENCE).unwrap();
        let (status, answer) = ask(5, "skills/list", json!({}));
        assert_eq!(status, 400);
        assert!(answer.contains("-32600") && answer.contains("is not answered yet"), "{answer}");
        assert_eq!(ask(6, "skills/list", json!({})).0, 200, "another id is free");
        waiting.go_on.send(()).unwrap();
        let (status, answer) = called.join().unwrap();
        assert!(status == 200 && answer.contains("waited"), "{answer}");
    });
    // What was answered is no longer open, nor is what was refused.
    for _ in 0..20 {
        assert_eq!(ask(5, "skills/list", json!({})).0, 200);
    }
}

#[test]
fn a_stream_after_an_event_that_is_none_is_refused_and_an_answer_under_way_is_resumed() {
    let world = World::new();
    let waiting = Waiting::new(&world);
    let http = Http::start(&waiting.server, HttpOptions::default());
    let conversation = shake_hands(&http);
    let ask = |id: i64, method: &str, params: Value| ask_in(&http, &conversation, id, method, params);
    let (_, loaded) = ask(4, "tools/call", json!({"name": "load_skill", "arguments": {"name": "alpha"}}));
    let answered = loaded.lines().find_map(|line| line.strip_prefix("id:")).unwrap().trim();
    for last in ["abc", "0/99", "0/x", "99999999999999999999999", "-1", "\u{e9}", "", answered] {
        let headers = [
            ("Accept", "text/event-stream"),
            ("Mcp-Session-Id", conversation.as_str()),
            ("Last-Event-ID", last),
        ];
        let (status, answer) = http.ask("GET", "/mcp", &headers, "");
        assert!(status == 400 && answer.contains("ask again without it"), "{last}: {answer}");
    }
    std::thread::scope(|scope| {
        scope.spawn(|| ask(5, "tools/call", Waiting::call()));
        waiting.has_begun.recv_timeout(PATIENCE).unwrap();
        let mut resumed = http.connect();
        let head = format!(
            "GET /mcp HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\nMcp-Session-Id: {conversation}\r\nLast-Event-ID: 0/1\r\n\r\n",
            http.address
        );
        resumed.write_all(head.as_bytes()).unwrap();
        let mut start = [0; 12];
        resumed.read_exact(&mut start).unwrap();
        assert_eq!(&start, b"HTTP/1.1 200");
        waiting.go_on.send(()).unwrap();
        let told = event(&resumed, |message| message["id"] == 5);
        assert!(told.to_string().contains("waited"), "{told}");
    });
}

#[test]
fn a_conversation_that_was_ended_is_over() {
    let world = World::new();
    let http = Http::start(&world.server(), HttpOptions::default());
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string();
    let (_, answer) = http.ask("POST", "/mcp", &JSON, &initialize);
    let line = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let headers = [("Mcp-Session-Id", line), ("MCP-Protocol-Version", "2025-11-25")];
    assert_eq!(http.ask("DELETE", "/mcp", &headers, "").0, 204);
    let headers: Vec<_> = JSON.into_iter().chain(headers).collect();
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}).to_string();
    assert_eq!(http.ask("POST", "/mcp", &headers, &ping).0, 404);
}

#[test]
fn changes_are_told_over_streams() {
    let world = World::new();
    let server = world.server();
    let _watcher = watched(&server);
    let http = Http::start(&server, HttpOptions::default());
    // Of a client that shook hands:
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string();
    let (_, answer) = http.ask("POST", "/mcp", &JSON, &initialize);
    let session =
        answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().trim().to_owned();
    let session_header = ("Mcp-Session-Id", session.as_str());
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    assert_eq!(http.ask("POST", "/mcp", &[JSON[0], JSON[1], session_header], &initialized).0, 202);
    let mut legacy = http.connect();
    let get = format!(
        "GET /mcp HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n\r\n",
        http.address
    );
    legacy.write_all(get.as_bytes()).unwrap();
    // Of one that did not:
    let params = with_meta(json!({"notifications": {"resourcesListChanged": true}}));
    let body =
        json!({"jsonrpc": "2.0", "id": 9, "method": "subscriptions/listen", "params": params}).to_string();
    let mut modern = http.connect();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: {MODERN}\r\nMcp-Method: subscriptions/listen\r\nContent-Length: {}\r\n\r\n{body}",
        http.address,
        body.len()
    );
    modern.write_all(head.as_bytes()).unwrap();
    event(&modern, |message| message["method"] == "notifications/subscriptions/acknowledged");
    world.skill("gamma", "", "# Gamma\n");
    event(&legacy, |message| message["method"] == "notifications/tools/list_changed");
    let told = event(&modern, |message| message["method"] == "notifications/resources/list_changed");
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 9);
    // When the server is stopped both streams end, the new one with its result.
    let started = Instant::now();
    http.stop.stop();
    event(&modern, |message| message["id"] == 9);
    http.end();
    assert!(started.elapsed() < Duration::from_secs(9), "idle streams are not waited for");
}

#[test]
fn the_newest_stream_is_told_of_changes_and_of_each_once() {
    let world = World::new();
    let server = world.server();
    let http = Http::start(&server, HttpOptions::default());
    let conversation = shake_hands(&http);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let add = |name: &str| {
        world.skill(name, "", "# New\n");
        runtime.block_on(server.library().reload());
    };
    let open = |more: &str| {
        let mut stream = http.connect();
        let head = format!(
            "GET /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAccept: text/event-stream\r\nMcp-Session-Id: {conversation}\r\n{more}\r\n",
            http.address
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut start = [0; 12];
        stream.read_exact(&mut start).unwrap();
        assert_eq!(&start, b"HTTP/1.1 200");
        stream
    };
    // Each change is told of in three lists.
    let changes = |stream: &TcpStream| {
        let lines = BufReader::new(stream).lines().map(Result::unwrap);
        let told: Vec<String> = lines.filter(|line| line.contains("list_changed")).take(3).collect();
        assert_eq!(told.len(), 3, "the stream ended");
        told
    };
    let first = open("");
    add("gamma");
    let told = changes(&first);
    let mut second = open("");
    let mut rest = Vec::new();
    (&first).read_to_end(&mut rest).unwrap();
    let third = open("");
    let mut nothing = String::new();
    second.read_to_string(&mut nothing).unwrap();
    assert!(!nothing.contains("data:"), "the change was told before: {nothing}");
    add("delta");
    assert_eq!(changes(&third), told, "as often as it changed");
    // Whoever says what it has is told of what came after.
    let fourth = open("Last-Event-ID: 3\r\n");
    add("epsilon");
    let lines = BufReader::new(&fourth).lines().map(Result::unwrap);
    let after: Vec<String> = lines.filter(|line| line.contains("list_changed")).take(5).collect();
    assert_eq!(after, [&told[1..], &told[..]].concat());
}

#[test]
fn no_header_makes_a_conversation_that_is_not_counted() {
    let world = World::new();
    let limits = Limits { sessions: 2, ..Limits::default() };
    let http = Http::start(&world.server(), HttpOptions { limits, ..HttpOptions::default() });
    let initialize = |version: &str| {
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string()
    };
    let post = |more: &[(&str, &str)], body: &str| {
        let headers: Vec<(&str, &str)> = JSON.iter().chain(more).copied().collect();
        http.ask("POST", "/mcp", &headers, body)
    };
    // A request in a version without a handshake has none.
    for version in ["2025-11-25", MODERN] {
        let (status, answer) = post(&[("MCP-Protocol-Version", MODERN)], &initialize(version));
        assert!(status == 404 && answer.contains("-32601"), "{answer}");
        assert!(!answer.contains("mcp-session-id"), "{answer}");
    }
    // Who only asks for such a version is offered one that has, as over pipes.
    let (status, answer) = post(&[], &initialize(MODERN));
    assert!(status == 200 && answer.contains("\"protocolVersion\":\"2025-11-25\""), "{answer}");
    assert!(answer.contains("mcp-session-id"), "{answer}");
    let half = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}});
    let (status, answer) = post(&[], &half.to_string());
    assert!(status == 200 && answer.contains("bad parameters for initialize: missing field"), "{answer}");
    // However many come at once, there is room for two.
    let ids: Vec<String> = std::thread::scope(|scope| {
        let ask = || {
            let (status, answer) = post(&[], &initialize("2025-11-25"));
            assert_eq!(status, 200, "{answer}");
            let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
            id.unwrap().trim().to_owned()
        };
        let asking: Vec<_> = (0..16).map(|_| scope.spawn(ask)).collect();
        asking.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}).to_string();
    let statuses: Vec<u16> = ids.iter().map(|id| post(&[("Mcp-Session-Id", id)], &ping).0).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 2, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 404).count(), 14, "{statuses:?}");
}

#[test]
fn streams_that_wait_take_no_room_from_calls() {
    let world = World::new();
    let limits = Limits { streams: 1, ..Limits::default() };
    let http = Http::start(&world.server(), HttpOptions { limits, ..HttpOptions::default() });
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string();
    let (_, answer) = http.ask("POST", "/mcp", &JSON, &initialize);
    let session = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().trim();
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    let headers = [JSON[0], JSON[1], ("Mcp-Session-Id", session)];
    assert_eq!(http.ask("POST", "/mcp", &headers, &initialized).0, 202);
    let mut waiting = http.connect();
    let get = format!(
        "GET /mcp HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n\r\n",
        http.address
    );
    waiting.write_all(get.as_bytes()).unwrap();
    let mut start = [0; 12];
    waiting.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
    let stream = [("Accept", "text/event-stream"), ("Mcp-Session-Id", session)];
    assert_eq!(http.ask("GET", "/mcp", &stream, "").0, 503, "there is room for one");
    let params = json!({"name": "load_skill", "arguments": {"name": "alpha"}});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}).to_string();
    let (status, answer) = http.ask("POST", "/mcp", &headers, &call);
    assert!(status == 200 && answer.contains("Do alpha."), "{answer}");
    assert_eq!(http.ask("POST", "/mcp", &JSON, &initialize).0, 200);
}

#[test]
fn a_token_belongs_to_one_agent() {
    let world = World::new();
    let token = |agent: Option<&str>| Token::new("0123456789abcdef", agent.map(str::to_owned), "").unwrap();
    let tokens = vec![token(None), token(Some("narrow"))];
    let options = HttpOptions { tokens, ..HttpOptions::default() };
    let error = world.server().bind_http(options).err().unwrap();
    assert_eq!((error.kind(), error.subject()), (ErrorKind::TokenTwice, Some("narrow")));
}

#[test]
fn whoever_does_not_read_is_disconnected() {
    let world = World::new();
    world.write("alpha/assets/big.txt", "x".repeat(12 * 1024 * 1024));
    let limits = Limits { connections: 1, write_time: Duration::from_millis(200), ..Limits::default() };
    let http = Http::start(&world.server(), HttpOptions { limits, ..HttpOptions::default() });
    let mut deaf = http.connect();
    let path = "/.well-known/agent-skills/alpha/assets/big.txt";
    deaf.write_all(format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", http.address).as_bytes()).unwrap();
    let mut start = [0; 12];
    deaf.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
    let is_served = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        http.get(INDEX).0 == 200
    });
    assert!(is_served, "its place is given back");
}

#[test]
fn a_stopped_server_answers_what_was_sent_before() {
    let world = World::new();
    let server = world.server();
    let options = HttpOptions { address: "127.0.0.1:0".parse().unwrap(), ..HttpOptions::default() };
    let bound = server.bind_http(options).unwrap();
    let (address, stop) = (bound.address(), Stop::new());
    let request = format!("GET {INDEX} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let mut asking: Vec<TcpStream> = (0..8).map(|_| TcpStream::connect(address).unwrap()).collect();
    for stream in &mut asking {
        stream.write_all(request.as_bytes()).unwrap();
    }
    // Not one connection was taken yet.
    stop.stop();
    bound.serve_blocking(&stop).unwrap();
    for mut stream in asking {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

#[test]
fn a_stopped_server_takes_no_more_connections_than_it_has_room_for() {
    let world = World::new();
    let limits = Limits { connections: 1, ..Limits::default() };
    let address = "127.0.0.1:0".parse().unwrap();
    let bound = world.server().bind_http(HttpOptions { address, limits, ..HttpOptions::default() }).unwrap();
    let (address, stop) = (bound.address(), Stop::new());
    let request = format!("GET {INDEX} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let asking: Vec<TcpStream> = (0..50)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            stream
        })
        .collect();
    stop.stop();
    bound.serve_blocking(&stop).unwrap();
    let answered = asking.into_iter().filter(|mut stream| {
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        !answer.is_empty()
    });
    // One that is served, and 32 that are told that there is no room.
    assert!((1..=33).contains(&answered.count()));
}

#[test]
fn a_stopped_server_does_not_wait_for_half_a_body() {
    let world = World::new();
    let http = Http::start(&world.server(), HttpOptions::default());
    let mut half = http.connect();
    let host = http.address;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
    );
    half.write_all(head.as_bytes()).unwrap();
    assert_eq!(http.get("/healthz").0, 200);
    std::thread::sleep(Duration::from_millis(100));
    let started = Instant::now();
    http.stop.stop();
    http.end();
    assert!(started.elapsed() < Duration::from_secs(8), "no longer than connections may take to close");
}

#[test]
fn a_stopped_server_finishes_what_is_being_fetched() {
    let world = World::new();
    world.write("alpha/assets/big.txt", "x".repeat(12 * 1024 * 1024));
    let http = Http::start(&world.server(), HttpOptions::default());
    let mut slow = http.connect();
    let path = "/.well-known/agent-skills/alpha/assets/big.txt";
    slow.write_all(format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", http.address).as_bytes()).unwrap();
    let mut answer = vec![0; 12];
    slow.read_exact(&mut answer).unwrap();
    http.stop.stop();
    // Longer than connections may take to close that nobody waits for.
    std::thread::sleep(Duration::from_millis(2_500));
    slow.read_to_end(&mut answer).unwrap();
    let start = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
    assert_eq!(answer.len() - start, 12 * 1024 * 1024);
    assert!(String::from_utf8_lossy(&answer[..start]).contains("content-length: 12582912"));
}
