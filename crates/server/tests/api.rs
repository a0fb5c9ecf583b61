//! The JSON API as programs meet it: every route, its document, its errors, and who may write.

use std::sync::Arc;

use repertoire::event::{Event, EventKind, MemorySink};
use repertoire::history::{identity, record};
use repertoire::proposal::{ProposalRules, ProposalText, Proposer};
use repertoire::store::{Journal as _, LazyStore, MemoryStore, Origin, Store};
use repertoire::{Agent, Entry, Library, Registry, SessionOptions};
use repertoire_model::scope::{Pattern, Scope};
use repertoire_server::dashboard::{Cost, CostOfWay, DashboardOptions, Decision, Host, NewestVersion};
use repertoire_server::http::{HttpOptions, Token};
use repertoire_server::{Server, ServerOptions};
use serde_json::{Value, json};

use crate::world::{Http, World, changed};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const OTHER_TOKEN: &str = "fedcba9876543210fedcba9876543210";

/// A host that knows something about everything.
struct TestHost;

impl Host for TestHost {
    fn explain(&self, _: &Registry, name: &str) -> Result<Vec<Decision>, String> {
        Ok(vec![Decision { topic: "found".to_owned(), text: format!("{name} was found") }])
    }

    fn newest(&self, entry: &Entry) -> Result<Option<NewestVersion>, String> {
        let is_added = entry.name().as_str() == "alpha";
        Ok(is_added.then(|| NewestVersion { state: "outdated", detail: Some("3f2a91c".to_owned()) }))
    }

    fn switch_refusal(&self) -> Option<String> {
        None
    }

    fn switch(&self, entry: &Entry, is_on: bool) -> Result<Vec<Pattern>, String> {
        Ok(if is_on { Vec::new() } else { vec![Pattern::new(entry.name().as_str()).unwrap()] })
    }

    fn cost(&self, turns: u32) -> Option<Result<Cost, String>> {
        let way = CostOfWay {
            way: "stable".to_owned(),
            explanation: "The default.".to_owned(),
            prefix_tokens: 10,
            prefix_changes: 0,
            cache_read: 20,
            cache_write: 10,
            input: 1,
            output: 5,
            cost: 0.5,
            parts: [0.1, 0.2, 0.1, 0.1],
        };
        Some(Ok(Cost {
            model: "model".to_owned(),
            prices_of: "2026-01-01".to_owned(),
            turns,
            skills: 2,
            loaded: vec!["alpha".to_owned()],
            ways: vec![way],
            break_even: None,
        }))
    }
}

/// A dashboard over a world with a store.
pub struct Dashboard {
    pub world: World,
    pub store: Arc<MemoryStore>,
    pub server: Server,
    /// The events of decisions and of people that sign in.
    pub sink: Arc<MemorySink>,
}

impl Dashboard {
    pub fn new(change: impl FnOnce(&mut DashboardOptions)) -> Self {
        Self::of(World::new(), change)
    }

    pub fn of(world: World, change: impl FnOnce(&mut DashboardOptions)) -> Self {
        let store = Arc::new(MemoryStore::new());
        let lazy = LazyStore::from(Arc::clone(&store) as Arc<dyn Store>);
        let options = changed(ServerOptions::default(), |options| {
            options.version = "0.0.0".to_owned();
            options.dashboard.is_served = true;
            options.dashboard.store = Some(lazy.clone());
            options.dashboard.person = "user:ada".to_owned();
            options.dashboard.host = Some(Arc::new(TestHost));
            options.dashboard.title = "world".to_owned();
            change(&mut options.dashboard);
        });
        let scope = Scope { allow: Some(vec![Pattern::new("beta").unwrap()]), ..Scope::default() };
        let mut rules = ProposalRules::default();
        rules.new_skills = Some(world.path(""));
        let mut narrow = Agent::new("narrow");
        (narrow.scope, narrow.reviews) = (scope, true);
        let sink = Arc::new(MemorySink::new());
        let library = |builder: repertoire::LibraryBuilder| {
            let builder = builder.agent(narrow).agent(Agent::new("reader")).sink(sink.clone());
            builder.proposer(Arc::new(Proposer::new(lazy, rules)))
        };
        let server = world.server_with_options(options, SessionOptions::default(), library);
        Self { world, store, server, sink }
    }

