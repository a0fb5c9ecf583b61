//! Tests of `rep cost`.

use serde_json::Value;

use crate::sandbox::{Sandbox, skill};

/// Returns a sandbox with six skills of different lengths, two of them with a tool.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    for (position, name) in ["ant", "bee", "cat", "dog", "eel", "fox"].iter().enumerate() {
        let body = format!("# Use\n\n{}", "Do it with care.\n".repeat(100 + 50 * position));
        sandbox.write(&format!(".agents/skills/{name}/SKILL.md"), skill(name, &body));
        sandbox.write(&format!(".agents/skills/{name}/references/notes.md"), "Some notes.\n");
    }
    for name in ["cat", "dog"] {
        let tools = format!(
            r#"[{{"name": "{name}_run", "description": "Runs it.", "input_schema": {{"type": "object", "properties": {{}}}}}}]"#
        );
        sandbox.write(&format!(".agents/skills/{name}/schema.json"), tools);
    }
    sandbox
}

fn way<'a>(report: &'a Value, name: &str) -> &'a Value {
    report["ways"].as_array().unwrap().iter().find(|way| way["way"] == name).unwrap()
}

#[test]
fn h16_h17_five_ways_are_compared() {
    let sandbox = sandbox();
    let report = sandbox.json(&["cost", "--json"]);
    assert_eq!((&report["skills"], &report["turns"]), (&6.into(), &30.into()));
    assert_eq!(report["model"], "claude-sonnet-5");
    let actions = report["actions"].as_array().unwrap();
    let said: Vec<String> = actions
        .iter()
        .map(|action| {
            format!("{} {} {}", action["turn"], action["action"].as_str().unwrap(), action["skill"])
        })
        .collect();
    // The three in the middle, by length.
    assert_eq!(
        said,
        ["1 load \"dog\"", "2 read \"dog\"", "8 load \"cat\"", "15 load \"eel\"", "22 unload \"dog\""]
    );
    let names: Vec<&Value> = report["ways"].as_array().unwrap().iter().map(|way| &way["way"]).collect();
    assert_eq!(names, ["upfront", "marked", "stable", "append", "dynamic"]);
    let cost = |name| way(&report, name)["cost"].as_f64().unwrap();
    assert!(cost("stable") < cost("upfront") && cost("stable") < cost("marked"), "{report}");
    assert_eq!(way(&report, "stable")["prefix_changes"], 0);
    assert_eq!(way(&report, "marked")["prefix_changes"], 4);
    assert_eq!(report["break_even"]["skill"], "dog");
    assert!(report["break_even"]["sessions_of_100"].as_f64().unwrap() > 50.0);
    // The same again, and nothing was recorded.
    assert_eq!(sandbox.json(&["cost", "--json"]), report);
    assert_eq!(sandbox.events(), Vec::<Value>::new());
}

#[test]
fn a_table_for_people() {
    let run = sandbox().run(&["cost", "--turns", "10"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(lines[0].starts_with("6 skills, 10 turns, claude-sonnet-5, prices of 20"), "{}", run.stdout);
    assert_eq!(lines[1], "loaded: dog, cat");
    let words: Vec<&str> = lines[3].split_whitespace().collect();
    assert_eq!(
        words,
        ["WAY", "PREFIX", "CHANGES", "CACHED", "WRITTEN", "UNCACHED", "OUTPUT", "USD", "RATIO"]
    );
    assert!(lines[6].starts_with("stable ") && lines[6].ends_with(" 1.00"), "{}", run.stdout);
    assert!(run.stdout.contains("\nBinding `dog` to the prompt pays if more than "), "{}", run.stdout);
}

#[test]
fn a_script_and_prices_of_the_user_are_followed() {
    let sandbox = sandbox();
    sandbox.write(
        "script.json",
        r#"{"turns": 3, "user_tokens": 50, "assistant_tokens": 60, "actions": [
            {"turn": 1, "action": "load", "skill": "fox"},
            {"turn": 2, "action": "read", "skill": "fox", "path": "references/notes.md"},
            {"turn": 3, "action": "unload", "skill": "fox"}]}"#,
    );
    sandbox.write(
        "prices.json",
        r#"{"date": "2030-01-01", "models": [{"provider": "openai", "model": "mine", "input": 1, "cache_write": 1,
            "cache_read": 0, "output": 0, "cache_minimum": 1024}]}"#,
    );
    let arguments =
        ["cost", "--json", "--script", "script.json", "--prices", "prices.json", "--model", "mine"];
    let report = sandbox.json(&arguments);
    assert_eq!((&report["provider"], &report["prices_of"]), (&"openai".into(), &"2030-01-01".into()));
    let stable = way(&report, "stable");
    assert_eq!(stable["requests"], 6);
    let paid = stable["input"].as_u64().unwrap() + stable["cache_write"].as_u64().unwrap();
    assert_eq!(stable["cost"].as_f64().unwrap(), paid as f64 / 1e6);
}

