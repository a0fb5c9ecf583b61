//! Tests of `rep new`.

use crate::sandbox::{Sandbox, assert_run, skill};

#[cfg(unix)]
#[test]
fn half_a_skill_on_a_full_disk_is_not_in_the_way_of_the_next_attempt() {
    let sandbox = Sandbox::new();
    let line = "trap '' 25; ulimit -f 0; exec \"$0\" new notes";
    let run = sandbox.finish(sandbox.other("sh", &["-c", line, env!("CARGO_BIN_EXE_rep")]));
    assert!(run.code == 3 && run.stderr.contains("File too large"), "{} {}", run.code, run.stderr);
    assert_eq!(sandbox.run(&["new", "notes"]).code, 0);
}

#[test]
fn a_new_skill_passes_the_strictest_checks() {
    let sandbox = Sandbox::new();
    assert_run!(sandbox.run(&["new", "release-notes"]), @r#"
    exit 0
    --- stdout
    made [DIR]/project/.agents/skills/release-notes
    --- stderr
    hint: write its description and instructions, then run `rep check [DIR]/project/.agents/skills/release-notes`
    "#);
    assert_run!(sandbox.run(&["check", "--profile", "strict"]), @r#"
    exit 0
    --- stdout
    1 skill, nothing to report
    --- stderr
    "#);
    assert_run!(sandbox.run(&["check", "--profile", "strict", "--publish"]), @r#"
    exit 0
    --- stdout
    1 skill, nothing to report
    --- stderr
    "#);
    assert_eq!(sandbox.run(&["show", "release-notes", "--reference", "details.md"]).code, 0);
}

#[test]
fn new_does_not_overwrite_a_skill() {
    let sandbox = Sandbox::with_skills();
    assert_run!(sandbox.run(&["new", "alpha"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: [DIR]/project/.agents/skills/alpha is already there
    hint: choose another name, or remove it first
    "#);
}

#[test]
fn names_are_held_to_the_standard() {
    let sandbox = Sandbox::new();
    assert_run!(sandbox.run(&["new", "My Skill"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: `My Skill` is not a valid name of a skill: it contains upper-case letters
    hint: did you mean `my-skill`?
    "#);
    assert_eq!(sandbox.run(&["new", "../x"]).code, 2);
    assert_eq!(sandbox.run(&["new", ""]).code, 2);
    assert!(!sandbox.project().join(".agents").is_dir());
}

#[test]
fn the_nearest_place_is_used() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("deep/down/x", "");
    assert_eq!(sandbox.run_in("deep/down", &["new", "gamma"]).code, 0);
    assert!(sandbox.project().join(".agents/skills/gamma/SKILL.md").is_file());
    assert_eq!(sandbox.run(&["new", "delta", "--dir", "mine"]).code, 0);
    assert!(sandbox.project().join("mine/delta/references/details.md").is_file());
}

#[test]
fn outside_of_projects_the_skills_of_the_user_are_meant() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.project().join("../elsewhere")).unwrap();
    assert_eq!(sandbox.run_in("../elsewhere", &["new", "gamma"]).code, 0);
    assert!(sandbox.home().join(".agents/skills/gamma/SKILL.md").is_file());
    // From then on the directory is a project.
    assert_eq!(sandbox.run_in("../elsewhere", &["new", "delta", "--project"]).code, 0);
    assert_eq!(sandbox.run_in("../elsewhere", &["new", "epsilon"]).code, 0);
    for name in ["delta", "epsilon"] {
        let path = format!("../elsewhere/.agents/skills/{name}/SKILL.md");
        assert!(sandbox.project().join(path).is_file(), "{name}");
    }
    let in_repository = sandbox.run(&["new", "zeta", "--user"]);
    assert_eq!(in_repository.code, 0);
    assert!(sandbox.home().join(".agents/skills/zeta/SKILL.md").is_file());
}

#[test]
fn p7_a_template_has_all_sections() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["new", "release-notes", "--template", "sections"]).code, 0);
    let shown = sandbox.run(&["show", "release-notes"]).stdout;
    let headings: Vec<&str> = shown.lines().filter(|line| line.starts_with('#')).collect();
    let expect = [
        "# Release Notes",
        "## When to Use",
        "## Available Operations",
        "## Instructions",
        "## Resources",
        "## Examples",
        "## Notes",
    ];
    assert_eq!(headings, expect);
    assert_eq!(sandbox.run(&["check", "--profile", "strict"]).code, 0);
}

#[test]
fn a_new_skill_that_hides_another_says_so() {
    let sandbox = Sandbox::new();
    sandbox.write("../home/.claude/skills/sql/SKILL.md", skill("sql", "x\n"));
    insta::assert_snapshot!(sandbox.run(&["new", "sql"]).stderr, @r"
    hint: write its description and instructions, then run `rep check [DIR]/project/.agents/skills/sql`
    warning: it hides the other `sql`, in [DIR]/home/.claude/skills/sql: agents see one skill of a name
    hint: run `rep explain sql` to see why
    ");
    sandbox.write(".claude/skills/pdf/SKILL.md", skill("pdf", "x\n"));
    let run = sandbox.run(&["new", "pdf", "--user"]);
    assert!(
        run.stderr.contains("warning: it is hidden by the other `pdf`, in .claude/skills/pdf"),
        "{}",
        run.stderr
    );
    assert!(!sandbox.run(&["new", "other"]).stderr.contains("warning"));
    // A broken configuration does not keep a skill from being made.
    sandbox.write("repertoire.toml", "nonsense = [");
    assert_eq!(sandbox.run(&["new", "another"]).code, 0);
}
