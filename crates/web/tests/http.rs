//! HTTP as it is on the wire.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use repertoire::event::MemorySink;
use repertoire::serve::Stop;
use repertoire::session::ToolExposure;
use repertoire::{BoxFuture, HandlerError, SessionOptions, SkillHandler};
use repertoire_web::ErrorKind;
use repertoire_web::http::{HttpLimits, HttpOptions, Token};
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;

use crate::world::{Http, MODERN, Server, TIMEOUT, World, changed, event, watched, with_meta};

const INDEX: &str = "/.well-known/agent-skills/index.json";

/// Returns the body of an `initialize` request.
fn initialize(version: &str) -> String {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string()
}

/// Starts a session, and returns its id.
fn start_session(http: &Http) -> String {
    let (status, answer) = http.ask("POST", "/mcp", &JSON, &initialize("2025-11-25"));
    assert_eq!(status, 200, "{answer}");
    answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().trim().to_owned()
}

/// Starts a session, sends `notifications/initialized`, and returns the session's id.
fn initialized_session(http: &Http) -> String {
    let id = start_session(http);
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    let headers = [JSON[0], JSON[1], ("Mcp-Session-Id", id.as_str())];
    assert_eq!(http.ask("POST", "/mcp", &headers, &initialized).0, 202);
    id
}

/// Longer than any test.
const ENDLESS: Duration = Duration::from_secs(24 * 60 * 60);

const JSON: [(&str, &str); 2] =
    [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];

