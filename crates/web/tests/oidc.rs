//! Signing in at a provider of OpenID Connect, and its tokens in requests of programs.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use repertoire::EventKind;
use repertoire::config::OidcGroup;
use repertoire::model::{Pattern, Scope};
use repertoire::store::{LazyStore, Role, Store, Tokens as _};
use repertoire_web::http::{AccessLog, HttpAccess, HttpOptions};
use repertoire_web::oidc::OidcOptions;
use ring::hmac;
use serde_json::{Value, json};

use crate::api::Dashboard;
use crate::provider::{CLIENT, SECRET, SigningKey, TestProvider, claims, jwt, seconds};
use crate::sign_in::{HTML, cookie, field, header};
use crate::world::{Http, changed};

/// The headers of a browser that another site leads here.
const FROM_PROVIDER: [(&str, &str); 4] =
    [HTML, ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")];

fn options(issuer: &str) -> OidcOptions {
    let mut options = OidcOptions::new(issuer, CLIENT);
    options.client_secret = Some(SECRET.to_owned());
    let beta = Scope { allow: Some(vec![Pattern::new("beta").unwrap()]), ..Scope::default() };
    let mut staff = OidcGroup { role: Role::Reader, ..OidcGroup::default() };
    staff.scope.scope = beta;
    let reviewers = OidcGroup { role: Role::Reviewer, ..OidcGroup::default() };
    options.groups = [("staff".to_owned(), staff), ("reviewers".to_owned(), reviewers)].into();
    options
}

/// A server that people sign in to at a provider.
struct Setting {
    dashboard: Dashboard,
    provider: TestProvider,
    http: Http,
}

impl Setting {
    fn new() -> Self {
        Self::with(SigningKey::rsa(), |_| {})
    }

    fn with(key: SigningKey, change: impl FnOnce(&mut HttpOptions)) -> Self {
        let (dashboard, provider) = (Dashboard::new(|_| {}), TestProvider::start(key));
        let http = start(&dashboard, &provider.issuer(), change);
        Self { dashboard, provider, http }
    }

    /// Goes to the provider. Returns the query to come back with, and the cookie.
    fn start(&self, path: &str) -> (String, String) {
        let (status, answer) = self.http.ask("GET", &format!("/sign-in/start?return={path}"), &[HTML], "");
        assert_eq!(status, 303, "{answer}");
        let flow = cookie(&answer, "rep_sign_in=").unwrap();
        (self.provider.authorize(header(&answer, "location").unwrap()), flow.to_owned())
    }

    fn come_back(&self, query: &str, flow: &str) -> (u16, String) {
        let headers = [&FROM_PROVIDER[..], &[("Cookie", flow)]].concat();
        self.http.ask("GET", &format!("/sign-in/callback?{query}"), &headers, "")
    }

    /// Signs in with `claims` beside the usual ones.
    fn sign_in(&self, claims: Value) -> (u16, String) {
        self.provider.lock().claims = claims;
        let (query, flow) = self.start("%2Fskills%2Fbeta");
        self.come_back(&query, &flow)
    }

    fn bearer(&self, token: &str, path: &str) -> (u16, String) {
        self.http.ask("GET", path, &[("Authorization", &format!("Bearer {token}"))], "")
    }
}

fn start(dashboard: &Dashboard, issuer: &str, change: impl FnOnce(&mut HttpOptions)) -> Http {
    let store: Arc<dyn Store> = dashboard.store.clone();
    let options = changed(HttpOptions::default(), |it| {
        it.access.oidc = Some(options(issuer));
        it.store = Some(LazyStore::from(store));
        change(it);
    });
    Http::start(&dashboard.server, options)
}

/// Checks that nobody was signed in, for a reason with `expect`.
fn check_refused(answer: (u16, String), expect: &str) {
    let (status, answer) = answer;
    assert!(status >= 400 && answer.contains(expect), "{answer}");
    assert!(cookie(&answer, "rep_token=").is_none(), "{answer}");
}

#[test]
fn people_sign_in_as_themselves_and_out_again() {
    let setting = Setting::new();
    let (status, page) = setting.http.ask("GET", "/sign-in?return=%2Fskills", &[HTML], "");
    assert!(status == 200 && page.contains("Sign in with 127.0.0.1"), "{page}");
    assert!(page.contains("href=\"/sign-in/start?return=%2Fskills\""), "{page}");
    let (status, answer) = setting.sign_in(json!({}));
    assert_eq!((status, header(&answer, "location")), (303, Some("/skills/beta")), "{answer}");
    let token = cookie(&answer, "rep_token=").unwrap();
    assert!(answer.contains("rep_sign_in=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0"), "{answer}");
    // The session is a token of the store, so that all that is true of tokens is true of it.
    let record = setting.dashboard.store.tokens().unwrap().remove(0);
    assert_eq!((record.name.as_str(), record.role), ("ann@example.com", Role::Reader));
    assert_eq!(record.author, Some(format!("oidc:{}", setting.provider.issuer())));
    let time = record.expires.unwrap().duration_since(record.created).unwrap();
    assert_eq!(time, Duration::from_secs(12 * 3_600));
    let get = |path: &str| setting.http.ask("GET", path, &[HTML, ("Cookie", token)], "");
    let (status, page) = get("/skills");
    assert!(status == 200 && page.contains("<span>ann@example.com</span>"), "{page}");
    assert!(page.contains("beta") && !page.contains("alpha"), "the scope of the group: {page}");
    let form = format!("csrf={}", field(&page, "csrf").unwrap());
    let headers = [("Content-Type", "application/x-www-form-urlencoded"), ("Cookie", token)];
    assert_eq!(setting.http.ask("POST", "/sign-out", &headers, &form).0, 303);
    assert!(setting.dashboard.store.tokens().unwrap()[0].revoked.is_some());
    assert_eq!(header(&get("/skills").1, "location"), Some("/sign-in?return=%2Fskills"));
    let events = setting.dashboard.sink.take();
    let events = events.iter().filter(|event| event.kind == EventKind::TokenChanged);
    let told: Vec<_> =
        events.map(|event| (event.tool.as_str(), event.principal.as_deref().unwrap())).collect();
    assert_eq!(told, [("sign in", "user:ann@example.com"), ("sign out", "user:ann@example.com")]);
}

#[test]
fn a_flow_that_began_elsewhere_or_is_not_the_browsers_own_ends_nowhere() {
    let setting = Setting::new();
    let (query, flow) = setting.start("%2F");
    let (other_query, other_flow) = setting.start("%2F");
    let unknown = "This sign-in began in another browser or tab";
    check_refused(setting.come_back("code=the-code&state=wrong", &flow), unknown);
    check_refused(setting.come_back(&other_query, &flow), unknown);
    check_refused(setting.come_back(&query, "a=b"), unknown);
    check_refused(setting.come_back("code=the-code", &flow), unknown);
    let state = query.split_once("state=").unwrap().1;
    let denied = format!("error=access_denied&error_description=%3Cscript%3E&state={state}");
    check_refused(setting.come_back(&denied, &flow), "The sign-in provider refused: access_denied.");
    // A code that was made for another flow: the verifier does not fit.
    check_refused(setting.come_back(&query, &flow), "status 400 invalid_grant");
    assert_eq!(setting.come_back(&other_query, &other_flow).0, 303);
    let refused = setting.dashboard.sink.take();
    assert!(refused.iter().any(|event| event.error.as_deref() == Some("sign_in_failed")));
    assert_eq!(setting.dashboard.store.tokens().unwrap().len(), 1);
}

#[test]
fn id_tokens_for_others_are_refused() {
    let setting = Setting::new();
    for (change, expect) in [
        (json!({"nonce": "another"}), "it was not made for this browser"),
        (json!({"nonce": null}), "it was not made for this browser"),
        (json!({"aud": "another"}), "it is for another audience"),
        (json!({"azp": "another"}), "it was made for another client"),
        (json!({"iss": "http://127.0.0.1:1"}), "another provider issued it"),
        (json!({"exp": seconds() - 120}), "it has expired"),
        (json!({"groups": ["others"]}), "ann@example.com is in no group"),
        (json!({"groups": null}), "ann@example.com is in no group"),
        (json!({"email": null, "sub": "<b>"}), "no usable name"),
    ] {
        check_refused(setting.sign_in(change), expect);
    }
    assert_eq!(setting.dashboard.store.tokens().unwrap(), []);
    let (status, answer) = setting.sign_in(json!({"aud": [CLIENT, "other"], "azp": CLIENT}));
    assert_eq!(status, 303, "{answer}");
}

#[test]
fn a_return_path_to_another_site_is_not_followed() {
    let setting = Setting::new();
    for path in ["https://evil.test/", "%2F%2Fevil.test", "%2F%5Cevil.test", "%2F%09%2Fevil.test"] {
        let (query, flow) = setting.start(path);
        let (status, answer) = setting.come_back(&query, &flow);
        assert_eq!((status, header(&answer, "location")), (303, Some("/")), "{path}");
    }
    // Not even by a cookie that somebody else made.
    let (query, flow) = setting.start("%2F");
    let seed = flow.split_once('.').unwrap().0;
    let (_, answer) = setting.come_back(&query, &format!("{seed}.Ly9ldmlsLnRlc3Q"));
    assert_eq!(header(&answer, "location"), Some("/"));
}

#[test]
fn groups_decide_about_roles_and_a_reviewer_decides_as_itself() {
    let setting = Setting::new();
    let id = setting.dashboard.propose("beta", "Be kind.");
    let decide = |groups: Value| {
        let (_, answer) = setting.sign_in(json!({"groups": groups, "email": "bob@example.com"}));
        let token = cookie(&answer, "rep_token=").unwrap().to_owned();
        let path = format!("/proposals/{id}");
        let page = setting.http.ask("GET", &path, &[("Cookie", &token)], "").1;
        let form = format!("csrf={}&reason=no", field(&page, "csrf").unwrap());
        let headers = [("Content-Type", "application/x-www-form-urlencoded"), ("Cookie", token.as_str())];
        setting.http.ask("POST", &format!("{path}/reject"), &headers, &form).0
    };
    assert_eq!(decide(json!(["staff"])), 403);
    assert_eq!(decide(json!(["staff", "reviewers"])), 303);
    let events = setting.dashboard.sink.take();
    let decision = events.iter().find(|event| event.kind == EventKind::ProposalReviewed).unwrap();
    assert_eq!(decision.principal.as_deref(), Some("bob@example.com"));
}

#[test]
fn programs_send_tokens_of_the_provider() {
    let setting = Setting::with(SigningKey::curve(), |_| {});
    let token = setting.provider.token(&json!({}));
    let (status, skills) = setting.bearer(&token, "/api/v1/skills");
    assert!(status == 200 && skills.contains("beta") && !skills.contains("alpha"), "{skills}");
    let headers = [("Authorization", format!("Bearer {token}"))];
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let call = json!({"name": "load_skill", "arguments": {"name": "beta"}});
    assert_eq!(setting.http.post_with("tools/call", call, &headers).0, 200);
    let loaded = setting.dashboard.sink.take();
    let loaded = loaded.iter().find(|event| event.kind == EventKind::SkillLoaded).unwrap();
    assert_eq!(loaded.principal.as_deref(), Some("ann@example.com"));
    assert_eq!(setting.dashboard.store.tokens().unwrap(), [], "nothing is stored for it");
    let other = setting.provider.token(&json!({"groups": ["others"]}));
    assert_eq!(setting.bearer(&other, "/metrics").0, 403);
    for change in [
        json!({"aud": "another"}),
        json!({"iss": "http://127.0.0.1:1"}),
        json!({"exp": seconds() - 120}),
        json!({"exp": null}),
        json!({"nbf": seconds() + 120}),
    ] {
        assert_eq!(setting.bearer(&setting.provider.token(&change), "/metrics").0, 401, "{change}");
    }
}

#[test]
fn tokens_that_the_provider_did_not_sign_are_refused() {
    let setting = Setting::new();
    let issuer = setting.provider.issuer();
    let good = setting.provider.token(&json!({}));
    assert_eq!(setting.bearer(&good, "/metrics").0, 200);
    let claims = claims(&issuer, &json!({}));
    let header = |algorithm: &str| json!({"alg": algorithm, "kid": "one"});
    // The public key as a shared secret, in the forms in which a program could hold it.
    let hmac = |key: &[u8]| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, key);
        jwt(&header("HS256"), &claims, |message| hmac::sign(&key, message).as_ref().to_vec())
    };
    let (head, signature) = good.rsplit_once('.').unwrap();
    let (start, _) = head.split_once('.').unwrap();
    let other = TestProvider::start(SigningKey::curve());
    for token in [
        jwt(&header("none"), &claims, |_| Vec::new()),
        jwt(&header("None"), &claims, |_| Vec::new()),
        jwt(&header("RS256"), &claims, |_| Vec::new()),
        hmac(include_bytes!("../testdata/oidc/rsa.pk8")),
        hmac(b""),
        hmac(&public_modulus(&setting.provider)),
        format!("{head}."),
        format!("{start}.e30.{signature}"),
        other.token(&json!({"iss": issuer})),
        format!("{good}x"),
    ] {
        assert_eq!(setting.bearer(&token, "/metrics").0, 401, "{token}");
    }
}

