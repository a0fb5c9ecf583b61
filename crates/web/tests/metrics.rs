//! Metrics and health checks over HTTP.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::memory_store::MemoryStore;
use repertoire::provider::store::StoreProvider;
use repertoire::store::{LazyStore, Store};
use repertoire::{Agent, Error, ErrorKind, SessionOptions};
use repertoire_model::scope::{Pattern, Scope};
use repertoire_web::http::{HttpOptions, Token};
use repertoire_web::{Probe, ServerOptions};
use serde_json::json;

use crate::world::*;

fn load(name: &str) -> serde_json::Value {
    json!({"name": "load_skill", "arguments": {"name": name}})
}

#[test]
fn b47_metrics_count_what_clients_do() {
    let world = World::new();
    let options = changed(ServerOptions::default(), |options| options.dropped_events = Probe::new(|| 3));
    let http = Http::start(&world.server_with(options), HttpOptions::default());
    http.post("tools/call", load("alpha"));
    http.post("tools/call", load("guess-a-name"));
    http.post("tools/call", json!({"name": "search_skills", "arguments": {"query": "alpha"}}));
    http.post("resources/read", json!({"uri": "skill://alpha/references/deep/more.md"}));
    let (status, answer) = http.get("/metrics");
    assert_eq!(status, 200);
    assert!(answer.contains("content-type: text/plain; version=0.0.4; charset=utf-8\r\n"), "{answer}");
    for line in [
        r#"skill_load_total{name="alpha",source="project:skills",outcome="ok"} 1"#,
        r#"skill_load_total{name="unknown",source="",outcome="not_found"} 1"#,
        r#"skill_load_duration_seconds_count{name="alpha"} 1"#,
        r#"skill_file_read_total{name="alpha",outcome="ok"} 1"#,
        r#"skill_search_total{outcome="ok"} 1"#,
        r#"skill_snapshot_skills{state="active"} 2"#,
        "skill_refused_requests_total 0",
        "skill_events_dropped_total 3",
    ] {
        assert!(answer.lines().any(|found| found == line), "{line}\n{answer}");
    }
    assert!(answer.contains("\n# TYPE skill_reload_total counter\nskill_reload_total "), "{answer}");
    assert!(!answer.contains("guess"), "{answer}");
}

#[test]
fn metrics_name_no_skill_that_the_agent_of_the_token_may_not_see() {
    let world = World::new();
    let scope = Scope { deny: vec![Pattern::new("alpha").unwrap()], ..Scope::default() };
    let mut agent = Agent::new("narrow");
    agent.scope = scope;
    let server = world.server_for(ServerOptions::default(), vec![agent]);
    let (all, narrow) = ("everything-0123456789", "narrow-0123456789abc");
    let tokens = vec![
        Token::new(all, None, "all").unwrap(),
        Token::new(narrow, Some("narrow".to_owned()), "").unwrap(),
    ];
    let http =
        Http::start(&server, changed(HttpOptions::default(), |options| options.access.tokens = tokens));
    let header = |token: &str| format!("Bearer {token}");
    http.post_with("tools/call", load("alpha"), &[("Authorization", &header(all))]);
    let metrics = |token: &str| http.ask("GET", "/metrics", &[("Authorization", &header(token))], "").1;
    assert!(metrics(all).contains("alpha"));
    let seen = metrics(narrow);
    assert!(!seen.contains("alpha"), "{seen}");
    assert!(!seen.contains("skill_load_total{"), "{seen}");
    assert!(seen.contains(r#"skill_snapshot_skills{state="active"} 1"#), "{seen}");
    assert_eq!(http.get("/metrics").0, 401);
}

#[test]
fn a_server_stays_ready_while_its_store_is_away() {
    let world = World::new();
    let answers = Arc::new(AtomicBool::new(true));
    let store = Arc::clone(&answers);
    let options = changed(ServerOptions::default(), |options| {
        options.store = Probe::new(move || store.load(Ordering::SeqCst));
    });
    let http = Http::start(&world.server_with(options), HttpOptions::default());
    let (status, answer) = http.get("/readyz");
    assert_eq!(status, 200);
    assert!(answer.ends_with(r#"{"ready":true,"store":"ok"}"#), "{answer}");
    answers.store(false, Ordering::SeqCst);
    let (status, answer) = http.get("/readyz");
    assert_eq!(status, 200, "it serves what it has read");
    assert!(answer.ends_with(r#"{"ready":true,"store":"away"}"#), "{answer}");
}

/// Returns a store in memory, which cannot be opened while it `is_away`.
fn store_unless(is_away: &Arc<AtomicBool>) -> LazyStore {
    let (is_away, store) = (Arc::clone(is_away), Arc::new(MemoryStore::new()));
    LazyStore::new(move || {
        if is_away.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Store));
        }
        Ok(Arc::clone(&store) as Arc<dyn Store>)
    })
}

#[test]
fn a_server_is_ready_once_its_channel_was_read() {
    let world = World::new();
    let is_away = Arc::new(AtomicBool::new(true));
    let provider = Arc::new(StoreProvider::new(store_unless(&is_away), "stable"));
    let server = world.server_equipped(SessionOptions::default(), |builder| builder.provider(provider));
    let http = Http::start(&server, HttpOptions::default());
    let (status, answer) = http.get("/readyz");
    assert_eq!(status, 503);
    let reason = r#"{"ready":false,"reason":"the source store:stable was not read yet"}"#;
    assert!(answer.ends_with(reason), "{answer}");
    assert_eq!(http.get("/healthz").0, 200);
    is_away.store(false, Ordering::SeqCst);
    pollster::block_on(server.library().reload());
    assert_eq!(http.get("/readyz").0, 200);
}

#[test]
fn a_server_that_accepts_nobody_is_not_ready() {
    let world = World::new();
    let is_away = Arc::new(AtomicBool::new(true));
    let options = changed(HttpOptions::default(), |options| {
        options.needs_token = true;
        options.store = Some(store_unless(&is_away));
    });
    let http = Http::start(&world.server(), options);
    let (status, answer) = http.get("/readyz");
    let reason = "the tokens of the store could not be read, or not for too long";
    assert!(status == 503 && answer.contains(reason), "{answer}");
    is_away.store(false, Ordering::SeqCst);
    let start = Instant::now();
    while http.get("/readyz").0 != 200 {
        assert!(start.elapsed() < Duration::from_secs(30), "the tokens are read again");
    }
}