    pub fn http(&self) -> Http {
        Http::start(&self.server, HttpOptions::default())
    }

    /// Proposes to add `line` to the instructions of `skill`. Returns the number of the proposal.
    pub fn propose(&self, skill: &str, line: &str) -> u64 {
        self.propose_as("agent:worker", skill, line)
    }

    /// Does the same for another author.
    pub fn propose_as(&self, author: &str, skill: &str, line: &str) -> u64 {
        let library: &Library = self.server.library();
        let snapshot = library.snapshot();
        let entry = snapshot.active().find(|entry| entry.name().as_str() == skill).unwrap();
        let text = std::fs::read_to_string(self.world.path(&format!("{skill}/SKILL.md"))).unwrap();
        let lines = text.lines().count();
        let last = text.lines().last().unwrap();
        let diff = format!("--- a/SKILL.md\n+++ b/SKILL.md\n@@ -{lines},1 +{lines},2 @@\n {last}\n+{line}\n");
        let time = std::time::SystemTime::now();
        let mut text = ProposalText::new(author, "it is needed", time);
        text.evidence = Some("a test failed".to_owned());
        let proposer = library.proposer().unwrap();
        pollster::block_on(proposer.propose_update(library.registry(), entry, &diff, text)).unwrap().id
    }

    /// Records the skill as a version.
    pub fn record(&self, skill: &str) {
        let registry = self.server.library().registry();
        let snapshot = registry.snapshot();
        let entry = snapshot.active().find(|entry| entry.name().as_str() == skill).unwrap();
        let (files, _) = pollster::block_on(repertoire::history::capture(registry, entry)).unwrap();
        let time = std::time::SystemTime::now();
        record(&*self.store, (&identity(entry), skill), &files, Origin::Edit, None, time).unwrap();
    }

    pub fn load(&self, skill: &str) {
        let mut event = Event::new(EventKind::SkillLoaded, "load_skill", "s1", std::time::SystemTime::now());
        event.skill = Some(skill.to_owned());
        event.tokens = 100;
        self.store.append(&[event]).unwrap();
    }
}

fn body(answer: &str) -> Value {
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
    serde_json::from_str(body).unwrap_or(Value::Null)
}

fn get(http: &Http, path: &str) -> (u16, Value) {
    let (status, answer) = http.get(path);
    (status, body(&answer))
}

fn post(http: &Http, path: &str, request: Value, headers: &[(&str, &str)]) -> (u16, Value) {
    let headers = [&[("Content-Type", "application/json")], headers].concat();
    let (status, answer) = http.ask("POST", path, &headers, &request.to_string());
    (status, body(&answer))
}

#[test]
fn the_document_is_as_recorded() {
    let dashboard = Dashboard::new(|_| {});
    let (status, document) = get(&dashboard.http(), "/api/v1/openapi.json");
    assert_eq!(status, 200);
    insta::assert_json_snapshot!("openapi", document);
}

/// Returns the reason that `value` is not as `schema` says.
fn fault(document: &Value, schema: &Value, value: &Value) -> Option<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap();
        return fault(document, &document["components"]["schemas"][name], value);
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let is_one = any.iter().any(|schema| fault(document, schema, value).is_none());
        return (!is_one).then(|| format!("{value} is none of {any:?}"));
    }
    let is_kind = |kind: &str| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("an unknown type {other}"),
    };
    let fits = match &schema["type"] {
        Value::String(kind) => is_kind(kind),
        Value::Array(kinds) => kinds.iter().any(|kind| is_kind(kind.as_str().unwrap())),
        _ => true,
    };
    if !fits {
        return Some(format!("{value} is not of the type {}", schema["type"]));
    }
    let required = schema["required"].as_array().into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if value.get(name).is_none() {
            return Some(format!("{name} is missing in {value}"));
        }
    }
    for (name, value) in value.as_object().into_iter().flatten() {
        match schema["properties"].get(name) {
            Some(property) => {
                if let Some(fault) = fault(document, property, value) {
                    return Some(format!("{name}: {fault}"));
                }
            }
            None if schema.get("properties").is_some() => return Some(format!("{name} is not told of")),
            None => {}
        }
    }
    let items = value.as_array().into_iter().flatten();
    items.filter_map(|item| fault(document, &schema["items"], item)).next()
}

