//! The JSON API as programs meet it: every route, its document, its errors, and who may write.

use std::sync::Arc;

use crate::memory_store::MemoryStore;
use repertoire::event::{Event, EventKind, MemorySink};
use repertoire::history::record;
use repertoire::proposal::{ProposalRules, ProposalText, Proposer};
use repertoire::store::{Journal as _, LazyStore, Origin, Store};
use repertoire::{Agent, Library, SessionOptions};
use repertoire_app::workspace::{Env, Workspace, WorkspaceOptions};
use repertoire_model::scope::{Pattern, Scope};
use repertoire_web::ServerOptions;
use repertoire_web::dashboard::DashboardOptions;
use repertoire_web::http::{HttpOptions, PageSecret, Token};
use serde_json::{Value, json};

use crate::world::{Http, Server, World, changed};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const OTHER_TOKEN: &str = "fedcba9876543210fedcba9876543210";

/// Returns the workspace of a user with the skills of `world`, who has a home of their own.
fn workspace(world: &World) -> Arc<Workspace> {
    let home = world.path("../home");
    let variables = ["HOME", "USERPROFILE"].map(|name| (name.to_owned(), home.clone().into()));
    let options = changed(WorkspaceOptions::default(), |options| options.roots = vec![world.path("")]);
    Arc::new(Workspace::load(Env::new(variables, world.path("..")), options, Arc::new(())).unwrap())
}

/// Makes the directory `relative` of the home of a user lead to the skill at `skill`.
#[cfg(unix)]
pub fn link(world: &World, relative: &str, skill: &str) {
    let path = world.path("../home").join(relative);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(world.path(skill), path).unwrap();
}

