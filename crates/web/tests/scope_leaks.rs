//! Skills out of scope on every surface: two servers that hide skills of different names answer the same
//! bytes to the same requests.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::sync::Arc;
use std::time::SystemTime;

use crate::memory_store::MemoryStore;
use repertoire::event::{Event, EventKind, MemorySink, Outcome};
use repertoire::proposal::{NewPublication, ProposalRules, Proposer, PublishMode, publish};
use repertoire::provider::store::StoreProvider;
use repertoire::serve::{Notices, ServedLibrary};
use repertoire::store::{Journal as _, LazyStore, Role, Store, TokenRecord, Tokens as _};
use repertoire::{Library, SessionOptions};
use repertoire_model::patch::{FileData, SkillFiles};
use repertoire_model::{Pattern, Policy, SkillName, SkillPath};
use repertoire_web::http::HttpOptions;
use repertoire_web::publish::PublishOptions;
use repertoire_web::{MetricsSink, ServerOptions, pack_files};
use serde_json::{Value, json};

use crate::word_searcher::WordSearcher;
use crate::world::{Http, Server, changed, mcp_options};

const SECRET: &str = "rep_narrow_0123456789abcdef";

/// The skill that the first server hides, and that the second one does not have.
const HIDDEN: &str = "zulu";

/// The skill that the second server hides.
const OTHER: &str = "kilo";

/// A server of two channels: `stable` has the skill `beta`, and `vault` one that is to be hidden.
struct Team {
    http: Http,
    sink: Arc<MemorySink>,
    store: Arc<MemoryStore>,
    library: Library,
}

fn files(name: &str, tag: &str) -> SkillFiles {
    let text = format!(
        "---\nname: {name}\ndescription: Does {name} things well. Use when {name} is asked for.\nmetadata:\n  tags: {tag}\n---\n# It\n\n[x](../../store:vault/zulu/SKILL.md)\n"
    );
    let file = |bytes: &[u8]| FileData { executable: false, bytes: bytes.to_vec() };
    SkillFiles::from([
        (SkillPath::new("SKILL.md").unwrap(), file(text.as_bytes())),
        (SkillPath::new("references/guide.md").unwrap(), file(b"one\n")),
    ])
}

fn put(store: &MemoryStore, channel: &str, name: &str, tag: &str, version: &str, mode: PublishMode) {
    let name = SkillName::new(name).unwrap();
    let mut files = files(name.as_str(), tag);
    files.insert(
        SkillPath::new("version.md").unwrap(),
        FileData { executable: false, bytes: version.as_bytes().to_vec() },
    );
    let new = NewPublication::new(channel, (&name, version), files, "user:eve", SystemTime::UNIX_EPOCH);
    publish(store, &Policy::default(), new, mode, &ProposalRules::default()).unwrap();
}

impl Team {
    /// Starts a server that has the skill `hidden` in the channel `vault`, and a token that `limit` limits.
    fn start(hidden: &str, limit: &dyn Fn(&mut TokenRecord)) -> Self {
        Self::with_store(hidden, limit, &|_| {})
    }

    /// Starts such a server with a store that has `more`.
    fn with_store(hidden: &str, limit: &dyn Fn(&mut TokenRecord), more: &dyn Fn(&MemoryStore)) -> Self {
        let store = Arc::new(MemoryStore::new());
        more(&store);
        put(&store, "stable", "beta", "open", "1.0.0", PublishMode::Release);
        put(&store, "vault", hidden, "closed", "1.0.0", PublishMode::Release);
        put(&store, "vault", hidden, "closed", "1.1.0", PublishMode::Propose);
        for (kind, skill, query) in
            [(EventKind::SkillLoaded, Some(hidden), None), (EventKind::SkillsSearched, None, Some(hidden))]
        {
            let mut event = Event::new(kind, "load_skill", "s1", SystemTime::UNIX_EPOCH);
            (event.skill, event.query) = (skill.map(str::to_owned), query.map(str::to_owned));
            event.principal = Some("eve".to_owned());
            store.append(&[event]).unwrap();
        }
        let mut token = TokenRecord::new(SECRET, "ann", Role::Reviewer, SystemTime::UNIX_EPOCH);
        limit(&mut token);
        store.add_token(&token).unwrap();
        let lazy = LazyStore::from(Arc::clone(&store) as Arc<dyn Store>);
        let sink = Arc::new(MemorySink::new());
        let server = server(&lazy, &sink);
        let options = changed(HttpOptions::default(), |options| {
            options.needs_token = true;
            options.store = Some(lazy);
            let team = vec![Pattern::new("beta").unwrap()];
            options.access.kits = BTreeMap::from([("team".to_owned(), team)]);
        });
        let library = server.library().clone();
        Self { http: Http::start(&server, options), sink, store, library }
    }

