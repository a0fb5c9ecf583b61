//! Tests of what commands that agents use say about the state of the library.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox, skill};

/// Returns a project with two sound skills, a broken one, and one that hides a skill of the user.
fn flawed() -> Sandbox {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/.claude/skills/alpha/SKILL.md", skill("alpha", "# Alpha\n\nThe user's own.\n"));
    sandbox.write(".agents/skills/broken/SKILL.md", "---\nname: broken\n");
    sandbox
}

/// Runs a command with `lines` as its input.
fn run_with(sandbox: &Sandbox, arguments: &[&str], lines: &[Value]) -> Run {
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    sandbox.run_with_input(arguments, &input)
}

fn answers(run: &Run) -> Vec<Value> {
    run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn initialize() -> Value {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

fn list_tools() -> Value {
    json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}})
}

/// Returns the description of `load_skill`, which has the catalog for a client that is not known.
fn load_description(run: &Run) -> String {
    let answers = answers(run);
    let tools = answers[1]["result"]["tools"].as_array().unwrap();
    let load = tools.iter().find(|tool| tool["name"] == "load_skill").unwrap();
    load["description"].as_str().unwrap().to_owned()
}

const BROKEN: &str = "1 skill is not offered because it is broken: broken";
const HIDES: &str =
    "1 skill hides another of the same name: alpha (project:.agents/skills instead of user:.claude/skills)";

#[test]
fn x42_c4_broken_and_hiding_skills_are_reported_where_agents_run() {
    let sandbox = flawed();
    for arguments in [
        &["catalog"][..],
        &["catalog", "--json"],
        &["call", "load_skill", "{\"name\": \"beta\"}"],
        &["prompt", "--role", "beta"],
        &["session"],
        &["serve", "--stdio"],
    ] {
        let run = run_with(&sandbox, arguments, &[]);
        assert_eq!(run.code, 0, "{arguments:?} {}", run.stderr);
        assert!(run.stderr.contains(BROKEN) && run.stderr.contains(HIDES), "{arguments:?} {}", run.stderr);
        assert!(run.stderr.lines().count() <= 3, "{arguments:?} {}", run.stderr);
    }
    let run = run_with(&Sandbox::with_skills(), &["session"], &[]);
    assert_eq!(run.stderr, "", "nothing is said about a sound library");
}