#[test]
fn clients_that_share_a_session_are_recorded_as_conversations_of_their_own() {
    let world = World::new();
    world.skill("own", "disable-model-invocation: true\n", "# Own\n");
    let sink = Arc::new(MemorySink::new());
    let server = world.server_equipped(SessionOptions::default(), |builder| builder.sink(sink.clone()));
    let http = Http::start(&server, HttpOptions::default());
    let load = json!({"name": "load_skill", "arguments": {"name": "alpha"}});
    // A client that a person gave a skill to has a session of its own from then on.
    let give = json!({"name": "own"});
    let clients = [initialized_session(&http), initialized_session(&http)];
    for (client, method, params) in [
        (&clients[0], "prompts/get", &give),
        (&clients[0], "tools/call", &load),
        (&clients[1], "tools/call", &load),
    ] {
        let headers = [JSON[0], JSON[1], ("Mcp-Session-Id", client.as_str())];
        let body = json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": params}).to_string();
        assert_eq!(http.ask("POST", "/mcp", &headers, &body).0, 200);
    }
    http.post("tools/call", load.clone());
    http.post("tools/call", load);
    let sessions: Vec<String> = sink.take().into_iter().map(|event| event.session).collect();
    assert!(sessions[0] == sessions[1] && sessions[1] != sessions[2], "{sessions:?}");
    assert!(sessions[3] == sessions[4] && sessions[3] != sessions[0], "without a handshake: {sessions:?}");
}

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
fn an_invoked_skill_is_readable_for_the_token_without_a_session() {
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
fn headers_that_contradict_the_body_are_refused() {
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
fn invalid_bodies_and_media_types_are_refused() {
    let world = World::new();
    let mut limits = HttpLimits::default();
    limits.body_bytes = 10_000;
    let http =
        Http::start(&world.server(), changed(HttpOptions::default(), |options| options.limits = limits));
    for (body, code) in [("not json", "-32700"), ("", ""), ("[]", "-32600"), ("{\"id\":1}", "-32600")] {
        let (status, answer) = http.ask("POST", "/mcp", &JSON, body);
        assert!(status == 400 && answer.contains(code), "{body}: {answer}");
    }
    assert_eq!(http.ask("POST", "/mcp", &JSON, &"x".repeat(10_001)).0, 413);
    assert_eq!(http.ask("POST", "/mcp", &[JSON[1], ("Content-Type", "text/plain")], "{}").0, 415);
    assert_eq!(http.ask("POST", "/mcp", &[JSON[0]], "{}").0, 406);
    for (kind, accepted) in [
        ("application/json", "*/*"),
        ("Application/JSON; charset=utf-8", "application/json, text/plain, */*"),
        ("application/json", "APPLICATION/*, Text/*"),
    ] {
        let headers = [("Content-Type", kind), ("Accept", accepted)];
        assert_eq!(http.ask("POST", "/mcp", &headers, &initialize("2025-11-25")).0, 200, "{kind} {accepted}");
    }
    assert_eq!(http.exchange("GARBAGE\r\n\r\n").0, 400);
    assert_eq!(http.ask("GET", INDEX, &[("X", &"x".repeat(60_000))], "").0, 200);
    assert_eq!(http.post("tools/list", json!({})).0, 200, "the next request is served");
}

#[test]
fn a_body_over_the_limit_gets_413_after_it_was_sent() {
    let world = World::new();
    let http = Http::start(&world.server(), HttpOptions::default());
    let head = |length: usize, more: &str| {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {length}\r\n{more}\r\n",
            http.address
        )
    };
    let assert_refused = |(status, answer): (u16, String)| {
        assert_eq!(status, 413, "{answer}");
        assert!(answer.contains("connection: close\r\n"), "{answer}");
        assert!(answer.ends_with("\r\n\r\nthe body is too large; send at most 4194304 bytes\n"), "{answer}");
    };
    // A client that waits for `100 Continue` is refused before it sends the body.
    assert_refused(http.exchange(head(4 * 1024 * 1024 + 1, "Expect: 100-continue\r\n")));
    let body = "x".repeat(5_000_000);
    for _ in 0..5 {
        assert_refused(http.exchange(head(body.len(), "") + &body));
    }
    let chunked = head(0, "").replace("Content-Length: 0", "Transfer-Encoding: chunked");
    assert_refused(http.exchange(format!("{chunked}{:x}\r\n{body}\r\n0\r\n\r\n", body.len())));
    assert_eq!(http.post("tools/list", json!({})).0, 200, "the next request is served");
}

#[test]
fn refusals_say_what_to_do_in_one_line() {
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
    let none = "session not found or expired; start one with initialize";
    check("POST", &gone, &ping, (404, none));
    check("DELETE", &gone, "", (404, none));
    let alone = "no session; start one with initialize and send its Mcp-Session-Id, or send MCP-Protocol-Version: 2026-07-28, which has no sessions";
    check("GET", &[("Accept", "text/event-stream")], "", (400, alone));
    check("DELETE", &[], "", (400, alone));
    check("POST", &JSON, &ping, (400, alone));
    let unknown = "unknown MCP-Protocol-Version; send one of 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28";
    check("POST", &[JSON[0], JSON[1], ("MCP-Protocol-Version", "1999")], &ping, (400, unknown));
}

#[test]
fn foreign_origins_and_hosts_are_refused() {
    let world = World::new();
    let origins = vec!["https://app.test".to_owned()];
    let http = Http::start(
        &world.server(),
        changed(HttpOptions::default(), |options| options.allowed_origins = origins),
    );
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
    assert!(!answer.contains("access-control-allow-origin"), "there was no Origin");
}

#[test]
fn a_public_address_needs_a_token() {
    let world = World::new();
    let server = world.server();
    for address in ["0.0.0.0:0", "[::]:0"] {
        let options = changed(HttpOptions::default(), |options| options.address = address.parse().unwrap());
        assert_eq!(server.bind_http(options).err().unwrap().kind(), ErrorKind::TokenNeeded);
    }
}

#[test]
fn slow_request_heads_and_bodies_time_out() {
    let world = World::new();
    let time = Duration::from_millis(300);
    let mut limits = HttpLimits::default();
    limits.head_time = time;
    limits.body_time = time;
    let http =
        Http::start(&world.server(), changed(HttpOptions::default(), |options| options.limits = limits));
    let host = http.address;
    let slow_body = format!(
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
    );
    // Nothing, half a head, half a body: each is ended.
    for bytes in ["", "POST /mcp HTTP/1.1\r\nHost: x", slow_body.as_str()] {
        let (status, _) = http.exchange(bytes);
        assert!(matches!(status, 0 | 408), "{status} for {bytes:?}");
    }
    // An idle connection is ended too, after an answer.
    let (status, _) = http.exchange(format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    assert_eq!(status, 200);
    assert_eq!(http.get("/readyz").0, 200);
}

#[test]
fn connections_over_the_limit_get_503_except_for_health_checks() {
    let world = World::new();
    let mut limits = HttpLimits::default();
    limits.connections = 4;
    let http =
        Http::start(&world.server(), changed(HttpOptions::default(), |options| options.limits = limits));
    let idle: Vec<_> = (0..4).map(|_| http.connect()).collect();
    // The server may not have taken all of them yet.
    let turned_away = (0..50).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        http.get(INDEX).0 == 503
    });
    assert!(turned_away);
    assert!(http.get(INDEX).1.contains("retry-after: 1\r\n"));
    assert_eq!(http.get("/healthz").0, 200, "health checks are answered");
    assert_eq!(http.get("/readyz").0, 200);
    drop(idle);
    let is_served = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        http.get(INDEX).0 == 200
    });
    assert!(is_served, "room is given back");
}

