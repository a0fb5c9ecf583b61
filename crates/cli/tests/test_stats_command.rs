//! Tests of `rep stats`.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, assert_run, skill};
use crate::test_serve_command::Serving;

fn call(sandbox: &Sandbox, tool: &str, arguments: &str, more: &[&str]) {
    sandbox.run(&[&["call", tool, arguments], more].concat());
}

/// Returns a sandbox in which skills were used: alpha twice with a file, a skill that is removed, and a name
/// that never was.
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
    assert_eq!(stats["dead"], json!([]), "no skill is called unused that was made just now");
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

    files that were read most:
          1  alpha/references/guide.md

    references of loaded skills that were not read:
      alpha/references/other.md
    --- stderr
    "#);
}

#[test]
fn unused_skills_are_listed_with_the_command_that_disables_them() {
    let sandbox = with_usage();
    let dead = &sandbox.json(&["stats", "--json", "--dead-after", "0d"])["dead"];
    assert_eq!((&dead[0]["name"], &dead[0]["last_use"]), (&json!("beta"), &json!(null)));
    let run = sandbox.run(&["stats", "--dead-after", "0d"]);
    let list = run.stdout.split("not used for 0 seconds:\n").nth(1).unwrap();
    assert!(list.contains("\nbeta   never ") && list.contains("  .agents/skills/beta/SKILL.md\n"), "{list}");
    assert_eq!(run.stderr, "hint: to switch them off, run `rep disable beta alpha`\n");
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
    let dead = sandbox.json(&["stats", "--json", "--dead-after", "0d"])["dead"].take();
    let commands: Vec<&Value> = dead.as_array().unwrap().iter().map(|skill| &skill["switch_off"]).collect();
    assert_eq!(commands, ["rep disable alpha", "rep disable beta"]);
    sandbox.run(&["disable", "alpha", "beta"]);
    assert_eq!(sandbox.json(&["stats", "--json", "--dead-after", "0d"])["dead"], json!([]));
}

#[test]
fn a_damaged_store_is_an_error() {
    let sandbox = Sandbox::with_skills();
    let text = "this is not a database, and longer than its header would be\n".repeat(9);
    sandbox.write("../home/.local/state/repertoire/repertoire.db", text);
    let run = sandbox.run(&["stats"]);
    assert_eq!((run.code, run.stdout.as_str()), (3, ""));
    assert!(run.stderr.contains("set REPERTOIRE_STATE_DIR"), "{}", run.stderr);
}

/// Writes a transcript of a client that goes on being written after the test.
fn write_transcript(sandbox: &Sandbox, path: &str, text: &str) {
    sandbox.write(&format!("../home/{path}"), text);
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(24 * 60 * 60);
    let file = std::fs::File::options().write(true).open(sandbox.home().join(path)).unwrap();
    file.set_modified(later).unwrap();
}

