//! Tests of `rep undo`.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::git_repository::{Repository, empty_project};
use crate::sandbox::{Sandbox, assert_run, skill};

/// The state directory of a user.
const STATE: &str = "../home/.local/state/repertoire";

/// Returns every file, link and directory below `directory` with what it holds, the state of the program left
/// out.
fn tree(directory: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    for path in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if path.ends_with(".local") || path.ends_with(".cache") {
            continue;
        }
        if let Ok(to) = fs::read_link(&path) {
            found.push((path, Some(to.into_os_string().into_encoded_bytes())));
        } else if path.is_dir() {
            found.extend(tree(&path));
            found.push((path, None));
        } else {
            let bytes = fs::read(&path).unwrap();
            found.push((path, Some(bytes)));
        }
    }
    found.sort();
    found
}

/// Returns the whole of the home and the project.
fn everything(sandbox: &Sandbox) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    [tree(&sandbox.home()), tree(&sandbox.project())].concat()
}

#[track_caller]
fn run(sandbox: &Sandbox, arguments: &[&str]) {
    let run = sandbox.run(arguments);
    assert_eq!(run.code, 0, "{arguments:?}: {}{}", run.stdout, run.stderr);
}

/// Runs the command `arguments`, takes it back, and expects that every byte is as before.
#[track_caller]
fn check(sandbox: &Sandbox, arguments: &[&str]) {
    let before = everything(sandbox);
    run(sandbox, arguments);
    assert_ne!(everything(sandbox), before, "{arguments:?}");
    run(sandbox, &["undo", "--yes"]);
    assert_eq!(everything(sandbox), before, "{arguments:?}");
}

/// Returns a key of all changes that have a number.
fn listed(sandbox: &Sandbox, key: &str) -> Vec<Value> {
    let list = sandbox.json(&["undo", "--list", "--json"]);
    let changes = list["changes"].as_array().unwrap().iter().filter(|change| !change["number"].is_null());
    changes.map(|change| change[key].clone()).collect()
}

/// Returns a project with two skills of a repository, and with a client that reads links to them.
fn added() -> (Repository, Sandbox) {
    let (repository, mut sandbox) = (Repository::with_skills(), empty_project());
    sandbox.set("REPERTOIRE_COLOR", "never");
    sandbox.write("../home/.claude/settings.json", "{}\n");
    run(&sandbox, &["add", &repository.url(), "--all", "--yes"]);
    (repository, sandbox)
}

#[test]
fn a_change_that_cannot_be_recorded_is_warned_about() {
    let sandbox = Sandbox::with_skills();
    fs::create_dir_all(sandbox.project().join(STATE).join("changes.json")).unwrap();
    let warning = "warning: this change cannot be undone: cannot read the record [DIR]/home/.local/state/repertoire/changes.json";
    for arguments in
        [&["link", "claude-code", "--yes"][..], &["disable", "alpha"], &["connect", "cursor", "--yes"]]
    {
        let run = sandbox.run(arguments);
        assert!(run.code == 0 && run.stderr.contains(warning), "{arguments:?} {}", run.stderr);
    }
}

#[test]
fn added_skills_go_with_their_links_and_their_lock() {
    let (repository, mut sandbox) = (Repository::with_skills(), empty_project());
    sandbox.set("REPERTOIRE_COLOR", "never");
    sandbox.write("../home/.claude/settings.json", "{}\n");
    check(&sandbox, &["add", &repository.url(), "--all", "--yes"]);
    check(&sandbox, &["add", &repository.url(), "--skill", "pdf", "--user", "--yes"]);
    assert_eq!(sandbox.run(&["undo", "--yes"]).stdout, "there is nothing to undo\n");
}

