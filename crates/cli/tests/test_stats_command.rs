//! Tests of `rep stats`.

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, assert_run, skill};

fn call(sandbox: &Sandbox, tool: &str, arguments: &str, more: &[&str]) {
    sandbox.run(&[&["call", tool, arguments], more].concat());
}

/// Returns a sandbox in which skills were used: alpha twice with a file, a skill that is removed, and a name that never was.
fn with_usage() -> Sandbox {
    let sandbox = Sandbox::with_skills();
    sandbox.write("repertoire.toml", "[agents.builder]\nskills.allow = [\"*\"]\n");
    sandbox.write(".agents/skills/alpha/references/other.md", "other\n");
    sandbox.write(".agents/skills/old/SKILL.md", skill("old", "Do old.\n"));
    call(&sandbox, "load_skill", r#"{"name": "alpha"}"#, &[]);
    call(&sandbox, "load_skill", r#"{"name": "alpha"}"#, &["--agent", "builder"]);
    call(&sandbox, "read_skill_file", r#"{"skill": "alpha", "path": "references/guide.md"}"#, &[]);
    call(&sandbox, "load_skill", r#"{"name": "old"}"#, &[]);
    call(&sandbox, "load_skill", r#"{"name": "nothing"}"#, &[]);
    std::fs::remove_dir_all(sandbox.project().join(".agents/skills/old")).unwrap();
    sandbox
}

#[test]
fn stats_count_skills_and_files() {
    let stats = with_usage().json(&["stats", "--json"]);
    let rows: Vec<_> = stats["skills"].as_array().unwrap().iter().collect();
    let row = |index: usize| {
        let row = &rows[index];
        json!([row["name"], row["state"], row["loads"], row["reads"], row["failures"], row["agents"]])
    };
    assert_eq!(row(0), json!(["alpha", "present", 2, 1, 0, 1]));
    assert_eq!(row(1), json!(["old", "gone", 1, 0, 0, 0]));
    assert_eq!(row(2), json!(["beta", "present", 0, 0, 0, 0]));
    assert_eq!(row(3), json!(["nothing", "unknown", 0, 0, 1, 0]));
    let days = rows[0]["daily_loads"].as_array().unwrap();
    assert_eq!((days.len(), days.last()), (30, Some(&json!(2))));
    assert_eq!(rows[0]["files"][0]["path"], "references/guide.md");
    assert_eq!(stats["sessions"], 3, "the others have no skill of this library");
    let catalog = |index: usize| rows[index]["catalog_tokens"].as_u64().unwrap();
    assert!(catalog(0) > 3 && catalog(0) % 3 == 0 && catalog(1) == 0, "{rows:?}");
    assert_eq!(stats["concentration"], json!({"percent": 80, "core_skills": 2, "loaded_skills": 2}));
    let dead = &stats["dead"][0];
    assert_eq!((&dead["name"], &dead["last_use"]), (&json!("beta"), &json!(null)));
    assert_eq!(stats["dead"].as_array().unwrap().len(), 1);
    assert_eq!(stats["hot_files"][0]["path"], "references/guide.md");
    assert_eq!(stats["unread_files"], json!([{"skill": "alpha", "path": "references/other.md"}]));
}

#[test]
fn a_skill_that_is_switched_off_is_not_listed_as_unused() {
    let sandbox = with_usage();
    let text = sandbox.read(".agents/skills/beta/SKILL.md");
    sandbox.write(
        ".agents/skills/beta/SKILL.md",
        text.replacen("---\n", "---\ndisable-model-invocation: true\n", 1),
    );
    assert_eq!(sandbox.json(&["stats", "--json"])["dead"], json!([]));
    let dead = &sandbox.json(&["stats", "--json", "--dead-after", "0d"])["dead"];
    assert_eq!((&dead[0]["name"], dead.as_array().unwrap().len()), (&json!("alpha"), 1));
}

#[test]
fn stats_are_tables_for_people() {
    let run = with_usage().run(&["stats"]);
    let today = repertoire::event::jsonl::rfc3339(std::time::SystemTime::now());
    let text = run.transcript().replace(&today[..10], "[TODAY]..");
    insta::assert_snapshot!(text, @r#"
    exit 0
    --- stdout
    SKILL                  LOADS  READS  FAILED  AGENTS  TOKENS  CATALOG  LAST USE
    alpha                      2      1       0       1      19       81  [TODAY]..
      references/guide.md             1       0       0       7           [TODAY]..
    old (gone)                 1      0       0       0       3        0  [TODAY]..
    nothing (unknown)          0      0       1       0       0        0  -

    2 of 2 loaded skills make up 80 % of 3 loads
    catalog entries cost 162 tokens in 3 sessions of this library; 22 tokens of instructions and files were served

    not used since recording began on [TODAY]..:
    SKILL  LAST USE  CATALOG ENTRY  FILE
    beta   never                27  .agents/skills/beta/SKILL.md

    files that were read most:
          1  alpha/references/guide.md

    references of loaded skills that were not read:
      alpha/references/other.md
    --- stderr
    hint: to switch them off, run `rep disable beta`
    "#);
}

#[test]
fn nothing_is_suggested_to_be_disabled_before_anything_was_recorded() {
    let sandbox = Sandbox::with_skills();
    assert_run!(sandbox.run(&["stats"]), @r#"
    exit 0
    --- stdout
    no skill was used in this time
    --- stderr
    nothing has been recorded yet
    "#);
    let dead = sandbox.json(&["stats", "--json"])["dead"].take();
    let commands: Vec<&Value> = dead.as_array().unwrap().iter().map(|skill| &skill["switch_off"]).collect();
    assert_eq!(commands, ["rep disable alpha", "rep disable beta"]);
    sandbox.run(&["disable", "alpha", "beta"]);
    assert_eq!(sandbox.json(&["stats", "--json"])["dead"], json!([]));
}

#[test]
fn a_damaged_store_is_an_error() {
    let sandbox = Sandbox::with_skills();
    let text = "this is no database, and longer than its header would be\n".repeat(9);
    sandbox.write("../home/.local/state/repertoire/repertoire.db", text);
    let run = sandbox.run(&["stats"]);
    assert_eq!((run.code, run.stdout.as_str()), (3, ""));
    assert!(run.stderr.contains("set REPERTOIRE_STATE_DIR"), "{}", run.stderr);
}

#[test]
fn records_of_clients_are_told_apart() {
    let sandbox = Sandbox::with_skills();
    sandbox
        .write("../home/.claude.json", r#"{"skillUsage": {"alpha": {"usageCount": 3, "lastUsedAt": 1000}}}"#);
    let line = r#"{"timestamp":"2999-01-01T00:00:00.000Z","message":{"content":[{"type":"tool_use","name":"Skill","input":{"skill":"beta"}}]}}"#;
    sandbox.write("../home/.claude/projects/p/s.jsonl", format!("odd \"Skill\"\n{line}\n{line}\n"));
    let line = r#"{"timestamp":"2999-01-02T00:00:00.000Z","payload":{"type":"function_call","arguments":"cat x/gamma/SKILL.md"}}"#;
    sandbox.write("../home/.codex/sessions/2999/01/02/rollout.jsonl", line);
    let none = sandbox.run(&["stats", "--from-clients"]);
    assert!(none.stderr.starts_with("nothing has been recorded yet\n"), "{}", none.stderr);
    assert!(
        !none.transcript().contains("not used") && !none.transcript().contains("rep disable"),
        "{}",
        none.stdout
    );
    let stats = sandbox.json(&["stats", "--json", "--from-clients"]);
    let skill = |name: &str, uses: u64, last: &str| json!([{"name": name, "uses": uses, "last_use": last}]);
    assert_eq!(
        stats["clients"],
        json!([
            {"client": "Claude Code", "record": "counters", "skills": skill("alpha", 3, "1970-01-01T00:00:01.000Z")},
            {"client": "Claude Code", "record": "transcripts", "skills": skill("beta", 2, "2999-01-01T00:00:00.000Z")},
            {"client": "Codex", "record": "transcripts", "skills": skill("gamma", 1, "2999-01-02T00:00:00.000Z")},
        ])
    );
    // The use of beta is recent, that of alpha is not.
    let dead: Vec<_> = stats["dead"].as_array().unwrap().iter().map(|skill| &skill["name"]).collect();
    assert_eq!(dead, ["alpha"]);
    assert_eq!(stats["totals"]["loads"], 0);
    assert_eq!(sandbox.json(&["stats", "--json"])["clients"], json!([]));
    let text = sandbox.run(&["stats", "--from-clients"]).stdout;
    assert!(text.ends_with("gamma     1  2999-01-02  Codex        transcripts\n"), "{text}");
}

#[test]
fn stats_and_events_make_no_store() {
    let sandbox = Sandbox::with_skills();
    for command in ["stats", "events"] {
        let run = sandbox.run(&[command]);
        assert!(run.code == 0 && run.stderr.starts_with("nothing has been recorded yet\n"), "{}", run.stderr);
        assert_eq!(sandbox.run(&[command, "--json"]).stderr, "");
    }
    assert_eq!(sandbox.json(&["stats", "--json"])["totals"]["loads"], 0);
    assert!(!sandbox.home().join(".local").exists());
}

#[test]
fn the_time_without_use_is_in_days() {
    let sandbox = with_usage();
    for (given, days) in [("12h", json!(0.5)), ("90m", json!(0.0625)), ("2d", json!(2)), ("1d", json!(1))] {
        assert_eq!(sandbox.json(&["stats", "--dead-after", given, "--json"])["dead_after_days"], days);
    }
}

#[test]
fn a_short_time_counts_the_whole_day() {
    let sandbox = with_usage();
    let stats = sandbox.json(&["stats", "--json", "--since", "1s"]);
    assert_eq!((&stats["totals"]["loads"], &stats["sessions"]), (&json!(3), &json!(3)));
    assert!(stats["since"].as_str().unwrap().ends_with("T00:00:00.000Z"), "{}", stats["since"]);
}

#[test]
fn many_unknown_names_have_one_row() {
    let sandbox = with_usage();
    let calls = (0..6).map(|number| {
        format!("{{\"op\": \"call\", \"tool\": \"load_skill\", \"arguments\": {{\"name\": \"guess-{number}\"}}}}\n")
    });
    sandbox.write("calls", calls.collect::<String>());
    let mut command = sandbox.command(&["session"]);
    command.stdin(std::fs::File::open(sandbox.project().join("calls")).unwrap());
    assert_eq!(sandbox.finish(command).code, 0);
    let text = sandbox.run(&["stats"]).stdout;
    assert!(text.contains("\n7 unknown names "), "{text}");
    assert!(!text.contains("guess-") && !text.contains("nothing"), "{text}");
    assert_eq!(sandbox.json(&["stats", "--json"])["skills"].as_array().unwrap().len(), 10);
}

#[test]
fn a_client_that_used_a_skill_before_the_time_of_the_report_keeps_it_alive() {
    let sandbox = Sandbox::with_skills();
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(20 * 24 * 60 * 60);
    let time = repertoire::event::jsonl::rfc3339(long_ago);
    let line = format!(
        r#"{{"timestamp":"{time}","payload":{{"type":"function_call","arguments":"cat x/alpha/SKILL.md"}}}}"#
    );
    sandbox.write("../home/.codex/sessions/rollout.jsonl", line);
    let path = sandbox.home().join(".codex/sessions/rollout.jsonl");
    std::fs::OpenOptions::new().write(true).open(path).unwrap().set_modified(long_ago).unwrap();
    let stats = sandbox.json(&["stats", "--json", "--from-clients", "--since", "7d"]);
    assert_eq!(stats["clients"], json!([]));
    let dead: Vec<_> = stats["dead"].as_array().unwrap().iter().map(|skill| &skill["name"]).collect();
    assert_eq!(dead, ["beta"]);
}

#[test]
fn usage_of_other_libraries_is_told_apart() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../other/skills/gamma/SKILL.md", skill("gamma", "# Gamma\n"));
    sandbox.write("../other/skills/alpha/SKILL.md", skill("alpha", "# Another alpha\n"));
    for name in ["gamma", "gamma", "alpha"] {
        let arguments = json!({"name": name}).to_string();
        assert_eq!(sandbox.run(&["--root", "../other/skills", "call", "load_skill", &arguments]).code, 0);
    }
    let stats = sandbox.json(&["stats", "--json"]);
    assert_eq!((&stats["sessions"], &stats["totals"]["catalog_tokens"]), (&json!(0), &json!(0)));
    let state = |name: &str| {
        let skills = stats["skills"].as_array().unwrap();
        skills.iter().find(|skill| skill["name"] == name).unwrap()["state"].clone()
    };
    assert_eq!((state("gamma"), state("beta")), (json!("elsewhere"), json!("present")));
    assert_eq!(stats["totals"]["loads"], 1, "skills are told apart by name alone");
    call(&sandbox, "load_skill", r#"{"name": "beta"}"#, &[]);
    assert_eq!(sandbox.json(&["stats", "--json"])["sessions"], 1);
    // The same directory under another name of the source.
    assert_eq!(sandbox.json(&["--root", ".agents/skills", "stats", "--json"])["sessions"], 1);
}

#[test]
fn a_disabled_skill_that_was_used_is_disabled_and_its_sessions_count() {
    let sandbox = Sandbox::with_skills();
    call(&sandbox, "load_skill", r#"{"name": "alpha"}"#, &[]);
    assert_eq!(sandbox.run(&["disable", "alpha"]).code, 0);
    let stats = sandbox.json(&["stats", "--json"]);
    let alpha = &stats["skills"][0];
    assert_eq!(json!([alpha["name"], alpha["state"], alpha["loads"]]), json!(["alpha", "disabled", 1]));
    assert_eq!((&stats["sessions"], &stats["totals"]["loads"]), (&json!(1), &json!(1)));
    assert!(!stats["dead"].to_string().contains("alpha"), "{}", stats["dead"]);
    assert!(sandbox.run(&["stats"]).stdout.contains("alpha (disabled)"));
}

#[test]
fn a_recorded_skill_is_gone_only_from_the_library_that_had_it() {
    let sandbox = Sandbox::with_skills();
    for name in ["gamma", "delta"] {
        sandbox.write(&format!("../{name}/.agents/skills/{name}/SKILL.md"), skill(name, "# X\n"));
        let project = format!("../{name}");
        let arguments = json!({"name": name}).to_string();
        assert_eq!(sandbox.run_in(&project, &["call", "load_skill", &arguments]).code, 0);
    }
    std::fs::remove_dir_all(sandbox.project().join("../gamma/.agents/skills/gamma")).unwrap();
    let run = sandbox.run_in("../gamma", &["stats"]);
    assert!(
        run.stdout.contains("gamma (gone)") && run.stdout.contains("delta (elsewhere)"),
        "{}",
        run.stdout
    );
}