#[test]
fn health_checks_are_answered_despite_many_idle_connections() {
    let world = World::new();
    let mut limits = HttpLimits::default();
    limits.connections = 2;
    limits.head_time = Duration::from_secs(15);
    let http =
        Http::start(&world.server(), changed(HttpOptions::default(), |options| options.limits = limits));
    let _idle: Vec<_> = (0..64).map(|_| http.connect()).collect();
    let is_answered = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        http.get("/healthz").0 == 200
    });
    assert!(is_answered);
}

#[test]
fn event_streams_and_sessions_are_limited() {
    let world = World::new();
    let mut limits = HttpLimits::default();
    limits.streams = 2;
    let server = world.server_with_mcp(|options| options.sessions = 2);
    let http = Http::start(&server, changed(HttpOptions::default(), |options| options.limits = limits));
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
    let begin = || start_session(&http);
    let ping = |id: &str| {
        let body = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}).to_string();
        http.ask("POST", "/mcp", &[JSON[0], JSON[1], ("Mcp-Session-Id", id)], &body)
    };
    let (one, two) = (begin(), begin());
    assert_eq!(ping(&one).0, 200);
    let three = begin();
    let (status, answer) = ping(&two);
    assert_eq!(status, 404, "the longest idle one made room");
    assert!(answer.ends_with("session not found or expired; start one with initialize\n"));
    assert_eq!((ping(&one).0, ping(&three).0), (200, 200));
    assert_eq!(http.post("tools/list", json!({})).0, 200, "requests without a session are served");
}

/// A server whose skill `alpha` has a tool that waits for a signal.
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
            may_go_on.lock().unwrap().recv_timeout(TIMEOUT).unwrap();
            Ok("waited".to_owned())
        };
        let mut options = SessionOptions::default();
        options.running.exposure = ToolExposure::Stable;
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

/// Sends a request in a session, and returns the status and everything that came back.
fn ask_in(http: &Http, session: &str, id: i64, method: &str, params: Value) -> (u16, String) {
    let headers = [JSON[0], JSON[1], ("Mcp-Session-Id", session)];
    let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
    http.ask("POST", "/mcp", &headers, &body)
}