    /// Returns the status, the headers and the body of the answer, without what differs from one request to
    /// the next.
    fn ask(&self, request: &Request, query: &str) -> String {
        let bearer = format!("Bearer {SECRET}");
        let joined = |path: &str| match (path.contains('?'), query) {
            (_, "") => path.to_owned(),
            (true, query) => format!("{path}&{query}"),
            (false, query) => format!("{path}?{query}"),
        };
        let answer = match request {
            Request::Http(method, path, body) => {
                let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
                self.http.ask(method, &joined(path), &headers, body).1
            }
            Request::Mcp(method, params) => {
                let path = joined("/mcp");
                let (status, answer) =
                    self.http.post_to(&path, method, params.clone(), &[("Authorization", &bearer)]);
                format!("{status} {answer}")
            }
        };
        // Durations differ from one request to the next, and so does the length of a text that has them.
        let is_metrics = matches!(request, Request::Http(_, path, _) if path == "/metrics");
        let differs = |line: &str| {
            line.starts_with("date: ")
                || line.contains("duration_seconds")
                || is_metrics && line.starts_with("content-length: ")
        };
        answer
            .lines()
            .filter(|line| !differs(line))
            .collect::<Vec<_>>()
            .join("\n")
            .replace(&self.http.address.to_string(), "HOST")
    }
}

fn server(lazy: &LazyStore, sink: &Arc<MemorySink>) -> Server {
    let channels = ["vault", "stable"];
    let proposer = Arc::new(Proposer::new(lazy.clone(), ProposalRules::default()));
    let options = changed(ServerOptions::default(), |options| {
        options.version = "0.0.0".to_owned();
        options.dashboard.is_served = true;
        options.dashboard.store = Some(lazy.clone());
        let unpack = |_: &[u8]| Err("it is not an archive".to_owned());
        let channels = channels.map(str::to_owned).to_vec();
        options.publish = Some(PublishOptions::new(Arc::clone(&proposer), channels, unpack));
    });
    let metrics = Arc::new(MetricsSink::default());
    let mut builder = Library::builder()
        .searcher(WordSearcher)
        .proposer(proposer)
        .sink(Arc::clone(sink))
        .sink(metrics.clone())
        .session_options(mcp_options().session_options(SessionOptions::default()));
    for channel in channels {
        builder = builder.provider(Arc::new(StoreProvider::new(lazy.clone(), channel)));
    }
    let library = pollster::block_on(builder.open()).unwrap();
    Server::new(ServedLibrary::new(library, Notices::default()), metrics, mcp_options(), options)
}

