//! Files and directories that `rep` may not read. Where the tests are run by root, it is run by another user.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::sandbox::{Run, Sandbox, skill};
use crate::test_serve_command::Serving;

/// A time within which a library is not reloaded without events.
const DEADLINE: Duration = Duration::from_secs(30);

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_server_notices_a_skill_that_is_copied_in_and_opened_last() {
    let sandbox = Sandbox::of_other_user();
    let serving = Serving::start(&sandbox, &[]);
    let until_served = |name: &str| {
        let deadline = Instant::now() + DEADLINE;
        while !serving.get("/.well-known/agent-skills/index.json", "").contains(name) {
            assert!(Instant::now() < deadline, "{name} is not served");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let skills = sandbox.project().join(".agents/skills");
    sandbox.write("aside/SKILL.md", skill("gamma", "# Gamma\n"));
    set_mode(&sandbox.project().join("aside"), 0o200);
    fs::rename(sandbox.project().join("aside"), skills.join("gamma")).unwrap();
    // Once this one is served, the other one was looked at.
    sandbox.write(".agents/skills/later/SKILL.md", skill("later", "# Later\n"));
    until_served("later");
    assert!(!serving.get("/.well-known/agent-skills/index.json", "").contains("gamma"));
    set_mode(&skills.join("gamma"), 0o755);
    until_served("gamma");
}

/// A sandbox whose state directory, the name of which a shell would divide, holds the choice of a kit.
struct State {
    sandbox: Sandbox,
    directory: PathBuf,
}

impl State {
    fn new() -> Self {
        let mut sandbox = Sandbox::of_other_user();
        let directory = sandbox.home().join("my state");
        sandbox.set("REPERTOIRE_STATE_DIR", &directory.display().to_string());
        sandbox.write("repertoire.toml", "[kits.small]\nskills = [\"beta\"]\n");
        assert_eq!(sandbox.run(&["kit", "use", "small"]).code, 0);
        assert!(!sandbox.run(&["list"]).stdout.contains("alpha"));
        Self { sandbox, directory }
    }

    /// Makes a file of the directory, or all of it, one that `rep` may not read, as `sudo rep` does.
    fn close(&self, part: &str) {
        let path = self.directory.join(part);
        if self.sandbox.is_of_other_user() {
            chown(&path, Some(0), Some(0)).unwrap();
        }
        set_mode(&path, if !self.sandbox.is_of_other_user() { 0 } else { 0o700 });
    }

    /// Returns what mends it.
    fn remedy(&self) -> &'static str {
        if self.sandbox.is_of_other_user() {
            "`sudo chown -R 65534 '[DIR]/home/my state'` mends it"
        } else {
            "`chmod -R u+rwX '[DIR]/home/my state'` mends it"
        }
    }

    /// Expects that `run` succeeded with `output`, and that it complains in one line.
    fn expect_served(&self, run: &Run, output: &str, message: &str) {
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(run.stdout.contains(output), "{}", run.stdout);
        let is_complaint = |line: &&str| line.starts_with("warning: ") || line.starts_with("rep: ");
        let complaints: Vec<&str> = run.stderr.lines().filter(is_complaint).collect();
        assert_eq!(complaints, [format!("warning: [DIR]/home/my state{message}; {}", self.remedy())]);
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // Else only root could remove it.
        set_mode(&self.directory, 0o755);
    }
}

#[test]
fn skills_are_served_though_the_state_directory_cannot_be_read() {
    let state = State::new();
    state.close("");
    let said = " cannot be read: permission denied; all skills are served, whatever `rep kit use` chose, and nothing is recorded there";
    let run = |arguments: &[&str]| state.sandbox.run(arguments);
    state.expect_served(&run(&["list"]), "alpha", said);
    state.expect_served(&run(&["catalog"]), "alpha", said);
    state.expect_served(&run(&["search", "alpha"]), "alpha", said);
    state.expect_served(&run(&["call", "load_skill", r#"{"name": "alpha"}"#]), "Do alpha.", said);
    let load = r#"{"id": 1, "op": "call", "tool": "load_skill", "arguments": {"name": "alpha"}}"#;
    state.expect_served(&state.sandbox.run_with_input(&["session"], &format!("{load}\n")), "Do alpha.", said);
    let ping = r#"{"jsonrpc": "2.0", "id": 1, "method": "ping"}"#;
    let served = state.sandbox.run_with_input(&["serve", "--stdio"], &format!("{ping}\n"));
    state.expect_served(&served, r#""id":1"#, said);
}

#[test]
fn commands_that_need_the_state_directory_say_what_mends_it() {
    let state = State::new();
    state.close("");
    for arguments in [
        &["kit", "use", "--none"][..],
        &["history", "alpha"],
        &["stats"],
        &["approve", "--list"],
        &["add", "./source", "--all", "--yes"],
    ] {
        state.sandbox.write("source/pdf/SKILL.md", skill("pdf", "# PDF\n"));
        let run = state.sandbox.run(arguments);
        assert_eq!(run.code, 3, "{arguments:?}: {}", run.stderr);
        let remedies: Vec<&str> = run.stderr.lines().filter(|line| line.contains(state.remedy())).collect();
        assert!(
            matches!(remedies[..], [line] if line.starts_with("warning: ")),
            "{arguments:?}: {}",
            run.stderr
        );
    }
    let document: serde_json::Value =
        serde_json::from_str(&state.sandbox.run(&["doctor", "--json"]).stdout).unwrap();
    let checks = document["checks"].as_array().unwrap();
    let hint = |topic: &str| checks.iter().find(|check| check["topic"] == topic).map(|check| &check["hint"]);
    let base = state.sandbox.home().parent().unwrap().display().to_string();
    assert_eq!(hint("state").unwrap().as_str().unwrap().replace(&base, "[DIR]"), state.remedy());
    assert!(hint("library").is_some(), "it goes on: {checks:?}");
}

#[test]
fn skills_are_served_though_a_file_of_the_state_directory_cannot_be_read() {
    let state = State::new();
    let load = ["call", "load_skill", r#"{"name": "beta"}"#];
    assert_eq!(state.sandbox.run(&load).code, 0);
    state.close("repertoire.db");
    let said = "/repertoire.db cannot be read: permission denied; skills are served all the same, and nothing is recorded there";
    state.expect_served(&state.sandbox.run(&load), "Do beta.", said);
    state.close("kits.json");
    let said = "/kits.json cannot be read: permission denied; all skills are served, whatever `rep kit use` chose, and nothing is recorded there";
    state.expect_served(&state.sandbox.run(&["list"]), "alpha", said);
    let run = state.sandbox.run(&load);
    state.expect_served(&run, "Do beta.", said);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
}
