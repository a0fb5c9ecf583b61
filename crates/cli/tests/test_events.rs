//! Tests of the events that commands record.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

fn with_agent() -> Sandbox {
    let sandbox = Sandbox::with_skills();
    sandbox.write("repertoire.toml", "[agents.builder]\nuses_skills = [\"beta\"]\n");
    sandbox
}

/// Returns what `rep session` with `arguments` answers to `requests`.
fn session(sandbox: &Sandbox, arguments: &[&str], requests: &[Value]) -> Vec<Value> {
    let mut command = sandbox.command(&[&["session"], arguments].concat());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines: String = requests.iter().map(|request| format!("{request}\n")).collect();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let answers = String::from_utf8(output.stdout).unwrap();
    answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the events that were recorded, and forgets them.
fn events(sandbox: &Sandbox) -> Vec<String> {
    let events = sandbox.events();
    // Nothing makes a store where there is nothing to record.
    let _ = std::fs::remove_dir_all(sandbox.home().join(".local/state/repertoire"));
    let row = |event: &Value| {
        let word = |key: &str| event[key].as_str().unwrap_or("-").to_owned();
        assert!(event["digest"].is_string() && event["source"].is_string(), "{event}");
        ["kind", "skill", "agent", "outcome", "surface", "via"].map(word).join(" ")
    };
    events.iter().map(row).collect()
}

#[test]
fn every_operation_of_a_session_that_gives_skills_has_an_event() {
    let bound = "skill_loaded beta builder ok session bound";
    let rows: &[(Value, &[&str])] = &[
        (json!({"op": "catalog"}), &[]),
        (json!({"op": "tools"}), &[]),
        (
            json!({"op": "call", "tool": "load_skill", "arguments": {"name": "alpha"}}),
            &["skill_loaded alpha builder ok session call"],
        ),
        (json!({"op": "compacted", "kept": []}), &[]),
        (json!({"op": "reattach", "budget": 10_000}), &["skill_loaded alpha builder ok session reattached"]),
        (json!({"op": "evicted", "name": "alpha"}), &[]),
        (
            json!({"op": "handle", "call": {"type": "tool_use", "id": "1", "name": "load_skill", "input": {"name": "alpha"}}}),
            &["skill_loaded alpha builder ok session call"],
        ),
        (json!({"op": "handle_all", "response": []}), &[]),
        (json!({"op": "delta"}), &[]),
        (json!({"op": "diagnostics"}), &[]),
        (json!({"op": "focus", "paths": ["a.rs"]}), &[]),
        (json!({"op": "refresh"}), &[]),
        (json!({"op": "state"}), &[]),
        (json!({"op": "task", "task": "alpha"}), &[]),
        // The bound skill was recorded when the session was opened.
        (json!({"op": "prompt"}), &[]),
        (json!({"op": "observe", "messages": []}), &[]),
        (json!({"op": "subagent", "agent": "builder"}), &[bound]),
    ];
    let sandbox = with_agent();
    let requests: Vec<Value> = rows.iter().map(|(request, _)| request.clone()).collect();
    let answers = session(&sandbox, &["--agent", "builder"], &requests);
    assert!(answers.iter().all(|answer| answer["ok"] == true), "{answers:?}");
    let expect: Vec<&str> =
        [bound].into_iter().chain(rows.iter().flat_map(|(_, events)| events.iter().copied())).collect();
    assert_eq!(events(&sandbox), expect);

    let unknown = session(&sandbox, &[], &[json!({"op": "qqqqqqqq"})]);
    let message = unknown[0]["error"]["message"].as_str().unwrap();
    let operations: BTreeSet<&str> = message.split_once("there are: ").unwrap().1.split(", ").collect();
    let listed: BTreeSet<&str> = requests.iter().map(|request| request["op"].as_str().unwrap()).collect();
    assert_eq!(listed, operations, "every operation has its row here");
}

#[test]
fn the_prompts_of_agents_and_roles_are_recorded() {
    let sandbox = with_agent();
    session(&sandbox, &["--role", "alpha"], &[json!({"op": "prompt"})]);
    assert_eq!(events(&sandbox), ["skill_loaded alpha - ok session role"]);
    sandbox.run(&["prompt", "--agent", "builder"]);
    assert_eq!(events(&sandbox), ["skill_loaded beta builder ok cli bound"]);
    sandbox.run(&["prompt", "--role", "alpha", "--agent", "builder"]);
    let both = ["skill_loaded alpha builder ok cli role", "skill_loaded beta builder ok cli bound"];
    assert_eq!(events(&sandbox), both);
}

#[test]
fn calls_are_recorded_and_skills_that_people_read_are_not() {
    let sandbox = with_agent();
    sandbox.run(&["call", "load_skill", r#"{"name": "alpha"}"#]);
    assert_eq!(events(&sandbox), ["skill_loaded alpha - ok cli call"]);
    for arguments in [&["show", "alpha"][..], &["show", "alpha", "--files"], &["catalog"], &["list"]] {
        assert_eq!(sandbox.run(arguments).code, 0, "{arguments:?}");
        assert_eq!(events(&sandbox), [""; 0], "{arguments:?}");
    }
}

/// Starts a collector of traces; returns its address and the spans that it receives.
fn collector() -> (String, Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (sender, spans) = channel();
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let mut stream = BufReader::new(stream);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                stream.read_line(&mut head).unwrap();
            }
            let head = head.to_lowercase();
            assert!(head.starts_with("post /v1/traces ") && head.contains("x-key: a b"), "{head}");
            let length = head.split_once("content-length: ").unwrap().1;
            let mut body = vec![0; length.split("\r\n").next().unwrap().parse().unwrap()];
            stream.read_exact(&mut body).unwrap();
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
            stream.get_mut().write_all(answer).unwrap();
            let body: Value = serde_json::from_slice(&body).unwrap();
            let scope = &body["resourceSpans"][0]["scopeSpans"][0];
            for span in scope["spans"].as_array().unwrap() {
                let _ = sender.send(span.clone());
            }
        }
    });
    (address, spans)
}