#[test]
fn every_route_answers_as_the_document_says() {
    let dashboard = Dashboard::new(|options| options.allows_writes = true);
    dashboard.load("alpha");
    dashboard.record("alpha");
    let (approved, rejected, rebased) = (
        dashboard.propose("alpha", "One."),
        dashboard.propose("beta", "Two."),
        dashboard.propose("beta", "Three."),
    );
    let http = dashboard.http();
    let (_, document) = get(&http, "/api/v1/openapi.json");
    let mut paths: Vec<String> = document["paths"].as_object().unwrap().keys().cloned().collect();
    let mut check = |path: &str, of: &str, method: &str, (status, answer): (u16, Value)| {
        assert_eq!(status, 200, "{path}: {answer}");
        let schema =
            &document["paths"][of][method]["responses"]["200"]["content"]["application/json"]["schema"];
        assert!(!schema.is_null(), "{of} is not in the document");
        assert_eq!(fault(&document, schema, &answer), None, "{path}");
        paths.retain(|path| path != of);
    };
    for (path, of) in [
        ("/overview", "/overview"),
        ("/skills?q=alpha&limit=1", "/skills"),
        ("/skills/alpha", "/skills/{name}"),
        ("/skills/alpha/files/references/deep/more.md", "/skills/{name}/files/{path}"),
        ("/skills/alpha/explain", "/skills/{name}/explain"),
        ("/skills/alpha/update", "/skills/{name}/update"),
        ("/skills/alpha/versions", "/skills/{name}/versions"),
        ("/skills/alpha/versions/1/diff", "/skills/{name}/versions/{version}/diff"),
        ("/search?q=alpha", "/search"),
        ("/catalog?budget=100&task=alpha&format=list", "/catalog"),
        ("/proposals", "/proposals"),
        (&format!("/proposals/{approved}"), "/proposals/{id}"),
        ("/events?kind=skill_loaded", "/events"),
        ("/sessions", "/sessions"),
        ("/economics?turns=3", "/economics"),
        ("/health", "/health"),
        ("/openapi.json", "/openapi.json"),
    ] {
        let (path, of) = (format!("/api/v1{path}"), format!("/api/v1{of}"));
        check(&path, &of, "get", get(&http, &path));
    }
    for (path, of, request) in [
        (format!("/proposals/{approved}/approve"), "/proposals/{id}/approve", json!({})),
        (format!("/proposals/{rejected}/reject"), "/proposals/{id}/reject", json!({"reason": "no"})),
        (format!("/proposals/{rebased}/rebase"), "/proposals/{id}/rebase", json!({})),
        ("/skills/alpha/rollback".to_owned(), "/skills/{name}/rollback", json!({"version": 1})),
        ("/skills/alpha/switch".to_owned(), "/skills/{name}/switch", json!({"on": true})),
    ] {
        let (path, of) = (format!("/api/v1{path}"), format!("/api/v1{of}"));
        check(&path, &of, "post", post(&http, &path, request, &[]));
    }
    let versions = "/api/v1/skills/{name}/versions/{version}";
    assert_eq!(paths, ["/api/v1/events/export", "/api/v1/changes", versions], "these have other media types");
    let (status, export) = http.get("/api/v1/events/export");
    assert_eq!(status, 200);
    assert!(export.contains("application/x-ndjson") && export.contains("\"skill\":\"alpha\""), "{export}");
    assert!(
        !std::fs::read_to_string(dashboard.world.path("alpha/SKILL.md")).unwrap().contains("One."),
        "rolled back"
    );
    assert_eq!(get(&http, &format!("/api/v1/proposals/{approved}")).1["state"], "rolled_back");
}

