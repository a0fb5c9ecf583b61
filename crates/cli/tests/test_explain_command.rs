use serde_json::Value;

use crate::sandbox::{Sandbox, assert_run, skill};

#[test]
fn every_decision_is_told() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/.claude/skills/alpha/SKILL.md", skill("alpha", "other\n"));
    assert_run!(sandbox.run(&["explain", "alpha"]), @"");
}

#[test]
fn repairs_and_derived_names() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".agents/skills/My Dir/SKILL.md",
        "---\ndescription: Use when: needed, by whom it may concern.\n---\nx\n",
    );
    assert_run!(sandbox.run(&["explain", "my-dir"]), @"");
}

#[test]
fn absence_is_explained() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(".agents/skills/gamma/skills.md", "x");
    let run = sandbox.run(&["explain", "gamma"]);
    assert_eq!(run.code, 1);
    assert!(
        run.stdout.contains(".agents/skills/gamma is there but has no SKILL.md, only skills.md"),
        "{}",
        run.stdout
    );
    let run = sandbox.run(&["explain", "alphaa", "--json"]);
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, &answer["found"], &answer["nearest"][0]), (1, &false.into(), &"alpha".into()));
}
