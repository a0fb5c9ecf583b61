//! Signing in to the pages with a token, and out again.

use std::sync::Arc;
use std::time::SystemTime;

use repertoire::EventKind;
use repertoire::store::{LazyStore, Role, Store, TokenRecord, Tokens as _};
use repertoire_web::http::HttpOptions;
use serde_json::json;

use crate::api::Dashboard;
use crate::world::{Http, changed};

pub const HTML: (&str, &str) = ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8");
const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

/// Returns the value of a header of an answer.
pub fn header<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let head = answer.split_once("\r\n\r\n").map_or(answer, |(head, _)| head);
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// Returns the `NAME=VALUE` of the cookie that an answer sets.
pub fn cookie<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let lines = answer.lines().filter_map(|line| line.strip_prefix("set-cookie: "));
    lines.filter_map(|line| line.split(';').next()).find(|pair| pair.starts_with(name))
}

pub fn field<'a>(page: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\""))?;
    rest.split('"').next()
}

/// A dashboard that needs a token, and those of its store.
fn guarded(dashboard: &Dashboard, change: impl FnOnce(&mut HttpOptions)) -> Http {
    let store: Arc<dyn Store> = dashboard.store.clone();
    let options = changed(HttpOptions::default(), |options| {
        options.needs_token = true;
        options.store = Some(LazyStore::from(store));
        change(options);
    });
    Http::start(&dashboard.server, options)
}

fn token(dashboard: &Dashboard, name: &str, role: Role) -> String {
    let secret = format!("rep_{name}_0123456789abcdef");
    dashboard.store.add_token(&TokenRecord::new(&secret, name, role, SystemTime::now())).unwrap();
    secret
}

fn sign_in(http: &Http, token: &str, path: &str, headers: &[(&str, &str)]) -> (u16, String) {
    http.ask("POST", "/sign-in", &[&[FORM], headers].concat(), &format!("token={token}&return={path}"))
}

#[test]
fn browsers_are_led_to_the_sign_in_page_and_programs_are_refused() {
    let dashboard = Dashboard::new(|_| {});
    let http = guarded(&dashboard, |_| {});
    let (status, answer) = http.ask("GET", "/skills?q=a%26b", &[HTML], "");
    assert_eq!((status, header(&answer, "location")), (303, Some("/sign-in?return=%2Fskills%3Fq%3Da%2526b")));
    assert_eq!(header(&http.ask("GET", "/", &[HTML], "").1, "location"), Some("/sign-in"));
    for (method, path, headers) in [
        ("GET", "/", vec![]),
        ("GET", "/api/v1/overview", vec![HTML]),
        ("GET", "/api/v1/nothing", vec![HTML]),
        ("POST", "/mcp", vec![HTML]),
        ("GET", "/metrics", vec![HTML]),
        ("GET", "/.well-known/agent-skills/index.json", vec![HTML]),
        ("GET", "/", vec![HTML, ("Authorization", "Bearer wrong-0123456789abcdef")]),
    ] {
        let (status, answer) = http.ask(method, path, &headers, "");
        assert_eq!(status, 401, "{path}");
        assert!(header(&answer, "www-authenticate").is_some(), "{path}");
    }
    // A page that is open when its session ends is loaded anew.
    let (status, answer) = http.ask("GET", "/proposals", &[HTML, ("HX-Request", "true")], "");
    assert_eq!((status, header(&answer, "hx-refresh")), (401, Some("true")));
    for path in ["/sign-in", "/assets/app.css"] {
        let (status, answer) = http.ask("GET", path, &[HTML], "");
        assert_eq!(status, 200, "{path}");
        assert!(answer.contains("default-src 'none'"), "{path}");
    }
}