#[test]
fn errors_have_stable_codes() {
    let dashboard = Dashboard::new(|options| options.allows_writes = true);
    let http = dashboard.http();
    for (path, status, code) in [
        ("/api/v1/nothing", 404, "not_found"),
        ("/api/v1/skills/nothing", 404, "not_found"),
        ("/api/v1/skills/alpha/files/nothing", 404, "not_found"),
        ("/api/v1/skills/alpha/files/..%2F..%2Fx", 404, "not_found"),
        ("/api/v1/skills?limit=0", 400, "invalid_request"),
        ("/api/v1/skills?limit=x", 400, "invalid_request"),
        ("/api/v1/skills?cursor=x", 400, "invalid_request"),
        ("/api/v1/skills?sort=x", 400, "invalid_request"),
        ("/api/v1/skills?agent=x", 404, "not_found"),
        ("/api/v1/catalog?format=x", 400, "invalid_request"),
        ("/api/v1/search", 400, "invalid_request"),
        ("/api/v1/proposals/x", 400, "invalid_request"),
        ("/api/v1/proposals/99", 404, "not_found"),
        ("/api/v1/proposals?state=x", 400, "invalid_request"),
        ("/api/v1/economics?turns=0", 400, "invalid_request"),
    ] {
        let (found, answer) = get(&http, path);
        assert_eq!((found, answer["error"]["code"].as_str()), (status, Some(code)), "{path}: {answer}");
        assert!(answer["error"]["message"].is_string());
    }
    let (status, answer) = http.ask("DELETE", "/api/v1/skills", &[], "");
    assert_eq!((status, body(&answer)["error"]["code"].as_str()), (405, Some("method_not_allowed")));
    for (line, request) in [("One.", json!({"reason": " "})), ("Two.", json!({}))] {
        let id = dashboard.propose("alpha", line);
        let (status, answer) = post(&http, &format!("/api/v1/proposals/{id}/reject"), request, &[]);
        assert_eq!((status, answer["error"]["code"].as_str()), (400, Some("invalid_request")));
        assert_eq!(
            post(&http, &format!("/api/v1/proposals/{id}/reject"), json!({"reason": "x"}), &[]).0,
            200
        );
        let (status, answer) = post(&http, &format!("/api/v1/proposals/{id}/approve"), json!({}), &[]);
        assert_eq!((status, answer["error"]["code"].as_str()), (409, Some("state")), "{answer}");
    }
}

#[test]
fn events_of_a_person_are_found_with_and_without_the_kind_of_the_name() {
    let dashboard = Dashboard::new(|_| {});
    let mut event = Event::new(EventKind::SkillSwitched, "disable", "", std::time::SystemTime::now());
    event.principal = Some("user:root".to_owned());
    dashboard.store.append(&[event]).unwrap();
    let http = dashboard.http();
    for (principal, count) in [("root", 1), ("user:root", 1), ("oot", 0), ("user:", 0)] {
        let (_, answer) = get(&http, &format!("/api/v1/events?principal={principal}"));
        assert_eq!(answer["events"].as_array().unwrap().len(), count, "{principal}: {answer}");
    }
}

#[test]
fn a_server_without_a_store_says_so() {
    let dashboard = Dashboard::new(|options| options.store = None);
    let http = dashboard.http();
    let (status, answer) = get(&http, "/api/v1/events");
    assert_eq!((status, answer["error"]["code"].as_str()), (503, Some("no_store")));
    assert_eq!(get(&http, "/api/v1/skills").0, 200);
    assert_eq!(get(&http, "/api/v1/overview").0, 200);
}

#[test]
fn lists_are_read_part_by_part() {
    let world = World::empty();
    for number in 0..7 {
        world.skill(&format!("skill-{number}"), "", "# Skill\n\nDo it.\n");
    }
    let dashboard = Dashboard::of(world, |_| {});
    let http = dashboard.http();
    let (mut names, mut path) = (Vec::new(), "/api/v1/skills?limit=3".to_owned());
    loop {
        let (_, answer) = get(&http, &path);
        assert_eq!(answer["total"], 7);
        names.extend(answer["skills"].as_array().unwrap().iter().map(|skill| skill["name"].clone()));
        let Some(cursor) = answer["next_cursor"].as_str() else { break };
        path = format!("/api/v1/skills?limit=3&cursor={cursor}");
    }
    assert_eq!(names.len(), 7);
    assert!(names.is_sorted_by_key(ToString::to_string));
}