#[test]
fn a_second_request_with_an_id_in_flight_is_refused() {
    let world = World::new();
    let waiting = Waiting::new(&world);
    let http = Http::start(&waiting.server, HttpOptions::default());
    let session = initialized_session(&http);
    let ask = |id: i64, method: &str, params: Value| ask_in(&http, &session, id, method, params);
    assert_eq!(ask(4, "tools/call", json!({"name": "load_skill", "arguments": {"name": "alpha"}})).0, 200);
    std::thread::scope(|scope| {
        let called = scope.spawn(|| ask(5, "tools/call", Waiting::call()));
        waiting.has_begun.recv_timeout(TIMEOUT).unwrap();
        let (status, answer) = ask(5, "skills/list", json!({}));
        assert_eq!(status, 400);
        assert!(answer.contains("-32600") && answer.contains("is not answered yet"), "{answer}");
        assert_eq!(ask(6, "skills/list", json!({})).0, 200, "another id is free");
        waiting.go_on.send(()).unwrap();
        let (status, answer) = called.join().unwrap();
        assert!(status == 200 && answer.contains("waited"), "{answer}");
    });
    // Requests that were answered or refused are no longer open.
    for _ in 0..20 {
        assert_eq!(ask(5, "skills/list", json!({})).0, 200);
    }
}

/// A tool whose calls wait for a permit each.
struct Gate {
    begun: mpsc::Sender<()>,
    permits: Arc<Semaphore>,
}

impl SkillHandler for Gate {
    fn call<'a>(&'a self, _: &'a Map<String, Value>) -> BoxFuture<'a, Result<String, HandlerError>> {
        Box::pin(async move {
            self.begun.send(()).unwrap();
            self.permits.acquire().await.unwrap().forget();
            Ok("waited".to_owned())
        })
    }
}

/// Returns a server whose skill `alpha` has a tool that waits, with the receiver of a message for each call
/// that begins, the permits that they wait for, and the number of calls that run at a time.
fn gated(world: &World) -> (Server, mpsc::Receiver<()>, Arc<Semaphore>, usize) {
    let declared = r#"[{"name": "wait", "description": "Waits.", "parameters": {"type": "object"}}]"#;
    world.write("alpha/schema.json", declared);
    let ((begun, has_begun), permits) = (mpsc::channel(), Arc::new(Semaphore::new(0)));
    let gate = Arc::new(Gate { begun, permits: Arc::clone(&permits) });
    let server =
        world.server_equipped(SessionOptions::default(), |builder| builder.handler("alpha", "wait", gate));
    (server, has_begun, permits, 4 * std::thread::available_parallelism().unwrap().get())
}

