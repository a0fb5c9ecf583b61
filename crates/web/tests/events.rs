//! The ways in which skills reach the clients of a server: each has its event.

use std::collections::BTreeSet;
use std::sync::Arc;

use repertoire::event::{Event, MemorySink, Surface, Via};
use repertoire::{Agent, EventKind, Outcome, SessionOptions};
use repertoire_mcp::methods;
use repertoire_model::scope::{Pattern, Scope};
use repertoire_web::http::{HttpOptions, Token};
use serde_json::{Value, json};

use crate::world::*;

const TOKEN: &str = "laptop-0123456789";
const AUTHORIZATION: (&str, &str) = ("Authorization", "Bearer laptop-0123456789");

/// An HTTP server for an agent that may not see `secret`, and the events of its requests.
struct RecordedServer {
    http: Http,
    sink: Arc<MemorySink>,
}

/// The token of one who sees every skill.
const WIDE_TOKEN: &str = "fedcba9876543210fedcba9876543210";

impl RecordedServer {
    fn start(world: &World) -> Self {
        let scope = Scope { deny: vec![Pattern::new("secret").unwrap()], ..Scope::default() };
        let mut agent = Agent::new("narrow");
        agent.scope = scope;
        let sink = Arc::new(MemorySink::new());
        let server = world
            .server_equipped(SessionOptions::default(), |builder| builder.agent(agent).sink(sink.clone()));
        let mut token = Token::new(TOKEN, Some("narrow".to_owned()), "").unwrap();
        token.name = "laptop".to_owned();
        let wide = Token::new(WIDE_TOKEN, None, "").unwrap();
        let options = changed(HttpOptions::default(), |options| options.access.tokens = vec![token, wide]);
        Self { http: Http::start(&server, options), sink }
    }

    /// Checks that the events of `request` are the events that `expect` lists, with all their fields.
    fn check(&self, request: &str, surface: Surface, expect: &[&str]) {
        let events = self.sink.take();
        assert_eq!(events.iter().map(row).collect::<Vec<_>>(), expect, "{request}");
        for event in events {
            assert_eq!(event.surface, surface, "{request}");
            assert_eq!(event.principal.as_deref(), Some("laptop"), "{request}");
            assert_eq!(event.agent.as_deref(), Some("narrow"), "{request}");
            assert!(!event.session.is_empty(), "{request}");
            let gives = matches!(event.kind, EventKind::SkillLoaded | EventKind::FileRead);
            if gives && event.outcome == Outcome::Ok {
                assert!(event.digest.is_some() && event.bytes > 0 && !event.duration.is_zero(), "{event:?}");
                assert!(event.tokens > 0 || request.ends_with(".tar.gz"), "{event:?}");
            }
            if event.kind == EventKind::FilesListed && event.outcome == Outcome::Ok {
                assert!(event.bytes > 0 && event.tokens == 0, "{event:?}");
            }
        }
    }
}

fn row(event: &Event) -> String {
    let word = |word: &Option<String>| word.clone().unwrap_or_else(|| "-".to_owned());
    let Event { kind, skill, source, file, outcome, via, tool, .. } = event;
    format!("{kind} {} {} {} {outcome} {via} {tool}", word(skill), word(source), word(file))
}

fn world() -> World {
    let world = World::new();
    world.skill("secret", "", "# Secret\n");
    world
}

#[test]
fn every_method_that_returns_skills_has_an_event() {
    let (world, mut listed) = (world(), BTreeSet::new());
    let server = RecordedServer::start(&world);
    let mut check = |method: &'static str, params: Value, expect: &[&str]| {
        let request = format!("{method} {params}");
        server.http.post_with(method, params, &[AUTHORIZATION]);
        server.check(&request, Surface::Mcp, expect);
        listed.insert(method);
    };
    let load = |name: &str| json!({"name": "load_skill", "arguments": {"name": name}});
    check("tools/call", load("alpha"), &["skill_loaded alpha project:skills - ok call load_skill"]);
    check("tools/call", load("secret"), &["skill_loaded secret - - denied call load_skill"]);
    let prompt = |name: &str| json!({"name": name});
    check("prompts/get", prompt("beta"), &["skill_loaded beta project:skills - ok prompt prompts/get"]);
    check("prompts/get", prompt("nope"), &["skill_loaded nope - - not_found prompt prompts/get"]);
    check("prompts/get", prompt("secret"), &["skill_loaded secret - - denied prompt prompts/get"]);
    let bad = json!({"name": "beta", "arguments": {"arguments": 1}});
    check("prompts/get", bad, &["skill_loaded beta - - invalid prompt prompts/get"]);
    for (uri, expect) in [
        ("skill://alpha/SKILL.md", "skill_loaded alpha project:skills - ok"),
        (
            "skill://alpha/references/guide%20one.md",
            "file_read alpha project:skills references/guide one.md ok",
        ),
        ("skill://alpha/nope.md", "file_read alpha project:skills nope.md not_found"),
        ("skill://alpha/_manifest", "files_listed alpha project:skills - ok"),
        ("skill://nope/SKILL.md", "skill_loaded nope - - not_found"),
        ("skill://secret/SKILL.md", "skill_loaded secret - - denied"),
        ("nonsense", "file_read - - - not_found"),
    ] {
        check("resources/read", json!({"uri": uri}), &[&format!("{expect} resource resources/read")]);
    }
    for (uri, expect) in [
        ("skill://alpha/SKILL.md", "files_listed alpha project:skills - ok"),
        ("skill://secret/SKILL.md", "files_listed secret - - denied"),
        ("skill://nope/SKILL.md", "files_listed nope - - not_found"),
    ] {
        check("skills/get", json!({"uri": uri}), &[&format!("{expect} resource skills/get")]);
    }
    for (uri, expect) in [
        ("skill://alpha/references", "files_listed alpha project:skills references ok"),
        ("skill://alpha/nope", "files_listed alpha project:skills nope not_found"),
        ("skill://secret", "files_listed secret - - denied"),
    ] {
        let expect = format!("{expect} resource resources/directory/read");
        check("resources/directory/read", json!({"uri": uri}), &[&expect]);
    }
    // Lists hold names and descriptions, as catalogs do.
    for method in [
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "skills/list",
        "server/discover",
        "initialize",
        "ping",
    ] {
        check(method, json!({}), &[]);
    }
    // Its answer is a stream of notifications without content.
    listed.insert("subscriptions/listen");
    assert_eq!(listed, methods().collect(), "every method has its rows here");
}