#[test]
fn only_access_tokens_are_bearer_tokens() {
    let setting = Setting::new();
    for id in [json!({"nonce": "x"}), json!({"at_hash": "x"})] {
        assert_eq!(setting.bearer(&setting.provider.token(&id), "/metrics").0, 401, "{id}");
    }
    // The token was made for this server; who asked for it is the provider's to decide.
    assert_eq!(setting.bearer(&setting.provider.token(&json!({"azp": "other"})), "/metrics").0, 200);
    let claims = claims(&setting.provider.issuer(), &json!({}));
    for (typ, status) in [
        (json!(null), 200),
        (json!("at+jwt"), 200),
        (json!("application/at+JWT"), 200),
        (json!("logout+jwt"), 401),
        (json!(""), 401),
    ] {
        let token = setting.provider.lock().signed_as(&typ, &claims);
        assert_eq!(setting.bearer(&token, "/metrics").0, status, "{typ}");
    }
}

/// Returns the modulus that the provider publishes.
fn public_modulus(provider: &TestProvider) -> Vec<u8> {
    use base64::Engine as _;
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(provider.address).unwrap();
    stream.write_all(b"GET /realm/keys HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let keys: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
    let modulus = keys["keys"][1]["n"].as_str().unwrap().to_owned();
    base64::prelude::BASE64_URL_SAFE_NO_PAD.decode(modulus).unwrap()
}

#[test]
fn new_keys_of_the_provider_are_fetched_and_made_up_ones_are_not() {
    let setting = Setting::new();
    let old = setting.provider.token(&json!({}));
    assert_eq!(setting.bearer(&old, "/metrics").0, 200);
    assert_eq!(setting.provider.lock().key_requests, 1);
    setting.provider.rotate(SigningKey::curve(), "two");
    assert_eq!(setting.bearer(&setting.provider.token(&json!({})), "/metrics").0, 200);
    assert_eq!(setting.bearer(&old, "/metrics").0, 401, "a key that was removed does not count any more");
    setting.provider.rotate(SigningKey::curve(), "three");
    for _ in 0..5 {
        assert_eq!(setting.bearer(&setting.provider.token(&json!({})), "/metrics").0, 401);
    }
    assert_eq!(setting.provider.lock().key_requests, 2, "unknown keys do not load the provider");
}

#[test]
fn a_server_starts_without_its_provider_and_says_what_is_wrong() {
    let dashboard = Dashboard::new(|_| {});
    let provider = TestProvider::start(SigningKey::curve());
    let (address, issuer) = (provider.address, provider.issuer());
    drop(provider);
    let http = start(&dashboard, &issuer, |_| {});
    let (status, answer) = http.ask("GET", "/sign-in/start", &[HTML], "");
    assert!(
        status == 502 && answer.contains("The sign-in provider cannot be used: discovery document:"),
        "{answer}"
    );
    let token = jwt(&json!({"alg": "ES256", "kid": "one"}), &claims(&issuer, &json!({})), |_| vec![0; 64]);
    let bearer = format!("Bearer {token}");
    assert_eq!(http.ask("GET", "/metrics", &[("Authorization", &bearer)], "").0, 503);
    let provider = TestProvider::start_at(address, SigningKey::curve());
    let bearer = format!("Bearer {}", provider.token(&json!({})));
    let deadline = std::time::Instant::now() + crate::world::TIMEOUT;
    while http.ask("GET", "/metrics", &[("Authorization", &bearer)], "").0 != 200 {
        assert!(std::time::Instant::now() < deadline, "the provider is found");
        std::thread::yield_now();
    }
}

#[test]
fn the_provider_sends_people_back_to_the_public_address() {
    let url = "https://skills.example.com";
    let setting = Setting::with(SigningKey::curve(), |options| options.public_url = Some(url.to_owned()));
    let (status, answer) = setting.http.ask("GET", "/sign-in/start", &[HTML], "");
    assert_eq!(status, 303);
    let location = header(&answer, "location").unwrap();
    assert!(
        location.contains("redirect_uri=https%3A%2F%2Fskills.example.com%2Fsign-in%2Fcallback"),
        "{location}"
    );
    let flow = cookie(&answer, "__Host-rep_sign_in=").unwrap();
    let query = setting.provider.authorize(location);
    let (status, answer) = setting.come_back(&query, flow);
    assert!(status == 303 && cookie(&answer, "__Host-rep_token=").is_some(), "{answer}");
}

#[test]
fn the_provider_is_replaced_while_the_server_runs_and_nothing_secret_is_logged() {
    let lines: Arc<std::sync::Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&lines);
    let setting = Setting::with(SigningKey::curve(), |options| {
        options.access_log = Some(AccessLog::new(move |line| log.lock().unwrap().push(line.to_owned())));
    });
    let (_, answer) = setting.sign_in(json!({}));
    let secret = cookie(&answer, "rep_token=").unwrap().split_once('=').unwrap().1;
    setting.http.ask("GET", "/", &[("Cookie", &format!("rep_token={secret}"))], "");
    let token = setting.provider.token(&json!({}));
    assert_eq!(setting.bearer(&token, "/metrics").0, 200);
    let mut access = HttpAccess::default();
    let mut changed = options(&setting.provider.issuer());
    changed.groups.remove("staff");
    access.oidc = Some(changed);
    setting.http.control.replace_blocking(access).unwrap();
    assert_eq!(setting.bearer(&token, "/metrics").0, 403);
    let mut access = HttpAccess::default();
    access.oidc = Some(options("http://id.example.com"));
    setting.http.control.replace_blocking(access).unwrap_err();
    assert_eq!(setting.bearer(&token, "/metrics").0, 403, "everything stays as it is after an error");
    setting.http.end();
    let lines = lines.lock().unwrap().join("\n");
    assert!(lines.contains("\"principal\":\"ann@example.com\""), "{lines}");
    for secret in [secret, &token, SECRET, "the-code", "state="] {
        assert!(!lines.contains(secret), "{lines}");
    }
}

#[test]
fn tokens_of_people_that_signed_in_long_ago_are_removed() {
    let setting = Setting::new();
    let mut old = repertoire::store::TokenRecord::new("rep_old", "ann", Role::Reader, SystemTime::UNIX_EPOCH);
    old.expires = Some(SystemTime::UNIX_EPOCH + Duration::from_secs(3_600));
    setting.dashboard.store.add_token(&old).unwrap();
    assert_eq!(setting.sign_in(json!({})).0, 303);
    let names: Vec<String> =
        setting.dashboard.store.tokens().unwrap().into_iter().map(|token| token.name).collect();
    assert_eq!(names, ["ann@example.com"]);
}
