//! Tests of `rep doctor`.

use serde_json::Value;

use crate::sandbox::{Sandbox, skill};

fn statuses(sandbox: &Sandbox, arguments: &[&str]) -> (i32, Vec<(String, String)>) {
    let run = sandbox.run(&[&["doctor", "--json"], arguments].concat());
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(answer["ok"], run.code == 0);
    let word = |check: &Value, key: &str| check[key].as_str().unwrap().to_owned();
    let checks = answer["checks"].as_array().unwrap();
    let bad = checks.iter().filter(|check| !matches!(check["status"].as_str(), Some("ok" | "info")));
    (run.code, bad.map(|check| (word(check, "status"), word(check, "message"))).collect())
}

#[test]
fn a_sound_set_up_is_all_right() {
    let sandbox = Sandbox::with_skills();
    assert_eq!(statuses(&sandbox, &[]), (0, vec![]));
    let run = sandbox.run(&["doctor"]);
    assert!(run.stdout.contains(".agents/skills: 2 skills"), "{}", run.stdout);
    assert!(run.stdout.contains("2 active, 0 shadowed, 0 quarantined"), "{}", run.stdout);
}

#[test]
fn doctor_reports_warnings() {
    let mut sandbox = Sandbox::with_skills();
    sandbox.write(".agents/skills/broken/SKILL.md", "---\nname: broken\n");
    sandbox.write("../home/.claude/skills/alpha/SKILL.md", skill("alpha", "other\n"));
    sandbox.write("repertoire.toml", "roots = [\"nowhere\"]\n");
    sandbox.set("REPERTOIRE_PROFIL", "strict");
    let (code, bad) = statuses(&sandbox, &[]);
    let messages: Vec<&str> = bad.iter().map(|(_, message)| message.as_str()).collect();
    assert_eq!(code, 0);
    assert!(messages[0].contains("REPERTOIRE_PROFIL"), "{messages:?}");
    assert!(messages[1].contains("nowhere is not there"), "{messages:?}");
    assert!(messages[2].contains("broken is quarantined"), "{messages:?}");
    assert!(messages[3].contains("the name `alpha` is taken"), "{messages:?}");
    assert_eq!(messages.len(), 4, "{messages:?}");
}

#[test]
fn doctor_reports_the_store_without_making_one() {
    let mut sandbox = Sandbox::with_skills();
    let told = |sandbox: &Sandbox| {
        let run = sandbox.run(&["doctor"]);
        let lines = run.stdout.lines().skip_while(|line| !line.contains(" store ")).take(2);
        lines.map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    let usual = "[DIR]/home/.local/state/repertoire/repertoire.db";
    assert_eq!(told(&sandbox)[0], format!("ok    store     {usual}, none yet"));
    assert!(!sandbox.home().join(".local").try_exists().unwrap());
    sandbox.run(&["call", "load_skill", r#"{"name": "alpha"}"#]);
    let line = &told(&sandbox)[0];
    assert!(line.starts_with(&format!("ok    store     {usual}, ")) && !line.ends_with("none yet"), "{line}");
    sandbox.set("XDG_STATE_HOME", sandbox.home().join("state").to_str().unwrap());
    assert_eq!(told(&sandbox)[0], "ok    store     [DIR]/home/state/repertoire/repertoire.db, none yet");
    sandbox
        .write("own/repertoire.db", "this is no database, and longer than its header would be\n".repeat(9));
    sandbox.set("REPERTOIRE_STATE_DIR", "own");
    let lines = told(&sandbox);
    assert!(lines[0].starts_with("warn  store     "), "{lines:?}");
    assert!(lines[0].contains("[DIR]/project/own/repertoire.db"), "{lines:?}");
    assert!(lines[1].contains("set REPERTOIRE_STATE_DIR, or `store.url`"), "{lines:?}");
    sandbox.write("../home/.config/repertoire/config.toml", "store.url = \"elsewhere.db\"\n");
    assert_eq!(told(&sandbox)[0], "ok    store     [DIR]/project/elsewhere.db, none yet");
}

#[test]
fn doctor_fails_on_errors() {
    let sandbox = Sandbox::with_skills();
    assert_eq!(statuses(&sandbox, &["--root", "nowhere"]).0, 1);
    sandbox.write(".agents/skills/broken/SKILL.md", "---\nname: broken\n");
    assert_eq!(statuses(&sandbox, &["--profile", "strict"]).0, 1);
    sandbox.write("repertoire.toml", "x = 1\n");
    let (code, bad) = statuses(&sandbox, &[]);
    assert_eq!((code, bad.len()), (1, 1));
    assert!(bad[0].1.contains("unknown key `x`"), "{bad:?}");
}

#[test]
fn what_does_not_work_is_not_ok() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(
        ".agents/skills/gone/SKILL.md",
        "---\nname: gone\ndescription: Reads a file. Use when asked.\nreferences: [none.md]\n---\nx\n",
    );
    sandbox.write(
        "repertoire.toml",
        "[agents.a]\nprompt = \"none.md\"\n[agents.b]\nuses_skills = [\"alhpa\"]\n[agents.c]\n",
    );
    sandbox.write("../home/.config/repertoire/config.toml", "search.embeddings = \"http\"\nsearch.url = \"https://example.com\"\nsearch.model = \"m\"\nsearch.key_env = \"NO_SUCH_KEY\"\n");
    let (_, bad) = statuses(&sandbox, &[]);
    let told: Vec<&str> = bad.iter().map(|(_, message)| message.as_str()).collect();
    for part in ["gone: ", "the agent `a`", "alhpa", "NO_SUCH_KEY"] {
        assert!(told.iter().any(|message| message.contains(part)), "{part} {told:?}");
    }
    let run = sandbox.run(&["doctor"]);
    let wrong = |line: &&str| {
        line.starts_with("ok") && (line.contains("does not work") || line.contains("not there"))
    };
    assert_eq!(run.stdout.lines().find(wrong), None);
}