#[test]
fn x42_a_server_reports_a_skill_that_breaks_while_it_runs() {
    let mut sandbox = Sandbox::with_skills();
    sandbox.set("REPERTOIRE_RELOAD_MODE", "poll");
    sandbox.set("REPERTOIRE_RELOAD_POLL_MS", "100");
    let mut command = sandbox.command(&["serve", "--stdio"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{}", initialize()).unwrap();
    let mut answer = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    assert!(answer.contains("serverInfo") && !answer.contains("Note: "), "{answer}");
    sandbox.write(".agents/skills/broken/SKILL.md", "---\nname: broken\n");
    let first = BufReader::new(child.stderr.take().unwrap()).lines().next().unwrap().unwrap();
    assert_eq!(first, format!("rep: {BROKEN}"));
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_session_for_an_unknown_role_warns_and_suggests_a_name() {
    let run = run_with(&Sandbox::with_skills(), &["session", "--role", "alpa"], &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let expect = "warning: there is no skill and no prompt for the role `alpa`, so the prompt says only its name\nhint: did you mean `alpha`?\n";
    assert_eq!(run.stderr, expect);
    assert_eq!(run_with(&Sandbox::with_skills(), &["session", "--role", "alpha"], &[]).stderr, "");
}

#[test]
fn a_configured_directory_that_is_missing_is_reported_and_no_error() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("repertoire.toml", "roots = [\"team-skills\"]\n");
    let expect = "the configured directory does not exist (";
    for arguments in [
        &["list"][..],
        &["catalog"],
        &["check"],
        &["session"],
        &["serve", "--stdio"],
        &["prompt", "--role", "beta"],
    ] {
        let run = run_with(&sandbox, arguments, &[]);
        assert_eq!(run.code, 0, "{arguments:?} {}", run.stderr);
        let text = [run.stdout, run.stderr].concat();
        let said = text.matches("the configured directory does not exist").count();
        assert_eq!(said, 1, "{arguments:?} {text}");
        assert!(text.contains(expect) || arguments == ["check"], "{arguments:?} {text}");
    }
    let doctor = sandbox.run(&["doctor", "--verbose"]).stdout;
    assert_eq!(doctor.matches("team-skills is not there").count(), 1, "{doctor}");
    assert!(!doctor.contains("does not exist"), "{doctor}");
    sandbox.write("team-skills/gamma/SKILL.md", skill("gamma", "Do.\n"));
    assert!(!sandbox.run(&["list"]).stderr.contains("does not exist"));
}

#[test]
fn models_are_told_of_broken_and_hiding_skills() {
    let sandbox = flawed();
    let run = run_with(&sandbox, &["serve", "--stdio"], &[initialize(), list_tools()]);
    let catalog = load_description(&run);
    assert!(catalog.ends_with(&format!("\nNote: {BROKEN}.\nNote: {HIDES}.\n")), "{catalog}");
    let sound = run_with(&Sandbox::with_skills(), &["serve", "--stdio"], &[initialize(), list_tools()]);
    assert!(!sound.stdout.contains("Note: "), "{}", sound.stdout);
    let loaded = sandbox.run(&["call", "load_skill", "{\"name\": \"alpha\"}"]).stdout;
    assert!(loaded.contains("source=\"project:.agents/skills\""), "{loaded}");
    assert!(
        loaded.contains("hides another of the same name, which is loaded as `user:.claude/skills:alpha`")
    );
}

#[test]
fn a_project_that_disables_a_skill_of_the_user_is_reported_where_agents_run() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/.claude/skills/alpha/SKILL.md", skill("alpha", "# Alpha\n\nThe user's own.\n"));
    sandbox.write("repertoire.toml", "disabled = [\"user:*:alpha\"]\n");
    let disables = "repertoire.toml of the project disables 1 skill from outside of it";
    for arguments in [
        &["catalog"][..],
        &["call", "load_skill", "{\"name\": \"alpha\"}"],
        &["prompt", "--role", "beta"],
        &["session"],
        &["serve", "--stdio"],
    ] {
        let run = run_with(&sandbox, arguments, &[initialize()]);
        assert!(run.stderr.contains(HIDES) && run.stderr.contains(disables), "{arguments:?} {}", run.stderr);
    }
    let note = "takes the place of `user:.claude/skills:alpha`, which the project's configuration turns off.";
    let loaded = sandbox.run(&["call", "load_skill", "{\"name\": \"alpha\"}"]).stdout;
    assert!(loaded.contains(note), "{loaded}");
    let prompt = sandbox.run(&["prompt", "--role", "alpha"]).stdout;
    assert!(prompt.contains(note), "{prompt}");
    let run = run_with(&sandbox, &["session"], &[json!({"op": "diagnostics"})]);
    let notices = answers(&run)[0]["notices"].as_array().unwrap().clone();
    assert!(notices.len() == 2 && notices[1] == HIDES, "{notices:?}");
    assert!(notices[0].as_str().unwrap().contains(disables), "{notices:?}");
    let run = run_with(&sandbox, &["serve", "--stdio"], &[initialize(), list_tools()]);
    let catalog = load_description(&run);
    assert!(catalog.ends_with(&format!("\nNote: {HIDES}.\n")), "{catalog}");
    let shown = sandbox.run(&["show", "alpha"]).stderr;
    assert!(shown.contains("which hides user:.claude/skills:alpha"), "{shown}");
}

#[test]
fn a_project_that_leaves_out_all_skills_of_the_user_is_reported() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("repertoire.toml", "[discovery]\nuser = false\n");
    let leaves_out = "repertoire.toml of the project leaves out all of your own skills";
    for arguments in [&["call", "load_skill", "{\"name\": \"alpha\"}"][..], &["serve", "--stdio"]] {
        let run = run_with(&sandbox, arguments, &[initialize()]);
        assert!(run.stderr.contains(leaves_out), "{arguments:?} {}", run.stderr);
    }
    assert_eq!(sandbox.run(&["--root", ".agents/skills", "catalog"]).stderr, "", "nothing is discovered");
    sandbox.write("../home/.config/repertoire/config.toml", "[discovery]\nuser = false\n");
    assert_eq!(sandbox.run(&["catalog"]).stderr, "", "it is the user's own choice");
}

#[test]
fn an_agent_of_a_project_cannot_conceal_the_skill_of_the_user() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/.claude/skills/alpha/SKILL.md", skill("alpha", "# Alpha\n\nThe user's own.\n"));
    sandbox.write(
        "repertoire.toml",
        "[agents.a]\nskills.deny = [\"user:*:alpha\"]\nuses_skills = [\"alpha\"]\n",
    );
    let note = "takes the place of `user:.claude/skills:alpha`";
    let prompt = sandbox.run(&["prompt", "--agent", "a"]).stdout;
    assert!(prompt.contains(note), "{prompt}");
    let loaded = sandbox.run(&["call", "load_skill", "{\"name\": \"alpha\"}", "--agent", "a"]).stdout;
    assert!(loaded.contains(note), "{loaded}");
}