#[test]
fn the_cookie_is_for_the_pages_and_their_api_and_ends_with_the_token() {
    let dashboard = Dashboard::new(|_| {});
    let http = guarded(&dashboard, |_| {});
    let secret = token(&dashboard, "ann", Role::Reader);
    let (status, answer) = sign_in(&http, &secret, "%2Fskills%2Fbeta", &[]);
    assert_eq!((status, header(&answer, "location")), (303, Some("/skills/beta")));
    let set = header(&answer, "set-cookie").unwrap();
    assert_eq!(set, format!("rep_token={secret}; Path=/; HttpOnly; SameSite=Lax"));
    let cookie = ("Cookie", set.split(';').next().unwrap());
    for (method, path, expect) in [
        ("GET", "/skills/beta", 200),
        ("GET", "/api/v1/overview", 200),
        ("POST", "/mcp", 401),
        ("GET", "/metrics", 401),
        ("GET", "/.well-known/agent-skills/index.json", 401),
        ("PUT", "/api/v1/skills/beta/versions/1.0.0", 401),
    ] {
        assert_eq!(http.ask(method, path, &[cookie], "").0, expect, "{method} {path}");
    }
    let page = http.ask("GET", "/", &[cookie], "").1;
    assert!(page.contains("<span>ann</span>") && page.contains("Sign out"), "{page}");
    // A header has the last word.
    let headers = [cookie, ("Authorization", "Bearer wrong-0123456789abcdef")];
    assert_eq!(http.ask("GET", "/", &headers, "").0, 401);
    // A link of another site leads to the page; nothing else of another site does.
    let from = |dest: &'static str| {
        [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", dest), cookie]
    };
    assert_eq!(http.ask("GET", "/", &from("document"), "").0, 200);
    assert_eq!(http.ask("GET", "/", &from("iframe"), "").0, 403);
    assert_eq!(http.ask("POST", "/skills/beta/switch", &from("document"), "").0, 403);
    let digest = dashboard.store.tokens().unwrap()[0].digest;
    dashboard.store.revoke_token(&digest, SystemTime::now()).unwrap();
    let deadline = std::time::Instant::now() + crate::world::TIMEOUT;
    while http.ask("GET", "/", &[HTML, cookie], "").0 != 303 {
        assert!(std::time::Instant::now() < deadline, "a revoked token ends within seconds");
        std::thread::yield_now();
    }
}

#[test]
fn a_wrong_token_and_another_site_do_not_sign_in() {
    let dashboard = Dashboard::new(|_| {});
    let http = guarded(&dashboard, |_| {});
    let secret = token(&dashboard, "ann", Role::Admin);
    let (status, answer) = sign_in(&http, "rep_wrong_0123456789abcdef", "%2F", &[]);
    assert!(status == 403 && answer.contains("This token is not valid"), "{answer}");
    assert!(header(&answer, "set-cookie").is_none() && !answer.contains("rep_wrong"), "{answer}");
    for headers in [
        vec![("Origin", "http://evil.test")],
        vec![("Origin", "null")],
        vec![("Sec-Fetch-Site", "same-site")],
        vec![("Sec-Fetch-Site", "cross-site")],
    ] {
        let (status, answer) = sign_in(&http, &secret, "%2F", &headers);
        assert!(status == 403 && header(&answer, "set-cookie").is_none(), "{headers:?} {answer}");
    }
    let own = format!("http://{}", http.address);
    let (status, answer) = sign_in(&http, &secret, "%2F%2Fevil.test", &[("Origin", &own)]);
    assert_eq!((status, header(&answer, "location")), (303, Some("/")));
}

#[test]
fn cookies_are_secure_where_people_use_https() {
    let dashboard = Dashboard::new(|_| {});
    let secret = token(&dashboard, "ann", Role::Reader);
    let expect = format!("__Host-rep_token={secret}; Path=/; HttpOnly; SameSite=Lax; Secure");
    let proxied = guarded(&dashboard, |options| {
        options.trusted_proxies = vec![repertoire_web::http::AddressRange::parse("127.0.0.1").unwrap()];
    });
    let (_, answer) = sign_in(&proxied, &secret, "%2F", &[("X-Forwarded-Proto", "https")]);
    assert_eq!(header(&answer, "set-cookie"), Some(expect.as_str()));
    let public =
        guarded(&dashboard, |options| options.public_url = Some("https://skills.example.com/".to_owned()));
    let headers = [("Host", "skills.example.com"), ("Origin", "https://skills.example.com")];
    assert_eq!(header(&sign_in(&public, &secret, "%2F", &headers).1, "set-cookie"), Some(expect.as_str()));
    // Nobody else is believed about the scheme.
    let plain = guarded(&dashboard, |_| {});
    let (_, answer) = sign_in(&plain, &secret, "%2F", &[("X-Forwarded-Proto", "https")]);
    assert!(header(&answer, "set-cookie").unwrap().starts_with("rep_token="), "{answer}");
}

