//! `rep serve --http` for a team: tokens of the store, and configuration that is read again.

use std::io::BufRead as _;
use std::time::{Duration, Instant};

use repertoire::http::HttpClient;

use crate::machine::skipped;
use crate::sandbox::Sandbox;
use crate::test_serve_command::Serving;
use crate::test_update_command::npx_skills;

const INDEX: &str = "/.well-known/agent-skills/index.json";

/// Returns the secret of a new token.
fn token(sandbox: &Sandbox, options: &[&str]) -> String {
    let created = sandbox.json(&[&["team", "token", "create", "--json"], options].concat());
    created["token"].as_str().unwrap().to_owned()
}

fn bearer(secret: &str) -> String {
    format!("Authorization: Bearer {secret}\r\n")
}

#[test]
fn tokens_of_the_store_take_effect_while_the_server_runs() {
    let sandbox = Sandbox::with_skills();
    let log = "http.access_log = \"access.log\"\nhttp.trusted_proxies = [\"127.0.0.1\"]\n";
    sandbox.write("../home/.config/repertoire/config.toml", log);
    let serving = Serving::start(&sandbox, &["--require-token"]);
    assert!(serving.get(INDEX, "").starts_with("HTTP/1.1 401"));
    let narrow = token(&sandbox, &["--name", "ann", "--allow", "beta"]);
    let index = serving.get(INDEX, &bearer(&narrow));
    assert!(index.contains("beta") && !index.contains("alpha"), "{index}");
    let all = token(&sandbox, &["--name", "bob"]);
    let headers = format!("{}X-Forwarded-For: 203.0.113.9\r\n", bearer(&all));
    assert!(serving.get(INDEX, &headers).contains("alpha"));
    assert_eq!(sandbox.run(&["team", "token", "revoke", "ann"]).code, 0);
    let deadline = Instant::now() + Duration::from_secs(30);
    while !serving.get(INDEX, &bearer(&narrow)).starts_with("HTTP/1.1 401") {
        assert!(Instant::now() < deadline, "a revoked token ends within seconds");
    }
    let log = sandbox.read("access.log");
    assert!(log.contains("\"principal\":\"bob\"") && log.contains("\"client\":\"203.0.113.9\""), "{log}");
    assert!(!log.contains(&all) && !log.contains("Bearer"), "{log}");
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
    next_line(
        &mut serving,
        "the configuration was read again: agents, kits, oidc and 1 token file; other keys",
    );
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

/// Sends an archive, and returns the status line and the answer.
fn put(serving: &Serving, secret: &str, path: &str, archive: &[u8]) -> (String, serde_json::Value) {
    send(serving, "PUT", secret, path, archive)
}

/// Sends a body, and returns the status line and the answer.
fn send(
    serving: &Serving,
    method: &str,
    secret: &str,
    path: &str,
    body: &[u8],
) -> (String, serde_json::Value) {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(&serving.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let (host, length) = (&serving.address, body.len());
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n"
    );
    stream.write_all(format!("{head}{}\r\n", bearer(secret)).as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), serde_json::from_str(body).unwrap())
}

/// Returns an archive of a skill.
fn archive(name: &str, body: &str) -> Vec<u8> {
    let files = [("SKILL.md".to_owned(), false, crate::sandbox::skill(name, body).into_bytes())];
    repertoire_web::pack_files(&files).unwrap()
}

