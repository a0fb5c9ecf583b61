//! Tests of `rep events`.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::sandbox::{Sandbox, assert_run};

/// A process that is ended with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn load(sandbox: &Sandbox, name: &str, more: &[&str]) {
    let arguments = format!(r#"{{"name": "{name}"}}"#);
    sandbox.run(&[&["call", "load_skill", &arguments], more].concat());
}

/// Returns a sandbox with three events: beta by an agent, alpha, and a skill that is not there.
fn with_events() -> Sandbox {
    let sandbox = Sandbox::with_skills();
    sandbox.write("repertoire.toml", "[agents.builder]\nskills.allow = [\"*\"]\n");
    load(&sandbox, "beta", &["--agent", "builder"]);
    load(&sandbox, "alpha", &[]);
    load(&sandbox, "nothing", &[]);
    sandbox
}

fn skills(sandbox: &Sandbox, arguments: &[&str]) -> Vec<String> {
    let run = sandbox.run(&[&["events", "--json"], arguments].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let skill =
        |line: &str| serde_json::from_str::<Value>(line).unwrap()["skill"].as_str().unwrap().to_owned();
    run.stdout.lines().map(skill).collect()
}

#[test]
fn events_are_selected_by_skill_agent_age_and_number() {
    let sandbox = with_events();
    let check = |arguments: &[&str], expect: &[&str]| {
        assert_eq!(skills(&sandbox, arguments), expect, "{arguments:?}");
    };
    check(&[], &["beta", "alpha", "nothing"]);
    check(&["--skill", "alpha"], &["alpha"]);
    check(&["--agent", "builder"], &["beta"]);
    check(&["--skill", "alpha", "--agent", "builder"], &[]);
    check(&["--since", "30d"], &["beta", "alpha", "nothing"]);
    check(&["--since", "0s"], &[]);
    check(&["--limit", "2"], &["alpha", "nothing"]);
    check(&["--limit", "0"], &[]);
}

#[test]
fn events_are_lines_for_people_and_programs() {
    let sandbox = with_events();
    let run = sandbox.run(&["events"]);
    let lines: Vec<&str> = run.stdout.lines().map(|line| line.split_once(' ').unwrap().1).collect();
    assert_eq!(lines[0], "skill_loaded      ok        beta agent=builder tokens=6");
    assert_eq!(lines[2], "skill_loaded      not_found nothing agent=- tokens=0");
    let event = &sandbox.events()[0];
    assert_eq!((&event["kind"], &event["outcome"]), (&"skill_loaded".into(), &"ok".into()));
}

#[test]
fn wrong_ages_are_refused() {
    let sandbox = Sandbox::new();
    for age in ["", "d", "30", "30y", "99999999999999999999d", "é"] {
        let run = sandbox.run(&["events", "--since", age]);
        assert!(run.code == 2 && run.stderr.contains("such as 30d, 12h or 90m"), "{age}: {}", run.stderr);
    }
}

#[test]
fn without_a_store_there_are_no_events() {
    let sandbox = Sandbox::new();
    assert_run!(sandbox.run(&["events"]), @r"
    exit 0
    --- stdout
    --- stderr
    nothing has been recorded yet
    ");
    assert_eq!(sandbox.run(&["events", "--json"]).stdout, "");
}

#[test]
fn a_damaged_store_is_an_error() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "../home/.local/state/repertoire/repertoire.db",
        "this is not a database, and longer than its header would be\n".repeat(9),
    );
    let run = sandbox.run(&["events"]);
    assert_eq!((run.code, run.stdout.as_str()), (3, ""));
    assert!(run.stderr.contains("[DIR]/home/.local/state/repertoire/repertoire.db"), "{}", run.stderr);
    assert!(run.stderr.contains("set REPERTOIRE_STATE_DIR"), "{}", run.stderr);
}

#[test]
fn follow_goes_on_with_new_events() {
    let sandbox = with_events();
    let mut command = sandbox.command(&["events", "--json", "--follow", "--limit", "1"]);
    let mut child = Running(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
    let mut next =
        || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap()["skill"].clone();
    assert_eq!(next(), "nothing");
    for name in ["alpha", "beta"] {
        load(&sandbox, name, &[]);
        assert_eq!(next(), name);
    }
}