/// Sends a request for a call on `stream`.
fn send_call(http: &Http, stream: &mut TcpStream, headers: &[(&str, &str)], id: usize, params: &Value) {
    let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string();
    let headers: String =
        JSON.iter().chain(headers).map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!("POST /mcp HTTP/1.1\r\nHost: {}\r\n{headers}", http.address);
    stream.write_all(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
}

/// Reads from `stream` until the end of `expected`, and returns it.
fn read_until(stream: &mut TcpStream, expected: &str) -> String {
    let mut read = Vec::new();
    while !read.ends_with(expected.as_bytes()) {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        read.push(byte[0]);
    }
    String::from_utf8(read).unwrap()
}

/// Repeats a request until it has the expected result.
fn until(mut is_met: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_met() {
        assert!(started.elapsed() < TIMEOUT, "the condition in time");
    }
}

#[test]
fn a_queued_call_of_a_session_never_runs_if_its_client_disconnects() {
    let world = World::new();
    let (server, begun, permits, limit) = gated(&world);
    let http = Http::start(&server, HttpOptions::default());
    let session = initialized_session(&http);
    let ask = |id: i64, method: &str, params: Value| ask_in(&http, &session, id, method, params);
    assert_eq!(ask(4, "tools/call", json!({"name": "load_skill", "arguments": {"name": "alpha"}})).0, 200);
    let call = |id: usize| {
        let mut stream = http.connect();
        send_call(&http, &mut stream, &[("Mcp-Session-Id", &session)], id, &Waiting::call());
        // The head of the response is sent once the session has the request.
        read_until(&mut stream, "\r\n\r\n");
        stream
    };
    let mut running: Vec<TcpStream> = (0..limit).map(|number| call(100 + number)).collect();
    running.iter().for_each(|_| begun.recv_timeout(TIMEOUT).unwrap());
    drop(call(5));
    // The id is free again once the call has ended.
    until(|| ask(5, "ping", json!({})).0 == 200);
    permits.add_permits(limit);
    running.iter_mut().for_each(|stream| drop(read_until(stream, "waited")));
    permits.add_permits(1);
    let (status, answer) = ask(6, "tools/call", Waiting::call());
    assert!(status == 200 && answer.contains("waited"), "{answer}");
    http.end();
    assert_eq!(begun.try_iter().count(), 1, "only the last call began");
}

#[test]
fn a_queued_call_without_a_session_never_runs_if_its_client_disconnects() {
    let world = World::new();
    let (server, begun, permits, limit) = gated(&world);
    let mut limits = HttpLimits::default();
    limits.connections = limit + 1;
    let http = Http::start(&server, changed(HttpOptions::default(), |options| options.limits = limits));
    let send = |stream: &mut TcpStream, params: Value| {
        let name = params["name"].as_str().unwrap().to_owned();
        let headers =
            [("MCP-Protocol-Version", MODERN), ("Mcp-Method", "tools/call"), ("Mcp-Name", name.as_str())];
        send_call(&http, stream, &headers, 1, &with_meta(params));
    };
    let mut running: Vec<TcpStream> = (0..limit).map(|_| http.connect()).collect();
    send(&mut running[0], json!({"name": "load_skill", "arguments": {"name": "alpha"}}));
    let head = read_until(&mut running[0], "\r\n\r\n");
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    running[0].read_exact(&mut vec![0; length.parse().unwrap()]).unwrap();
    running.iter_mut().for_each(|stream| send(stream, Waiting::call()));
    running.iter().for_each(|_| begun.recv_timeout(TIMEOUT).unwrap());
    let mut queued = http.connect();
    send(&mut queued, Waiting::call());
    until(|| http.get(INDEX).0 == 503);
    drop(queued);
    // There is room for another connection once the server has closed that one.
    until(|| http.get(INDEX).0 == 200);
    permits.add_permits(limit);
    running.iter_mut().for_each(|stream| drop(read_until(stream, "waited")));
    drop(running);
    permits.add_permits(1);
    until(|| {
        let (status, answer) = http.post("tools/call", Waiting::call());
        status == 200 && answer.to_string().contains("waited")
    });
    http.end();
    assert_eq!(begun.try_iter().count(), 1, "only the last call began");
}

#[test]
fn an_unknown_last_event_id_is_refused_and_an_answer_in_flight_is_resumed() {
    let world = World::new();
    let waiting = Waiting::new(&world);
    let http = Http::start(&waiting.server, HttpOptions::default());
    let session = initialized_session(&http);
    let ask = |id: i64, method: &str, params: Value| ask_in(&http, &session, id, method, params);
    let (_, loaded) = ask(4, "tools/call", json!({"name": "load_skill", "arguments": {"name": "alpha"}}));
    let answered = loaded.lines().find_map(|line| line.strip_prefix("id:")).unwrap().trim();
    for last in ["abc", "0/99", "0/x", "99999999999999999999999", "-1", "\u{e9}", "", answered] {
        let headers =
            [("Accept", "text/event-stream"), ("Mcp-Session-Id", session.as_str()), ("Last-Event-ID", last)];
        let (status, answer) = http.ask("GET", "/mcp", &headers, "");
        assert!(status == 400 && answer.contains("retry without it"), "{last}: {answer}");
    }
    std::thread::scope(|scope| {
        scope.spawn(|| ask(5, "tools/call", Waiting::call()));
        waiting.has_begun.recv_timeout(TIMEOUT).unwrap();
        let mut resumed = http.connect();
        let head = format!(
            "GET /mcp HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\nLast-Event-ID: 0/1\r\n\r\n",
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
fn a_deleted_session_is_not_found() {
    let world = World::new();
    let http = Http::start(&world.server(), HttpOptions::default());
    let session = start_session(&http);
    let headers = [("Mcp-Session-Id", session.as_str()), ("MCP-Protocol-Version", "2025-11-25")];
    assert_eq!(http.ask("DELETE", "/mcp", &headers, "").0, 204);
    let headers: Vec<_> = JSON.into_iter().chain(headers).collect();
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}).to_string();
    assert_eq!(http.ask("POST", "/mcp", &headers, &ping).0, 404);
}

#[test]
fn list_changes_are_sent_over_event_streams() {
    let world = World::new();
    let server = world.server();
    let _watcher = watched(&server);
    // A stop that waited for idle streams would not end.
    let options = changed(HttpOptions::default(), |options| options.limits.grace = ENDLESS);
    let http = Http::start(&server, options);
    // A client with a session:
    let session = initialized_session(&http);
    let mut legacy = http.connect();
    let get = format!(
        "GET /mcp HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n\r\n",
        http.address
    );
    legacy.write_all(get.as_bytes()).unwrap();
    // A client without one:
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
    http.stop.stop();
    event(&modern, |message| message["id"] == 9);
    http.end();
}

#[test]
fn only_the_newest_event_stream_gets_each_event_once() {
    let world = World::new();
    let server = world.server();
    let http = Http::start(&server, HttpOptions::default());
    let session = initialized_session(&http);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let add = |name: &str| {
        world.skill(name, "", "# New\n");
        runtime.block_on(server.library().reload());
    };
    let open = |more: &str| {
        let mut stream = http.connect();
        let head = format!(
            "GET /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n{more}\r\n",
            http.address
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut start = [0; 12];
        stream.read_exact(&mut start).unwrap();
        assert_eq!(&start, b"HTTP/1.1 200");
        stream
    };
    // Each change is sent for three lists.
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
    assert!(!nothing.contains("data:"), "the change was sent before: {nothing}");
    add("delta");
    assert_eq!(changes(&third), told, "as often as it changed");
    // Last-Event-ID resumes after that event.
    let fourth = open("Last-Event-ID: 3\r\n");
    add("epsilon");
    let lines = BufReader::new(&fourth).lines().map(Result::unwrap);
    let after: Vec<String> = lines.filter(|line| line.contains("list_changed")).take(5).collect();
    assert_eq!(after, [&told[1..], &told[..]].concat());
}

#[test]
fn idle_sessions_are_closed_longest_idle_first_and_used_ones_stay() {
    let world = World::new();
    let server = world.server_with_mcp(|options| options.idle_sessions = 2);
    let http = Http::start(&server, HttpOptions::default());
    let ping = |id: &str| {
        let body = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}).to_string();
        http.ask("POST", "/mcp", &[JSON[0], JSON[1], ("Mcp-Session-Id", id)], &body).0
    };
    let listening = start_session(&http);
    let mut stream = http.connect();
    let head = format!(
        "GET /mcp HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\nMcp-Session-Id: {listening}\r\n\r\n",
        http.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut start = [0; 12];
    stream.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
    let abandoned: Vec<String> = (0..20).map(|_| start_session(&http)).collect();
    let statuses: Vec<u16> = abandoned.iter().map(|id| ping(id)).collect();
    assert_eq!(statuses, [vec![404; 18], vec![200; 2]].concat());
    assert_eq!(ping(&listening), 200);
}

#[test]
fn requests_of_half_closed_connections_are_answered() {
    let world = World::new();
    let http = Http::start(&world.server(), HttpOptions::default());
    for path in ["/healthz", INDEX].repeat(20) {
        let mut stream = http.connect();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", http.address).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    }
}

#[test]
fn idle_sessions_of_all_callers_are_limited_together() {
    let world = World::new();
    let server = world.server_with_mcp(|options| options.all_idle_sessions = 3);
    let tokens = ["ann-0123456789abcdef", "bob-0123456789abcdef"];
    let options = changed(HttpOptions::default(), |options| {
        options.access.tokens = tokens.iter().map(|secret| Token::new(secret, None, "t").unwrap()).collect();
    });
    let http = Http::start(&server, options);
    let ask = |secret: &str, more: &[(&str, &str)], body: &str| {
        let bearer = format!("Bearer {secret}");
        let headers = [&JSON[..], &[("Authorization", &bearer)], more].concat();
        http.ask("POST", "/mcp", &headers, body)
    };
    let start = |secret| {
        let (_, answer) = ask(secret, &[], &initialize("2025-11-25"));
        answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().trim().to_owned()
    };
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}).to_string();
    let ping = |secret, id: &String| ask(secret, &[("Mcp-Session-Id", id)], &ping).0;
    let sessions: Vec<_> = (0..6).map(|number| (tokens[number % 2], start(tokens[number % 2]))).collect();
    let statuses: Vec<u16> = sessions.iter().map(|(secret, id)| ping(secret, id)).collect();
    assert_eq!(statuses, [404, 404, 404, 200, 200, 200]);
}

#[test]
fn sessions_are_limited_with_any_headers() {
    let world = World::new();
    let server = world.server_with_mcp(|options| options.sessions = 2);
    let http = Http::start(&server, HttpOptions::default());
    let post = |more: &[(&str, &str)], body: &str| {
        let headers: Vec<(&str, &str)> = JSON.iter().chain(more).copied().collect();
        http.ask("POST", "/mcp", &headers, body)
    };
    // A version without a handshake does not have `initialize`.
    for version in ["2025-11-25", MODERN] {
        let (status, answer) = post(&[("MCP-Protocol-Version", MODERN)], &initialize(version));
        assert!(status == 404 && answer.contains("-32601"), "{answer}");
        assert!(!answer.contains("mcp-session-id"), "{answer}");
    }
    // A client that only supports such a version is offered one that has, as over pipes.
    let (status, answer) = post(&[], &initialize(MODERN));
    assert!(status == 200 && answer.contains("\"protocolVersion\":\"2025-11-25\""), "{answer}");
    assert!(answer.contains("mcp-session-id"), "{answer}");
    let half = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}});
    let (status, answer) = post(&[], &half.to_string());
    assert!(status == 200 && answer.contains("bad parameters for initialize: missing field"), "{answer}");
    // However many come at once, there is room for two.
    let ids: Vec<String> = std::thread::scope(|scope| {
        let starting: Vec<_> = (0..16).map(|_| scope.spawn(|| start_session(&http))).collect();
        starting.into_iter().map(|started| started.join().unwrap()).collect()
    });
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}).to_string();
    let statuses: Vec<u16> = ids.iter().map(|id| post(&[("Mcp-Session-Id", id)], &ping).0).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 2, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 404).count(), 14, "{statuses:?}");
}