#[test]
fn an_update_gives_back_what_was_edited_before_it() {
    let (repository, sandbox) = added();
    let path = ".agents/skills/pdf/SKILL.md";
    sandbox.write(path, sandbox.read(path).replace("First.", "First, my way."));
    repository.edit("skills/pdf/SKILL.md", "Third.", "Third, from the source.");
    repository.commit();
    check(&sandbox, &["update", "--yes"]);
    assert!(sandbox.read(path).contains("my way"));
    // The next one goes one further back, to a skill that is not as the change left it.
    let run = sandbox.run(&["undo", "--yes"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("/project/.agents/skills/pdf was changed since"), "{}", run.stderr);
}

#[test]
fn a_skill_that_something_else_put_there_is_removed_and_comes_back() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/skills/mine/SKILL.md", skill("mine", "x\n"));
    sandbox.write(".claude/skills/mine/references/a.md", "a\n");
    sandbox.write("../home/.claude/skills/yours/SKILL.md", skill("yours", "y\n"));
    let directory = sandbox.project().join(".claude/skills/mine");
    assert_run!(sandbox.run(&["remove", "mine"]), @r#"
    exit 1
    --- stdout
    mine: no installer recorded it
      files: SKILL.md, references/a.md
    - .claude/skills/mine
    --- stderr
    error: nothing was changed; 1 skill would be removed
    hint: `--yes` does it without asking
    "#);
    assert!(directory.is_dir());
    assert_run!(sandbox.run(&["remove", "mine", "--yes"]), @r#"
    exit 0
    --- stdout
    mine: no installer recorded it
      files: SKILL.md, references/a.md
    - .claude/skills/mine
    removed mine
    --- stderr
    "#);
    assert!(!directory.exists() && !sandbox.project().join("repertoire.lock").exists());
    assert_eq!(sandbox.run(&["undo", "--yes"]).code, 0);
    assert!(directory.join("references/a.md").is_file());
    let record = r#"{"version": 1, "skills": {"mine": {"source": "o/r", "sourceType": "github", "computedHash": "0"}}}"#;
    sandbox.write("skills-lock.json", record);
    let run = sandbox.run(&["remove", "mine"]);
    assert!(run.stdout.contains("mine: installed with npx skills from "), "{}", run.stdout);
    // Of the other owner, the command is named.
    let run = sandbox.run(&["remove", "yours"]);
    assert!(run.code == 1 && run.stderr.contains("run `rep remove --user yours`"), "{}", run.stderr);
    // What a link leads to elsewhere is not removed.
    sandbox.write("../elsewhere/linked/SKILL.md", skill("linked", "z\n"));
    let link = sandbox.home().join(".claude/skills/linked");
    std::os::unix::fs::symlink(sandbox.home().join("../elsewhere/linked"), &link).unwrap();
    let run = sandbox.run(&["remove", "linked", "--user", "--yes"]);
    assert!(run.code == 1 && run.stderr.contains("`rep add` did not install it"), "{}", run.stderr);
    assert!(link.join("SKILL.md").is_file());
}

#[test]
fn a_removed_skill_comes_back_with_everything_in_its_directory() {
    let (_repository, sandbox) = added();
    let pdf = sandbox.project().join(".agents/skills/pdf");
    sandbox.write(".agents/skills/pdf/.env", "KEY=1\n");
    sandbox.write(".agents/skills/pdf/.hidden/file", "x");
    symlink("SKILL.md", pdf.join("link")).unwrap();
    fs::set_permissions(pdf.join(".env"), fs::Permissions::from_mode(0o600)).unwrap();
    check(&sandbox, &["remove", "pdf", "--force", "--yes"]);
    assert_eq!(fs::metadata(pdf.join(".env")).unwrap().permissions().mode() & 0o777, 0o600);
    check(&sandbox, &["remove", "pdf", "csv", "--force", "--yes"]);
}

#[test]
fn every_byte_of_the_configuration_of_clients_comes_back() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/.cursor/mcp.json", "{\"a\": {\"token\": \"secret-1\"}, \"b\": 1}");
    sandbox.write("../home/.codex/config.toml", "# Mine.\r\nmodel = \"x\" # secret-2\r\n");
    sandbox.write("../home/.config/goose/config.yaml", "# secret-3\nx: 1\n");
    sandbox.write("../home/.claude.json", "{\n  \"mcpServers\": {},\n  \"key\": \"secret-4\"\n}\n");
    sandbox.write("../home/.gemini/settings.json", "{}");
    check(&sandbox, &["connect", "cursor", "codex", "goose", "claude-code", "gemini", "kiro", "--yes"]);
    check(&sandbox, &["connect", "--project", "cursor", "codex", "--yes"]);
    let state = sandbox.project().join(STATE);
    for (path, bytes) in tree(&state) {
        let Some(bytes) = bytes else { continue };
        assert!(!String::from_utf8_lossy(&bytes).contains("secret-"), "{}", path.display());
    }
    let record = fs::metadata(state.join("changes.json")).unwrap();
    assert_eq!(record.permissions().mode() & 0o777, 0o600);
}

#[test]
fn of_a_configuration_that_was_rewritten_only_the_entry_is_taken_out() {
    let sandbox = Sandbox::with_skills();
    let path = "../home/.claude.json";
    sandbox.write(path, "{\"a\":1}");
    run(&sandbox, &["connect", "claude-code", "--command", "/opt/other", "--yes"]);
    let mut text: Value = serde_json::from_str(&sandbox.read(path)).unwrap();
    text["b"] = json!("new");
    sandbox.write(path, text.to_string());
    run(&sandbox, &["undo", "--yes"]);
    let after: Value = serde_json::from_str(&sandbox.read(path)).unwrap();
    assert_eq!(after, json!({"a": 1, "b": "new", "mcpServers": {}}));
    // A file that cannot be understood is named, and one without the entry has nothing to take back.
    run(&sandbox, &["connect", "cursor", "--yes"]);
    sandbox.write("../home/.cursor/mcp.json", "{\"other\": true");
    let before = everything(&sandbox);
    assert_run!(sandbox.run(&["undo", "--yes"]), @r"
    exit 1
    --- stdout
    --- stderr
    error: `rep connect cursor` cannot be taken back
      because: [DIR]/home/.cursor/mcp.json was changed since
    hint: nothing was changed; `rep undo --list` has the numbers of older ones, which `rep undo N` takes back
    ");
    assert_eq!(everything(&sandbox), before);
    sandbox.write("../home/.cursor/mcp.json", "{\"other\": true}");
    assert_eq!(sandbox.run(&["undo", "--yes"]).stdout, "there is nothing to undo\n");
}

#[test]
fn links_and_copies_are_taken_back() {
    let sandbox = Sandbox::with_skills();
    check(&sandbox, &["link", "claude-code", "--yes"]);
    check(&sandbox, &["link", "claude-code", "--copy", "--yes"]);
    sandbox.write("../home/.agents/skills/mine/SKILL.md", skill("mine", "x\n"));
    check(&sandbox, &["link", "claude-code", "--user", "--yes"]);
    // Other links of the same record stay.
    run(&sandbox, &["link", "claude-code", "--skill", "alpha", "--yes"]);
    run(&sandbox, &["link", "claude-code", "--skill", "beta", "--yes"]);
    run(&sandbox, &["undo", "2", "--yes"]);
    assert!(!sandbox.project().join(".claude/skills/alpha").is_symlink());
    assert!(sandbox.project().join(".claude/skills/beta").is_symlink());
    assert_eq!(listed(&sandbox, "command"), ["rep link"]);
    run(&sandbox, &["undo", "--yes"]);
    assert!(!sandbox.project().join(".claude").exists());
}

#[test]
fn gathered_copies_are_put_back() {
    let sandbox = Sandbox::with_skills();
    for place in [".claude", ".codex"] {
        sandbox.write(&format!("{place}/skills/spread/SKILL.md"), skill("spread", "x\n"));
    }
    sandbox.write(".claude/skills/alpha/SKILL.md", skill("alpha", "other\n"));
    check(&sandbox, &["adopt", "spread", "--yes"]);
    check(&sandbox, &["adopt", "alpha", "--from", ".claude/skills", "--yes"]);
    run(&sandbox, &["adopt", "spread", "--yes"]);
    run(&sandbox, &["adopt", "alpha", "--from", ".claude/skills", "--yes"]);
    run(&sandbox, &["undo", "2", "--yes"]);
    assert!(sandbox.project().join(".codex/skills/spread").is_dir());
    assert_eq!(listed(&sandbox, "about")[0], json!(["alpha"]));
}

#[test]
fn switches_are_taken_back() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(
        "../home/.claude/settings.json",
        "{\"secret\": \"secret-1\", \"skillOverrides\": {\"beta\": \"off\"}}",
    );
    sandbox.write("../home/.codex/config.toml", "model = \"secret-2\"\n");
    sandbox.write(".claude/skills/own/SKILL.md", skill("own", "x\n"));
    check(&sandbox, &["disable", "own", "alpha"]);
    check(&sandbox, &["disable", "own", "--project"]);
    run(&sandbox, &["disable", "own"]);
    check(&sandbox, &["enable", "own"]);
    let before = sandbox.read("../home/.claude/settings.json");
    run(&sandbox, &["disable", "alpha"]);
    run(&sandbox, &["undo", "2", "--yes"]);
    assert_ne!(sandbox.read("../home/.claude/settings.json"), before);
    assert!(sandbox.read("../home/.config/repertoire/config.toml").contains("[\"alpha\"]"));
    assert_eq!(listed(&sandbox, "about"), [json!(["alpha"])]);
    let state = fs::read_to_string(sandbox.project().join(STATE).join("changes.json")).unwrap();
    assert!(!state.contains("secret-"), "{state}");
}

#[test]
fn a_file_that_was_edited_since_is_named_and_nothing_is_done() {
    let (_repository, sandbox) = added();
    sandbox.write("repertoire.lock", sandbox.read("repertoire.lock") + "# Mine.\n");
    let before = everything(&sandbox);
    assert_run!(sandbox.run(&["undo", "--yes"]), @r"
    exit 1
    --- stdout
    --- stderr
    error: `rep add csv pdf` cannot be taken back
      because: [DIR]/project/repertoire.lock was changed since
    hint: nothing was changed; `rep undo --list` has the numbers of older ones, which `rep undo N` takes back
    ");
    assert_eq!(everything(&sandbox), before);
    // Files that somebody put beside the skill are not lost.
    sandbox.write("repertoire.lock", sandbox.read("repertoire.lock").replace("# Mine.\n", ""));
    sandbox.write(".agents/skills/csv/.notes", "mine");
    let run = sandbox.run(&["undo", "--yes"]);
    assert!(run.code == 1 && run.stderr.contains(".agents/skills/csv was changed since"), "{}", run.stderr);
    assert_eq!(sandbox.read(".agents/skills/csv/.notes"), "mine");
}

#[test]
fn each_undo_goes_one_further_back_and_never_to_another_project() {
    let sandbox = Sandbox::with_skills();
    let before = everything(&sandbox);
    run(&sandbox, &["connect", "cursor", "--yes"]);
    run(&sandbox, &["link", "claude-code", "--yes"]);
    run(&sandbox, &["disable", "alpha"]);
    let other = sandbox.project().join("../home/other");
    fs::create_dir_all(other.join(".git")).unwrap();
    sandbox.write("../home/other/.agents/skills/gamma/SKILL.md", skill("gamma", "x\n"));
    assert_eq!(sandbox.run_in("../home/other", &["link", "claude-code", "--yes"]).code, 0);
    let commands = ["rep disable", "rep link", "rep connect"];
    for number in 0..3 {
        assert_eq!(listed(&sandbox, "command"), commands[number..]);
        run(&sandbox, &["undo", "--yes"]);
    }
    assert_eq!(sandbox.run(&["undo", "--yes"]).stdout, "there is nothing to undo\n");
    assert!(other.join(".claude/skills/gamma").is_symlink());
    fs::remove_dir_all(&other).unwrap();
    assert_eq!(everything(&sandbox), before);
    let list = sandbox.json(&["undo", "--list", "--json"]);
    let states: Vec<&Value> =
        list["changes"].as_array().unwrap().iter().map(|change| &change["state"]).collect();
    assert_eq!(states, ["undo", "undo", "undo", "elsewhere", "undone", "undone", "undone"]);
}

#[test]
fn what_stands_without_a_record_is_listed_and_taken_back() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(".claude/skills/spread/SKILL.md", skill("spread", "x\n"));
    let before = everything(&sandbox);
    run(&sandbox, &["connect", "cursor", "--yes"]);
    run(&sandbox, &["link", "claude-code", "--skill", "alpha", "--yes"]);
    run(&sandbox, &["adopt", "spread", "--yes"]);
    // The link that `rep adopt` made may be taken back alone.
    assert_eq!(listed(&sandbox, "state"), ["made", "made", "made", "stands"]);
    fs::remove_file(sandbox.project().join(STATE).join("changes.json")).unwrap();
    assert_run!(sandbox.run(&["undo", "--list"]), @r"
    exit 0
    --- stdout
      1  rep connect cursor, in [DIR]/home, stands
      2  rep link claude-code, in [DIR]/project, stands
      3  rep adopt spread, in [DIR]/project, stands
    --- stderr
    ");
    assert_eq!(sandbox.run(&["undo", "--yes"]).stdout, "there is nothing to undo\n");
    for number in ["3", "2", "1"] {
        run(&sandbox, &["undo", number, "--yes"]);
    }
    assert_eq!(sandbox.read("../home/.cursor/mcp.json"), "{\n  \"mcpServers\": {}\n}\n");
    fs::remove_dir_all(sandbox.home().join(".cursor")).unwrap();
    assert_eq!(everything(&sandbox), before);
}

#[test]
fn it_shows_what_it_would_do_and_asks() {
    let sandbox = Sandbox::with_skills();
    run(&sandbox, &["link", "claude-code", "--skill", "alpha", "--yes"]);
    let before = everything(&sandbox);
    let shown = sandbox.run(&["undo", "--dry-run"]);
    let time = listed(&sandbox, "time")[0].as_str().unwrap().to_owned();
    assert_eq!(
        shown.stdout.replace(&time[..16].replace('T', " "), "[TIME]"),
        "rep link claude-code, in [DIR]/project, made [TIME] UTC\n- .claude/skills/alpha\n"
    );
    let refused = sandbox.run(&["undo"]);
    assert!(refused.code == 1 && refused.stderr.contains("`--yes` does it without asking"));
    assert_eq!(sandbox.run(&["undo", "7"]).code, 1);
    assert_eq!(everything(&sandbox), before);
    let answer = sandbox.json(&["undo", "--yes", "--json"]);
    let path = "[DIR]/project/.claude/skills/alpha";
    assert_eq!((&answer["taken_back"], &answer["paths"][1]), (&json!(true), &json!(path)));
}

#[test]
fn an_approved_proposal_is_taken_back() {
    let sandbox = Sandbox::with_author();
    sandbox
        .write("change.diff", "--- a/SKILL.md\n+++ b/SKILL.md\n@@ -7 +7 @@\n-Do alpha.\n+Do alpha twice.\n");
    run(&sandbox, &["proposal", "new", "alpha", "--diff", "change.diff", "--why", "it helps"]);
    check(&sandbox, &["proposal", "approve", "1", "--yes"]);
}

#[test]
fn what_agents_approved_is_taken_back() {
    let sandbox = Sandbox::with_author();
    let config = "[proposals]\nmode = \"free\"\n[agents.critic]\nreviews = true\n";
    sandbox.write("../home/.config/repertoire/config.toml", config);
    sandbox
        .write("change.diff", "--- a/SKILL.md\n+++ b/SKILL.md\n@@ -7 +7 @@\n-Do alpha.\n+Do alpha twice.\n");
    run(&sandbox, &["proposal", "new", "alpha", "--diff", "change.diff", "--why", "it helps"]);
    let approve = r#"{"action": "approve", "id": 1}"#;
    check(&sandbox, &["call", "--agent", "critic", "review_skill_proposals", approve]);
    let files = json!({"SKILL.md": skill("fresh", "Do it.\n")});
    let create = json!({"name": "fresh", "files": files, "justification": "it was missing"}).to_string();
    check(&sandbox, &["call", "propose_skill", &create]);
}

#[test]
fn directories_of_clients_that_were_there_before_stay() {
    let sandbox = Sandbox::with_skills();
    fs::create_dir_all(sandbox.project().join(".claude/skills")).unwrap();
    fs::create_dir_all(sandbox.home().join(".cursor")).unwrap();
    check(&sandbox, &["link", "claude-code", "--yes"]);
    check(&sandbox, &["connect", "cursor", "--yes"]);
}

#[test]
fn of_two_entries_in_one_file_the_right_one_is_taken_out() {
    let sandbox = Sandbox::with_skills();
    let file = "../home/.claude.json";
    sandbox.write(file, r#"{"gate": 1, "mcpServers": {"gate": {"command": "node", "args": ["serve"]}}}"#);
    sandbox.write("node/x/SKILL.md", skill("x", "x\n"));
    run(&sandbox, &["connect", "claude-code", "--root", "node", "--yes"]);
    run(&sandbox, &["connect", "claude-code", "--name", "team", "--http", "https://t.example/mcp", "--yes"]);
    // As the client does all the time.
    sandbox.write(file, sandbox.read(file).replace("\"gate\": 1", "\"gate\": 2"));
    run(&sandbox, &["undo", "--yes"]);
    let text = sandbox.read(file);
    assert!(
        text.contains("\"repertoire\"") && text.contains("node") && !text.contains("t.example"),
        "{text}"
    );
    run(&sandbox, &["undo", "--yes"]);
    let text = sandbox.read(file);
    assert!(!text.contains("repertoire") && text.contains("\"args\": [\"serve\"]"), "{text}");
}

#[test]
fn a_change_of_an_entry_is_taken_back_and_not_the_entry() {
    let sandbox = Sandbox::with_skills();
    let connect = |variable: &str| {
        let words =
            ["connect", "cursor", "codex", "--http", "https://x.example/mcp", "--token-env", variable];
        run(&sandbox, &[&words[..], &["--yes"]].concat());
    };
    connect("FIRST");
    let first = everything(&sandbox);
    connect("SECOND");
    assert_eq!(listed(&sandbox, "state"), ["made", "made"]);
    run(&sandbox, &["undo", "--yes"]);
    assert_eq!(everything(&sandbox), first);
}