#[test]
fn writes_need_a_server_that_allows_them_and_a_page_of_its_own() {
    let check = |allows: bool, headers: &[(&str, &str)], expect: (u16, &str)| {
        let dashboard = Dashboard::new(|options| options.allows_writes = allows);
        let id = dashboard.propose("alpha", "More.");
        let http = dashboard.http();
        let own = format!("http://{}", http.address);
        let headers: Vec<(&str, &str)> = headers
            .iter()
            .map(|(name, value)| (*name, if *value == "own" { own.as_str() } else { value }))
            .collect();
        let (status, answer) = post(&http, &format!("/api/v1/proposals/{id}/approve"), json!({}), &headers);
        assert_eq!((status, answer["error"]["code"].as_str().unwrap_or("")), expect, "{headers:?}: {answer}");
        let is_written =
            std::fs::read_to_string(dashboard.world.path("alpha/SKILL.md")).unwrap().contains("More.");
        assert_eq!(is_written, status == 200, "{headers:?}");
    };
    check(false, &[], (403, "read_only"));
    check(true, &[], (200, ""));
    check(true, &[("Origin", "own")], (403, "csrf"));
    check(true, &[("Sec-Fetch-Site", "same-origin")], (403, "csrf"));
    check(true, &[("Origin", "own"), ("X-CSRF-Token", "wrong")], (403, "csrf"));
    check(true, &[("Origin", "http://evil.test")], (403, ""));
    check(true, &[("Sec-Fetch-Site", "cross-site")], (403, ""));
    // A form of a page without `Origin` cannot have this media type.
    let dashboard = Dashboard::new(|options| options.allows_writes = true);
    let id = dashboard.propose("alpha", "More.");
    let path = format!("/api/v1/proposals/{id}/approve");
    let (status, _) = dashboard.http().ask("POST", &path, &[("Content-Type", "text/plain")], "{}");
    assert_eq!(status, 400);
}

#[test]
fn tokens_see_and_decide_within_the_scope_of_their_agents() {
    let dashboard = Dashboard::new(|_| {});
    let (alpha, beta) = (dashboard.propose("alpha", "More."), dashboard.propose("beta", "More."));
    let options = changed(HttpOptions::default(), |options| {
        options.access.tokens = vec![
            Token::new(TOKEN, Some("narrow".to_owned()), "t").unwrap(),
            Token::new(OTHER_TOKEN, Some("reader".to_owned()), "t").unwrap(),
        ];
    });
    let http = Http::start(&dashboard.server, options);
    assert_eq!(get(&http, "/api/v1/skills").0, 401);
    let narrow = format!("Bearer {TOKEN}");
    let narrow = [("Authorization", narrow.as_str())];
    let ask = |path: &str| {
        let (status, answer) = http.ask("GET", path, &narrow, "");
        (status, body(&answer))
    };
    let names: Vec<Value> =
        ask("/api/v1/skills").1["skills"].as_array().unwrap().iter().map(|row| row["name"].clone()).collect();
    assert_eq!(names, ["beta"]);
    let unknown = ask("/api/v1/skills/nothing").1.to_string().replace("nothing", "alpha");
    assert_eq!(ask("/api/v1/skills/alpha").1.to_string(), unknown, "out of scope looks like unknown");
    assert_eq!(ask("/api/v1/search?q=alpha").1["results"], json!([]));
    let page = http.ask("GET", "/", &narrow, "").1;
    assert!(page.contains("href=\"/sessions\"") && !page.contains("/economics"), "{page}");
    assert!(!ask("/api/v1/catalog").1["text"].as_str().unwrap().contains("alpha"));
    assert_eq!(ask("/api/v1/proposals").1["total"], 1);
    assert_eq!(ask(&format!("/api/v1/proposals/{alpha}")).0, 404);
    let approve = |id: u64, headers: &[(&str, &str)]| {
        post(&http, &format!("/api/v1/proposals/{id}/approve"), json!({}), headers)
    };
    assert_eq!(approve(alpha, &narrow).0, 404);
    let reader = format!("Bearer {OTHER_TOKEN}");
    let (status, answer) = approve(beta, &[("Authorization", reader.as_str())]);
    assert_eq!((status, answer["error"]["code"].as_str()), (403, Some("not_reviewer")));
    assert_eq!(approve(beta, &narrow).0, 200);
    assert!(std::fs::read_to_string(dashboard.world.path("beta/SKILL.md")).unwrap().contains("More."));
}