#[test]
fn open_event_streams_do_not_block_calls() {
    let world = World::new();
    let mut limits = HttpLimits::default();
    limits.streams = 1;
    let http =
        Http::start(&world.server(), changed(HttpOptions::default(), |options| options.limits = limits));
    let session = initialized_session(&http);
    let headers = [JSON[0], JSON[1], ("Mcp-Session-Id", session.as_str())];
    let mut waiting = http.connect();
    let get = format!(
        "GET /mcp HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n\r\n",
        http.address
    );
    waiting.write_all(get.as_bytes()).unwrap();
    let mut start = [0; 12];
    waiting.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
    let stream = [("Accept", "text/event-stream"), ("Mcp-Session-Id", session.as_str())];
    assert_eq!(http.ask("GET", "/mcp", &stream, "").0, 503, "there is room for one");
    let params = json!({"name": "load_skill", "arguments": {"name": "alpha"}});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}).to_string();
    let (status, answer) = http.ask("POST", "/mcp", &headers, &call);
    assert!(status == 200 && answer.contains("Do alpha."), "{answer}");
    start_session(&http);
}

#[test]
fn two_agents_cannot_share_a_token() {
    let world = World::new();
    let token = |agent: Option<&str>| Token::new("0123456789abcdef", agent.map(str::to_owned), "").unwrap();
    let tokens = vec![token(None), token(Some("narrow"))];
    let options = changed(HttpOptions::default(), |options| options.access.tokens = tokens);
    let error = world.server().bind_http(options).err().unwrap();
    assert_eq!((error.kind(), error.subject()), (ErrorKind::TokenTwice, Some("narrow")));
}

