//! Tests of `rep list --duplicates`.

use crate::sandbox::{Sandbox, assert_run, skill};

#[test]
fn duplicates_are_skills_of_one_name_or_of_one_content() {
    let sandbox = Sandbox::with_skills();
    assert_run!(sandbox.run(&["list", "--duplicates"]), @r#"
    exit 0
    --- stdout
    --- stderr
    no skill is there more than once
    "#);
    sandbox.write(".claude/skills/beta/SKILL.md", skill("beta", "# Beta\n\nDo beta.\n"));
    sandbox.write("../home/.kiro/skills/alpha/SKILL.md", skill("alpha", "# Alpha\n\nDo another.\n"));
    assert_run!(sandbox.run(&["list", "--duplicates"]), @r#"
    exit 0
    --- stdout
    alpha: 2 places with different files
      active      .agents/skills/alpha
      shadowed    [DIR]/home/.kiro/skills/alpha
    beta: 2 places with the same files
      active      .agents/skills/beta
      shadowed    .claude/skills/beta
    --- stderr
    2 skills more than once, 1 of them with differences
    hint: `--diff` shows the differences
    hint: `rep adopt beta` gathers its copies in one place and links the others to it
    "#);
    let given =
        sandbox.run(&["--root", ".agents/skills", "--root", ".claude/skills", "list", "--duplicates"]);
    assert!(given.stdout.contains("beta: 2 places") && !given.stderr.contains("adopt"), "{}", given.stderr);
    let run = sandbox.run(&["list", "--duplicates", "alpha", "--diff"]);
    assert!(run.stdout.contains("-Do alpha.\n+Do another.\n"), "{}", run.stdout);
    assert!(!run.stdout.contains("beta"), "{}", run.stdout);
    let answer = sandbox.json(&["list", "--duplicates", "--diff", "--json"]);
    assert_eq!(answer["duplicates"][1]["content"], "identical");
    assert!(answer["duplicates"][0]["skills"][1]["diff"].as_str().unwrap().contains("+Do another."));
    assert_eq!(sandbox.run(&["list", "--duplicates", "nothing"]).code, 1);
}

#[cfg(unix)]
#[test]
fn a_link_is_no_duplicate() {
    let sandbox = Sandbox::with_skills();
    assert_eq!(sandbox.run(&["link", "--yes", "claude-code"]).code, 0);
    assert!(sandbox.run(&["list", "--duplicates"]).stderr.starts_with("no skill is there more than once"));
}