#[test]
fn versions_are_published_reviewed_and_added_with_tokens() {
    let sandbox = Sandbox::with_skills();
    assert_eq!(sandbox.run(&["publish", ".agents/skills", "--to", "fleet.db"]).code, 0);
    let at = ["--store", "fleet.db"];
    let admin = token(&sandbox, &[&["--name", "root", "--role", "admin"], &at[..]].concat());
    let author =
        token(&sandbox, &[&["--name", "ann", "--role", "author", "--deny", "beta"], &at[..]].concat());
    let reader = token(&sandbox, &[&["--name", "bob"], &at[..]].concat());
    let serving = Serving::start(&sandbox, &["--store", "fleet.db", "--require-token"]);
    let path = |name: &str, version: &str| format!("/api/v1/skills/{name}/versions/{version}");
    let gamma = archive("gamma", "# Gamma\n");

    let (status, answer) = put(&serving, &reader, &path("gamma", "1.0.0"), &gamma);
    assert!(status.contains("403") && answer["error"]["code"] == "role", "{status} {answer}");
    let (status, answer) = put(&serving, &admin, &path("gamma", "1.0.0"), &gamma);
    assert!(status.contains("201") && answer["state"] == "released", "{status} {answer}");
    let (status, answer) = put(&serving, &admin, &path("gamma", "1.0.0"), &gamma);
    assert!(status.contains("200") && answer["state"] == "unchanged", "{status} {answer}");
    let (status, answer) = put(&serving, &admin, &path("gamma", "1.0.0"), &archive("gamma", "# Other\n"));
    assert!(status.contains("409") && answer["error"]["code"] == "version_exists", "{status} {answer}");
    for (name, code, body) in
        [("gamma", "422", archive("delta", "x")), ("gamma", "422", b"no archive".to_vec())]
    {
        assert!(put(&serving, &admin, &path(name, "9"), &body).0.contains(code));
    }
    let (status, answer) = put(&serving, &author, &path("beta", "1.0.0"), &archive("beta", "# Mine\n"));
    assert!(status.contains("403") && answer["error"]["code"] == "out_of_scope", "{status} {answer}");

    // An author's version waits for a reviewer.
    let (status, answer) =
        put(&serving, &author, &path("gamma", "1.1.0"), &archive("gamma", "# Gamma two\n"));
    assert!(status.contains("202") && answer["state"] == "proposed", "{status} {answer}");
    let id = answer["proposal"].to_string();
    sandbox.write("../home/.config/repertoire/config.toml", "store.url = \"fleet.db\"\n");
    let body = "/.well-known/agent-skills/gamma/SKILL.md";
    assert!(serving.get(body, &bearer(&reader)).contains("# Gamma\n"));
    let run = sandbox.run(&["proposal", "approve", &id, "--yes"]);
    assert_eq!(run.code, 0, "{} {}", run.stdout, run.stderr);
    let deadline = Instant::now() + Duration::from_secs(30);
    while !serving.get(body, &bearer(&reader)).contains("# Gamma two") {
        assert!(Instant::now() < deadline, "an approved version is served");
    }

    // `rep add` installs it with a token.
    sandbox.write("reader.token", &reader);
    let (address, target) = (format!("http://{}", serving.address), Sandbox::new());
    std::fs::copy(sandbox.project().join("reader.token"), target.project().join("reader.token")).unwrap();
    let run = target.run(&["add", &address, "--skill", "gamma", "--token-file", "reader.token", "--yes"]);
    assert_eq!(run.code, 0, "{} {}", run.stdout, run.stderr);
    assert!(target.read(".agents/skills/gamma/SKILL.md").contains("# Gamma two"));
    let run = target.run(&["add", &address, "--skill", "gamma", "--yes"]);
    assert_ne!(run.code, 0, "without a token there is nothing");
}

