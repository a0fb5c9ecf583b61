//! Tests of `rep explain`.

use serde_json::Value;

use crate::sandbox::{Sandbox, assert_run, skill};

#[test]
fn explain_lists_every_decision() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/.claude/skills/alpha/SKILL.md", skill("alpha", "other\n"));
    assert_run!(sandbox.run(&["explain", "alpha"]), @r#"
    exit 0
    --- stdout
    alpha from project:.agents/skills is active
           found  in .agents/skills/alpha by project:.agents/skills, a place of the project
            name  taken from the frontmatter
     description  taken from the frontmatter, 52 characters
       collision  it wins over [DIR]/home/.claude/skills/alpha (user:.claude/skills)
           state  active: agents can load it
         catalog  shown with its whole description, with no limit of tokens
          origin  no installer recorded it
         clients  not seen by Claude Code

    alpha from user:.claude/skills is shadowed
           found  in [DIR]/home/.claude/skills/alpha by user:.claude/skills, a place of the user
            name  taken from the frontmatter
     description  taken from the frontmatter, 52 characters
       collision  the name `alpha` is taken by [DIR]/project/.agents/skills/alpha (project:.agents/skills), which wins over [DIR]/home/.claude/skills/alpha (user:.claude/skills)
           state  shadowed: load it as user:.claude/skills:alpha
         catalog  left out, because it is not active
          origin  no installer recorded it
         clients  read by Claude Code
    --- stderr
    "#);
}

#[test]
fn repairs_and_derived_names() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".agents/skills/My Dir/SKILL.md",
        "---\ndescription: Use when: needed, by whom it may concern.\n---\nx\n",
    );
    assert_run!(sandbox.run(&["explain", "my-dir"]), @r#"
    exit 0
    --- stdout
    my-dir from project:.agents/skills is active
           found  in .agents/skills/My Dir by project:.agents/skills, a place of the project
          repair  its frontmatter is not valid YAML and was read as it was meant
            name  taken from the directory, because the frontmatter has no name
     description  taken from the frontmatter, 41 characters
            rule  warning[frontmatter-repaired] the value of `description` is not valid YAML: mapping values are not allowed in this context (SKILL.md:2)
            rule  warning[name-missing] there is no `name`; the directory's is used: my-dir (SKILL.md)
           state  active: agents can load it
         catalog  shown with its whole description, with no limit of tokens
          origin  no installer recorded it
    --- stderr
    "#);
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
    sandbox.write(".agents/skills/team/delta/SKILL.md", skill("delta", "Do.\n"));
    let group = sandbox.run(&["explain", "team"]).stdout;
    assert!(group.contains("\n.agents/skills/team is a group of skills: delta\n"), "{group}");
    let run = sandbox.run(&["explain", "alphaa", "--json"]);
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, &answer["found"], &answer["nearest"][0]), (1, &false.into(), &"alpha".into()));
}

#[test]
fn a_directory_that_ends_like_the_name_is_not_its_source() {
    let sandbox = Sandbox::new();
    let text = skill("x", "x\n").replace("name: x", "name: \"My Skill\"");
    sandbox.write(".agents/skills/not-my-skill/SKILL.md", text);
    let run = sandbox.run(&["explain", "my-skill"]);
    assert!(run.stdout.contains("made from `My Skill`"), "{}{}", run.stdout, run.stderr);
}

#[test]
fn a_skill_hidden_from_models_is_not_said_to_be_loadable() {
    let sandbox = Sandbox::with_skills();
    let text = skill("own", "Do.\n").replace("---\nDo", "disable-model-invocation: true\n---\nDo");
    sandbox.write(".agents/skills/own/SKILL.md", text);
    let run = sandbox.run(&["explain", "own"]);
    assert!(run.stdout.contains("agents can neither see nor load it"), "{}", run.stdout);
    assert!(!run.stdout.contains("agents can load it"), "{}", run.stdout);
}

#[test]
fn skills_of_plugins_that_are_disabled_or_rejected_are_explained() {
    let sandbox = Sandbox::with_skills();
    let plugin = sandbox.home().join("plugins/forms");
    sandbox.write("../home/plugins/forms/skills/forms/SKILL.md", skill("forms", "x\n"));
    let installed = serde_json::json!({"version": 2, "plugins": {"forms@team": [{"scope": "user", "installPath": plugin}]}});
    sandbox.write("../home/.claude/plugins/installed_plugins.json", installed.to_string());
    let run = sandbox.run(&["explain", "forms"]);
    assert!(run.stdout.contains("its plugin forms@team is not enabled"), "{}", run.stdout);
    sandbox.write("packs/tables/skills/tables/SKILL.md", skill("tables", "x\n"));
    sandbox.write("packs/tables/plugin.json", "{");
    sandbox.write("repertoire.toml", "[packs]\ndirectories = [\"packs\"]\n");
    let run = sandbox.run(&["explain", "tables"]);
    assert!(
        run.stdout.contains("packs/tables/skills/tables is there, but its plugin is rejected:"),
        "{}",
        run.stdout
    );
    let document: serde_json::Value =
        serde_json::from_str(&sandbox.run(&["explain", "tables", "--json"]).stdout).unwrap();
    assert_eq!(document["near_misses"][0]["reason"], "rejected_plugin");
}
