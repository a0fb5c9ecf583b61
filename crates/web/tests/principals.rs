//! Tokens of a store: their scopes, roles and ends, and replacements while the server runs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use crate::memory_store::MemoryStore;
use repertoire::Agent;
use repertoire::model::Pattern;
use repertoire::store::{Journal as _, LazyStore, Role, Store, TokenRecord, Tokens as _};
use repertoire::{Event, EventKind};
use repertoire_web::ServerOptions;
use repertoire_web::http::{AccessLog, HttpAccess, HttpOptions, Token};
use serde_json::{Value, json};

use crate::world::{Http, World, changed, with_meta};

/// A server with the tokens of a store, and no other access.
struct Team {
    store: Arc<MemoryStore>,
    http: Http,
}

impl Team {
    fn new(world: &World, agents: Vec<Agent>, access: HttpAccess) -> Self {
        let store = Arc::new(MemoryStore::new());
        let shared: Arc<dyn Store> = store.clone();
        let options = changed(ServerOptions::default(), |options| {
            options.dashboard.is_served = true;
            options.dashboard.store = Some(LazyStore::from(Arc::clone(&shared)));
        });
        let server = world.server_for(options, agents);
        let options = changed(HttpOptions::default(), |options| {
            options.access = access;
            options.needs_token = true;
            options.store = Some(LazyStore::from(shared));
        });
        Self { store, http: Http::start(&server, options) }
    }

    /// Adds a token that `change` changes, and returns its secret.
    fn token(&self, name: &str, role: Role, change: impl FnOnce(&mut TokenRecord)) -> String {
        let secret = format!("rep_{name}_{role}_0123456789");
        let mut token = TokenRecord::new(&secret, name, role, SystemTime::now());
        change(&mut token);
        self.store.add_token(&token).unwrap();
        secret
    }

    fn call(&self, secret: &str, method: &str, params: Value) -> (u16, String) {
        let bearer = format!("Bearer {secret}");
        let (status, answer) = self.http.post_with(method, params, &[("Authorization", &bearer)]);
        (status, answer.to_string())
    }

    fn get(&self, secret: &str, path: &str) -> (u16, String) {
        self.http.ask("GET", path, &[("Authorization", &format!("Bearer {secret}"))], "")
    }
}

fn patterns(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().map(|text| Pattern::for_scope(text).unwrap()).collect()
}

#[test]
fn a_token_of_the_store_is_accepted_and_ends_when_it_is_revoked() {
    let world = World::new();
    let team = Team::new(&world, Vec::new(), HttpAccess::default());
    assert_eq!(team.http.get("/.well-known/agent-skills/index.json").0, 401);
    assert_eq!(team.call("rep_unknown_0123456789abcdef", "tools/list", json!({})).0, 401);
    let ann = team.token("ann", Role::Reader, |_| {});
    assert_eq!(team.call(&ann, "tools/list", json!({})).0, 200);
    let digest = team.store.tokens().unwrap()[0].digest;
    assert!(team.store.revoke_token(&digest, SystemTime::now()).unwrap());
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while team.call(&ann, "tools/list", json!({})).0 != 401 {
        assert!(std::time::Instant::now() < deadline, "a revoked token ends within seconds");
        std::thread::yield_now();
    }
    let ended = team.token("bob", Role::Admin, |token| token.expires = Some(SystemTime::now()));
    assert_eq!(team.call(&ended, "tools/list", json!({})).0, 401);
}

#[test]
fn streams_end_when_their_token_is_revoked() {
    use std::io::{Read as _, Write as _};

    let world = World::new();
    let team = Team::new(&world, Vec::new(), HttpAccess::default());
    let (ann, bob) = (team.token("ann", Role::Reader, |_| {}), team.token("bob", Role::Reader, |_| {}));
    let digest = team.store.tokens().unwrap().iter().find(|token| token.name == "ann").unwrap().digest;
    let open = |secret: &str, head: &str, body: &str| {
        let mut stream = team.http.connect();
        let more = format!("Host: {}\r\nAuthorization: Bearer {secret}\r\n", team.http.address);
        let types = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
        let length = body.len();
        write!(stream, "{head}\r\n{more}{types}Content-Length: {length}\r\n\r\n{body}").unwrap();
        let mut start = [0; 12];
        stream.read_exact(&mut start).unwrap();
        assert_eq!(&start, b"HTTP/1.1 200", "{head}");
        stream
    };
    let changes = "GET /api/v1/changes HTTP/1.1\r\nConnection: close";
    let listen = "POST /mcp HTTP/1.1\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nConnection: close";
    let params = with_meta(json!({"notifications": {"resourcesListChanged": true}}));
    let body = json!({"jsonrpc": "2.0", "id": 9, "method": "subscriptions/listen", "params": params});
    let body = body.to_string();
    let streams = [open(&ann, changes, ""), open(&ann, listen, &body)];
    let mut other = open(&bob, changes, "");
    assert!(team.store.revoke_token(&digest, SystemTime::now()).unwrap());
    for mut stream in streams {
        // The end of the stream; the connection's time limit is an error.
        stream.read_to_end(&mut Vec::new()).unwrap();
    }
    let event = Event::new(EventKind::SkillLoaded, "load_skill", "s", SystemTime::now());
    team.store.append(&[event]).unwrap();
    let mut told = Vec::new();
    while !String::from_utf8_lossy(&told).contains("event: events") {
        let mut part = [0; 256];
        let length = other.read(&mut part).unwrap();
        assert!(length > 0, "the stream of another token goes on");
        told.extend(&part[..length]);
    }
}