#[test]
fn the_source_of_a_skill_is_asked_for_its_newest_version() {
    let dashboard = Dashboard::new(|_| {});
    let http = dashboard.http();
    assert_eq!(get(&http, "/api/v1/skills/alpha").1["update"], Value::Null, "nobody asked yet");
    assert_eq!(get(&http, "/api/v1/skills/beta/update").1["state"], "untracked");
    let answer = get(&http, "/api/v1/skills/alpha/update").1;
    assert_eq!((&answer["state"], &answer["newest"]), (&json!("outdated"), &json!("3f2a91c")));
    assert_eq!(get(&http, "/api/v1/skills/alpha").1["update"], answer, "the answer is kept");
}

#[test]
fn health_tells_of_replicas() {
    let (_, health) = get(&Dashboard::new(|_| {}).http(), "/api/v1/health");
    let parts: Vec<&str> =
        health["parts"].as_array().unwrap().iter().filter_map(|part| part["part"].as_str()).collect();
    assert_eq!(parts, ["library", "store", "replicas"]);
}

#[test]
fn a_proposal_that_contradicts_the_skill_is_shown_with_its_conflict() {
    let dashboard = Dashboard::new(|options| options.allows_writes = true);
    let id = dashboard.propose("alpha", "Theirs.");
    let text = std::fs::read_to_string(dashboard.world.path("alpha/SKILL.md")).unwrap();
    dashboard.world.write("alpha/SKILL.md", format!("{text}Ours.\n"));
    let http = dashboard.http();
    let (status, answer) = post(&http, &format!("/api/v1/proposals/{id}/approve"), json!({}), &[]);
    assert_eq!((status, answer["error"]["code"].as_str()), (409, Some("stale")), "{answer}");
    let (status, answer) = post(&http, &format!("/api/v1/proposals/{id}/rebase"), json!({}), &[]);
    assert_eq!((status, answer["error"]["code"].as_str()), (409, Some("conflict")), "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("Ours.") && message.contains("Theirs.") && message.contains("<<<<<<<"),
        "{message}"
    );
}

#[test]
fn a_skill_is_switched_off_and_on_while_the_server_runs() {
    let dashboard = Dashboard::new(|options| options.allows_writes = true);
    let http = dashboard.http();
    let names = |http: &Http| get(http, "/api/v1/catalog").1["skills"].as_array().unwrap().len();
    assert_eq!(names(&http), 2);
    let (status, answer) = post(&http, "/api/v1/skills/alpha/switch", json!({"on": false}), &[]);
    assert_eq!((status, answer["state"].as_str()), (200, Some("disabled")), "{answer}");
    assert_eq!(names(&http), 1, "agents that come later are not offered it");
    assert_eq!(get(&http, "/api/v1/skills/alpha").1["state"], "disabled");
    assert_eq!(post(&http, "/api/v1/skills/alpha/switch", json!({"on": true}), &[]).1["state"], "active");
    assert_eq!(names(&http), 2);
    let switches = dashboard.sink.events().into_iter().filter(|event| event.kind == EventKind::SkillSwitched);
    assert_eq!(switches.map(|event| event.tool).collect::<Vec<_>>(), ["disable", "enable"]);
    let dashboard = Dashboard::new(|_| {});
    assert_eq!(post(&dashboard.http(), "/api/v1/skills/alpha/switch", json!({"on": false}), &[]).0, 403);
}

#[test]
fn a_stream_tells_of_changes() {
    let dashboard = Dashboard::new(|_| {});
    let _watcher = crate::world::watched(&dashboard.server);
    let http = dashboard.http();
    let mut stream = http.connect();
    let request = format!("GET /api/v1/changes HTTP/1.1\r\nHost: {}\r\n\r\n", http.address);
    std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
    let mut reader = std::io::BufReader::new(stream);
    let mut wait_for = |name: &str| {
        let mut line = String::new();
        while line.trim() != format!("event: {name}") {
            line.clear();
            assert_ne!(std::io::BufRead::read_line(&mut reader, &mut line).unwrap(), 0, "the stream ended");
        }
    };
    wait_for("open");
    dashboard.propose("alpha", "More.");
    wait_for("proposals");
    assert_eq!(get(&http, "/api/v1/overview").1["loads"], 0);
    dashboard.load("alpha");
    wait_for("events");
    assert_eq!(get(&http, "/api/v1/overview").1["loads"], 1, "who asks because of the notice gets the event");
    dashboard.world.skill("gamma", "", "# Gamma\n");
    wait_for("skills");
    // The skill changed, so that the proposal about it is stale.
    dashboard.world.skill("alpha", "", "# Changed\n");
    wait_for("proposals");
    assert_eq!(get(&http, "/api/v1/proposals").1["proposals"][0]["state"], "stale");
}

