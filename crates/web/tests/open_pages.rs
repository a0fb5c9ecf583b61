//! The dashboard of one person: what others of the same machine get of it, and how the person opens it.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use repertoire_web::ErrorKind;
use repertoire_web::http::{AccessLog, HttpAccess, HttpOptions, PageSecret, Token};
use serde_json::Value;

use crate::api::Dashboard;
use crate::sign_in::header;
use crate::world::{Http, changed};

/// The cookie of a browser that opened another dashboard of the same machine.
const OTHER: (&str, &str) = ("Cookie", "rep_dashboard_1=rep_0123456789abcdef0123456789abcdef");

fn writable() -> Dashboard {
    Dashboard::new(|options| options.allows_writes = true)
}

/// Returns the paths of a dashboard, with names in the place of parameters.
fn paths(http: &Http) -> Vec<String> {
    let (_, answer) = http.get("/api/v1/openapi.json");
    let document: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
    let api = document["paths"].as_object().unwrap().keys().cloned();
    let pages = include_str!("../src/web/routes.rs").split(".route(\"").skip(1);
    let pages = pages.map(|rest| rest.split('"').next().unwrap().to_owned());
    let paths: Vec<String> = api.chain(pages).collect();
    assert!(paths.len() > 40, "{paths:?}");
    let filled = paths.into_iter().map(|path| {
        let path = path.replace("{name}", "alpha").replace("{id}", "1").replace("{version}", "1");
        path.replace("{path}", "SKILL.md").replace("{*path}", "SKILL.md")
    });
    filled.collect()
}

#[test]
fn every_route_is_refused_without_the_cookie() {
    let dashboard = writable();
    dashboard.propose("alpha", "More.");
    let http = dashboard.http();
    let others = ["/mcp", "/metrics", "/.well-known/agent-skills/index.json", "/sign-in", "/sign-out"];
    let more = ["/assets/app.css", "/nothing", "/open", "/open/", "/open/wrong", "/api/v1/nothing"];
    let all = paths(&http).into_iter().chain(others.into_iter().chain(more).map(str::to_owned));
    for path in all {
        for (method, headers) in [
            ("GET", vec![("Cookie", "a=b")]),
            ("GET", vec![OTHER]),
            ("HEAD", vec![("Cookie", "a=b")]),
            ("POST", vec![("Cookie", "a=b"), ("Content-Type", "application/json")]),
            ("POST", vec![("Cookie", "a=b"), ("Authorization", "Bearer 0123456789abcdef")]),
            ("PUT", vec![("Cookie", "a=b")]),
            ("DELETE", vec![("Cookie", "a=b")]),
        ] {
            let (status, answer) = http.ask(method, &path, &headers, "{}");
            assert_eq!(status, 403, "{method} {path}: {answer}");
            assert!(header(&answer, "set-cookie").is_none() && !answer.contains("alpha"), "{answer}");
            let expect = if path.starts_with("/api/") {
                "{\"code\":\"not_opened\""
            } else {
                "Run <code>rep dashboard</code> again"
            };
            assert!(method == "HEAD" || answer.contains(expect), "{method} {path}: {answer}");
        }
    }
    for path in ["/healthz", "/readyz"] {
        assert_eq!(http.ask("GET", path, &[OTHER], "").0, 200);
    }
    let (_, answer) = http.ask("GET", "/proposals", &[OTHER, ("HX-Request", "true")], "");
    assert_eq!(header(&answer, "hx-refresh"), Some("true"), "an open page is loaded anew");
    assert!(!std::fs::read_to_string(dashboard.world.path("alpha/SKILL.md")).unwrap().contains("More."));
}

#[test]
fn the_cookie_opens_every_page_and_nothing_for_programs() {
    let dashboard = writable();
    dashboard.propose("alpha", "More.");
    dashboard.record("alpha");
    let http = dashboard.http();
    let is_left_out = |path: &String| {
        // The stream does not end; the last ones take POST alone.
        path.ends_with("/changes") || path.ends_with("/switch") || path.ends_with("/rollback")
    };
    for path in paths(&http).into_iter().filter(|path| !is_left_out(path)) {
        let (status, answer) = http.get(&path);
        assert!(!matches!(status, 401 | 403 | 500..), "{path}: {answer}");
    }
    for (method, path) in
        [("POST", "/mcp"), ("GET", "/mcp"), ("GET", "/metrics"), ("GET", "/sign-in"), ("POST", "/sign-out")]
    {
        assert_eq!(http.ask(method, path, &[], "").0, 404, "{method} {path}");
    }
    assert_eq!(http.ask("PUT", "/api/v1/skills/alpha/versions/1", &[], "x").0, 404);
}