#[test]
fn a_client_that_does_not_read_is_disconnected() {
    let world = World::new();
    world.write("alpha/assets/big.txt", "x".repeat(12 * 1024 * 1024));
    let mut limits = HttpLimits::default();
    limits.connections = 1;
    limits.write_time = Duration::from_millis(200);
    let http =
        Http::start(&world.server(), changed(HttpOptions::default(), |options| options.limits = limits));
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
fn unread_responses_are_limited_in_total() {
    let world = World::new();
    let size = 12 * 1024 * 1024;
    world.write("alpha/assets/big.txt", "x".repeat(size));
    let mut limits = HttpLimits::default();
    limits.unread_bytes = size + size / 2;
    let http =
        Http::start(&world.server(), changed(HttpOptions::default(), |options| options.limits = limits));
    let path = "/.well-known/agent-skills/alpha/assets/big.txt";
    let mut unread = http.connect();
    unread.write_all(format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", http.address).as_bytes()).unwrap();
    let mut start = [0; 12];
    unread.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
    let (status, refusal) = http.get(path);
    assert!(status == 503 && refusal.contains("retry-after: "), "{refusal}");
    let (_, refused) = http.post("resources/read", json!({"uri": "skill://alpha/assets/big.txt"}));
    let message = "too many responses wait to be read; retry in 5 seconds";
    assert_eq!(refused["error"]["message"], message, "{refused}");
    assert_eq!(http.get(INDEX).0, 200, "small responses are served");
    let mut rest = vec![0; size];
    unread.read_exact(&mut rest).unwrap();
    let is_served = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        http.get(path).1.len() > size
    });
    assert!(is_served, "what was read no longer counts");
}

