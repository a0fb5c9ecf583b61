//! `rep dashboard`, through the binary.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// A running dashboard.
struct Dashboard {
    child: Child,
    address: String,
}

impl Dashboard {
    fn start(sandbox: &Sandbox, flags: &[&str]) -> Self {
        let arguments: Vec<&str> =
            ["dashboard", "--no-open", "--json"].iter().chain(flags).copied().collect();
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
        let address =
            value["url"].as_str().unwrap().trim_start_matches("http://").trim_end_matches('/').to_owned();
        Self { child, address }
    }

    /// Returns the status and the body of the answer.
    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
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
        "/economics",
    ] {
        let (status, body) = dashboard.ask("GET", page, "");
        assert_eq!(status, 200, "{page}: {body}");
    }
    assert_eq!(dashboard.json("/api/v1/overview")["loads"], 1);
    let explained = dashboard.json("/api/v1/skills/alpha/explain");
    assert!(explained["decisions"].as_array().unwrap().iter().any(|decision| decision["topic"] == "found"));
    assert_eq!(explained["agents"][0]["sees"], false);
    let cost: Value = serde_json::from_str(&sandbox.run(&["cost", "--json"]).stdout).unwrap();
    let ways = dashboard.json("/api/v1/economics")["ways"].clone();
    assert_eq!(ways.as_array().unwrap().len(), 5);
    assert_eq!(ways[2]["cache_read"], cost["ways"][2]["cache_read"], "as `rep cost` counts");
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
    let sandbox = Sandbox::with_skills();
    sandbox.write("new.diff", "--- /dev/null\n+++ b/references/more.md\n@@ -0,0 +1 @@\n+More.\n");
    let run = sandbox.run(&["propose", "alpha", "--diff", "new.diff", "--why", "it is needed", "--json"]);
    let id = serde_json::from_str::<Value>(&run.stdout).unwrap()["id"].as_u64().unwrap();
    let approve = format!("/api/v1/proposals/{id}/approve");
    let (status, body) = Dashboard::start(&sandbox, &[]).ask("POST", &approve, "{}");
    assert_eq!((status, body.contains("read_only")), (403, true), "{body}");
    let dashboard = Dashboard::start(&sandbox, &["--allow-write"]);
    let (status, body) = dashboard.ask("POST", &approve, &json!({}).to_string());
    assert_eq!(status, 200, "{body}");
    assert_eq!(dashboard.json(&format!("/api/v1/proposals/{id}"))["state"], "applied");
    let files = sandbox.run(&["files", "alpha"]).stdout;
    assert!(files.contains("references/more.md"), "{files}");
}