#[test]
fn records_of_clients_are_told_apart() {
    let sandbox = Sandbox::with_skills();
    sandbox
        .write("../home/.claude.json", r#"{"skillUsage": {"alpha": {"usageCount": 3, "lastUsedAt": 1000}}}"#);
    let line = r#"{"timestamp":"2999-01-01T00:00:00.000Z","message":{"content":[{"type":"tool_use","name":"Skill","input":{"skill":"beta"}}]}}"#;
    write_transcript(&sandbox, ".claude/projects/p/s.jsonl", &format!("odd \"Skill\"\n{line}\n{line}\n"));
    let line = r#"{"timestamp":"2999-01-02T00:00:00.000Z","payload":{"type":"function_call","arguments":"cat x/gamma/SKILL.md"}}"#;
    write_transcript(&sandbox, ".codex/sessions/2999/01/02/rollout.jsonl", line);
    let none = sandbox.run(&["stats", "--from-clients"]);
    assert!(none.stderr.starts_with("nothing has been recorded yet\n"), "{}", none.stderr);
    assert!(
        !none.transcript().contains("not used") && !none.transcript().contains("rep disable"),
        "{}",
        none.stdout
    );
    let stats = sandbox.json(&["stats", "--json", "--from-clients", "--dead-after", "0d"]);
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

/// Returns a line of a transcript of Claude Code that calls `Skill` for `name`.
fn skill_call(name: &str) -> String {
    let call = json!({"type": "tool_use", "name": "Skill", "input": {"skill": name}});
    json!({"timestamp": "2999-01-01T00:00:00.000Z", "message": {"content": [call]}}).to_string()
}

#[test]
fn skills_that_clients_call_by_other_names_are_in_use() {
    let sandbox = Sandbox::with_skills();
    let home = |path: &str| format!("../home/{path}/SKILL.md");
    sandbox.write(&home(".claude/skills/brainstorming"), skill("Brainstorming Ideas Into Designs", "x\n"));
    sandbox.write(&home(".agents/skills/linear"), skill("Linear", "x\n"));
    // Another copy of the name, which was not used.
    sandbox.write("../elsewhere/linear/SKILL.md", skill("Linear", "y\n"));
    let plugin = sandbox.home().join(".claude/plugins/cache/m/superpowers/1");
    sandbox.write(
        &home(".claude/plugins/cache/m/superpowers/1/skills/sdd"),
        skill("subagent-driven-development", "x\n"),
    );
    let installed = json!({"version": 2, "plugins": {"superpowers@m": [{"installPath": plugin}]}});
    sandbox.write("../home/.claude/plugins/installed_plugins.json", installed.to_string());
    sandbox.write("../home/.claude/settings.json", r#"{"enabledPlugins": {"superpowers@m": true}}"#);
    let calls = ["brainstorming", "superpowers:subagent-driven-development"].map(skill_call).join("\n");
    write_transcript(&sandbox, ".claude/projects/p/s.jsonl", &calls);
    let write_read = |path: &str| {
        let path = sandbox.project().join(path).canonicalize().unwrap();
        let payload = json!({"type": "function_call", "arguments": format!("cat {}", path.display())});
        let line = json!({"timestamp": "2999-01-02T00:00:00.000Z", "payload": payload}).to_string();
        write_transcript(&sandbox, ".codex/sessions/rollout.jsonl", &line);
    };
    write_read("../home/.agents/skills/linear/SKILL.md");
    let stats = sandbox.json(&["stats", "--json", "--from-clients", "--dead-after", "0d"]);
    let names = |rows: &Value| {
        let names = rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    let used = ["brainstorming-ideas-into-designs", "subagent-driven-development"];
    assert_eq!(names(&stats["clients"][0]["skills"]), used);
    assert_eq!(names(&stats["clients"][1]["skills"]), ["Linear"]);
    assert_eq!(names(&stats["dead"]), ["alpha", "beta"]);
    write_read("../elsewhere/linear/SKILL.md");
    let dead = &sandbox.json(&["stats", "--json", "--from-clients", "--dead-after", "0d"])["dead"];
    assert!(names(dead).contains(&"Linear".to_owned()), "a copy elsewhere is another skill: {dead}");
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
    assert_eq!(state("alpha"), json!("elsewhere"), "another skill of the name was loaded");
    assert_eq!(stats["totals"]["loads"], 0);
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
    let dead = &sandbox.json(&["stats", "--json", "--dead-after", "0d"])["dead"];
    assert!(!dead.to_string().contains("alpha"), "{dead}");
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

#[test]
fn two_projects_with_a_skill_of_one_name_keep_their_usage_apart() {
    let sandbox = Sandbox::new();
    for project in [".", "../other"] {
        sandbox.write(&format!("{project}/.agents/skills/deploy/SKILL.md"), skill("deploy", "# Deploy\n"));
    }
    let load = r#"{"name": "deploy"}"#;
    call(&sandbox, "load_skill", load, &[]);
    for _ in 0..3 {
        assert_eq!(sandbox.run_in("../other", &["call", "load_skill", load]).code, 0);
    }
    // A skill that is edited is the same skill.
    sandbox.write(".agents/skills/deploy/SKILL.md", skill("deploy", "# Deploy\n\nTwice.\n"));
    call(&sandbox, "load_skill", load, &[]);
    let stats = sandbox.json(&["stats", "--json"]);
    let rows: Vec<Value> = stats["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| json!([row["name"], row["source"], row["state"], row["loads"], row["daily_loads"][29]]))
        .collect();
    let source = "project:.agents/skills";
    let expect = [json!(["deploy", source, "elsewhere", 3, 3]), json!(["deploy", source, "present", 2, 2])];
    assert_eq!(rows, expect);
    assert_eq!(stats["skills"][1]["identity"], "[DIR]/project/.agents/skills/deploy");
    assert_eq!((&stats["totals"]["loads"], &stats["sessions"]), (&json!(2), &json!(2)));
    let text = sandbox.run(&["stats"]).stdout;
    assert!(text.contains("deploy in .agents/skills/deploy "), "{text}");
    assert!(text.contains("deploy (elsewhere) in [DIR]/other/.agents/skills/deploy "), "{text}");
}

#[test]
fn usage_that_was_recorded_by_name_counts_for_the_only_skill_of_the_name() {
    let sandbox = Sandbox::new();
    // It has two loads of a skill `a`, on the first day of 1970.
    let earlier = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/testdata/schema-2.db");
    sandbox.write("../home/.local/state/repertoire/repertoire.db", std::fs::read(earlier).unwrap());
    sandbox.write(".agents/skills/a/SKILL.md", skill("a", "# A\n"));
    let rows = || -> Vec<Value> {
        let stats = sandbox.json(&["stats", "--json", "--since", "99999d"]);
        let rows = stats["skills"].as_array().unwrap().iter();
        rows.map(|row| json!([row["name"], row["state"], row["loads"]])).collect()
    };
    assert_eq!(rows(), [json!(["a", "present", 2])]);
    call(&sandbox, "load_skill", r#"{"name": "a"}"#, &[]);
    assert_eq!(rows(), [json!(["a", "present", 3])]);
    sandbox.write("../home/.agents/skills/a/SKILL.md", skill("a", "# Another a\n"));
    assert_eq!(rows(), [json!(["a", "elsewhere", 2]), json!(["a", "present", 1])]);
}

#[test]
fn lists_and_installs_from_a_server_are_no_loads() {
    let served = Sandbox::with_skills();
    call(&served, "load_skill", r#"{"name": "alpha"}"#, &[]);
    let serving = Serving::start(&served, &[]);
    let (client, url) = (Sandbox::new(), format!("http://{}", serving.address));
    for _ in 0..3 {
        assert_eq!(client.run(&["add", &url, "--list"]).code, 0);
    }
    let added = client.run(&["add", &url, "--all", "--yes"]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    assert!(serving.get("/.well-known/agent-skills/beta/SKILL.md", "").starts_with("HTTP/1.1 200"));
    // Events are written in order, so that the others are there with the last one.
    let deadline = Instant::now() + Duration::from_secs(60);
    while !served.events().iter().any(|event| event["file"] == "SKILL.md") {
        assert!(Instant::now() < deadline, "the last download is recorded");
        std::thread::yield_now();
    }
    let downloads = served.events();
    let kinds = downloads.iter().filter(|event| event["via"] == "download").map(|event| &event["kind"]);
    let kinds: Vec<&Value> = kinds.collect();
    assert!(kinds.len() > 3 && kinds.iter().all(|kind| **kind == "skill_downloaded"), "{kinds:?}");
    let stats = served.json(&["stats", "--json"]);
    let row = |index: usize| json!([stats["skills"][index]["name"], stats["skills"][index]["loads"]]);
    assert_eq!((row(0), row(1)), (json!(["alpha", 1]), json!(["beta", 0])));
    assert_eq!(stats["sessions"], 1);
    assert_eq!((&stats["totals"]["reads"], &stats["totals"]["tokens"]), (&json!(0), &json!(6)));
    let dead = &served.json(&["stats", "--json", "--dead-after", "0d"])["dead"];
    assert_eq!((&dead[0]["name"], &dead[0]["last_use"]), (&json!("beta"), &json!(null)));
}
