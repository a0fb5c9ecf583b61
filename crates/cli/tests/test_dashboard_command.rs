//! `rep dashboard`, through the binary.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::test_serve_command::{ask, cookie, csrf};

/// A running dashboard, and the browser of its person.
struct Dashboard {
    child: Child,
    address: String,
    /// The path that was printed.
    path: String,
    /// The header with the cookie.
    cookie: String,
}

impl Dashboard {
    fn start(sandbox: &Sandbox, flags: &[&str]) -> Self {
        Self::start_opening(sandbox, &[&["--no-open"], flags].concat())
    }

    fn start_opening(sandbox: &Sandbox, flags: &[&str]) -> Self {
        let arguments: Vec<&str> = ["dashboard", "--json"].iter().chain(flags).copied().collect();
        let mut child =
            sandbox.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut text = String::new();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let value: Value = loop {
            assert_ne!(lines.read_line(&mut text).unwrap(), 0, "the command ended: {text}");
            if let Ok(value) = serde_json::from_str(&text) {
                break value;
            }
        };
        let (address, path) = value["url"].as_str().unwrap()["http://".len()..].split_once('/').unwrap();
        let (address, path) = (address.to_owned(), format!("/{path}"));
        let opened = ask(&address, &format!("GET {path}"), "", "");
        assert!(opened.starts_with("HTTP/1.1 303") && opened.contains("location: /\r\n"), "{opened}");
        let cookie = format!("Cookie: {}\r\n", cookie(&opened).unwrap());
        Self { child, address, path, cookie }
    }

