//! Tests of `rep list --origin --changed`, and of origins in `rep list` and `rep explain`.

use std::fs;

use crate::sandbox::{ALPHA, Sandbox, assert_run, skill};

/// The hash that `npx skills` computes of the skill `alpha` of the sandbox.
const ALPHA_HASH: &str = "14bcacfac1e876a5bd5be2235a0e08b86bb6f45202f7a8de1ad72e8ccb2bf7b1";

/// Returns a sandbox whose skills were installed by `npx skills`, one of them changed since and one missing.
fn installed() -> Sandbox {
    let sandbox = Sandbox::with_skills();
    let lock = format!(
        r#"{{"version": 1, "skills": {{
            "alpha": {{"source": "owner/repo", "sourceType": "github", "skillPath": "skills/alpha/SKILL.md", "computedHash": "{ALPHA_HASH}"}},
            "beta": {{"source": "owner/repo", "ref": "v1", "sourceType": "github", "computedHash": "{ALPHA_HASH}"}},
            "gone": {{"source": "owner/other", "sourceType": "github", "computedHash": "{ALPHA_HASH}"}}}}}}"#
    );
    sandbox.write("skills-lock.json", lock);
    sandbox.write(".agents/skills/own/SKILL.md", skill("own", "x\n"));
    sandbox
}