#[test]
fn outside_the_scope_of_a_token_looks_like_unknown_on_every_surface() {
    let world = World::new();
    world.skill("gamma", "metadata:\n  tags: finance\n", "# Gamma\n");
    let kits = BTreeMap::from([("greek".to_owned(), patterns(&["beta"]))]);
    let mut access = HttpAccess::default();
    access.kits = kits;
    let team = Team::new(&world, Vec::new(), access);
    let by_name =
        team.token("name", Role::Reader, |token| token.scope.scope.allow = Some(patterns(&["beta"])));
    let by_deny =
        team.token("deny", Role::Reader, |token| token.scope.scope.deny = patterns(&["alpha", "tag=fin*"]));
    let by_kit = team.token("kit", Role::Reader, |token| token.scope.kits = vec!["greek".to_owned()]);
    let by_source = team.token("source", Role::Reader, |token| {
        token.scope.scope = repertoire::model::Scope { allow: None, deny: patterns(&["*:alpha", "*:gamma"]) };
    });
    for secret in [&by_name, &by_deny, &by_kit, &by_source] {
        for (method, params) in [
            ("skills/list", json!({})),
            ("prompts/list", json!({})),
            ("tools/list", json!({})),
            ("resources/list", json!({})),
            ("tools/call", json!({"name": "list_skills", "arguments": {}})),
            ("tools/call", json!({"name": "search_skills", "arguments": {"query": "alpha gamma"}})),
        ] {
            let (status, answer) = team.call(secret, method, params);
            // Answers to searches may repeat the query.
            let answer = answer.replace("alpha gamma", "");
            assert!(
                status == 200 && !answer.contains("alpha") && !answer.contains("gamma"),
                "{method} {answer}"
            );
        }
        // The same words for a skill out of scope and for one that does not exist.
        for (hidden, unknown) in [("alpha", "alphx"), ("gamma", "gammx")] {
            let load = |name: &str| {
                let arguments = json!({"name": "load_skill", "arguments": {"name": name}});
                team.call(secret, "tools/call", arguments).1.replace(name, "NAME")
            };
            assert_eq!(load(hidden), load(unknown));
            let read = |name: &str| {
                let uri = format!("skill://{name}/SKILL.md");
                team.call(secret, "resources/read", json!({"uri": uri})).1.replace(name, "NAME")
            };
            assert_eq!(read(hidden), read(unknown));
            for path in ["NAME.tar.gz", "NAME/SKILL.md"] {
                let get = |name: &str| {
                    let path = format!("/.well-known/agent-skills/{}", path.replace("NAME", name));
                    let (status, answer) = team.get(secret, &path);
                    let lines = answer.lines().filter(|line| !line.starts_with("date:"));
                    (status, lines.map(|line| line.replace(name, "NAME")).collect::<Vec<_>>())
                };
                assert_eq!(get(hidden), get(unknown));
                assert_eq!(get(hidden).0, 404);
            }
        }
        for index in ["/.well-known/agent-skills/index.json", "/.well-known/skills/index.json"] {
            let (status, answer) = team.get(secret, index);
            assert!(status == 200 && answer.contains("beta"), "{answer}");
            assert!(!answer.contains("alpha") && !answer.contains("gamma"), "{answer}");
        }
        assert!(!team.get(secret, "/metrics").1.contains("gamma"));
        // A request may ask for fewer skills, never for more.
        let bearer = format!("Bearer {secret}");
        let (_, answer) =
            team.http.post_to("/mcp?skills=*", "skills/list", json!({}), &[("Authorization", &bearer)]);
        assert!(answer.to_string().contains("beta") && !answer.to_string().contains("alpha"), "{answer}");
    }
    let all = team.token("all", Role::Reader, |_| {});
    assert!(team.get(&all, "/.well-known/agent-skills/index.json").1.contains("gamma"));
}

