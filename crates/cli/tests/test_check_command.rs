use serde_json::Value;

use crate::sandbox::{Sandbox, assert_run, skill};

const REPAIRABLE: &str =
    "---\nname: colon\ndescription: Use when: a colon is written, by anyone at all.\n---\nx\n";

#[test]
fn a_sound_library_is_clean() {
    assert_run!(Sandbox::with_skills().run(&["check"]), @"");
}

#[test]
fn findings_are_shown_with_their_source() {
    let sandbox = Sandbox::new();
    sandbox.write(".agents/skills/broken/SKILL.md", "---\nname: broken\n");
    sandbox.write(
        ".agents/skills/odd/SKILL.md",
        "---\nname: odd\ndescription: Does odd things. Use when odd.\nlicence: MIT\n---\nSee [x](references/x.md).\n",
    );
    assert_run!(sandbox.run(&["check"]), @"");
}

#[test]
fn json_counts_and_columns() {
    let sandbox = Sandbox::new();
    sandbox.write(".agents/skills/dir/SKILL.md", skill("other", "x\n"));
    insta::assert_snapshot!(sandbox.run(&["check", "--json"]).stdout, @"");
}

#[test]
fn paths_are_skills_manifests_or_directories_of_skills() {
    let sandbox = Sandbox::new();
    sandbox.write("lib/good/SKILL.md", skill("good", "x\n"));
    sandbox.write("lib/broken/SKILL.md", "---\nname: broken\n");
    let code = |path: &str| sandbox.run(&["check", path]).code;
    assert_eq!([code("lib"), code("lib/good"), code("lib/good/SKILL.md"), code("lib/broken")], [1, 0, 0, 1]);
    assert_eq!([code("nowhere"), code("lib/good/../../.git")], [2, 1]);
    let run = sandbox.run(&["check", "--json", "lib/good", "lib/broken/SKILL.md"]);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, report["skills"].as_array().unwrap().len()), (1, 2));
}

#[test]
fn publishing_asks_for_more() {
    let sandbox = Sandbox::new();
    sandbox.write(".agents/skills/dir/SKILL.md", skill("other", "x\n"));
    assert_eq!(sandbox.run(&["check"]).code, 0);
    assert_eq!(sandbox.run(&["check", "--publish"]).code, 1);
}

#[test]
fn a_repair_is_shown_first_and_written_only_when_wanted() {
    let sandbox = Sandbox::new();
    sandbox.write(".agents/skills/colon/SKILL.md", REPAIRABLE);
    assert_run!(sandbox.run(&["check", "--fix"]), @"");
    assert_eq!(sandbox.read(".agents/skills/colon/SKILL.md"), REPAIRABLE);
    assert_run!(sandbox.run(&["check", "--fix", "--yes"]), @"");
    assert!(sandbox.read(".agents/skills/colon/SKILL.md").contains("description: \"Use when:"));
    assert_run!(sandbox.run(&["check", "--fix", "--yes"]), @"");
}

#[cfg(unix)]
#[test]
fn a_repair_keeps_the_mode_and_leaves_nothing_behind() {
    use std::os::unix::fs::PermissionsExt as _;

    let sandbox = Sandbox::new();
    sandbox.write(".agents/skills/colon/SKILL.md", REPAIRABLE);
    let directory = sandbox.project().join(".agents/skills/colon");
    let path = directory.join("SKILL.md");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(sandbox.run(&["check", "--fix", "--yes"]).code, 0);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(directory.read_dir().unwrap().count(), 1);
}

#[test]
fn the_reference_library_is_another_command_line() {
    let sandbox = Sandbox::with_skills();
    let run = sandbox.run(&["check", "--compat", "skills-ref", "validate", ".agents/skills/alpha"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "Valid skill: .agents/skills/alpha\n"));
    assert_eq!(sandbox.run(&["check", "--compat", "skills-ref", "validate", "nowhere"]).code, 2);
    assert!(sandbox.run(&["check", "--compat", "skills-ref", "--help"]).stdout.starts_with("Usage:"));
    assert_eq!(sandbox.run(&["check", "--compat", "other"]).code, 2);
}
