//! Tests of `rep cost`.

use serde_json::Value;

use crate::sandbox::{Sandbox, skill};

/// Returns a sandbox with six skills of different lengths.
fn six_skills() -> Sandbox {
    let sandbox = Sandbox::new();
    for (position, name) in ["ant", "bee", "cat", "dog", "eel", "fox"].iter().enumerate() {
        let body = format!("# Use\n\n{}", "Do it with care.\n".repeat(100 + 50 * position));
        sandbox.write(&format!(".agents/skills/{name}/SKILL.md"), skill(name, &body));
    }
    sandbox
}

/// Returns the same, two of them with a tool.
fn sandbox() -> Sandbox {
    let sandbox = six_skills();
    for name in ["cat", "dog"] {
        let tools = format!(
            r#"[{{"name": "{name}_run", "description": "Runs it.", "input_schema": {{"type": "object", "properties": {{}}}}}}]"#
        );
        sandbox.write(&format!(".agents/skills/{name}/schema.json"), tools);
    }
    sandbox
}

#[test]
fn h16_h17_the_saving_is_everything_upfront_less_catalog_tools_and_loads() {
    let sandbox = sandbox();
    let report = sandbox.json(&["cost", "--json"]);
    assert_eq!((&report["skills"], &report["turns"]), (&6.into(), &30.into()));
    // The three in the middle, by length.
    assert_eq!(report["loaded"], serde_json::json!(["bee", "cat", "dog"]), "{report}");
    let tokens = |key: &str| report[key].as_i64().unwrap();
    let saved = tokens("upfront") - tokens("catalog") - tokens("tools") - tokens("loads");
    assert_eq!((tokens("saved"), tokens("saved_in_turns")), (saved, 30 * saved));
    assert_eq!(tokens("saved_percent"), saved * 100 / tokens("upfront"));
    assert!(tokens("loads") < tokens("upfront") && tokens("catalog") > 0 && tokens("tools") > 0, "{report}");
    // The same again, and nothing was recorded.
    assert_eq!(sandbox.json(&["cost", "--json"]), report);
    assert_eq!(sandbox.events(), Vec::<Value>::new());
}

#[test]
fn tools_of_skills_count_with_every_exposure() {
    let sandbox = sandbox();
    let upfront = |sandbox: &Sandbox| sandbox.json(&["cost", "--json"])["upfront"].as_i64().unwrap();
    let without = upfront(&six_skills());
    for exposure in ["stable", "append", "dynamic"] {
        sandbox.write("repertoire.toml", format!("tool_exposure = \"{exposure}\"\n"));
        assert!(upfront(&sandbox) > without + 20, "{exposure}");
    }
}

#[test]
fn tools_for_running_count_where_a_skill_brings_tools() {
    let tools = |sandbox: Sandbox| sandbox.json(&["cost", "--json"])["tools"].as_i64().unwrap();
    assert!(tools(six_skills()) + 50 < tools(sandbox()));
}

#[test]
fn a_table_for_people() {
    let run = sandbox().run(&["cost", "--turns", "10"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(lines[0].starts_with("6 skills, counted with "), "{}", run.stdout);
    assert_eq!(lines[2].trim(), "TOKENS");
    let labels = ["everything upfront", "catalog", "tools", "loaded in a session"];
    assert!(labels.iter().zip(&lines[3..]).all(|(label, line)| line.starts_with(label)), "{}", run.stdout);
    assert!(run.stdout.contains("\nsaved: ") && run.stdout.contains(" in 10 turns\n"), "{}", run.stdout);
    assert!(run.stdout.ends_with("\nloaded: bee, cat, dog\n"), "{}", run.stdout);
}

#[test]
fn mistakes_are_named() {
    let run = sandbox().run(&["cost", "--turns", "0"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("0 is not in 1..=1000"), "{}", run.stderr);
    let empty = Sandbox::new().run(&["cost"]);
    assert_eq!(empty.code, 1);
    assert!(empty.stderr.contains("there are no skills"), "{}", empty.stderr);
}
