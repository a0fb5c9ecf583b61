//! Tests of `rep disable` and `rep enable`.

use std::fs;

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, assert_run, skill};

const USER_FILE: &str = "../home/.config/repertoire/config.toml";

#[test]
fn a_disabled_skill_is_left_out_and_counted() {
    let sandbox = Sandbox::with_skills();
    assert_run!(sandbox.run(&["disable", "alpha"]), @r#"
    exit 0
    --- stdout
    disabled alpha in [DIR]/home/.config/repertoire/config.toml
    --- stderr
    hint: this holds in all projects; `--project` disables a skill in this one only
    hint: restart running sessions and servers to apply this
    "#);
    assert_eq!(sandbox.read(USER_FILE), "disabled = [\"alpha\"]\n");
    assert_run!(sandbox.run(&["list"]), @r#"
    exit 0
    --- stdout
    NAME  SOURCE          DESCRIPTION
    beta  project:agents  Does beta things well. Use when beta is asked for.
    --- stderr
    1 active, 1 disabled
    hint: run `rep list --all` to see all
    "#);
    let all = sandbox.run(&["list", "--all"]).stdout;
    let words: Vec<&str> = all.lines().nth(1).unwrap().split_whitespace().take(6).collect();
    let file = "[DIR]/home/.config/repertoire/config.toml";
    assert_eq!(words, ["alpha", "disabled", "project:agents", "`alpha`", "in", file], "{all}");
    let listed: Value = serde_json::from_str(&sandbox.run(&["list", "--all", "--json"]).stdout).unwrap();
    let states: Vec<&Value> = listed["skills"].as_array().unwrap().iter().map(|it| &it["state"]).collect();
    assert_eq!(states, ["disabled", "active"]);
    assert_eq!(listed["skills"][0]["disabled_by"][0]["pattern"], "alpha");
    assert_run!(sandbox.run(&["explain", "alpha"]), @r#"
    exit 0
    --- stdout
    alpha from project:.agents/skills is disabled
           found  in .agents/skills/alpha by project:.agents/skills, a place of the project
            name  taken from the frontmatter
     description  taken from the frontmatter, 52 characters
           state  disabled by `alpha` in [DIR]/home/.config/repertoire/config.toml: `alpha` does not exist for agents
          enable  run `rep enable alpha`
         catalog  left out, because it is disabled
          origin  no installer recorded it
    --- stderr
    "#);
    assert_run!(sandbox.run(&["disable", "alpha"]), @r#"
    exit 0
    --- stdout
    alpha is already disabled in [DIR]/home/.config/repertoire/config.toml
    --- stderr
    "#);
    assert_run!(sandbox.run(&["enable", "alpha"]), @r#"
    exit 0
    --- stdout
    enabled alpha in [DIR]/home/.config/repertoire/config.toml
    --- stderr
    hint: restart running sessions and servers to apply this
    "#);
    assert_eq!(sandbox.read(USER_FILE), "");
    assert_run!(sandbox.run(&["enable", "alpha"]), @r#"
    exit 0
    --- stdout
    alpha is not disabled
    --- stderr
    "#);
}

#[test]
fn a_disabled_skill_does_not_exist_for_models_and_can_be_inspected_by_people() {
    let sandbox = Sandbox::with_skills();
    sandbox.run(&["disable", "alpha"]);
    for (command, text) in [
        (&["catalog"][..], "alpha"),
        (&["search", "alpha"], "Does alpha"),
        (&["call", "list_skills"], "alpha"),
    ] {
        assert!(!sandbox.run(command).stdout.contains(text), "{command:?}");
    }
    let load = |name: &str| {
        let arguments = json!({"name": name}).to_string();
        sandbox.run(&["call", "load_skill", &arguments]).stdout.replace(name, "X")
    };
    assert_eq!(load("alpha"), load("zlpha"));
    for command in [
        &["show", "alpha"][..],
        &["show", "alpha", "--files"],
        &["check", "alpha"],
        &["history", "alpha"],
        &["explain", "alpha"],
    ] {
        assert_eq!(sandbox.run(command).code, 0, "{command:?}");
    }
    assert_run!(sandbox.run(&["run", "alpha", "greet"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: the skill `alpha` is disabled by `alpha` in [DIR]/home/.config/repertoire/config.toml
    hint: run `rep enable alpha`
    "#);
    assert_run!(sandbox.run(&["prompt", "--role", "alpha"]), @r#"
    exit 0
    --- stdout
    You are a alpha specialist.--- stderr
    warning: there is no skill and no prompt for the role `alpha`, so the prompt says only its name
    hint: its skill is disabled by `alpha` in [DIR]/home/.config/repertoire/config.toml
    "#);
}

#[test]
fn names_are_checked_before_anything_is_written() {
    let sandbox = Sandbox::with_skills();
    assert_run!(sandbox.run(&["disable", "beta", "alhpa"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: there is no skill `alhpa`
    hint: did you mean `alpha`?
    hint: there are: alpha, beta
    hint: run `rep explain alhpa` to see why it is missing
    "#);
    assert!(!sandbox.project().join(USER_FILE).exists());
    assert_run!(sandbox.run(&["disable", "x-*"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: no skill matches `x-*`
    hint: run `rep list --all` to see all skills
    "#);
    assert!(!sandbox.project().join(USER_FILE).exists());
    for command in ["disable", "enable"] {
        let run = sandbox.run(&[command, ""]);
        assert_eq!(run.code, 2, "{}", run.stderr);
        assert!(run.stderr.starts_with("error: a value is required"), "{}", run.stderr);
    }
    assert_run!(sandbox.run(&["disable", "a b*"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: `a b*` is not a pattern: no skill's name contains ' ', so it matches nothing
    "#);
    sandbox.write("mine.toml", "");
    assert_run!(sandbox.run(&["--config", "mine.toml", "disable", "--user", "beta"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: `--project` and `--user` choose a file, and the configuration file is named already
    hint: leave out either that, or `--config` and REPERTOIRE_CONFIG
    "#);
    sandbox.run(&["--config", "mine.toml", "disable", "beta"]);
    assert_eq!(sandbox.read("mine.toml"), "disabled = [\"beta\"]\n");
    assert!(!sandbox.project().join(USER_FILE).exists());
}

#[test]
fn a_project_can_disable_a_skill_of_the_user_and_says_so() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/.agents/skills/gamma/SKILL.md", skill("gamma", "# Gamma\n"));
    sandbox.write("repertoire.toml", "# Ours.\ncatalog.format = \"xml\"\n");
    assert_run!(sandbox.run(&["disable", "--project", "gam*"]), @r#"
    exit 0
    --- stdout
    disabled gam* in repertoire.toml
    --- stderr
    hint: restart running sessions and servers to apply this
    "#);
    assert_eq!(sandbox.read("repertoire.toml"), "# Ours.\ncatalog.format = \"xml\"\ndisabled = [\"gam*\"]\n");
    let doctor = sandbox.run(&["doctor", "--verbose"]).stdout;
    let told: Vec<&str> = doctor.lines().filter(|line| line.contains("gam")).collect();
    assert_eq!(
        told,
        [
            "info  disabled  gamma is disabled by `gam*` in repertoire.toml",
            "                run `rep enable --project 'gam*'`"
        ]
    );
    assert_run!(sandbox.run(&["enable", "gamma"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: `gamma` is still disabled
      because: gamma is disabled by `gam*` in repertoire.toml
    hint: run `rep enable --project 'gam*'`
    "#);
    insta::assert_snapshot!(sandbox.run(&["enable", "gamma", "--json"]).stdout, @r#"
    {
      "file": "[DIR]/home/.config/repertoire/config.toml",
      "enabled": [],
      "not_disabled": [],
      "still_disabled": [
        {
          "name": "gamma",
          "pattern": "gam*",
          "file": "[DIR]/project/repertoire.toml"
        }
      ],
      "clients": [],
      "error": "`gamma` is still disabled",
      "causes": [
        "gamma is disabled by `gam*` in repertoire.toml"
      ],
      "hints": [
        "run `rep enable --project 'gam*'`"
      ]
    }
    "#);
    assert_eq!(sandbox.run(&["enable", "--project", "gamma", "gam*"]).code, 0);
    assert!(sandbox.run(&["list"]).stdout.contains("gamma"));
}

#[test]
fn an_agent_that_is_bound_to_a_disabled_skill_is_an_error_that_names_the_file() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("repertoire.toml", "disabled = [\"alpha\"]\n[agents.b]\nuses_skills = [\"alpha\"]\n");
    for command in [
        &["prompt", "--agent", "b"][..],
        &["catalog", "--agent", "b"],
        &["call", "list_skills", "--agent", "b"],
        &["serve", "--stdio", "--agent", "b"],
    ] {
        let run = sandbox.run(command);
        let expected = "error: the agent `b` is bound to the skill `alpha`, which is disabled by `alpha` in repertoire.toml\n\
                        hint: run `rep enable --project alpha`\n";
        assert_eq!((run.code, &*run.stderr), (2, expected), "{command:?}");
    }
}

#[test]
fn serve_says_that_a_project_disables_skills_of_the_user() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/.agents/skills/gamma/SKILL.md", skill("gamma", "# Gamma\n"));
    sandbox.write("repertoire.toml", "disabled = [\"alpha\"]\n");
    let stderr = || sandbox.run_with_input(&["serve", "--stdio"], "").stderr;
    assert_eq!(stderr(), "");
    sandbox.write("repertoire.toml", "disabled = [\"*\"]\n");
    assert_eq!(
        stderr(),
        "rep: repertoire.toml of the project disables 1 skill from outside of it; `rep list --all` shows which\n"
    );
}

#[test]
fn a_link_to_the_configuration_stays_one() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/dotfiles/rep.toml", "# Mine.\n");
    fs::create_dir_all(sandbox.project().join(USER_FILE).parent().unwrap()).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(
        sandbox.project().join("../home/dotfiles/rep.toml"),
        sandbox.project().join(USER_FILE),
    )
    .unwrap();
    assert_eq!(sandbox.run(&["disable", "alpha", "--json"]).code, 0);
    #[cfg(unix)]
    assert!(fs::symlink_metadata(sandbox.project().join(USER_FILE)).unwrap().is_symlink());
    #[cfg(unix)]
    assert_eq!(sandbox.read("../home/dotfiles/rep.toml"), "disabled = [\"alpha\"]\n# Mine.\n");
}

#[test]
fn disabled_skills_are_published() {
    let sandbox = Sandbox::with_skills();
    sandbox.run(&["disable", "alpha"]);
    let published = sandbox.run(&["publish", ".agents/skills", "--to", "library.db", "--dry-run", "--json"]);
    assert!(published.stdout.contains("alpha"), "{}{}", published.stdout, published.stderr);
}
