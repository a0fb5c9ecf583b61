//! Signing in to the pages of `rep serve --http` at a provider of OpenID Connect.

use serde_json::json;

use crate::oidc_provider::{CLIENT, SECRET, SigningKey, TestProvider};
use crate::sandbox::Sandbox;
use crate::test_serve_command::Serving;

const CONFIG: &str = "../home/.config/repertoire/config.toml";
const HTML: &str = "Accept: text/html\r\n";

/// Writes a configuration with `provider`, in which people of the group staff have `rights`.
fn configure(sandbox: &Sandbox, provider: &TestProvider, rights: &str) {
    sandbox.write("../home/.config/repertoire/client-secret", format!("{SECRET}\n"));
    let issuer = provider.issuer();
    let oidc = format!(
        "[oidc]\nissuer = \"{issuer}\"\nclient_id = \"{CLIENT}\"\nclient_secret_file = \"client-secret\"\n"
    );
    sandbox.write(CONFIG, format!("{oidc}\n[oidc.groups.staff]\n{rights}\n"));
}

/// Returns the value of a header.
fn header<'a>(answer: &'a str, name: &str) -> &'a str {
    answer.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).unwrap_or_default()
}

#[test]
fn people_sign_in_as_the_configuration_says() {
    let sandbox = Sandbox::with_skills();
    let provider = TestProvider::start(SigningKey::curve());
    configure(&sandbox, &provider, "role = \"reader\"\nallow = [\"beta\"]");
    let serving = Serving::start(&sandbox, &[]);
    assert_eq!(header(&serving.get("/skills", HTML), "location"), "/sign-in?return=%2Fskills");
    assert!(serving.get("/api/v1/skills", HTML).starts_with("HTTP/1.1 401"));
    let started = serving.get("/sign-in/start?return=%2Fskills", HTML);
    let flow = header(&started, "set-cookie").split(';').next().unwrap();
    let back = provider.authorize(header(&started, "location"));
    let answer = serving.get(&format!("/sign-in/callback?{back}"), &format!("{HTML}Cookie: {flow}\r\n"));
    assert_eq!(header(&answer, "location"), "/skills", "{answer}");
    let cookie = format!("{HTML}Cookie: {}\r\n", header(&answer, "set-cookie").split(';').next().unwrap());
    let page = serving.get("/skills", &cookie);
    assert!(page.contains("ann@example.com") && page.contains("beta") && !page.contains("alpha"), "{page}");
    // A program sends the provider's own token.
    let bearer = format!("Authorization: Bearer {}\r\n", provider.token(&json!({})));
    assert!(serving.get("/api/v1/skills", &bearer).starts_with("HTTP/1.1 200"));
    let tokens = sandbox.json(&["team", "token", "list", "--json"]);
    let token = &tokens["tokens"][0];
    assert_eq!((&token["name"], &token["role"]), (&json!("ann@example.com"), &json!("reader")));
    assert_eq!(sandbox.run(&["team", "token", "revoke", "ann@example.com"]).code, 0);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while header(&serving.get("/", &cookie), "location") != "/sign-in" {
        assert!(std::time::Instant::now() < deadline, "a revoked session ends within seconds");
    }
    let changes: Vec<_> =
        sandbox.events().into_iter().filter(|event| event["kind"] == "token_changed").collect();
    assert!(changes.iter().any(|event| event["principal"] == "user:ann@example.com"), "{changes:?}");
}

#[test]
fn a_configuration_by_which_nobody_could_sign_in_is_an_error() {
    let sandbox = Sandbox::with_skills();
    let provider = TestProvider::start(SigningKey::curve());
    let check = |expect: &str| {
        let run = sandbox.run(&["serve", "--http", "0"]);
        assert!(run.code == 2 && run.stderr.contains(expect), "{}", run.stderr);
        assert!(!run.stderr.contains(SECRET), "{}", run.stderr);
    };
    configure(&sandbox, &provider, "role = \"reader\"\nkits = [\"gone\"]");
    check("`oidc.groups.staff` has the kit `gone`, which does not exist");
    configure(&sandbox, &provider, "role = \"reader\"\nagent = \"gone\"");
    check("`oidc.groups.staff` has the agent `gone`, which does not exist");
    sandbox.write(CONFIG, "[oidc]\nissuer = \"https://id.example.com\"\nclient_id = \"rep\"\n");
    check("nobody who signs in would have access");
    sandbox.write(
        CONFIG,
        "[oidc]\nissuer = \"http://id.example.com\"\nclient_id = \"rep\"\nrole = \"reader\"\n",
    );
    check("`http://id.example.com` cannot be used as a provider");
    sandbox.write(CONFIG, "");
    sandbox.write("repertoire.toml", "[oidc]\nissuer = \"https://id.example.com\"\n");
    check("a project's file may not have `oidc.issuer`");
}