#[test]
fn x42_c4_two_different_skills_of_one_name_in_a_project_are_reported_to_people() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(".claude/skills/alpha/SKILL.md", skill("alpha", "# Alpha\n\nAnother text.\n"));
    let hides = "1 skill hides another of the same name: alpha (project:.agents/skills instead of project:.claude/skills)";
    for arguments in [&["catalog"][..], &["call", "list_skills"], &["session"], &["serve", "--stdio"]] {
        let run = run_with(&sandbox, arguments, &[initialize()]);
        assert!(run.stderr.contains(hides), "{arguments:?} {}", run.stderr);
        assert!(!run.stdout.contains("hides another"), "{arguments:?} {}", run.stdout);
    }
    sandbox.write(".claude/skills/alpha/SKILL.md", sandbox.read(crate::sandbox::ALPHA));
    assert_eq!(sandbox.run(&["catalog"]).stderr, "", "copies are silent");
}

#[test]
fn a_session_lists_diagnostics() {
    let run = run_with(&flawed(), &["session"], &[json!({"op": "diagnostics"})]);
    let answer = &answers(&run)[0];
    assert_eq!(answer["notices"], json!([BROKEN, HIDES]));
    let names: Vec<(&str, &str)> = answer["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| (skill["name"].as_str().unwrap(), skill["state"].as_str().unwrap()))
        .collect();
    assert_eq!(names, [("alpha", "shadowed"), ("broken", "quarantined")]);
    let found = &answer["skills"][1]["diagnostics"][0];
    assert_eq!(found["message"], "the frontmatter is never closed");
    assert!(found["path"].as_str().unwrap().ends_with("broken/SKILL.md"));
    assert_eq!((&answer["problems"], &answer["more"]), (&json!([]), &json!(0)));
}

#[test]
fn b11_c6_strict_refuses_a_library_on_every_surface() {
    let sandbox = Sandbox::with_skills();
    for name in ["one", "two"] {
        let text = skill(name, "Do.\n").replace("---\nDo", "tag: [x]\n---\nDo");
        sandbox.write(&format!(".agents/skills/{name}/SKILL.md"), text);
    }
    for arguments in [
        &["list"][..],
        &["catalog"],
        &["call", "load_skill", "{\"name\": \"alpha\"}"],
        &["prompt", "--role", "alpha"],
        &["session"],
        &["serve", "--stdio"],
        &["search", "alpha"],
        &["show", "alpha"],
        &["show", "alpha", "--files"],
    ] {
        let run = run_with(&sandbox, &[arguments, &["--profile", "strict"]].concat(), &[]);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{arguments:?}");
        assert!(
            run.stderr.contains("the policy refuses this library: one ("),
            "{arguments:?} {}",
            run.stderr
        );
        let hint = "run `rep --profile strict check` to see";
        assert!(run.stderr.contains("also two (") && run.stderr.contains(hint), "{}", run.stderr);
    }
    assert_eq!(sandbox.run(&["catalog"]).code, 0);
}

#[test]
fn b11_c6_strict_refuses_a_library_with_a_broken_file() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(".agents/skills/beta/schema.json", "{");
    for arguments in
        [&["list"][..], &["catalog"], &["call", "list_skills"], &["serve", "--stdio"], &["search", "alpha"]]
    {
        let run = run_with(&sandbox, &[arguments, &["--profile", "strict"]].concat(), &[]);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{arguments:?}");
        let expect = "the policy refuses this library: beta (";
        assert!(run.stderr.contains(expect) && run.stderr.contains("schema.json"), "{}", run.stderr);
    }
    let run = sandbox.run(&["explain", "alpha", "--profile", "strict"]);
    assert!(run.stdout.contains("refuses the whole library because of `beta`"), "{}", run.stdout);
    assert!(!run.stdout.contains("agents can load it"), "{}", run.stdout);
    let run = sandbox.run(&["explain", "beta", "--profile", "strict"]);
    assert!(run.stdout.contains("refuses the whole library because of it"), "{}", run.stdout);
}

