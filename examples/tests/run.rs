//! Runs every example.

#![allow(clippy::disallowed_methods, reason = "the programs under test are started")]

use std::process::Command;

fn run(binary: &str) {
    let output = Command::new(binary).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}");
    assert!(!stdout.is_empty(), "an example shows something");
}

#[test]
fn agent_loop_runs() {
    run(env!("CARGO_BIN_EXE_agent_loop"));
}

#[test]
fn custom_provider_runs() {
    run(env!("CARGO_BIN_EXE_custom_provider"));
}

#[test]
fn custom_tool_runs() {
    run(env!("CARGO_BIN_EXE_custom_tool"));
}

#[test]
fn sandboxed_tools_run() {
    run(env!("CARGO_BIN_EXE_sandboxed_tools"));
}

#[test]
fn follow_changes_runs() {
    run(env!("CARGO_BIN_EXE_follow_changes"));
}