#[test]
fn opening_sets_the_cookie_and_leads_to_the_first_page() {
    let dashboard = Dashboard::new(|_| {});
    let secret = PageSecret::new().unwrap();
    let own = secret.clone();
    let http = Http::start(
        &dashboard.server,
        changed(HttpOptions::default(), |options| options.page_secret = Some(own)),
    );
    let (status, answer) = http.ask("GET", &secret.path(), &[OTHER], "");
    assert_eq!((status, header(&answer, "location")), (303, Some("/")));
    assert_eq!(header(&answer, "referrer-policy"), Some("no-referrer"));
    assert_eq!(header(&answer, "cache-control"), Some("no-store"));
    let set = header(&answer, "set-cookie").unwrap();
    assert!(set.starts_with(&format!("rep_dashboard_{}=", http.address.port())), "{set}");
    assert!(set.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{set}");
    // It gives no right that the options do not give.
    assert_eq!(http.get("/").0, 200);
    let json = [("Content-Type", "application/json")];
    let (status, answer) = http.ask("POST", "/api/v1/skills/alpha/switch", &json, "{\"on\": false}");
    assert!(status == 403 && answer.contains("read_only"), "{answer}");
    // A path for the arguments of a program is used up by one GET, and by nothing else.
    let path = secret.one_time_path(Instant::now()).unwrap();
    assert_eq!(http.ask("HEAD", &path, &[OTHER], "").0, 403);
    assert_eq!(http.ask("POST", &path, &[OTHER], "").0, 403);
    assert!(http.opened(&path).is_some());
    assert_eq!((http.opened(&path), http.ask("GET", &path, &[OTHER], "").0), (None, 403));
    // No page of another host gets the cookie, and a link of another site leads there.
    for headers in [[("Host", "evil.test"), OTHER], [("Origin", "http://evil.test"), OTHER]] {
        let (status, answer) = http.ask("GET", &secret.path(), &headers, "");
        assert!(status == 403 && header(&answer, "set-cookie").is_none(), "{headers:?} {answer}");
    }
    let link =
        [("Sec-Fetch-Site", "same-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")];
    assert_eq!(http.ask("GET", &secret.path(), &link, "").0, 303);
}

#[test]
fn the_secret_is_in_no_log_no_event_and_no_answer() {
    let dashboard = Dashboard::new(|_| {});
    let (secret, lines) = (PageSecret::new().unwrap(), Arc::new(Mutex::new(String::new())));
    let (own, log) = (secret.clone(), Arc::clone(&lines));
    let options = changed(HttpOptions::default(), |options| {
        options.page_secret = Some(own);
        options.access_log = Some(AccessLog::new(move |line| *log.lock().unwrap() += line));
    });
    let http = Http::start(&dashboard.server, options);
    let (path, once) = (secret.path(), secret.one_time_path(Instant::now()).unwrap());
    let key = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    let keys = [key(&path), key(&once)];
    let mut answers = String::new();
    for path in [path, once] {
        for path in [format!("/{path}"), path.replace("open", "%6fpen"), format!("{path}/x"), path.clone()] {
            answers += &http.ask("POST", &path, &[OTHER], "").1;
            // The answer to this one sets the cookie.
            http.get(&path);
        }
    }
    let shown = [answers, format!("{:?}", dashboard.sink.events())];
    http.end();
    let lines = lines.lock().unwrap();
    assert!(lines.contains("\"path\":\"/open\""), "{lines}");
    for text in shown.iter().chain([&*lines]) {
        assert!(keys.iter().all(|key| !text.contains(key.as_str())), "{text}");
    }
}

#[test]
fn writes_without_a_token_are_for_one_person_alone() {
    let dashboard = writable();
    let fault = |options| dashboard.server.bind_http(options).err().map(|error| error.kind());
    assert_eq!(fault(HttpOptions::default()), Some(ErrorKind::TokenNeededForWrites));
    let token = || vec![Token::new("0123456789abcdef", None, "t").unwrap()];
    let options = changed(HttpOptions::default(), |options| options.access.tokens = token());
    let http = Http::start(&dashboard.server, options);
    assert_eq!(http.get("/api/v1/skills").0, 401);
    http.control.replace_blocking(HttpAccess::default()).unwrap();
    assert_eq!(http.get("/api/v1/skills").0, 401, "a token is needed after the last one is gone");
}
