//! Tests of `rep show --files`.

use crate::sandbox::{Sandbox, assert_run};

#[test]
fn files_are_listed_with_size_and_kind() {
    let sandbox = Sandbox::with_skills();
    assert_run!(sandbox.run(&["show", "alpha", "--files"]), @r#"
    exit 0
    --- stdout
    PATH                 SIZE  KIND
    SKILL.md              105  manifest
    references/guide.md    14  reference
    scripts/run.sh         11  script
    --- stderr
    "#);
    assert_run!(sandbox.run(&["show", "alpha", "--files=references"]), @r#"
    exit 0
    --- stdout
    PATH                 SIZE  KIND
    references/guide.md    14  reference
    --- stderr
    "#);
    insta::assert_snapshot!(sandbox.run(&["show", "beta", "--files", "--json"]).stdout, @r#"
    {
      "name": "beta",
      "source": "project:.agents/skills",
      "path": "[DIR]/project/.agents/skills/beta",
      "files": [
        {
          "path": "SKILL.md",
          "size": 100,
          "kind": "manifest",
          "executable": false
        }
      ],
      "problems": []
    }
    "#);
}

#[test]
fn wrong_directories() {
    let sandbox = Sandbox::with_skills();
    assert_run!(sandbox.run(&["show", "alpha", "--files=assets"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: the skill has no directory `assets`
    hint: run `rep show alpha --files` to see its files
    "#);
    assert_run!(sandbox.run(&["show", "alpha", "--files=SKILL.md"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: `SKILL.md` is a file, not a directory
    hint: run `rep show alpha --file SKILL.md` to read it
    "#);
    assert_run!(sandbox.run(&["show", "alpha", "--files=../beta"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: `../beta` is not a path in a skill
      because: the path leads upwards (`..`)
    "#);
}

#[test]
fn x29_files_have_descriptions() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(".agents/skills/alpha/references/guide.md", "# How to fill forms\n");
    assert_run!(sandbox.run(&["show", "alpha", "--files=references"]), @r#"
    exit 0
    --- stdout
    PATH                 SIZE  KIND       DESCRIPTION
    references/guide.md    20  reference  How to fill forms
    --- stderr
    "#);
}