#[test]
fn shutdown_answers_requests_sent_before_it() {
    let world = World::new();
    let server = world.server();
    let options = changed(HttpOptions::default(), |options| options.address = "127.0.0.1:0".parse().unwrap());
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
fn shutdown_accepts_no_more_connections_than_the_limit() {
    let world = World::new();
    let mut limits = HttpLimits::default();
    limits.connections = 1;
    let address = "127.0.0.1:0".parse().unwrap();
    let bound = world
        .server()
        .bind_http(changed(HttpOptions::default(), |options| {
            options.address = address;
            options.limits = limits;
        }))
        .unwrap();
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
    // One is served, and 32 get 503.
    assert!((1..=33).contains(&answered.count()));
}

#[test]
fn shutdown_does_not_wait_for_half_a_body() {
    let world = World::new();
    let options = changed(HttpOptions::default(), |options| {
        (options.limits.grace, options.limits.body_time) = (ENDLESS, ENDLESS);
    });
    let http = Http::start(&world.server(), options);
    let mut half = http.connect();
    let host = http.address;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
    );
    half.write_all(head.as_bytes()).unwrap();
    assert_eq!(http.get("/healthz").0, 200);
    std::thread::sleep(Duration::from_millis(100));
    http.stop.stop();
    http.end();
}

#[test]
fn shutdown_finishes_a_download_in_progress() {
    let world = World::new();
    world.write("alpha/assets/big.txt", "x".repeat(12 * 1024 * 1024));
    let http = Http::start(&world.server(), HttpOptions::default());
    let mut slow = http.connect();
    let path = "/.well-known/agent-skills/alpha/assets/big.txt";
    slow.write_all(format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", http.address).as_bytes()).unwrap();
    let mut answer = vec![0; 12];
    slow.read_exact(&mut answer).unwrap();
    http.stop.stop();
    let is_closed = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        TcpStream::connect(http.address).is_err()
    });
    assert!(is_closed, "no new connections are accepted");
    slow.read_to_end(&mut answer).unwrap();
    let start = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
    assert_eq!(answer.len() - start, 12 * 1024 * 1024);
    assert!(String::from_utf8_lossy(&answer[..start]).contains("content-length: 12582912"));
}