/// A dashboard over a world with a store.
pub struct Dashboard {
    pub world: World,
    pub store: Arc<MemoryStore>,
    pub server: Server,
    /// The events of decisions and of people that sign in.
    pub sink: Arc<MemorySink>,
    /// True if it is for one person, who may write.
    is_personal: bool,
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
            options.dashboard.workspace = Some(workspace(&world));
            options.dashboard.title = "world".to_owned();
            change(&mut options.dashboard);
        });
        let is_personal = options.dashboard.allows_writes;
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
        Self { world, store, server, sink, is_personal }
    }

    /// Returns a server that a browser of its person has opened, if it is for one.
    pub fn http(&self) -> Http {
        let secret = self.is_personal.then(|| PageSecret::new().unwrap());
        Http::start(&self.server, changed(HttpOptions::default(), |options| options.page_secret = secret))
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
        record(&*self.store, (&entry.record_identity(), skill), &files, Origin::Edit, None, time).unwrap();
    }

    pub fn load(&self, skill: &str) {
        self.load_of(skill, None);
    }

    /// Records a load of the skill called `skill` with this identity.
    pub fn load_of(&self, skill: &str, identity: Option<String>) {
        let mut event = Event::new(EventKind::SkillLoaded, "load_skill", "s1", std::time::SystemTime::now());
        (event.skill, event.identity) = (Some(skill.to_owned()), identity);
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

/// Posts a request as a page of the server does.
fn post(http: &Http, path: &str, request: Value, headers: &[(&str, &str)]) -> (u16, Value) {
    let csrf = http.cookie.as_ref().map(|_| http.csrf());
    let csrf = csrf.as_deref().map(|csrf| ("X-CSRF-Token", csrf));
    let headers: Vec<(&str, &str)> = [("Content-Type", "application/json")]
        .into_iter()
        .chain(csrf)
        .chain(headers.iter().copied())
        .collect();
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
        return (!is_one).then(|| format!("{value} is not one of {any:?}"));
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
        ("/listings?client=claude&window=200000", "/listings"),
        ("/proposals", "/proposals"),
        (&format!("/proposals/{approved}"), "/proposals/{id}"),
        ("/events?kind=skill_loaded", "/events"),
        ("/sessions", "/sessions"),
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
fn writes_need_a_server_that_allows_them_and_the_token_of_its_pages() {
    let check = |allows: bool, headers: &[(&str, &str)], expect: (u16, &str)| {
        let dashboard = Dashboard::new(|options| options.allows_writes = allows);
        let id = dashboard.propose("alpha", "More.");
        let http = dashboard.http();
        let (own, csrf) = (format!("http://{}", http.address), http.cookie.as_ref().map(|_| http.csrf()));
        let meant = |value| match value {
            "own" => own.as_str(),
            "csrf" => csrf.as_deref().unwrap_or_default(),
            _ => value,
        };
        let headers = headers.iter().map(|(name, value)| (*name, meant(value)));
        let headers: Vec<_> = headers.chain([("Content-Type", "application/json")]).collect();
        let (status, answer) = http.ask("POST", &format!("/api/v1/proposals/{id}/approve"), &headers, "{}");
        let answer = body(&answer);
        assert_eq!((status, answer["error"]["code"].as_str().unwrap_or("")), expect, "{headers:?}: {answer}");
        let is_written =
            std::fs::read_to_string(dashboard.world.path("alpha/SKILL.md")).unwrap().contains("More.");
        assert_eq!(is_written, status == 200, "{headers:?}");
    };
    check(false, &[], (403, "read_only"));
    // A program that has the cookie needs the token of the pages as a browser does.
    check(true, &[], (403, "csrf"));
    check(true, &[("Authorization", "Bearer 0123456789abcdef")], (403, "csrf"));
    check(true, &[("X-CSRF-Token", "csrf")], (200, ""));
    check(true, &[("Origin", "own"), ("X-CSRF-Token", "csrf")], (200, ""));
    check(true, &[("Origin", "own")], (403, "csrf"));
    check(true, &[("Sec-Fetch-Site", "same-origin")], (403, "csrf"));
    check(true, &[("Origin", "own"), ("X-CSRF-Token", "wrong")], (403, "csrf"));
    check(true, &[("Origin", "http://evil.test")], (403, ""));
    check(true, &[("Sec-Fetch-Site", "cross-site")], (403, ""));
    // A form of another site cannot have the media type.
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
    assert!(page.contains("href=\"/sessions\""), "{page}");
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

#[cfg(unix)]
#[test]
fn the_source_of_a_skill_is_asked_for_its_newest_version() {
    let world = World::new();
    let digest = format!("sha256:{}", "0".repeat(64));
    let skill = format!(
        "name = \"alpha\"\nsource = \"{}\"\npath = \"alpha\"\ndigest = \"{digest}\"",
        world.path("").display()
    );
    let lock = format!("version = 1\n\n[[skill]]\n{skill}\n\n[skill.files]\n\"SKILL.md\" = \"{digest}\"\n");
    world.write("../home/.config/repertoire/repertoire.lock", lock);
    link(&world, ".agents/skills/alpha", "alpha");
    let dashboard = Dashboard::of(world, |_| {});
    let http = dashboard.http();
    assert_eq!(get(&http, "/api/v1/skills/alpha").1["update"], Value::Null, "nobody asked yet");
    assert_eq!(get(&http, "/api/v1/skills/beta/update").1["state"], "untracked");
    let answer = get(&http, "/api/v1/skills/alpha/update").1;
    assert_eq!(answer["state"], "outdated", "{answer}");
    assert_eq!(answer["newest"].as_str().map(str::len), Some(10), "the start of a digest");
    assert_eq!(get(&http, "/api/v1/skills/alpha").1["update"], answer, "the answer is kept");
}

#[test]
fn health_tells_of_replicas_and_the_workspace() {
    let (_, health) = get(&Dashboard::new(|_| {}).http(), "/api/v1/health");
    let parts: Vec<&str> =
        health["parts"].as_array().unwrap().iter().filter_map(|part| part["part"].as_str()).collect();
    assert_eq!(parts, ["library", "store", "replicas", "watcher", "sandbox"]);
}

#[test]
#[cfg(unix)]
fn listings_of_clients_are_answered_and_shown_on_the_overview() {
    let dashboard = Dashboard::new(|_| {});
    link(&dashboard.world, ".claude/skills/alpha", "alpha");
    let http = dashboard.http();
    let (status, listing) = get(&http, "/api/v1/listings?client=claude&window=500");
    let listing = &listing[0];
    assert_eq!(
        (status, &listing["window"], &listing["name_only"]),
        (200, &json!(500), &json!(1)),
        "{listing}"
    );
    assert_eq!(listing["skills"][0]["text"], "- alpha");
    assert_eq!(get(&http, "/api/v1/listings?client=zed").1, json!([]));
    let page = http.get("/").1;
    assert!(page.contains("What models get") && page.contains("Claude Code"), "{page}");
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
    assert_eq!(answer["still_read"], json!([]));
    assert_eq!(names(&http), 1, "agents that come later are not offered it");
    assert_eq!(get(&http, "/api/v1/skills/alpha").1["state"], "disabled");
    assert_eq!(post(&http, "/api/v1/skills/alpha/switch", json!({"on": true}), &[]).1["state"], "active");
    assert_eq!(names(&http), 2);
    let switches = dashboard.sink.events().into_iter().filter(|event| event.kind == EventKind::SkillSwitched);
    assert_eq!(switches.map(|event| event.tool).collect::<Vec<_>>(), ["disable", "enable"]);
    let dashboard = Dashboard::new(|_| {});
    assert_eq!(post(&dashboard.http(), "/api/v1/skills/alpha/switch", json!({"on": false}), &[]).0, 403);
}

#[cfg(unix)]
#[test]
fn a_client_that_reads_another_skill_of_the_name_is_named_once() {
    let world = World::new();
    let copy = std::fs::read_to_string(world.path("alpha/SKILL.md")).unwrap();
    world.write("copies/a/alpha/SKILL.md", &copy);
    world.write("copies/b/alpha/SKILL.md", &copy);
    link(&world, ".cursor/skills/a", "copies/a/alpha");
    link(&world, ".cursor/skills/b", "copies/b/alpha");
    let dashboard = Dashboard::of(world, |options| options.allows_writes = true);
    let http = dashboard.http();
    let (status, answer) = post(&http, "/api/v1/skills/alpha/switch", json!({"on": false}), &[]);
    let sentence = "Cursor still reads alpha: it has no switch for skills";
    assert_eq!((status, &answer["still_read"]), (200, &json!([sentence])), "{answer}");
    let page = http.get("/skills?switched=alpha&to=off").1;
    assert!(page.contains(&format!("alpha is switched off, but {sentence}.")), "{page}");
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
    let mut page = "# HTTP API\n\nEverything on the [dashboard](../guides/dashboard.md) is answered as JSON below `/api/v1` by `rep serve --http` and `rep dashboard`. The\n\
        OpenAPI document at `/api/v1/openapi.json` has the schemas of all answers.\n\n\
        - A server with tokens wants `Authorization: Bearer TOKEN`, and answers with what the token may see. The cookie of a person that [signed in](../guides/operating.md#signing-in) is accepted, too. `?skills=git,pdf-*` makes any request see fewer skills.\n\
        - A skill that the token may not see does not exist, and is answered in the same way.\n\
        - PUT takes an archive, `.tar.gz` or `.zip`, and always needs a token: see [operating a server](../guides/operating.md).\n\
        - POST takes `application/json`, and needs the token of a reviewer. What is sent by a cookie, of a person that signed in or of `rep dashboard --allow-write`, has the token of the pages as `X-CSRF-Token`.\n\
        - `rep dashboard` answers a browser that opened the address it printed, and all others with `not_opened`.\n\
        - Lists have `limit` and `cursor`; the answer has `next_cursor` unless it is the last part.\n\
        - Errors are `{\"error\": {\"code\", \"message\"}}`. Codes stay the same: `invalid_request`, `not_found`, `method_not_allowed`, `read_only`, `not_reviewer`, `csrf`,\n  \
        `state`, `stale`, `conflict`, `own_proposal`, `version_exists`, `same_content`, `skill_gone`, `exists`, `unrecorded_edits`,\n  \
        `not_switched`, `not_opened`, `refused`, `too_large`, `missing_token`, `role`, `out_of_scope`, `unsupported`, `no_store`, `store_unavailable`, `internal`.\n\
        - A request that is refused before it reaches the API is answered with a line of text: 401, 413, 429, 503 of a full server, and 403 for a host or an origin that is not allowed.\n\n"
        .to_owned();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            page += &format!(
                "## {} `{path}`\n\n{}.\n",
                method.to_uppercase(),
                operation["summary"].as_str().unwrap()
            );
            let answer =
                operation["responses"]["200"]["content"]["application/json"]["schema"]["$ref"].as_str();
            let answer =
                answer.and_then(|name| name.rsplit('/').next()).filter(|name| name.ends_with("View"));
            if let Some(name) = answer {
                let article = if name.starts_with(['A', 'E', 'O', 'U']) { "an" } else { "a" };
                page += &format!("\nThe answer is {article} [{name}](json.md#{}).\n", name.to_lowercase());
            }
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

#[test]
fn usage_is_that_of_the_skill_and_not_of_its_name() {
    let world = World::new();
    // Another skill of the name, which does not hold it.
    world.write("copy/SKILL.md", std::fs::read(world.path("alpha/SKILL.md")).unwrap());
    let dashboard = Dashboard::of(world, |_| {});
    let of = |path: &str| Some(dashboard.world.path(path).canonicalize().unwrap().display().to_string());
    dashboard.load_of("alpha", of("alpha"));
    (0..2).for_each(|_| dashboard.load_of("alpha", of("copy")));
    (0..3).for_each(|_| dashboard.load_of("alpha", Some("/elsewhere/alpha".to_owned())));
    // Recorded by name: there are two skills of the one name, and one of the other.
    (0..4).for_each(|_| dashboard.load("alpha"));
    (0..5).for_each(|_| dashboard.load("beta"));
    let http = dashboard.http();
    let skills = get(&http, "/api/v1/skills").1;
    let rows: Vec<Value> = skills["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| json!([row["name"], row["state"], row["usage"]["loads"], row["usage"]["daily_loads"][29]]))
        .collect();
    let expect = [
        json!(["alpha", "active", 1, 1]),
        json!(["alpha", "quarantined", 2, 2]),
        json!(["beta", "active", 5, 5]),
    ];
    assert_eq!(rows, expect);
    let overview = get(&http, "/api/v1/overview").1;
    assert_eq!((&overview["loads"], &overview["daily_loads"][29]), (&json!(6), &json!(6)));
    let top: Vec<Value> =
        overview["top"].as_array().unwrap().iter().map(|top| json!([top["name"], top["loads"]])).collect();
    assert_eq!(top, [json!(["beta", 5]), json!(["alpha", 1])]);
    assert_eq!(get(&http, "/api/v1/skills/alpha").1["usage"]["loads"], 1);
}