#[derive(Debug)]
enum Request {
    Http(&'static str, String, String),
    Mcp(&'static str, Value),
}

/// Returns requests that name the hidden skill, one for each way to ask for it.
fn named() -> Vec<Request> {
    let get = |path: &str| Request::Http("GET", path.replace("NAME", HIDDEN), String::new());
    let send = |method: &'static str, path: &str, body: &str| {
        Request::Http(method, path.replace("NAME", HIDDEN), body.to_owned())
    };
    let mcp = |method: &'static str, params: Value| {
        Request::Mcp(method, serde_json::from_str(&params.to_string().replace("NAME", HIDDEN)).unwrap())
    };
    let tool =
        |name: &str, arguments: Value| mcp("tools/call", json!({"name": name, "arguments": arguments}));
    let mut requests = Vec::new();
    for path in [
        "/.well-known/agent-skills/NAME.tar.gz",
        "/.well-known/agent-skills/NAME/SKILL.md",
        "/.well-known/agent-skills/NAME/references/guide.md",
        "/.well-known/skills/NAME/SKILL.md",
        "/.claude-plugin/plugins/NAME.zip",
        "/api/v1/skills/NAME",
        "/api/v1/skills/store:vault:NAME",
        "/api/v1/skills/NAME/files/SKILL.md",
        "/api/v1/skills/NAME/explain",
        "/api/v1/skills/NAME/versions",
        "/api/v1/skills/NAME/versions/1/diff",
        "/api/v1/skills/NAME/versions/1.0.0",
        "/api/v1/skills?q=NAME",
        "/api/v1/skills?source=store:vault",
        "/api/v1/skills?tag=closed",
        "/api/v1/search?q=NAME",
        "/api/v1/search?q=things&source=store:vault",
        "/api/v1/catalog?task=NAME&budget=50",
        "/api/v1/proposals?skill=NAME&state=all",
        "/api/v1/proposals/1",
        "/api/v1/events?skill=NAME",
        "/api/v1/events/export?skill=NAME",
        "/skills/NAME",
        "/skills/NAME/explain",
        "/skills/NAME/files/SKILL.md",
        "/skills/NAME/versions/1",
        "/skills?q=NAME",
        "/catalog?task=NAME",
        "/proposals?skill=NAME",
        "/proposals/1",
        "/events?skill=NAME",
    ] {
        requests.push(get(path));
    }
    requests.extend([
        send("HEAD", "/.well-known/agent-skills/NAME.tar.gz", ""),
        send("POST", "/api/v1/skills/NAME/rollback", r#"{"version": 1}"#),
        send("POST", "/api/v1/skills/NAME/switch", r#"{"on": false}"#),
        send("POST", "/api/v1/proposals/1/approve", "{}"),
        send("POST", "/api/v1/proposals/1/reject", r#"{"reason": "no"}"#),
        send("PUT", "/api/v1/skills/NAME/versions/9.9.9?channel=vault", "x"),
        send("PUT", "/api/v1/skills/NAME/versions/1.0.0?channel=vault", "x"),
        send("PUT", "/api/v1/skills/NAME/versions/9.9.9", "x"),
        tool("load_skill", json!({"name": "NAME"})),
        tool("load_skill", json!({"name": "store:vault:NAME"})),
        tool("load_skill", json!({"name": "NAMEE"})),
        tool("read_skill_file", json!({"name": "NAME", "path": "references/guide.md"})),
        tool("list_skill_files", json!({"name": "NAME"})),
        tool("list_skills", json!({"query": "NAME"})),
        tool("search_skills", json!({"query": "NAME things"})),
        tool("propose_skill_update", json!({"name": "NAME", "diff": "", "justification": "x"})),
        tool("review_skill_proposals", json!({"action": "show", "id": 1})),
        mcp("skills/get", json!({"uri": "skill://NAME/SKILL.md"})),
        mcp("resources/read", json!({"uri": "skill://NAME/SKILL.md"})),
        mcp("resources/directory/read", json!({"uri": "skill://NAME"})),
        mcp("prompts/get", json!({"name": "NAME"})),
        mcp(
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "NAME"}, "argument": {"name": "input", "value": "NA"}}),
        ),
    ]);
    requests
}

/// Returns requests for lists and counts, in which the hidden skill has no part.
fn unnamed() -> Vec<Request> {
    let get = |path: &str| Request::Http("GET", path.to_owned(), String::new());
    let mut requests: Vec<Request> = [
        "/.well-known/agent-skills/index.json",
        "/.well-known/skills/index.json",
        "/.claude-plugin/marketplace.json",
        "/api/v1/overview",
        "/api/v1/skills",
        "/api/v1/catalog",
        "/api/v1/proposals?state=all",
        "/api/v1/sessions",
        "/api/v1/health",
        "/api/v1/openapi.json",
        "/",
        "/skills",
        "/catalog",
        "/proposals",
        "/sessions",
        "/metrics",
    ]
    .map(get)
    .into();
    for method in ["server/discover", "tools/list", "prompts/list", "skills/list", "resources/list"] {
        requests.push(Request::Mcp(method, json!({})));
    }
    requests.push(Request::Mcp("resources/templates/list", json!({})));
    let lists = [("list_skills", json!({})), ("review_skill_proposals", json!({"action": "list"}))];
    requests.extend(
        lists.map(|(name, arguments)| {
            Request::Mcp("tools/call", json!({"name": name, "arguments": arguments}))
        }),
    );
    requests
}