fn attribute<'a>(span: &'a Value, key: &str) -> &'a str {
    let attributes = span["attributes"].as_array().unwrap();
    let found = attributes.iter().find(|attribute| attribute["key"] == key);
    found.map_or("-", |attribute| attribute["value"]["stringValue"].as_str().unwrap())
}

#[test]
fn calls_are_sent_to_an_opentelemetry_collector() {
    let (address, spans) = collector();
    let mut sandbox = Sandbox::with_skills();
    sandbox.set("OTEL_EXPORTER_OTLP_ENDPOINT", &address);
    sandbox.set("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b");
    let next = || spans.recv_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!(sandbox.run(&["call", "load_skill", r#"{"name": "alpha"}"#]).code, 0);
    let span = next();
    assert_eq!(span["name"], "execute_tool load_skill");
    assert_eq!(
        (attribute(&span, "gen_ai.skill.name"), attribute(&span, "repertoire.surface")),
        ("alpha", "cli")
    );

    // A person reads, and a prompt is not a call: neither has a span.
    sandbox.run(&["show", "alpha"]);
    let mut command = sandbox.command(&["serve", "--stdio"]);
    let mut server =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let call = |id: u64, name: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    let requests = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        call(2, "read_skill_file", json!({"skill": "alpha", "path": "references/guide.md"})),
    ];
    let mut input = server.stdin.take().unwrap();
    for request in requests {
        writeln!(input, "{request}").unwrap();
    }
    let span = next();
    assert_eq!(attribute(&span, "gen_ai.tool.name"), "read_skill_file");
    assert_eq!(attribute(&span, "gen_ai.skill.resource.name"), "references/guide.md");
    writeln!(input, "{}", call(3, "load_skill", json!({"name": "gamma"}))).unwrap();
    let span = next();
    assert_eq!((attribute(&span, "error.type"), &span["status"]["code"]), ("unknown_skill", &json!(2)));
    drop(input);
    assert!(server.wait().unwrap().success());
}

#[test]
fn a_collector_that_does_not_answer_is_reported_and_the_call_succeeds() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let mut sandbox = Sandbox::with_skills();
    sandbox.set("OTEL_EXPORTER_OTLP_ENDPOINT", &address);
    let run = sandbox.run(&["call", "load_skill", r#"{"name": "alpha"}"#]);
    assert!(run.code == 0 && run.stdout.contains("Do alpha."), "{}", run.stderr);
    assert!(run.stderr.contains("traces are not sent, skills are served all the same"), "{}", run.stderr);
}