#[test]
fn broken_records_are_visible_everywhere() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("repertoire.lock", "version = 1\n<<<<<<< HEAD\n");
    sandbox.write("skills-lock.json", "{");
    let name = "repertoire.lock cannot be read";
    let run = sandbox.run(&["list", "--origin"]);
    assert!(run.stderr.contains(name) && run.stderr.contains("skills-lock.json cannot"), "{}", run.stderr);
    let run = sandbox.run(&["explain", "beta"]);
    assert!(run.stdout.contains(name) && !run.stdout.contains("no installer"), "{}", run.stdout);
    let document: serde_json::Value =
        serde_json::from_str(&sandbox.run(&["doctor", "--json"]).stdout).unwrap();
    assert_eq!(document["ok"], false);
    let checks = document["checks"].as_array().unwrap().iter().filter(|check| check["topic"] == "record");
    let statuses: Vec<&str> = checks.map(|check| check["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["error", "warn"]);
}

#[test]
fn changed_and_missing_skills_are_listed() {
    let sandbox = installed();
    assert_run!(sandbox.run(&["list", "--origin", "--changed"]), @r#"
    exit 1
    --- stdout
    NAME  STATE    INSTALLER   RECORD            SOURCE
    beta  changed  npx skills  skills-lock.json  owner/repo at v1
    gone  missing  npx skills  skills-lock.json  owner/other
    --- stderr
    1 unchanged, 1 changed, 1 missing
    "#);
    assert_run!(sandbox.run(&["list", "--origin", "--changed", "alpha"]), @r#"
    exit 0
    --- stdout
    --- stderr
    1 unchanged
    "#);
    sandbox.write(ALPHA, skill("alpha", "changed\n"));
    assert_eq!(sandbox.run(&["list", "--origin", "--changed", "alpha"]).code, 1);
    let run = sandbox.run(&["list", "--origin", "--changed", "own"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("no installer recorded `own`"), "{}", run.stderr);
    let run = sandbox.run(&["list", "--origin", "--changed", "--json"]);
    let answer: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(answer["ok"], false);
    assert_eq!(answer["skills"][2]["state"], "missing");
    assert_eq!(answer["skills"][2]["directory"], serde_json::Value::Null);
}

#[test]
fn records_that_cannot_be_read_are_reported() {
    let sandbox = Sandbox::with_skills();
    assert_run!(sandbox.run(&["list", "--origin", "--changed"]), @r#"
    exit 0
    --- stdout
    no installer recorded any of the skills
    --- stderr
    "#);
    sandbox.write("skills-lock.json", "{");
    let run = sandbox.run(&["list", "--origin", "--changed"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("warning: skills-lock.json cannot be read: EOF"), "{}", run.stderr);
}

#[test]
fn list_shows_origins() {
    let sandbox = installed();
    assert_run!(sandbox.run(&["list", "--origin"]), @r#"
    exit 0
    --- stdout
    NAME   SOURCE          SINCE      ORIGIN
    alpha  project:agents  unchanged  npx skills: owner/repo (skills/alpha)
    beta   project:agents  changed    npx skills: owner/repo at v1
    own    project:agents  -          -
    --- stderr
    3 active
    "#);
    let answer = sandbox.json(&["list", "--origin", "--json"]);
    assert_eq!(answer["skills"][1]["origins"][0]["ref"], "v1");
    assert_eq!(answer["skills"][2]["origins"].as_array().unwrap().len(), 0);
    assert_eq!(sandbox.json(&["list", "--json"])["skills"][1].get("origins"), None);
}

#[test]
fn explain_tells_the_origin_and_the_clients() {
    let sandbox = installed();
    fs::create_dir_all(sandbox.home().join(".claude")).unwrap();
    fs::create_dir_all(sandbox.home().join(".cursor")).unwrap();
    fs::create_dir_all(sandbox.home().join(".kiro")).unwrap();
    sandbox.write(
        "../home/.kiro/settings/mcp.json",
        r#"{"mcpServers": {"repertoire": {"command": "rep", "args": ["serve", "--stdio"]}}}"#,
    );
    let run = sandbox.run(&["explain", "beta"]);
    let told: Vec<&str> = run.stdout.lines().rev().take(2).collect();
    assert_eq!(
        told,
        [
            "     clients  read by Cursor; offered over MCP to Kiro; not seen by Claude Code",
            "      origin  installed by npx skills from owner/repo at v1, changed since (skills-lock.json)",
        ]
    );
    let answer = sandbox.json(&["explain", "beta", "--json"]);
    assert_eq!(answer["skills"][0]["origins"][0]["installer"], "skills");
    assert_eq!(
        answer["skills"][0]["clients"][1],
        serde_json::json!({"id": "cursor", "reads": true, "connected": false, "switched_off": false, "known_as": ["beta"]})
    );
}

#[test]
fn skills_of_a_user_are_verified_by_the_lock_of_the_user() {
    let mut sandbox = Sandbox::new();
    sandbox.write("../home/.codex-moved/skills/alpha/SKILL.md", skill("alpha", "x\n"));
    let home = sandbox.home();
    sandbox.set("CODEX_HOME", home.join(".codex-moved").to_str().unwrap());
    sandbox.set("XDG_STATE_HOME", home.join("state").to_str().unwrap());
    sandbox.write(
        "../home/state/skills/.skill-lock.json",
        r#"{"version": 3, "skills": {"alpha": {"source": "o/r", "skillFolderHash": "0000000000000000000000000000000000000000"}}}"#,
    );
    let run = sandbox.run(&["list", "--origin"]);
    assert!(run.stdout.contains("codex    codex   unknown  npx skills: o/r"), "{}", run.stdout);
    let run = sandbox.run(&["list", "--origin", "--changed"]);
    assert!(
        run.stderr.contains("hint: `rep explain alpha` tells why it cannot be compared"),
        "{}",
        run.stderr
    );
}

#[cfg(unix)]
#[test]
fn skills_that_rep_added_have_its_lock_as_their_record() {
    use std::os::unix::fs::PermissionsExt as _;

    use crate::git_repository::{Repository, empty_project};

    let repository = Repository::new();
    repository.write("skills/pdf/SKILL.md", skill("pdf", "x\n"));
    repository.commit();
    for owner in ["project", "user"] {
        let sandbox = empty_project();
        let directory = if owner == "user" { sandbox.home() } else { sandbox.project() };
        let run = sandbox.run(&["add", &repository.url(), "--all", "--yes", &format!("--{owner}")]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(
            sandbox.json(&["list", "--origin", "--changed", "--json"])["skills"],
            serde_json::json!([])
        );
        let origin = &sandbox.json(&["list", "--origin", "--json"])["skills"][0]["origins"][0];
        assert_eq!(origin["installer"], "rep");
        assert_eq!(origin["state"], "unchanged");
        assert_eq!(origin["commit"].as_str().map(str::len), Some(40));
        assert!(sandbox.run(&["list", "--origin"]).stdout.contains("unchanged  rep: "));
        assert!(sandbox.run(&["explain", "pdf"]).stdout.contains("origin  installed by rep from "));
        fs::write(directory.join(".agents/skills/pdf/SKILL.md"), skill("pdf", "changed\n")).unwrap();
        let run = sandbox.run(&["list", "--origin", "--changed"]);
        assert_eq!(run.code, 1, "{}", run.stdout);
        assert!(run.stderr.contains("changed: pdf: SKILL.md"), "{}", run.stderr);
        let manifest = directory.join(".agents/skills/pdf/SKILL.md");
        fs::write(&manifest, skill("pdf", "x\n")).unwrap();
        fs::set_permissions(&manifest, fs::Permissions::from_mode(0o755)).unwrap();
        let run = sandbox.run(&["list", "--origin", "--changed"]);
        let expect = "changed: pdf: the executable bit of a file was changed\n";
        assert!(run.code == 1 && run.stderr.starts_with(expect), "{}", run.stderr);
        fs::remove_dir_all(directory.join(".agents/skills/pdf")).unwrap();
        assert!(sandbox.run(&["list", "--origin", "--changed"]).stdout.contains("missing"));
    }
}

#[cfg(unix)]
#[test]
fn list_and_sync_agree_about_modes_and_about_locks_that_do_not_fit() {
    use std::os::unix::fs::PermissionsExt as _;

    let sandbox = Sandbox::with_skills();
    sandbox.write("../source/gamma/SKILL.md", skill("gamma", "x\n"));
    sandbox.write("../source/gamma/scripts/run.sh", "echo\n");
    assert_eq!(sandbox.run(&["add", "../source", "--all", "--yes"]).code, 0);
    let codes = || {
        ["list --origin --changed", "sync --frozen"]
            .map(|words| sandbox.run(&words.split(' ').collect::<Vec<_>>()).code)
    };
    assert_eq!(codes(), [0, 0]);
    let script = sandbox.project().join(".agents/skills/gamma/scripts/run.sh");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(codes(), [1, 1]);
    fs::set_permissions(&script, fs::Permissions::from_mode(0o644)).unwrap();
    let lock = sandbox.read("repertoire.lock");
    let hash = lock.lines().find_map(|line| line.strip_prefix("\"SKILL.md\" = \"sha256:")).unwrap();
    sandbox.write("repertoire.lock", lock.replace(hash, &format!("{}\"", "0".repeat(64))));
    assert_eq!(codes(), [1, 1]);
}
