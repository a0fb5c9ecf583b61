//! `rep call`: one call, as a model would make it.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::sandbox::{ALPHA, Sandbox, in_every_sandbox, skill};

fn call(sandbox: &Sandbox, tool: &str, arguments: &Value) -> (i32, String) {
    let run = sandbox.run(&["call", tool, &arguments.to_string()]);
    assert_eq!(run.stderr, "", "{tool} {arguments}");
    (run.code, run.stdout)
}

#[test]
fn call_prints_the_answer_and_exits_with_one_on_errors() {
    let sandbox = Sandbox::with_skills();
    let (code, text) = call(&sandbox, "load_skill", &json!({"name": "alpha"}));
    assert_eq!(code, 0);
    assert!(
        text.starts_with("<skill name=\"alpha\"") && text.contains("Do alpha.") && text.ends_with('\n'),
        "{text}"
    );
    let again = call(&sandbox, "load_skill", &json!({"name": "alpha"}));
    assert_eq!(again, (code, text), "nothing is remembered from call to call");
    let (code, text) = call(&sandbox, "load_skill", &json!({"name": "alfa"}));
    assert_eq!(code, 1);
    assert!(text.contains("alpha") && text.contains("beta"), "{text}");
    let (code, text) = call(
        &sandbox,
        "read_skill_file",
        &json!({"skill": "alpha", "path": "references/guide.md", "start_line": 2, "end_line": 2}),
    );
    assert!(code == 0 && text.contains("\ntwo\n") && !text.contains("three"), "{text}");
    let (code, text) = call(&sandbox, "list_skills", &json!({}));
    assert!(code == 0 && text.contains("alpha") && text.contains("beta"), "{text}");
}