#[test]
fn a_dashboard_that_is_not_served_has_no_routes() {
    let dashboard = Dashboard::new(|options| options.is_served = false);
    let http = dashboard.http();
    assert_eq!(http.get("/api/v1/skills").0, 404);
    assert_eq!(http.get("/").0, 404);
}

/// Returns the reference page of the API that `document` describes.
fn reference(document: &Value) -> String {
    let mut page = "# HTTP API\n\nEverything on the [dashboard](../guides/dashboard.md) is answered as JSON below `/api/v1` by `rep serve --http` and `rep dashboard`. This page is generated from the OpenAPI\n\
        document that the server answers at `/api/v1/openapi.json`, which has the schemas of all answers.\n\n\
        - A server with tokens wants `Authorization: Bearer TOKEN`, and answers with what the token may see. The cookie of a person that [signed in](../guides/signing-in.md) is accepted, too. `?skills=git,pdf-*` makes any request see fewer skills.\n\
        - A skill that the token may not see does not exist, and is answered in the same way.\n\
        - PUT takes an archive, `.tar.gz` or `.zip`, and always needs a token: see [serving a team](../guides/serving-a-team.md).\n\
        - POST takes `application/json`. Without a token the server must have been started with `--allow-write`, and a browser sends the token of the pages as `X-CSRF-Token`; a person that signed in always does.\n\
        - Lists have `limit` and `cursor`; the answer has `next_cursor` unless it is the last part.\n\
        - Errors are `{\"error\": {\"code\", \"message\"}}`. Codes stay the same: `invalid_request`, `not_found`, `method_not_allowed`, `read_only`, `not_reviewer`, `csrf`,\n  \
        `state`, `stale`, `conflict`, `own_proposal`, `version_exists`, `same_content`, `skill_gone`, `exists`, `unrecorded_edits`,\n  \
        `not_switched`, `refused`, `too_large`, `missing_token`, `role`, `out_of_scope`, `no_cost`, `unsupported`, `no_store`, `store_unavailable`, `internal`.\n\
        - A request that is refused before it reaches the API is answered with a line of text: 401, 413, 429, 503 of a full server, and 403 for a host or an origin that is not allowed.\n\n"
        .to_owned();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            page += &format!(
                "## {} `{path}`\n\n{}.\n",
                method.to_uppercase(),
                operation["summary"].as_str().unwrap()
            );
            let parameters = operation["parameters"].as_array().unwrap().iter();
            let parameters: Vec<&Value> = parameters.filter(|parameter| parameter["in"] == "query").collect();
            if !parameters.is_empty() {
                page += "\n| parameter | meaning |\n|---|---|\n";
            }
            for parameter in parameters {
                let meaning = parameter["description"].as_str().unwrap_or_default().replace('\n', " ");
                page += &format!("| `{}` | {meaning} |\n", parameter["name"].as_str().unwrap());
            }
            let body = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].as_str();
            let body =
                body.map(
                    |name| &document["components"]["schemas"][name.rsplit('/').next().unwrap()]["properties"],
                );
            if let Some(fields) = body.and_then(Value::as_object) {
                page += "\n| field of the body | meaning |\n|---|---|\n";
                for (name, field) in fields {
                    let meaning = field["description"].as_str().unwrap_or_default().replace('\n', " ");
                    page += &format!("| `{name}` | {meaning} |\n");
                }
            }
            page += "\n";
        }
    }
    page.trim_end().to_owned() + "\n"
}

#[test]
fn the_reference_page_is_generated_from_the_document() {
    let dashboard = Dashboard::new(|_| {});
    let (_, document) = get(&dashboard.http(), "/api/v1/openapi.json");
    let (path, page) =
        (concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/http-api.md"), reference(&document));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    assert!(
        std::fs::read_to_string(path).unwrap_or_default() == page,
        "run with UPDATE_DOCS=1 to write {path}"
    );
}