#[test]
fn a_model_without_a_price_has_no_ratio() {
    let sandbox = sandbox();
    sandbox.write(
        "prices.json",
        r#"{"date": "2030-01-01", "models": [{"provider": "openai", "model": "mine", "input": 0, "cache_write": 0,
            "cache_read": 0, "output": 0, "cache_minimum": 1024}]}"#,
    );
    let arguments = ["cost", "--turns", "1", "--prices", "prices.json", "--model", "mine", "--svg", "c.svg"];
    let run = sandbox.run(&arguments);
    assert!(run.stdout.starts_with("6 skills, 1 turn, mine, "), "{}", run.stdout);
    let rows = run.stdout.lines().skip(4).take(5);
    assert!(rows.into_iter().all(|row| row.ends_with("  0.0000      -")), "{}", run.stdout);
    assert!(!run.stdout.contains("NaN") && !sandbox.read("c.svg").contains("NaN"));
}

#[test]
fn a_chart_is_written() {
    let sandbox = sandbox();
    assert_eq!(sandbox.run(&["cost", "--turns", "3", "--svg", "cost.svg"]).code, 0);
    let chart = sandbox.read("cost.svg");
    assert!(chart.starts_with("<svg xmlns=") && chart.ends_with("</svg>\n"), "{chart}");
    assert!(chart.contains("prefers-color-scheme: dark"));
    for way in ["upfront", "marked", "stable", "append", "dynamic"] {
        assert!(chart.contains(&format!(">{way}</text>")), "{chart}");
    }
    // Texts of files are escaped.
    sandbox.write(
        "prices.json",
        r#"{"date": "<1>", "models": [{"provider": "openai", "model": "a\"<b>&", "input": 1, "cache_write": 1,
            "cache_read": 0, "output": 0, "cache_minimum": 1024}]}"#,
    );
    let arguments =
        ["cost", "--turns", "1", "--svg", "cost.svg", "--prices", "prices.json", "--model", "a\"<b>&"];
    assert_eq!(sandbox.run(&arguments).code, 0);
    let chart = sandbox.read("cost.svg");
    assert!(chart.contains("a&quot;&lt;b&gt;&amp;") && !chart.contains("<b>") && !chart.contains("<1>"));
}

#[test]
fn mistakes_are_named() {
    let sandbox = sandbox();
    sandbox.write("unknown.json", r#"{"actions": [{"turn": 1, "action": "load", "skill": "foxx"}]}"#);
    sandbox.write(
        "file.json",
        r#"{"actions": [{"turn": 1, "action": "read", "skill": "fox", "path": "no.md"}]}"#,
    );
    sandbox.write("broken.json", r#"{"turnz": 1}"#);
    sandbox.write("array.json", "[]\n");
    for (arguments, code, message) in [
        (&["cost", "--model", "claude-sonet-5"][..], 2, "did you mean `claude-sonnet-5`?"),
        (&["cost", "--turns", "0"], 2, "`turns` must be 1 to 1000"),
        (&["cost", "--script", "unknown.json"], 1, "did you mean `fox`?"),
        (&["cost", "--script", "file.json"], 1, "a call fails: read_skill_file"),
        (&["cost", "--script", "array.json"], 2, "it is an array and not an object"),
        (&["cost", "--script", "broken.json"], 2, "unknown field `turnz`"),
        (&["cost", "--script", "broken.json", "--turns", "3"], 2, "cannot be used with"),
        (&["cost", "--prices", "broken.json"], 2, "unknown field `turnz`"),
    ] {
        let run = sandbox.run(arguments);
        assert_eq!(run.code, code, "{arguments:?} {}", run.stderr);
        assert!(run.stderr.contains(message), "{arguments:?} {}", run.stderr);
    }
    let empty = Sandbox::new().run(&["cost"]);
    assert_eq!(empty.code, 1);
    assert!(empty.stderr.contains("there are no skills"), "{}", empty.stderr);
}
