//! Tests of `rep migrate`.

use crate::sandbox::{Sandbox, assert_run, skill};

fn with_roles() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(
        "templates/roles/backend/system_prompt.md",
        "# Backend\n\nYou are a backend engineer for {{ team }}. Be careful.\n",
    );
    sandbox.write("templates/roles/qa/system_prompt.md", "# QA\n\nYou are a tester. Test everything.\n");
    sandbox.write("templates/roles/qa/task_prompt.md", "Test {{ what }}.\n");
    sandbox.write(
        "templates/roles/qa/config.yaml",
        "model: fast\ndescription: Tests releases. Use when one is near.\n",
    );
    sandbox.write("templates/roles/notes/README.md", "no role\n");
    sandbox
}

#[test]
fn a_plan_writes_nothing() {
    let sandbox = with_roles();
    assert_run!(sandbox.run(&["migrate", "roles", "templates/roles", "--dry-run"]), @r#"
    exit 0
    --- stdout
    backend -> [DIR]/project/.agents/skills/backend (would be written)
      note: no plain sentence of the prompt says what the role is; write what the skill does and when to use it
      note: placeholders are kept as they are, and nothing fills them in: {{ team }}
    --- /dev/null
    +++ [DIR]/project/.agents/skills/backend/SKILL.md
    +---
    +name: backend
    +description: "Acts as the backend specialist of a team. Use when a task calls for the backend role."
    +metadata:
    +  version: "1.0.0"
    +---
    +# Backend
    +
    +You are a backend engineer for {{ team }}. Be careful.

    qa -> [DIR]/project/.agents/skills/qa (would be written)
    --- /dev/null
    +++ [DIR]/project/.agents/skills/qa/SKILL.md
    +---
    +name: qa
    +description: "Tests releases. Use when one is near."
    +metadata:
    +  version: "1.0.0"
    +---
    +# QA
    +
    +You are a tester. Test everything.
    +
    +## Files
    +
    +- [The template of a task](references/task-prompt.md), for whoever hands one out.
    +- [The settings of the role](assets/config.yaml), for whoever starts it.
    --- /dev/null
    +++ [DIR]/project/.agents/skills/qa/references/task-prompt.md
    +Test {{ what }}.
    --- /dev/null
    +++ [DIR]/project/.agents/skills/qa/assets/config.yaml
    +model: fast
    +description: Tests releases. Use when one is near.

    2 would be written, 0 left alone
    --- stderr
    "#);
    assert!(!sandbox.project().join(".agents").exists());
}

#[test]
fn without_consent_the_plan_says_that_nothing_was_changed() {
    let run = with_roles().run(&["migrate", "roles", "templates/roles"]);
    assert_eq!(run.code, 1);
    insta::assert_snapshot!(run.stderr, @r"
    error: nothing was changed; 2 skills would be written
    hint: `--yes` does it without asking
    ");
}

#[test]
fn skills_are_written_once_and_are_strictly_sound() {
    let sandbox = with_roles();
    let migrate = ["migrate", "roles", "templates/roles", "--dir", "templates/skills", "--yes"];
    assert_eq!(sandbox.run(&migrate).code, 0);
    assert_eq!(sandbox.read("templates/skills/qa/references/task-prompt.md"), "Test {{ what }}.\n");
    assert_eq!(sandbox.read("templates/roles/qa/task_prompt.md"), "Test {{ what }}.\n");
    let check = sandbox.run(&["check", "templates/skills", "--profile", "strict"]);
    assert_eq!(check.code, 0, "{}{}", check.stdout, check.stderr);
    let prompt = sandbox.run(&["prompt", "--role", "qa", "--root", "templates/skills"]);
    assert!(prompt.stdout.contains("Test everything."), "{}", prompt.stdout);
    sandbox.write("templates/skills/qa/SKILL.md", "mine");
    sandbox.write("templates/roles/docs/system_prompt.md", "You are a writer.\n");
    let again = sandbox.run(&migrate);
    assert_run!(again, @r#"
    exit 1
    --- stdout
    backend -> [DIR]/project/templates/skills/backend (is already there, left alone)

    docs -> [DIR]/project/templates/skills/docs (written)
      note: the description was taken from the prompt; say in the words of users when to use the skill

    qa -> [DIR]/project/templates/skills/qa (is already there, left alone)

    1 written, 2 left alone
    --- stderr
    hint: look at the notes, then run `rep check [DIR]/project/templates/skills --profile strict`
    "#);
    assert_eq!(sandbox.read("templates/skills/qa/SKILL.md"), "mine");
    assert!(sandbox.project().join("templates/skills/docs/SKILL.md").exists());
    // A plan that finds everything done is not a failure.
    let plan = sandbox.run(&migrate[..migrate.len() - 1]);
    assert_eq!((plan.code, plan.stderr.as_str()), (0, ""), "{}", plan.stdout);
    assert!(plan.stdout.ends_with("0 would be written, 3 left alone\n"), "{}", plan.stdout);
}

#[test]
fn roles_that_cannot_be_migrated_are_reported() {
    let sandbox = with_roles();
    sandbox.write("templates/roles/Back_End/system_prompt.md", "You are one.\n");
    sandbox.write("templates/roles/back-end/system_prompt.md", "You are another.\n");
    sandbox.write("templates/roles/latin/system_prompt.md", b"\xfcber");
    sandbox.write("templates/roles/技能/system_prompt.md", "x\n");
    let run = sandbox.run(&["migrate", "roles", "templates/roles", "--dry-run", "--json"]);
    assert_eq!(run.code, 1);
    let migration: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let states: Vec<(&str, &str)> = migration["roles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|role| (role["role"].as_str().unwrap(), role["state"].as_str().unwrap()))
        .collect();
    assert_eq!(
        states,
        [
            ("Back_End", "planned"),
            ("back-end", "exists"),
            ("backend", "planned"),
            ("qa", "planned"),
            ("技能", "nameless")
        ]
    );
    let note = "another role becomes `back-end` too; rename one of the two";
    assert_eq!(migration["roles"][1]["notes"], serde_json::json!([note]));
    assert_eq!(migration["problems"][0]["message"], "it is not UTF-8");
    assert_eq!(migration["roles"][3]["files"][1]["path"], "references/task-prompt.md");
    assert_run!(sandbox.run(&["migrate", "roles", "nowhere"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: there is no directory [DIR]/project/nowhere
    hint: name the directory whose sub-directories are the roles
    "#);
    assert_eq!(sandbox.run(&["migrate"]).code, 2);
}

#[test]
fn y61_a_role_is_divided_into_a_prompt_and_a_skill_that_an_agent_uses() {
    let sandbox = Sandbox::new();
    let prompt = "You are a builder.\n\n## Workflow\n\n1. Build.\n\n## Event bus\n\nIt has topics.\n";
    sandbox.write("templates/roles/builder/system_prompt.md", prompt);
    sandbox.write("repertoire.toml", "profile = \"standard\"\n");
    let manifest = "id: builder\nagent:\n  uses_skills:\n    - alpha\n  instructions: |\n    Be brief.\n";
    sandbox.write("templates/roles/builder/manifest.yaml", manifest);
    sandbox.write(".agents/skills/alpha/SKILL.md", skill("alpha", "# Alpha\n\nDo alpha.\n"));
    let whole = sandbox.run(&["migrate", "roles", "templates/roles", "--dry-run"]).stdout;
    assert!(whole.contains("its manifest.yaml uses the skills alpha"), "{whole}");
    let split = ["migrate", "roles", "templates/roles", "--split", "--dry-run"];
    let plan = sandbox.run(&split);
    assert_eq!(plan.code, 0, "{}", plan.stderr);
    assert!(!plan.stderr.contains("--split"), "{}", plan.stderr);
    for line in [
        "builder -> [DIR]/project/.agents/skills/builder-knowledge (would be written)",
        "+++ templates/roles/builder/prompt.md",
        "+[agents.builder]",
        "+uses_skills = [\"builder-knowledge\", \"alpha\"]",
    ] {
        assert!(plan.stdout.lines().any(|other| other == line), "{line}\n{}", plan.stdout);
    }
    assert_eq!(sandbox.read("repertoire.toml"), "profile = \"standard\"\n");
    assert_eq!(sandbox.run(&[&split[..3], &["--split", "--yes"]].concat()).code, 0);
    assert_eq!(sandbox.read("templates/roles/builder/system_prompt.md"), prompt);
    assert_eq!(
        sandbox.read("repertoire.toml"),
        "profile = \"standard\"\n\n[agents.builder]\ninstructions = \"Be brief.\"\nprompt = \"templates/roles/builder/prompt.md\"\nuses_skills = [\"builder-knowledge\", \"alpha\"]\n"
    );
    let prompt = sandbox.run(&["prompt", "--agent", "builder"]).stdout;
    assert!(prompt.starts_with("You are a builder.\n\n## Workflow\n\n1. Build.\n"), "{prompt}");
    assert!(prompt.contains("It has topics.") && prompt.contains("Do alpha."), "{prompt}");
    assert!(prompt.find("Do alpha.") < prompt.find("Be brief."), "{prompt}");
    sandbox.write(".agents/skills/beta/SKILL.md", skill("beta", "# Beta\n\nDo beta.\n"));
    let is_listed = |settings: &str| {
        sandbox.write("../home/.config/repertoire/config.toml", settings);
        sandbox.run(&["catalog", "--agent", "builder"]).stdout.contains("beta")
    };
    assert!(is_listed("") && !is_listed("scope.uses_skills = true\n"));
    sandbox.write("../home/.config/repertoire/config.toml", "");
    assert_eq!(sandbox.run(&["check", "--profile", "strict"]).code, 0);
}

#[cfg(unix)]
#[test]
fn dividing_a_role_never_writes_through_a_link_nor_spoils_a_configuration() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "templates/roles/builder/system_prompt.md",
        "You are a builder.\n\n## Topics\n\nIt has topics.\n",
    );
    let split = ["migrate", "roles", "templates/roles", "--split", "--yes"];
    sandbox.write("other.toml", "profile = \"standard\"\n");
    std::os::unix::fs::symlink("other.toml", sandbox.project().join("repertoire.toml")).unwrap();
    let refused = sandbox.run(&split);
    assert_ne!(refused.code, 0, "{}", refused.stdout);
    assert_eq!(sandbox.read("other.toml"), "profile = \"standard\"\n");
    std::fs::remove_file(sandbox.project().join("repertoire.toml")).unwrap();
    let inline = "agents = { a = { prompt = \"x.md\" } }\n";
    sandbox.write("repertoire.toml", inline);
    sandbox.write("x.md", "X.\n");
    sandbox.run(&split);
    assert_eq!(sandbox.read("repertoire.toml"), inline);
}

#[test]
fn y61_a_jinja_prompt_is_divided_and_nothing_that_exists_is_hidden_without_a_note() {
    let sandbox = Sandbox::new();
    let prompt = format!(
        "You are {{{{ name }}}}.\n\n## Workflow\n\n1. Build.\n\n## Contract\n\nKeep it.\n\n## Examples\n\n{}",
        "x\n".repeat(30)
    );
    sandbox.write("extensions/builder/prompt.jinja2", &prompt);
    sandbox.write("../home/.claude/skills/builder-knowledge/SKILL.md", skill("builder-knowledge", "Mine.\n"));
    sandbox.write("../home/.config/repertoire/config.toml", "[agents.builder]\ninstructions = \"Mine.\"\n");
    let notes = [
        "note: [DIR]/home/.claude/skills/builder-knowledge is a skill `builder-knowledge` too, and only one of the two is offered; see `rep explain builder-knowledge`",
        "note: an agent `builder` is configured already and stays as it is",
    ];
    let split = ["migrate", "roles", "extensions", "--split", "--dry-run"];
    for flags in [&split[..], &[&split[..3], &["--split", "--yes"]].concat()] {
        let run = sandbox.run(flags);
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
        for note in notes {
            assert!(run.stdout.contains(note), "{note}\n{}", run.stdout);
        }
    }
    assert_eq!(sandbox.read("extensions/builder/prompt.jinja2"), prompt);
    assert_eq!(
        sandbox.read("extensions/builder/prompt.md"),
        "You are {{ name }}.\n\n## Workflow\n\n1. Build.\n"
    );
    let examples = sandbox.read(".agents/skills/builder-knowledge/references/examples.md");
    assert_eq!(examples, format!("## Examples\n\n{}", "x\n".repeat(30)));
    assert!(sandbox.read(".agents/skills/builder-knowledge/SKILL.md").contains("## Contract\n\nKeep it.\n"));
}