    /// Returns the status and the body of the answer to a page of the person.
    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let page = ask(&self.address, "GET /skills", &self.cookie, "");
        let csrf = if page.contains("name=\"csrf\"") { csrf(&page) } else { "" };
        self.ask_as(&format!("{}X-CSRF-Token: {csrf}\r\n", self.cookie), method, path, body)
    }

    /// Does the same with these headers.
    fn ask_as(&self, headers: &str, method: &str, path: &str, body: &str) -> (u16, String) {
        let headers = format!("Content-Type: application/json\r\n{headers}");
        let answer = ask(&self.address, &format!("{method} {path}"), &headers, body);
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
    }

    fn json(&self, path: &str) -> Value {
        let (status, body) = self.ask("GET", path, "");
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_dashboard_shows_the_library_at_hand() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(
        "repertoire.toml",
        "catalog.budget_tokens = 2000\n[agents.narrow]\nskills.allow = [\"beta\"]\n",
    );
    sandbox.run(&["call", "load_skill", r#"{"name": "alpha"}"#]);
    let dashboard = Dashboard::start(&sandbox, &[]);
    for page in [
        "/",
        "/skills",
        "/skills/alpha",
        "/skills/alpha/explain",
        "/catalog",
        "/proposals",
        "/events",
        "/sessions",
    ] {
        let (status, body) = dashboard.ask("GET", page, "");
        assert_eq!(status, 200, "{page}: {body}");
    }
    assert_eq!(dashboard.json("/api/v1/overview")["loads"], 1);
    let explained = dashboard.json("/api/v1/skills/alpha/explain")["skills"][0].clone();
    assert!(explained["decisions"].as_array().unwrap().iter().any(|decision| decision["topic"] == "found"));
    assert_eq!(explained["agents"][0]["sees"], false);
    let parts = dashboard.json("/api/v1/health")["parts"].clone();
    let parts: Vec<&str> =
        parts.as_array().unwrap().iter().map(|part| part["part"].as_str().unwrap()).collect();
    assert_eq!(parts, ["library", "store", "replicas", "events", "watcher", "sandbox"]);
}

#[test]
fn a_skill_is_switched_off_and_on_in_the_configuration() {
    let sandbox = Sandbox::with_skills();
    let dashboard = Dashboard::start(&sandbox, &["--allow-write"]);
    let state = || dashboard.json("/api/v1/skills/alpha")["state"].as_str().unwrap().to_owned();
    let listed = || sandbox.run(&["list"]).stdout.contains("alpha");
    assert_eq!((state().as_str(), listed()), ("active", true));
    let (status, body) = dashboard.ask("POST", "/api/v1/skills/alpha/switch", r#"{"on": false}"#);
    assert_eq!(status, 200, "{body}");
    assert_eq!((state().as_str(), listed()), ("disabled", false));
    let (status, body) = dashboard.ask("POST", "/api/v1/skills/alpha/switch", r#"{"on": true}"#);
    assert_eq!(status, 200, "{body}");
    assert_eq!((state().as_str(), listed()), ("active", true));
    // A configuration that the server may not write is named, with what to do.
    let path = sandbox.project().join("../home/.config/repertoire/config.toml");
    let mut permissions = path.metadata().unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    let (status, body) = dashboard.ask("POST", "/api/v1/skills/alpha/switch", r#"{"on": false}"#);
    assert!(status == 409 && body.contains("change `disabled` there and start the server again"), "{body}");
}

#[test]
fn proposals_are_decided_only_where_writes_are_allowed() {
    let sandbox = Sandbox::with_author();
    sandbox.write("new.diff", "--- /dev/null\n+++ b/references/more.md\n@@ -0,0 +1 @@\n+More.\n");
    let run =
        sandbox.run(&["proposal", "new", "alpha", "--diff", "new.diff", "--why", "it is needed", "--json"]);
    let id = serde_json::from_str::<Value>(&run.stdout).unwrap()["id"].as_u64().unwrap();
    let approve = format!("/api/v1/proposals/{id}/approve");
    let (status, body) = Dashboard::start(&sandbox, &[]).ask("POST", &approve, "{}");
    assert_eq!((status, body.contains("read_only")), (403, true), "{body}");
    let dashboard = Dashboard::start(&sandbox, &["--allow-write"]);
    let (status, body) = dashboard.ask("POST", &approve, &json!({}).to_string());
    assert_eq!(status, 200, "{body}");
    let proposal = dashboard.json(&format!("/api/v1/proposals/{id}"));
    assert_eq!(
        (&proposal["state"], &proposal["decision"]["reviewer"]),
        (&json!("applied"), &json!("user:ann"))
    );
    let files = sandbox.run(&["show", "alpha", "--files"]).stdout;
    assert!(files.contains("references/more.md"), "{files}");
}

#[test]
fn other_accounts_and_programs_get_nothing_of_a_dashboard() {
    let mut sandbox = Sandbox::with_skills();
    // A dashboard is for the person at the machine, also where a server would ask for a token.
    sandbox.set("REPERTOIRE_HTTP_TOKEN", "everything-0123456789");
    let dashboard = Dashboard::start(&sandbox, &["--allow-write"]);
    assert_eq!(dashboard.ask("GET", "/skills/alpha", "").0, 200);
    let tool =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"propose_skill","arguments":{}}}"#;
    for headers in ["", "Authorization: Bearer everything-0123456789\r\n", "Cookie: rep_dashboard=x\r\n"] {
        for (method, path, body) in [
            ("GET", "/", ""),
            ("GET", "/api/v1/skills", ""),
            ("GET", "/api/v1/changes", ""),
            ("POST", "/mcp", tool),
            ("POST", "/api/v1/proposals/1/approve", "{}"),
            ("POST", "/api/v1/skills/alpha/switch", r#"{"on": false}"#),
        ] {
            let (status, body) = dashboard.ask_as(headers, method, path, body);
            assert_eq!((status, body.contains("alpha")), (403, false), "{method} {path}: {body}");
        }
        assert_eq!(dashboard.ask_as(headers, "GET", "/readyz", "").0, 200);
    }
    assert_eq!(dashboard.ask("POST", "/mcp", tool).0, 404);
    // The cookie alone, as a program may have it, changes nothing.
    let (status, body) =
        dashboard.ask_as(&dashboard.cookie, "POST", "/api/v1/skills/alpha/switch", r#"{"on": false}"#);
    assert!(status == 403 && body.contains("csrf"), "{body}");
    assert!(sandbox.run(&["list"]).stdout.contains("alpha"));
    // The next start has another secret.
    let (path, cookie) = (dashboard.path.clone(), dashboard.cookie.clone());
    let port = dashboard.address.split(':').nth(1).unwrap().to_owned();
    drop(dashboard);
    let dashboard = Dashboard::start(&sandbox, &["--port", &port]);
    assert_eq!(dashboard.ask_as("", "GET", &path, "").0, 403);
    assert_eq!(dashboard.ask_as(&cookie, "GET", "/", "").0, 403);
}

#[cfg(target_os = "linux")]
#[test]
fn the_browser_is_opened_with_an_address_that_works_once() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut sandbox = Sandbox::with_skills();
    let opener = sandbox.project().join("../bin/xdg-open");
    sandbox.write(
        "../bin/xdg-open",
        "#!/bin/sh\necho \"$1\" > \"${0%/*}/part\" && mv \"${0%/*}/part\" \"${0%/*}/opened\"\n",
    );
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    sandbox.set("PATH", &format!("{}:{path}", opener.parent().unwrap().display()));
    let dashboard = Dashboard::start_opening(&sandbox, &[]);
    let opened = opener.with_file_name("opened");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !opened.exists() {
        assert!(std::time::Instant::now() < deadline, "the opener is started");
        std::thread::yield_now();
    }
    let url = std::fs::read_to_string(opened).unwrap();
    let path = url.trim().strip_prefix(&format!("http://{}", dashboard.address)).unwrap();
    assert!(path.starts_with("/open/") && path != dashboard.path, "{path}");
    assert_eq!(dashboard.ask_as("", "GET", path, "").0, 303);
    assert_eq!(dashboard.ask_as("", "GET", path, "").0, 403);
    assert_eq!(dashboard.ask_as("", "GET", &dashboard.path, "").0, 303);
}

#[test]
fn a_switch_names_the_clients_that_read_the_skill_all_the_same() {
    let sandbox = Sandbox::with_skills();
    std::fs::create_dir_all(sandbox.home().join(".cursor")).unwrap();
    sandbox.write(".agents/skills/linear/SKILL.md", crate::sandbox::skill("Linear", "x\n"));
    let dashboard = Dashboard::start(&sandbox, &["--allow-write"]);
    let (status, body) = dashboard.ask("POST", "/api/v1/skills/Linear/switch", r#"{"on": false}"#);
    let answer: Value = serde_json::from_str(&body).unwrap();
    let sentence = "Cursor still reads Linear: it has no switch for skills";
    assert_eq!((status, &answer["still_read"]), (200, &json!([sentence])), "{body}");
    assert!(sandbox.run(&["disable", "Linear"]).stderr.contains(&format!("warning: {sentence}\n")));
    let page = dashboard.ask("GET", "/skills?switched=Linear&to=off", "").1;
    assert!(page.contains(&format!("Linear is switched off, but {sentence}.")), "{page}");
    assert!(dashboard.ask("GET", "/skills/Linear", "").1.contains(sentence));
}
