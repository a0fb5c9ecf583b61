//! Tests of `rep list --client`, and of the lines of `rep doctor` and `rep add` about listings.

use std::fs;

use crate::sandbox::{Sandbox, skill};

/// Writes so many skills with long descriptions for Claude Code.
fn many(sandbox: &Sandbox, count: usize) {
    for number in 0..count {
        let description =
            format!("Handles the {number}th kind of paper. {}", "Use it for papers. ".repeat(12));
        let text = format!("---\nname: kind-{number:03}\ndescription: {}\n---\n# Kind\n", description.trim());
        sandbox.write(&format!("../home/.claude/skills/kind-{number:03}/SKILL.md"), text);
    }
}

#[test]
fn the_listing_of_a_client_shows_what_is_lost_and_what_brings_most() {
    let sandbox = Sandbox::new();
    many(&sandbox, 60);
    let uses = r#"{"skillUsage": {"kind-059": {"usageCount": 9, "lastUsedAt": 4000000000000}}}"#;
    sandbox.write("../home/.claude.json", uses);
    let whole = sandbox.json(&["list", "--client", "claude-code", "--json"]);
    assert_eq!((&whole["whole"], &whole["source"]), (&60.into(), &serde_json::Value::Null));
    assert_eq!(whole["advice"], serde_json::json!([]));
    let small = sandbox.json(&["list", "--client", "claude", "--window", "200000", "--json"]);
    assert_eq!((&small["budget"], &small["unit"]), (&8_000.into(), &"characters".into()));
    assert!(small["name_only"].as_u64() > Some(40), "{small}");
    // The skill that is used keeps its description.
    let last = &small["skills"][59];
    assert_eq!((&last["name"], &last["shown"]), (&"kind-059".into(), &"whole".into()));
    let hint = small["advice"][0]["hint"].as_str().unwrap();
    assert!(hint.starts_with("rep disable --client claude-code kind-"), "{hint}");
    assert!(!hint.contains("kind-059"), "{hint}");
    assert_eq!(small["advice"][1]["hint"], "rep connect claude-code");
    let run = sandbox.run(&["list", "--client", "claude-code", "--window", "200000"]);
    assert!(run.stdout.contains("  name only  -"), "{}", run.stdout);
    assert!(run.stderr.contains("it has room for 8000 characters"), "{}", run.stderr);
    assert!(run.stderr.contains("run `rep connect claude-code`"), "{}", run.stderr);
}

#[test]
fn a_rule_that_was_never_captured_is_marked() {
    let sandbox = Sandbox::with_skills();
    let run = sandbox.run(&["list", "--client", "cursor"]);
    assert!(run.stderr.contains("not compared with requests of Cursor"), "{}", run.stderr);
    let listing = sandbox.json(&["list", "--client", "cursor", "--json"]);
    assert!(listing["source"].as_str().unwrap().starts_with("https://"));
    let unknown = sandbox.run(&["list", "--client", "zed"]);
    assert_eq!(unknown.code, 1, "{}", unknown.stderr);
}

#[test]
fn doctor_and_add_say_when_a_listing_is_too_short() {
    let sandbox = Sandbox::new();
    many(&sandbox, 130);
    fs::create_dir_all(sandbox.home().join(".claude")).unwrap();
    let doctor = sandbox.run(&["doctor"]);
    assert!(doctor.stdout.contains("models do not get all of the skills"), "{}", doctor.stdout);
    assert!(doctor.stdout.contains("run `rep list --client claude-code`"), "{}", doctor.stdout);
    let long = format!("Use when new {}", "things are asked for ".repeat(40));
    sandbox.write("../source/new/SKILL.md", skill("new", "# New\n").replace("Use when new", &long));
    let add = sandbox.run(&["add", "../source", "--all", "--user"]);
    assert!(add.stderr.contains("Claude Code will get "), "{}", add.stderr);
}

#[test]
fn the_settings_of_claude_code_count_and_are_named() {
    let mut sandbox = Sandbox::new();
    many(&sandbox, 60);
    let listing = |sandbox: &Sandbox| {
        let listing = sandbox.json(&["list", "--client", "claude-code", "--window", "200000", "--json"]);
        let settings = listing["settings"].as_array().unwrap().iter().map(|it| it.as_str().unwrap());
        (listing["budget"].as_u64().unwrap(), settings.collect::<Vec<_>>().join("; "))
    };
    assert_eq!(listing(&sandbox), (8_000, String::new()));
    let (user, project) = ("../home/.claude/settings.json", ".claude/settings.local.json");
    sandbox.write(user, r#"{"skillListingBudgetFraction": 0.02, "skillListingMaxDescChars": 100}"#);
    sandbox.write(project, r#"{"skillListingBudgetFraction": 0.5, "skillListingMaxDescChars": "many"}"#);
    let (budget, settings) = listing(&sandbox);
    assert_eq!(budget, 400_000);
    assert!(settings.starts_with("skillListingBudgetFraction = 0.5 in "), "{settings}");
    assert!(
        settings.contains("project/.claude/settings.local.json; skillListingMaxDescChars = 100 in "),
        "{settings}"
    );
    let run = sandbox.run(&["list", "--client", "claude-code"]);
    assert!(run.stderr.contains("; skillListingMaxDescChars = 100 in"), "{}", run.stderr);
    sandbox.set("SLASH_COMMAND_TOOL_CHAR_BUDGET", "30000");
    let (budget, settings) = listing(&sandbox);
    assert_eq!(budget, 30_000);
    assert!(
        settings.starts_with("SLASH_COMMAND_TOOL_CHAR_BUDGET = 30000 in the environment; skillListingMax"),
        "{settings}"
    );
}
