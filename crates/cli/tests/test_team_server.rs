//! `rep serve --http` for a team: tokens of the store, and configuration that is read again.

use std::io::BufRead as _;
use std::time::{Duration, Instant};

use crate::sandbox::Sandbox;
use crate::test_serve_command::Serving;

const INDEX: &str = "/.well-known/agent-skills/index.json";

/// Returns the secret of a new token.
fn token(sandbox: &Sandbox, options: &[&str]) -> String {
    let created = sandbox.json(&[&["token", "create", "--json"], options].concat());
    created["token"].as_str().unwrap().to_owned()
}

fn bearer(secret: &str) -> String {
    format!("Authorization: Bearer {secret}\r\n")
}

#[test]
fn tokens_of_the_store_take_effect_while_the_server_runs() {
    let sandbox = Sandbox::with_skills();
    let serving = Serving::start(&sandbox, &["--require-token"]);
    assert!(serving.get(INDEX, "").starts_with("HTTP/1.1 401"));
    let narrow = token(&sandbox, &["--name", "ann", "--allow", "beta"]);
    let index = serving.get(INDEX, &bearer(&narrow));
    assert!(index.contains("beta") && !index.contains("alpha"), "{index}");
    let all = token(&sandbox, &["--name", "bob"]);
    assert!(serving.get(INDEX, &bearer(&all)).contains("alpha"));
    assert_eq!(sandbox.run(&["token", "revoke", "ann"]).code, 0);
    let deadline = Instant::now() + Duration::from_secs(30);
    while !serving.get(INDEX, &bearer(&narrow)).starts_with("HTTP/1.1 401") {
        assert!(Instant::now() < deadline, "a revoked token ends within seconds");
    }
    let loads = sandbox.events();
    assert!(loads.iter().any(|event| event["kind"] == "access_refused"), "{loads:?}");
}

#[test]
fn an_address_that_others_can_reach_starts_with_a_token_of_the_store() {
    let sandbox = Sandbox::with_skills();
    assert_eq!(sandbox.run(&["serve", "--http", "0.0.0.0:0"]).code, 2);
    let secret = token(&sandbox, &["--name", "ann"]);
    let serving = Serving::start_at(&sandbox, "0.0.0.0:0", &[]);
    assert!(serving.get(INDEX, "").starts_with("HTTP/1.1 401"));
    assert!(serving.get(INDEX, &bearer(&secret)).starts_with("HTTP/1.1 200"));
}

#[cfg(unix)]
#[test]
fn configuration_is_read_again_and_kept_when_the_new_one_is_wrong() {
    let sandbox = Sandbox::with_skills();
    let configure = |text: &str| sandbox.write("rep.toml", text);
    sandbox.write("token", "0123456789abcdef0123456789abcdef");
    let agent = |allow: &str| format!("[agents.a]\ntoken_file = \"token\"\nskills.allow = [\"{allow}\"]\n");
    configure(&agent("beta"));
    let mut serving = Serving::start(&sandbox, &["--config", "rep.toml"]);
    let headers = bearer("0123456789abcdef0123456789abcdef");
    assert!(!serving.get(INDEX, &headers).contains("alpha"));
    let next_line = |serving: &mut Serving, expect: &str| {
        let mut line = String::new();
        while !line.contains(expect) {
            line.clear();
            assert_ne!(serving.stderr.read_line(&mut line).unwrap(), 0, "{expect}");
        }
    };
    // A change is noticed without a signal.
    configure(&agent("alpha"));
    next_line(&mut serving, "the configuration was read again");
    let index = serving.get(INDEX, &headers);
    assert!(index.contains("alpha") && !index.contains("beta"), "{index}");
    configure("[agents.a\n");
    let pid = rustix::process::Pid::from_child(&serving.child);
    rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
    next_line(&mut serving, "the server keeps the old one");
    assert!(serving.get(INDEX, &headers).contains("alpha"));
    // A token file with another token takes the place of the old one.
    configure(&agent("alpha"));
    sandbox.write("token", "fedcba9876543210fedcba9876543210");
    rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
    next_line(&mut serving, "the configuration was read again");
    let other = bearer("fedcba9876543210fedcba9876543210");
    let deadline = Instant::now() + Duration::from_secs(30);
    while !serving.get(INDEX, &other).starts_with("HTTP/1.1 200") {
        assert!(Instant::now() < deadline, "the new token is accepted");
    }
    assert!(serving.get(INDEX, &headers).starts_with("HTTP/1.1 401"));
}