#[test]
fn a_person_that_signed_in_decides_with_the_token_of_its_own_pages() {
    let dashboard = Dashboard::new(|_| {});
    let http = guarded(&dashboard, |_| {});
    let (ann, bob) = (token(&dashboard, "ann", Role::Reviewer), token(&dashboard, "bob", Role::Reader));
    let id = dashboard.propose("beta", "Be kind.");
    let page = |secret: &str| {
        let cookie = format!("rep_token={secret}");
        http.ask("GET", &format!("/proposals/{id}"), &[("Cookie", &cookie)], "").1
    };
    let approve = |secret: &str, csrf: &str, headers: &[(&str, &str)]| {
        let cookie = format!("rep_token={secret}");
        let headers = [&[FORM, ("Cookie", cookie.as_str())], headers].concat();
        http.ask("POST", &format!("/proposals/{id}/approve"), &headers, &format!("csrf={csrf}"))
    };
    let csrf = field(&page(&ann), "csrf").unwrap().to_owned();
    let others = field(&page(&bob), "csrf").unwrap().to_owned();
    assert_ne!(csrf, others);
    assert_eq!(approve(&ann, &others, &[]).0, 403);
    assert_eq!(approve(&ann, "", &[]).0, 403);
    assert_eq!(approve(&ann, &csrf, &[("Sec-Fetch-Site", "same-site")]).0, 403);
    assert_eq!(approve(&bob, &others, &[]).0, 403, "a reader does not decide");
    // The API takes the same token of the pages in a header.
    let cookie = format!("rep_token={ann}");
    let api = |headers: &[(&str, &str)]| {
        let headers =
            [&[("Content-Type", "application/json"), ("Cookie", cookie.as_str())], headers].concat();
        http.ask(
            "POST",
            &format!("/api/v1/proposals/{id}/reject"),
            &headers,
            &json!({"reason": "x"}).to_string(),
        )
    };
    assert_eq!(api(&[]).0, 403);
    let (status, answer) = approve(&ann, &csrf, &[("Sec-Fetch-Site", "same-origin")]);
    assert_eq!(status, 303, "{answer}");
    assert_eq!(api(&[("X-CSRF-Token", &csrf)]).0, 409, "it was decided already");
    let decisions = dashboard.sink.take();
    let decision = decisions.iter().find(|event| event.kind == EventKind::ProposalReviewed).unwrap();
    assert_eq!(decision.principal.as_deref(), Some("ann"));
}

#[test]
fn signing_out_removes_the_cookie_and_keeps_a_token_that_was_made_elsewhere() {
    let dashboard = Dashboard::new(|_| {});
    let http = guarded(&dashboard, |_| {});
    let cookie = format!("rep_token={}", token(&dashboard, "ann", Role::Reader));
    let cookie = ("Cookie", cookie.as_str());
    let page = http.ask("GET", "/", &[cookie], "").1;
    assert_eq!(http.ask("POST", "/sign-out", &[FORM, cookie], "csrf=wrong").0, 403);
    let form = format!("csrf={}", field(&page, "csrf").unwrap());
    let (status, answer) = http.ask("POST", "/sign-out", &[FORM, cookie], &form);
    assert_eq!((status, header(&answer, "location")), (303, Some("/sign-in")));
    assert_eq!(header(&answer, "set-cookie"), Some("rep_token=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0"));
    assert_eq!(http.ask("GET", "/", &[cookie], "").0, 200);
}