#[test]
fn a_strict_project_does_not_refuse_the_skills_of_the_user() {
    let sandbox = Sandbox::with_skills();
    let text = skill("mine", "Do.\n").replace("---\nDo", "tag: [x]\n---\nDo");
    sandbox.write("../home/.claude/skills/mine/SKILL.md", &text);
    sandbox.write("../home/.claude/skills/alpha/SKILL.md", skill("alpha", "The user's own.\n"));
    sandbox.write("repertoire.toml", "profile = \"strict\"\n");
    let run = sandbox.run(&["catalog"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("alpha") && !run.stdout.contains("mine"), "{}", run.stdout);
    assert!(run.stderr.contains("1 skill is not offered because it is broken: mine"), "{}", run.stderr);
    assert_eq!(sandbox.run(&["catalog", "--profile", "strict"]).code, 1, "the user asks for it");
    sandbox.write(".agents/skills/mine/SKILL.md", &text);
    assert_eq!(sandbox.run(&["catalog"]).code, 1, "the project answers for its own skills");
}

#[test]
fn x83_x104_a_request_gets_fewer_skills_and_subagents_inherit_nothing() {
    let sandbox = Sandbox::with_skills();
    let catalog = sandbox.run(&["catalog", "--skills", "al*"]).stdout;
    assert!(catalog.contains("alpha") && !catalog.contains("beta"), "{catalog}");
    let beta = "{\"name\": \"beta\"}";
    assert_eq!(sandbox.run(&["call", "load_skill", beta, "--skills", "alpha,beta"]).code, 0);
    assert_eq!(sandbox.run(&["call", "load_skill", beta, "--skills", "alpha"]).code, 1);
    let misspelt = sandbox.run(&["session", "--skills", "alpah"]);
    let expect = "error: no skill matches `alpah`\nhint: did you mean `alpha`?\n";
    assert_eq!((misspelt.code, misspelt.stderr.as_str()), (1, expect));
    let load = |session: &Value| json!({"op": "call", "session": session, "tool": "load_skill", "arguments": {"name": "beta"}});
    let open = [
        json!({"op": "subagent"}),
        json!({"op": "subagent", "inherit": "catalog"}),
        json!({"op": "subagent", "inherit": "catalog", "skills": ["alpha"]}),
        json!({"op": "subagent", "inherit": "all"}),
        json!({"op": "subagent", "skills": "alpha"}),
        json!({"op": "subagent", "skills": ["alpha"]}),
    ];
    let mut command = sandbox.command(&["session"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(output));
    let mut ask = |request: &Value| -> Value {
        writeln!(input, "{request}").unwrap();
        serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap()
    };
    let opened: Vec<Value> = open.iter().map(&mut ask).collect();
    let is_error: Vec<Value> =
        opened[..3].iter().map(|answer| ask(&load(&answer["session"]))["is_error"].clone()).collect();
    assert_eq!(is_error, [true, false, true].map(Value::Bool));
    assert_eq!(opened[3]["error"]["message"], "`inherit` is one of: none, catalog, active");
    assert_eq!(opened[4]["error"]["message"], "`skills` is a list");
    let message = "`skills` only limits, and this sub-agent has no skills: give `agent`, or `inherit`";
    assert_eq!(opened[5]["error"]["message"], message);
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn p1_skills_are_offered_for_files() {
    let sandbox = Sandbox::with_skills();
    let text = skill("rust", "Borrow.\n").replace("---\nBorrow", "paths: [\"src/**/*.rs\"]\n---\nBorrow");
    sandbox.write(".agents/skills/rust/SKILL.md", text);
    let plain = sandbox.run(&["catalog"]).stdout;
    let run = sandbox.run(&["catalog", "--paths", "README.md,src/a/b.rs"]);
    let note = run.stdout.strip_prefix(plain.trim_end()).unwrap();
    assert!(note.contains("\n<skills_for_files>\n- rust: Does rust things well."), "{note}");
    assert_eq!(sandbox.run(&["catalog", "--paths", "README.md"]).stdout, plain);
    let text = sandbox.run(&["catalog", "--format", "json", "--paths", "src/a/b.rs"]).stdout;
    let catalog: Value = serde_json::from_str(&text).unwrap();
    assert!(catalog["skills_for_files"].as_str().unwrap().contains("- rust: "), "{catalog}");
    let plain = sandbox.run(&["catalog", "--format", "json"]).stdout;
    assert!(text.starts_with(plain.trim_end().trim_end_matches('}')), "{text}");
    std::fs::create_dir_all(sandbox.project().join("src/deep")).unwrap();
    for (directory, path, is_offered) in [
        ("src", "a.rs", true),
        ("src/deep", "../a.rs", true),
        ("src", "../a.rs", false),
        ("src", "../../a.rs", false),
    ] {
        let run = sandbox.run_in(directory, &["catalog", "--paths", path]);
        assert_eq!(
            run.stdout.contains("<skills_for_files>"),
            is_offered,
            "{directory} {path} {}",
            run.stdout
        );
    }
    let focus = |path: &str| json!({"op": "focus", "paths": [path]});
    let run = run_with(
        &sandbox,
        &["session"],
        &[focus("src/x.rs"), focus("src/x.rs"), json!({"op": "focus", "paths": [1]})],
    );
    let answers = answers(&run);
    assert!(answers[0]["text"].as_str().unwrap().contains("- rust: "), "{}", answers[0]);
    assert_eq!(answers[1]["text"], "");
    assert_eq!(answers[2]["error"]["message"], "`paths` is a list of paths");
    let found = sandbox.json(&["search", "src main.rs", "--json"]);
    assert!(found.to_string().contains("\"rust\""), "{found}");
}