#[test]
fn skills_of_a_store_are_explained_and_restored_and_not_switched() {
    let sandbox = Sandbox::with_skills();
    assert_eq!(sandbox.run(&["publish", ".agents/skills", "--to", "fleet.db"]).code, 0);
    let at = ["--store", "fleet.db", "--role"];
    let ann = token(&sandbox, &[&["--name", "ann"], &at[..], &["reviewer"]].concat());
    let bob = token(&sandbox, &[&["--name", "bob"], &at[..], &["author"]].concat());
    let serving = Serving::start(&sandbox, &["--store", "fleet.db", "--require-token"]);
    for (version, body) in [("1.0.0", "# One\n"), ("2.0.0", "# Two\n")] {
        let path = format!("/api/v1/skills/gamma/versions/{version}");
        assert!(put(&serving, &ann, &path, &archive("gamma", body)).0.contains("201"));
    }
    let served = || serving.get("/.well-known/agent-skills/gamma/SKILL.md", &bearer(&ann));
    let deadline = Instant::now() + Duration::from_secs(30);
    while !served().contains("# Two") {
        assert!(Instant::now() < deadline, "the second version is served");
    }
    let explained = serving.get("/api/v1/skills/gamma/explain", &bearer(&ann));
    assert!(explained.starts_with("HTTP/1.1 200") && explained.contains("by store:stable"), "{explained}");

    // A page shows the names of versions, and restores them, but switches nothing.
    let page = serving.get("/skills/gamma", &bearer(&ann));
    assert!(page.contains(r#"Version 1</a> <span class="badge">1.0.0</span>"#), "{page}");
    assert!(page.contains("Restore<span") && !page.contains("Switch off"), "{page}");
    assert!(!serving.get("/skills", &bearer(&ann)).contains("/switch"));
    let (status, answer) = send(&serving, "POST", &ann, "/api/v1/skills/gamma/switch", b"{\"on\": false}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(status.contains("404") && message.contains("the releases of the channel"), "{status} {answer}");

    let rollback =
        |secret: &str| send(&serving, "POST", secret, "/api/v1/skills/gamma/rollback", b"{\"version\": 1}");
    assert!(rollback(&bob).0.contains("403"));
    let (status, answer) = rollback(&ann);
    assert!(status.contains("200"), "{status} {answer}");
    let version = &answer["version"];
    assert_eq!(
        (&version["origin"], &version["published"]),
        (&"rollback".into(), &serde_json::json!(["1.0.0"]))
    );
    assert!(served().contains("# One"), "{}", served());
}

#[test]
fn rep_publish_sends_versions_that_rules_let_wait_for_another_reviewer() {
    let sandbox = Sandbox::with_skills();
    assert_eq!(sandbox.run(&["publish", ".agents/skills", "--to", "fleet.db"]).code, 0);
    let rules = "proposals.always_review = [\"store:stable:alpha\"]\n";
    sandbox.write("../home/.config/repertoire/config.toml", rules);
    let at = ["--store", "fleet.db", "--role", "reviewer"];
    let ann = token(&sandbox, &[&["--name", "ann"], &at[..]].concat());
    let bob = token(&sandbox, &[&["--name", "bob"], &at[..]].concat());
    sandbox.write("ann.token", &ann);
    let serving = Serving::start(&sandbox, &["--store", "fleet.db", "--require-token"]);
    let address = format!("http://{}", serving.address);
    let publish = |more: &[&str]| {
        sandbox.run(&[&["publish", ".agents/skills", "--to", address.as_str()], more].concat())
    };
    let by_ann = ["--token-file", "ann.token", "--as", "2.0.0"];
    let run = publish(&by_ann[..2]);
    assert!(run.code == 2 && run.stderr.contains("`alpha` has no version"), "{}", run.stderr);
    let run = publish(&by_ann[2..]);
    assert!(run.code == 1 && run.stderr.contains("--token-file"), "{}", run.stderr);
    sandbox.write(".agents/skills/alpha/SKILL.md", crate::sandbox::skill("alpha", "# Second\n"));
    let run = publish(&by_ann);
    let expect = "alpha 2.0.0: waits for a review as proposal 1, channel stable\nbeta 2.0.0: there already, channel stable\n";
    assert_eq!((run.code, run.stdout.as_str()), (0, expect), "{}", run.stderr);

    // Its author cannot approve it, another reviewer can.
    let approve = |secret: &str| send(&serving, "POST", secret, "/api/v1/proposals/1/approve", b"{}");
    let (status, answer) = approve(&ann);
    assert!(status.contains("409") && answer["error"]["code"] == "own_proposal", "{status} {answer}");
    assert!(approve(&bob).0.contains("200"));
    let versions = "/api/v1/skills/alpha/versions";
    let deadline = Instant::now() + Duration::from_secs(30);
    while !serving.get(versions, &bearer(&bob)).contains("\"version\":\"2.0.0\"") {
        assert!(Instant::now() < deadline, "the version is listed");
    }
    let get = |version: &str| {
        let path = format!("{versions}/{version}");
        let request = HttpClient::default().get(&format!("{address}{path}"));
        let answer = request.header("Authorization", &format!("Bearer {bob}")).call().unwrap();
        (answer.status(), answer.body(1024 * 1024).unwrap())
    };
    assert_eq!(get("3.0.0").0, 404);
    let (status, archive) = get("2.0.0");
    let scratch = tempfile::tempdir().unwrap();
    let files = repertoire_sources::unpack_skill(&archive, scratch.path()).unwrap();
    assert!(status == 200 && files.values().any(|file| file.bytes.ends_with(b"# Second\n")));

    // A version never changes.
    sandbox.write(".agents/skills/alpha/SKILL.md", crate::sandbox::skill("alpha", "# Third\n"));
    let run = publish(&by_ann);
    assert!(run.code == 1 && run.stderr.contains("this version exists with other content"), "{}", run.stderr);

    // Content that is released, or waits, is not proposed as another version.
    let renamed = ["--token-file", "ann.token", "--as", "2.1.0"];
    let run = publish(&["--token-file", "ann.token", "--as", "3.0.0"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let run = publish(&renamed);
    let expect = "this content waits for a review already as version 3.0.0 in proposal 2";
    assert!(run.code == 1 && run.stderr.contains(expect), "{}", run.stderr);
    sandbox.write(".agents/skills/alpha/SKILL.md", crate::sandbox::skill("alpha", "# Second\n"));
    let run = publish(&renamed);
    let expect = "this content is released already as version 2.0.0";
    assert!(run.code == 1 && run.stderr.contains(expect), "{}", run.stderr);
    assert!(!run.stdout.contains("alpha") && !run.stderr.contains("never changes"), "{}", run.stdout);

    // Files here are not changed, so that it is not `rep undo` that takes it back.
    let mut approve = sandbox.command(&["proposal", "approve", "2", "--yes"]);
    approve.env("REPERTOIRE_STORE_URL", "fleet.db").env("USER", "cid");
    assert_eq!(sandbox.finish(approve).code, 0);
    let run = sandbox.run(&["undo", "--yes"]);
    assert!(
        run.code == 1 && run.stderr.contains("take it back with `rep history alpha --restore 2`"),
        "{}",
        run.stderr
    );
}

#[test]
fn installers_that_send_no_header_have_the_token_in_the_address() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/.config/repertoire/config.toml", "http.access_log = \"access.log\"\n");
    let lasting = token(&sandbox, &["--name", "cid"]);
    let author = token(&sandbox, &["--name", "dan", "--role", "author", "--expires", "1d"]);
    let reader = token(&sandbox, &["--name", "ann", "--allow", "alpha", "--expires", "1d"]);
    let serving = Serving::start(&sandbox, &["--require-token"]);
    let index = |secret: &str| serving.get(&format!("/token/{secret}{INDEX}"), "");
    assert!(index(&reader).contains("alpha") && !index(&reader).contains("beta"));
    for secret in [&lasting, &author] {
        assert!(index(secret).starts_with("HTTP/1.1 403"), "{}", index(secret));
    }
    assert!(index("rep_wrong").starts_with("HTTP/1.1 401"));
    assert!(serving.get(&format!("/token/{reader}/api/v1/skills"), "").starts_with("HTTP/1.1 4"));
    assert!(serving.get(&format!("{INDEX}?token={reader}"), "").starts_with("HTTP/1.1 401"));

    let target = Sandbox::new();
    if npx_skills(&target, &["--version"]).is_none() {
        skipped("`npx skills`, which is not installed or does not run here");
    } else {
        let address = format!("http://{}/token/{reader}", serving.address);
        npx_skills(&target, &["add", &address, "-y", "-a", "codex"]).unwrap();
        assert!(target.read(".agents/skills/alpha/SKILL.md").contains("name: alpha"));
        assert!(!target.project().join(".agents/skills/beta").exists());
    }
    let log = sandbox.read("access.log");
    assert!(log.contains(&format!("\"path\":\"{INDEX}\"")) && log.contains("\"principal\":\"ann\""), "{log}");
    let events = sandbox.events();
    assert!(events.iter().any(|event| event["error"] == "url_token"), "{events:?}");
    assert!(
        events.iter().any(|event| event["tool"] == "GET /.well-known/agent-skills/index.json"),
        "{events:?}"
    );
    for secret in [&reader, &lasting, &author] {
        let shown = format!("{events:?}");
        assert!(!log.contains(secret.as_str()) && !shown.contains(secret.as_str()));
    }
}
