//! Tests of the events that commands record.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::Stdio;

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
    std::fs::remove_dir_all(sandbox.home().join(".local/state/repertoire")).unwrap();
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
    for arguments in [&["show", "alpha"][..], &["files", "alpha"], &["catalog"], &["list"]] {
        assert_eq!(sandbox.run(arguments).code, 0, "{arguments:?}");
        assert_eq!(events(&sandbox), [""; 0], "{arguments:?}");
    }
}