#[test]
fn every_download_has_an_event() {
    let world = world();
    let server = RecordedServer::start(&world);
    let check = |method: &str, path: &str, expect: &[&str]| {
        let (_, answer) = server.http.ask(method, &format!("/.well-known/{path}"), &[AUTHORIZATION], "");
        server.check(path, Surface::Http, expect);
        answer
    };
    for (path, expect) in [
        ("agent-skills/alpha.tar.gz", "skill_downloaded alpha project:skills - ok"),
        ("agent-skills/beta/SKILL.md", "skill_downloaded beta project:skills SKILL.md ok"),
        (
            "skills/alpha/references/guide%20one.md",
            "skill_downloaded alpha project:skills references/guide one.md ok",
        ),
        ("skills/alpha/nope.md", "skill_downloaded alpha project:skills nope.md not_found"),
        ("skills/nope/SKILL.md", "skill_downloaded nope - SKILL.md not_found"),
        ("skills/secret/SKILL.md", "skill_downloaded secret - SKILL.md denied"),
        ("agent-skills/secret.tar.gz", "skill_downloaded secret - - denied"),
        ("agent-skills/nope.tar.gz", "skill_downloaded nope - - not_found"),
    ] {
        check("GET", path, &[&format!("{expect} download download")]);
    }
    check("GET", "agent-skills/index.json", &[]);
    check("GET", "skills/index.json", &[]);
    let answer = check("HEAD", "agent-skills/beta/SKILL.md", &[]);
    let tag = answer.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
    let path = "/.well-known/agent-skills/beta/SKILL.md";
    assert_eq!(server.http.ask("GET", path, &[AUTHORIZATION, ("If-None-Match", tag)], "").0, 304);
    let events = server.sink.take();
    assert_eq!(
        (events.len(), events[0].outcome, events[0].tokens),
        (1, Outcome::Ok, 0),
        "it has the content"
    );
    assert_eq!(events[0].via, Via::Download);
}

#[test]
fn requests_without_a_valid_token_have_a_bounded_number_of_events() {
    let world = world();
    let server = RecordedServer::start(&world);
    for _ in 0..8 {
        assert_eq!(server.http.get("/metrics").0, 401);
        assert_eq!(
            server.http.ask("GET", "/mcp", &[("Authorization", "Bearer wrong-secret-value")], "").0,
            401
        );
    }
    let events = server.sink.take();
    assert_eq!(events.len(), 10);
    let errors: BTreeSet<&str> = events.iter().filter_map(|event| event.error.as_deref()).collect();
    assert_eq!(errors, BTreeSet::from(["invalid_token", "missing_token"]));
    for event in &events {
        assert_eq!((event.kind, event.outcome), (EventKind::AccessRefused, Outcome::Denied));
        assert_eq!((event.surface, &event.principal), (Surface::Http, &None));
        assert!(!format!("{event:?}").contains("wrong-secret"), "{event:?}");
    }
    let metrics = server.http.ask("GET", "/metrics", &[AUTHORIZATION], "").1;
    assert!(!metrics.contains("skill_refused_requests_total"), "those of others: {metrics}");
    let wide = format!("Bearer {WIDE_TOKEN}");
    let metrics = server.http.ask("GET", "/metrics", &[("Authorization", &wide)], "").1;
    assert!(metrics.contains("\nskill_refused_requests_total 16\n"), "{metrics}");
}