/// Checks that a server with the hidden skill and one without it answer the same.
fn check(limit: &dyn Fn(&mut TokenRecord), query: &str) {
    let (with, without) = (Team::start(HIDDEN, limit), Team::start(OTHER, limit));
    for request in named() {
        let (one, other) = (with.ask(&request, query), without.ask(&request, query));
        assert_eq!(one, other, "{query} {request:?}");
        assert!(!one.contains("Does zulu"), "{request:?} {one}");
    }
    for request in unnamed() {
        let (one, other) = (with.ask(&request, query), without.ask(&request, query));
        assert_eq!(one, other, "{query} {request:?}");
        assert!(!one.contains(HIDDEN) && !other.contains(OTHER), "{request:?} {one}");
        assert!(!one.contains("vault") && !one.contains("closed"), "{request:?} {one}");
    }
    let get = |path: &str| Request::Http("GET", path.to_owned(), String::new());
    let overview = with.ask(&get("/api/v1/overview"), query);
    assert!(overview.contains(r#""states":[{"value":"active","skills":1}]"#), "{overview}");
    assert!(overview.contains(r#""pending_proposals":0"#), "{overview}");
    let metrics = with.ask(&get("/metrics"), query);
    assert!(metrics.contains(r#"skill_snapshot_skills{state="active"} 1"#), "{metrics}");
    assert!(!metrics.contains("denied") && !metrics.contains("skill_reload_total"), "{metrics}");
    let skills = with.ask(&get("/api/v1/skills"), query);
    assert!(skills.contains(r#""name":"beta""#) && skills.contains(r#""snapshot":null"#), "{skills}");
    // The audit tells them apart, and has the principal, the reason and the route.
    let denied = |team: &Team, of: &str| {
        let events = team.sink.take();
        events
            .into_iter()
            .filter(|it| it.outcome == Outcome::Denied && it.skill.as_deref() == Some(of))
            .collect()
    };
    let events: Vec<Event> = denied(&with, HIDDEN);
    assert!(events.len() > 20, "{}", events.len());
    let refused = events.iter().find(|event| event.kind == EventKind::AccessRefused).unwrap();
    assert_eq!(
        (refused.tool.as_str(), refused.error.as_deref()),
        ("GET /api/v1/skills/{name}", Some("out_of_scope"))
    );
    assert!(events.iter().all(|event| event.principal.as_deref() == Some("ann")), "{events:?}");
}

fn patterns(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().map(|text| Pattern::for_scope(text).unwrap()).collect()
}

#[test]
fn a_skill_out_of_scope_by_name_looks_like_none() {
    check(&|token| token.scope.scope.allow = Some(patterns(&["beta"])), "");
    check(&|token| token.scope.scope.deny = patterns(&["zulu", "kilo"]), "");
}

#[test]
fn a_skill_out_of_scope_by_source_looks_like_none() {
    check(&|token| token.scope.scope.allow = Some(patterns(&["store:stable:*"])), "");
    check(&|token| token.scope.scope.deny = patterns(&["store:vault:*"]), "");
}

#[test]
fn a_skill_out_of_scope_by_tag_looks_like_none() {
    check(&|token| token.scope.scope.allow = Some(patterns(&["tag=open"])), "");
    check(&|token| token.scope.scope.deny = patterns(&["tag=closed"]), "");
}

#[test]
fn a_skill_out_of_scope_by_kit_looks_like_none() {
    check(&|token| token.scope.kits = vec!["team".to_owned()], "");
}

#[test]
fn a_skill_that_the_url_leaves_out_looks_like_none() {
    check(&|_| {}, "skills=beta");
}

#[test]
fn records_of_a_namesake_out_of_scope_are_hidden() {
    let secret = "rep_zed_0123456789abcdef0123";
    let more = |store: &MemoryStore| {
        put(store, "vault", "beta", "closed", "3.0.0", PublishMode::Release);
        let mut token = TokenRecord::new(secret, "zed", Role::Reader, SystemTime::UNIX_EPOCH);
        token.scope.scope.allow = Some(patterns(&["store:vault:*"]));
        store.add_token(&token).unwrap();
        let mut event = Event::new(EventKind::SkillLoaded, "load_skill", "s2", SystemTime::now());
        (event.skill, event.source) = (Some("beta".to_owned()), Some("store:vault".to_owned()));
        event.principal = Some("zed".to_owned());
        store.append(&[event]).unwrap();
    };
    let team = Team::with_store(
        HIDDEN,
        &|token| token.scope.scope.allow = Some(patterns(&["store:stable:*"])),
        &more,
    );
    let bearer = format!("Bearer {secret}");
    let path = "/.well-known/agent-skills/beta.tar.gz";
    let (status, answer) = team.http.ask("GET", path, &[("Authorization", &bearer)], "");
    assert_eq!(status, 200, "{answer}");
    for path in ["/api/v1/events", "/api/v1/events/export", "/api/v1/sessions", "/metrics", "/events", "/"] {
        let answer = team.ask(&Request::Http("GET", path.to_owned(), String::new()), "");
        assert!(answer.starts_with("HTTP/1.1 200"), "{path} {answer}");
        assert!(!answer.contains("zed"), "{path} {answer}");
        assert!(!answer.contains("vault"), "{path} {answer}");
    }
    for path in ["/api/v1/skills/beta", "/api/v1/overview"] {
        let answer = team.ask(&Request::Http("GET", path.to_owned(), String::new()), "");
        assert!(answer.contains("\"loads\":0"), "{path} {answer}");
    }
    // The namesake wins, but its place is not told.
    for path in ["/api/v1/skills", "/api/v1/skills/beta", "/skills/beta"] {
        let answer = team.ask(&Request::Http("GET", path.to_owned(), String::new()), "");
        assert!(answer.starts_with("HTTP/1.1 200"), "{path} {answer}");
        assert!(!answer.contains("duplicate-name") && !answer.contains("wins over"), "{path} {answer}");
    }
}

#[test]
fn advice_on_links_names_no_skill_out_of_scope() {
    let team = Team::start(HIDDEN, &|token| token.scope.scope.allow = Some(patterns(&["beta"])));
    let answer = team.ask(&Request::Http("GET", "/api/v1/skills/beta".to_owned(), String::new()), "");
    assert!(answer.contains("leads out of the skill"), "{answer}");
    assert!(!answer.contains("write the name `zulu`"), "{answer}");
}

#[test]
fn a_missing_proposal_is_recorded_without_a_skill_and_looks_like_one_out_of_scope() {
    let team = Team::start(HIDDEN, &|token| token.scope.scope.allow = Some(patterns(&["beta"])));
    let get = |path: &str| team.ask(&Request::Http("GET", path.to_owned(), String::new()), "");
    assert!(get("/api/v1/proposals/99").starts_with("HTTP/1.1 404"));
    let events = team.sink.take();
    let missing = events.iter().find(|event| event.kind == EventKind::AccessRefused).unwrap();
    assert_eq!((&missing.skill, missing.error.as_deref()), (&None, Some("unknown_skill")));
    assert!(get("/api/v1/proposals/1").starts_with("HTTP/1.1 404"));
    team.store.append(&events).unwrap();
    team.store.append(&team.sink.take()).unwrap();
    let listed = get("/api/v1/events");
    assert!(!listed.contains("access_refused"), "{listed}");
}

#[test]
fn notices_tell_of_visible_changes_alone() {
    let wide = "rep_wide_0123456789abcdef012";
    let more = |store: &MemoryStore| {
        let token = TokenRecord::new(wide, "bob", Role::Reader, SystemTime::UNIX_EPOCH);
        store.add_token(&token).unwrap();
    };
    let team = Team::with_store(HIDDEN, &|token| token.scope.scope.allow = Some(patterns(&["beta"])), &more);
    let open = |secret: &str| {
        let mut stream = team.http.connect();
        let head = format!("Host: {}\r\nAuthorization: Bearer {secret}\r\n\r\n", team.http.address);
        stream.write_all(format!("GET /api/v1/changes HTTP/1.1\r\n{head}").as_bytes()).unwrap();
        let mut lines = BufReader::new(stream).lines();
        let mut next = move || {
            let event = lines.find_map(|line| line.unwrap().strip_prefix("event: ").map(str::to_owned));
            event.expect("the stream goes on")
        };
        assert_eq!(next(), "open");
        next
    };
    let (mut narrow, mut wide_notices) = (open(SECRET), open(wide));
    let publish = |channel: &str, name: &str| {
        put(&team.store, channel, name, "changed", "2.0.0", PublishMode::Release);
        pollster::block_on(team.library.reload());
    };
    let event = Event::new(EventKind::SkillsSearched, "search_skills", "s3", SystemTime::now());
    team.store.append(&[event]).unwrap();
    while wide_notices() != "events" {}
    publish("vault", HIDDEN);
    while wide_notices() != "skills" {}
    publish("stable", "beta");
    assert_eq!(narrow(), "skills", "the first notice is of a visible skill");
}

#[test]
fn a_channel_out_of_scope_looks_like_one_that_is_not_served() {
    let team = Team::start(HIDDEN, &|token| token.scope.scope.allow = Some(patterns(&["store:stable:*"])));
    let archive = pack_files(&[]).unwrap();
    let body = String::from_utf8_lossy(&archive).into_owned();
    let put = |channel: &str| {
        let path = format!("/api/v1/skills/beta/versions/2.0.0?channel={channel}");
        team.ask(&Request::Http("PUT", path, body.clone()), "")
    };
    assert_eq!(put("vault"), put("vaulx"));
    assert!(put("vault").starts_with("HTTP/1.1 403") && put("stable").starts_with("HTTP/1.1 422"));
}