#[test]
fn renderings_and_json() {
    let sandbox = Sandbox::with_skills();
    let run = sandbox.run(&["call", "load_skill", r#"{"name":"alpha"}"#, "--render", "text"]);
    assert!(
        run.stdout.starts_with("Loaded skill 'alpha' with 0 tools: \n\nDocumentation:\n# Alpha"),
        "{}",
        run.stdout
    );
    let answer = sandbox.json(&["--json", "call", "load_skill", r#"{"name":"alpha"}"#]);
    assert_eq!(
        (&answer["is_error"], &answer["data"]["body"]),
        (&json!(false), &json!("# Alpha\n\nDo alpha.\n"))
    );
}

#[test]
fn arguments_come_from_standard_input_too_and_must_be_json() {
    let sandbox = Sandbox::with_skills();
    let mut command = sandbox.command(&["call", "load_skill", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(br#"{"name": "beta"}"#).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("Do beta."));
    let run = sandbox.run(&["call", "load_skill", "{name: beta}"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("not JSON"), "{}", run.stderr);
    assert_eq!(sandbox.run(&["call", "load_skill", "{}", "--agent", "nobody"]).code, 2);
}

#[test]
fn hostile_names_and_paths_find_nothing() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("secret.txt", "SECRET");
    sandbox.write("secret/SKILL.md", skill("secret", "SECRET\n"));
    let outside = sandbox.project().join("secret").display().to_string();
    for name in [
        "../secret",
        "../../secret",
        outside.as_str(),
        "alpha/../../../secret",
        "a\0b",
        "..",
        "%2e%2e/secret",
    ] {
        for tool in ["load_skill", "unload_skill", "list_skill_files"] {
            let (code, text) = call(&sandbox, tool, &json!({"name": name}));
            assert!(code == 1 && !text.contains("SECRET"), "{tool} {name:?} {text}");
        }
    }
    for path in [
        "../../../secret.txt",
        "references/../../../../secret.txt",
        "/etc/passwd",
        "..\\secret.txt",
        "",
        ".",
        "a\0b",
    ] {
        let (code, text) = call(&sandbox, "read_skill_file", &json!({"skill": "alpha", "path": path}));
        assert!(code == 1 && !text.contains("SECRET") && !text.contains("root:"), "{path:?} {text}");
        let (code, text) = call(&sandbox, "load_skill", &json!({"name": "alpha", "reference": path}));
        assert!(code == 1 && !text.contains("SECRET"), "{path:?} {text}");
    }
}

#[test]
fn h29_a_harness_with_its_own_handlers_gets_the_schemas_of_an_approved_tools_py() {
    in_every_sandbox(|mut sandbox| {
        sandbox.write(ALPHA, skill("alpha", "# Alpha\n\nDo alpha.\n"));
        sandbox.set("PATH", "/usr/bin:/bin:/usr/local/bin");
        let module = "def add(a: int, b: int = 2):\n    \"\"\"Adds.\"\"\"\n    return a + b\n";
        sandbox.write(".agents/skills/alpha/tools.py", module);
        let session = |sandbox: &Sandbox| -> Vec<Value> {
            let mut command = sandbox.command(&["session", "--profile", "harness", "--own-handlers"]);
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            let lines = concat!(
                "{\"op\":\"call\",\"tool\":\"load_skill\",\"arguments\":{\"name\":\"alpha\"}}\n",
                "{\"op\":\"tools\"}\n",
                "{\"op\":\"call\",\"tool\":\"run_skill_script\",\"arguments\":{\"skill\":\"alpha\",\"path\":\"tools.py\"}}\n",
            );
            child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
            let output = child.wait_with_output().unwrap().stdout;
            String::from_utf8(output)
                .unwrap()
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect()
        };
        let answers = session(&sandbox);
        let text = answers[0]["text"].as_str().unwrap();
        assert!(text.contains(
            "become tools when a person approves the skill: ask the user to run `rep approve alpha`"
        ));
        assert_eq!(sandbox.run(&["approve", "alpha", "--yes"]).code, 0);
        let answers = session(&sandbox);
        let text = answers[0]["text"].as_str().unwrap();
        assert!(text.starts_with("Loaded skill 'alpha' with 1 tools: add\n\nDocumentation:\n"), "{text}");
        let add = &answers[1]["tools"][0];
        assert_eq!((&add["name"], &add["input_schema"]["required"]), (&json!("add"), &json!(["a"])));
        let names: Vec<&Value> =
            answers[1]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
        assert!(!names.contains(&&json!("run_skill_script")), "{names:?}");
        assert_eq!(answers[2]["is_error"], true, "the harness runs everything itself");
        // The approval is of that file alone.
        sandbox.write(".agents/skills/alpha/tools.py", module.replace("add", "sub"));
        assert!(
            session(&sandbox)[0]["text"].as_str().unwrap().contains("become tools when a person approves")
        );
    });
}

#[test]
fn h27_the_tools_of_an_approved_tools_py_are_counted_while_running_is_off() {
    in_every_sandbox(|mut sandbox| {
        sandbox.write(ALPHA, skill("alpha", "# Alpha\n\nDo alpha.\n"));
        sandbox.set("PATH", "/usr/bin:/bin:/usr/local/bin");
        sandbox.write(".agents/skills/alpha/tools.py", "def add(a: int):\n    return a\n");
        assert_eq!(sandbox.run(&["approve", "alpha", "--yes"]).code, 0);
        for profile in ["harness", "standard"] {
            let mut command = sandbox.command(&["session", "--profile", profile]);
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            let lines = concat!(
                "{\"op\":\"call\",\"tool\":\"load_skill\",\"arguments\":{\"name\":\"alpha\"}}\n",
                "{\"op\":\"call\",\"tool\":\"add\",\"arguments\":{\"a\":1}}\n",
            );
            child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
            let output = child.wait_with_output().unwrap().stdout;
            let output = String::from_utf8(output).unwrap();
            let answers: Vec<Value> =
                output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let texts: Vec<&str> = answers.iter().map(|answer| answer["text"].as_str().unwrap()).collect();
            let is_counted = texts[0].starts_with("Loaded skill 'alpha' with 1 tools: add\n");
            assert!(is_counted || profile == "standard", "{}", texts[0]);
            assert!(texts[0].contains("Its tools cannot be called. Running tools"), "{}", texts[0]);
            assert!(texts[1].contains("`add` was not run. Running tools"), "{}", texts[1]);
        }
    });
}

#[test]
fn h29_a_harness_with_its_own_handlers_gets_the_schemas_over_a_session() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(
        ".agents/skills/alpha/schema.json",
        r#"[{"name": "alpha_go", "description": "Goes.", "parameters": {"type": "object"}}]"#,
    );
    let session = |flags: &[&str]| -> Vec<Value> {
        let flags = [&["session", "--profile", "harness"], flags].concat();
        let mut command = sandbox.command(&flags);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = concat!(
            "{\"op\":\"call\",\"tool\":\"load_skill\",\"arguments\":{\"name\":\"alpha\"}}\n",
            "{\"op\":\"tools\"}\n",
            "{\"op\":\"call\",\"tool\":\"alpha_go\",\"arguments\":{}}\n",
        );
        child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap().stdout;
        String::from_utf8(output).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let answers = session(&["--own-handlers"]);
    let text = answers[0]["text"].as_str().unwrap();
    assert!(text.starts_with("Loaded skill 'alpha' with 1 tools: alpha_go\n\nDocumentation:\n"), "{text}");
    let schema = json!({"name": "alpha_go", "description": "Goes.", "input_schema": {"type": "object"}});
    assert_eq!(answers[1]["tools"][0], schema);
    let answers = session(&[]);
    let text = answers[0]["text"].as_str().unwrap();
    let off = "Running tools and scripts of skills is off. Ask the user to set `exec.enabled = true` in the user's configuration";
    assert!(
        text.starts_with("Loaded skill 'alpha' with 1 tools: alpha_go\n\nNote: ") && text.contains(off),
        "{text}"
    );
    let text = answers[2]["text"].as_str().unwrap();
    assert!(text.starts_with("Error: `alpha_go` was not run. Running") && text.contains(off), "{text}");
}

#[test]
fn call_says_what_runs_tools_where_running_is_on() {
    let mut sandbox = Sandbox::with_skills();
    sandbox.write(
        ".agents/skills/alpha/schema.json",
        r#"[{"name": "alpha_go", "description": "Goes.", "command": ["true"]}]"#,
    );
    sandbox.set("REPERTOIRE_EXEC_ENABLED", "true");
    let expect = "`rep call` runs no tools and scripts of skills, which only a session can load; `rep run` and `rep session` run them.";
    for (tool, arguments) in [
        ("load_skill", json!({"name": "alpha"})),
        ("call_skill_tool", json!({"skill": "alpha", "tool": "alpha_go"})),
        ("run_skill_script", json!({"skill": "alpha", "path": "scripts/run.sh"})),
    ] {
        let (_, text) = call(&sandbox, tool, &arguments);
        assert!(text.contains(expect) && !text.contains("is off"), "{tool}: {text}");
    }
}