#[test]
fn a_token_with_an_agent_that_does_not_exist_is_refused() {
    let world = World::new();
    let team = Team::new(&world, vec![Agent::new("builder")], HttpAccess::default());
    let good = team.token("good", Role::Reader, |token| token.agent = Some("builder".to_owned()));
    let bad = team.token("bad", Role::Reader, |token| token.agent = Some("gone".to_owned()));
    assert_eq!((team.get(&good, "/metrics").0, team.get(&bad, "/metrics").0), (200, 403));
}

#[test]
fn tokens_and_agents_are_replaced_while_the_server_runs() {
    let world = World::new();
    let agent = |allow: &str| {
        let mut agent = Agent::new("builder");
        agent.scope.allow = Some(patterns(&[allow]));
        agent
    };
    let server = world.server_for(ServerOptions::default(), vec![agent("alpha")]);
    let (one, two) = ("one-0123456789abcdef", "two-0123456789abcdef");
    let access = |secret: &str, agents: Option<Vec<Agent>>| {
        let mut access = HttpAccess::default();
        access.tokens = vec![Token::new(secret, Some("builder".to_owned()), "").unwrap()];
        access.agents = agents;
        access
    };
    let options = changed(HttpOptions::default(), |options| options.access = access(one, None));
    let http = Http::start(&server, options);
    let index = |secret: &str| {
        let headers = [("Authorization", format!("Bearer {secret}"))];
        let headers = headers.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>();
        http.ask("GET", "/.well-known/agent-skills/index.json", &headers, "")
    };
    assert!(index(one).1.contains("alpha"));
    http.control.replace_blocking(access(two, Some(vec![agent("beta")]))).unwrap();
    assert_eq!(index(one).0, 401);
    assert!(index(two).1.contains("beta") && !index(two).1.contains("alpha"));
    // Everything stays as it is after an error.
    http.control.replace_blocking(access(one, Some(Vec::new()))).unwrap_err();
    assert_eq!((index(one).0, index(two).0), (401, 200));
}

#[test]
fn requests_of_a_token_are_limited_and_logged_without_secrets() {
    let world = World::new();
    let server = world.server();
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&lines);
    let (one, two) = ("one-0123456789abcdef", "two-0123456789abcdef");
    let options = changed(HttpOptions::default(), |options| {
        options.access.tokens =
            vec![Token::new(one, None, "one").unwrap(), Token::new(two, None, "two").unwrap()];
        options.principal_limits.requests = 3;
        options.access_log = Some(AccessLog::new(move |line| log.lock().unwrap().push(line.to_owned())));
    });
    let http = Http::start(&server, options);
    let get = |secret: &str, path: &str| {
        http.ask("GET", path, &[("Authorization", &format!("Bearer {secret}"))], "")
    };
    for _ in 0..3 {
        assert_eq!(get(one, "/metrics?secret=1").0, 200);
    }
    let (status, answer) = get(one, "/metrics");
    assert_eq!(status, 429);
    let retry = answer.lines().find_map(|line| line.strip_prefix("retry-after: ")).unwrap();
    assert!((1..=61).contains(&retry.trim().parse::<u32>().unwrap()), "{retry}");
    assert_eq!(get(two, "/metrics").0, 200, "another token is not held up");
    assert_eq!(get("wrong-0123456789abcdef", "/metrics").0, 401);
    assert_eq!(http.get("/healthz").0, 200, "health checks are not logged");
    http.end();
    let lines = lines.lock().unwrap();
    let lines: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let seen: Vec<String> = lines
        .iter()
        .map(|line| format!("{} {} {} {}", line["principal"], line["method"], line["path"], line["status"]))
        .collect();
    assert_eq!(
        seen,
        [
            "\"one\" \"GET\" \"/metrics\" 200",
            "\"one\" \"GET\" \"/metrics\" 200",
            "\"one\" \"GET\" \"/metrics\" 200",
            "\"one\" \"GET\" \"/metrics\" 429",
            "\"two\" \"GET\" \"/metrics\" 200",
            "null \"GET\" \"/metrics\" 401",
        ]
    );
    assert!(lines[0]["bytes"].as_u64().unwrap() > 100 && lines[0]["client"] == "127.0.0.1", "{}", lines[0]);
}

#[test]
fn a_reader_has_no_tools_that_write() {
    let world = World::new();
    let team = Team::new(&world, Vec::new(), HttpAccess::default());
    let reader = team.token("ann", Role::Reader, |_| {});
    let (status, tools) = team.call(&reader, "tools/list", json!({}));
    assert!(status == 200 && tools.contains("load_skill") && !tools.contains("propose_skill"), "{tools}");
    let call = json!({"name": "propose_skill", "arguments": {}});
    assert!(team.call(&reader, "tools/call", call).1.contains("propose_skill"));
}
