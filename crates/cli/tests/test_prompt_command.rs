//! Tests of `rep prompt`, and of `--agent` elsewhere.

use crate::sandbox::{Sandbox, assert_run};

/// Returns a sandbox with two skills and an agent.
fn with_agent() -> Sandbox {
    let sandbox = Sandbox::with_skills();
    sandbox.write("prompts/builder.md", "You build {{ what|default('things') }}.\n");
    sandbox.write(
        "repertoire.toml",
        "[catalog]\nformat = \"list\"\n[agents.builder]\nprompt = \"prompts/builder.md\"\nuses_skills = [\"beta\"]\n\
         instructions = \"Never guess.\"\nvariables = { what = \"bridges\" }\nbind = { alpha = \"hint\" }\n\
         [agents.narrow]\nskills.allow = [\"b*\"]\n",
    );
    sandbox
}

#[test]
fn an_agent_has_its_prompt_then_skills_then_instructions_then_hints_then_the_catalog() {
    let sandbox = with_agent();
    assert_run!(sandbox.run(&["prompt", "--agent", "builder"]), @r#"
    exit 0
    --- stdout
    You build bridges.

    <skill name="beta" digest="sha256:831992a83c00bba3" tokens="~6" source="project:.agents/skills">
    # Beta

    Do beta.

    </skill>

    Never guess.

    To use the skill alpha, call load_skill with the name alpha: Does alpha things well. Use when alpha is asked for.

    Skills:
    - alpha: Does alpha things well. Use when alpha is asked for.
    - beta: Does beta things well. Use when beta is asked for.

    If the task matches a skill, load it first: {"name": "load_skill", "arguments": {"name": "alpha"}}. If no skill matches, answer directly without this call.--- stderr
    "#);
    let prompt = sandbox.json(&["prompt", "--agent", "builder", "--var", "what=boats", "--json"]);
    assert!(prompt["text"].as_str().unwrap().starts_with("You build boats.\n\n<skill "), "{prompt}");
    assert_eq!((&prompt["bound"], &prompt["origin"]), (&serde_json::json!(["beta"]), &"agent".into()));
    let parts: Vec<&str> =
        prompt["fragments"].as_array().unwrap().iter().map(|part| part["name"].as_str().unwrap()).collect();
    assert_eq!(parts, ["prompt", "bound-skills", "instructions", "hints", "skills"]);
    assert!(prompt["tokens"].as_u64() > prompt["fragments"][1]["tokens"].as_u64());
    assert_eq!(prompt["tokenizer"], "o200k_base");
}

#[test]
fn an_agent_sees_skills_within_its_scope() {
    let sandbox = with_agent();
    assert_run!(sandbox.run(&["catalog", "--agent", "narrow"]), @r#"
    exit 0
    --- stdout
    Skills:
    - beta: Does beta things well. Use when beta is asked for.

    If the task matches a skill, load it first: {"name": "load_skill", "arguments": {"name": "beta"}}. If no skill matches, answer directly without this call.--- stderr
    "#);
    assert_eq!(sandbox.run(&["catalog", "--agent", "narrow", "--highlight", "alpha"]).code, 1);
    let prompt = sandbox.run(&["prompt", "--role", "alpha", "--agent", "narrow"]);
    assert_eq!(prompt.stdout, "You are a alpha specialist.");
}

#[test]
fn an_agent_that_is_not_there_or_not_sound() {
    let sandbox = with_agent();
    assert_run!(sandbox.run(&["prompt", "--agent", "bulider"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: there is no agent `bulider`
    hint: did you mean `builder`?
    hint: there are: builder, narrow
    "#);
    assert_eq!(sandbox.run(&["catalog", "--agent", "nobody"]).code, 2);
    assert_run!(sandbox.run(&["prompt"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: neither --agent NAME nor --role ROLE is given
    hint: `[agents.NAME]` in repertoire.toml defines an agent; a role is any name
    "#);
    assert_eq!(sandbox.run(&["prompt", "--role", "x", "--var", "what"]).code, 2);
    sandbox.write(
        "repertoire.toml",
        "[agents.a]\nuses_skills = [\"alhpa\"]\n[agents.b]\nbind.zeta = \"hidden\"\n",
    );
    assert_run!(sandbox.run(&["prompt", "--agent", "a"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: agent is not valid: a
      because: there is no skill `alhpa`; near it: alpha
    "#);
    assert_eq!(sandbox.run(&["catalog", "--agent", "b"]).code, 2);
    sandbox.write("repertoire.toml", "[agents.a]\nprompt = \"none.md\"\n");
    assert_run!(sandbox.run(&["prompt", "--agent", "a"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: cannot read the prompt of the agent `a`, [DIR]/project/none.md
      because: No such file or directory (os error 2)
    "#);
}

#[test]
fn faults_in_an_agent_show_their_line() {
    let sandbox = with_agent();
    sandbox.write(
        "repertoire.toml",
        "[agents.builder]\nuses_skill = [\"beta\"]\nskills.deny = [\"a/b\"]\ninherit = \"catalogue\"\n\
         prompt = \"../../etc/passwd\"\nbind.alpha = \"hide\"\n",
    );
    assert_run!(sandbox.run(&["prompt", "--agent", "builder"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: unknown key `agents.builder.uses_skill`
     --> [DIR]/project/repertoire.toml:2:1
      |
    2 | uses_skill = ["beta"]
      | ^^^^^^^^^^
      |
      = help: did you mean `uses_skills`?

    error: bad pattern in `agents.builder.skills.deny`: no skill's name contains '/', so it matches nothing
     --> [DIR]/project/repertoire.toml:3:16
      |
    3 | skills.deny = ["a/b"]
      |                ^^^^^

    error: bad value for `agents.builder.inherit`
     --> [DIR]/project/repertoire.toml:4:11
      |
    4 | inherit = "catalogue"
      |           ^^^^^^^^^^^
      |
      = help: did you mean "catalog"?

    error: `agents.builder.prompt` of a project's file may not lead out of [DIR]/project
     --> [DIR]/project/repertoire.toml:5:10
      |
    5 | prompt = "../../etc/passwd"
      |          ^^^^^^^^^^^^^^^^^^
      |
      = help: put the file into the project, or the agent into your user configuration

    error: bad value for `agents.builder.bind.alpha`
     --> [DIR]/project/repertoire.toml:6:14
      |
    6 | bind.alpha = "hide"
      |              ^^^^^^
      |
      = help: did you mean "hidden"?
    "#);
}

#[test]
fn the_users_agent_replaces_the_projects_as_a_whole() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("repertoire.toml", "[agents.a]\nskills.allow = [\"*\"]\ninstructions = \"Project.\"\n");
    sandbox.write("../home/.config/repertoire/config.toml", "[agents.a]\nskills.deny = [\"alpha\"]\n");
    let run = sandbox.run(&["prompt", "--agent", "a"]);
    assert!(!run.stdout.contains("alpha") && !run.stdout.contains("Project."), "{}", run.stdout);
    assert!(run.stdout.contains("beta"), "{}", run.stdout);
}

#[test]
fn an_empty_list_allows_nothing() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("repertoire.toml", "[agents.a]\nskills.allow = []\n");
    assert_eq!(sandbox.run(&["catalog", "--agent", "a"]).stdout, "");
    assert_run!(sandbox.run(&["catalog", "--agent", "a", "--highlight", "alpha"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: there is no skill `alpha` in the catalog to highlight
    hint: run `rep list` to see the skills
    "#);
}

#[test]
fn prompts_have_the_names_of_the_tools_and_no_example_that_is_there_already() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(
        "../home/.config/repertoire/config.toml",
        "[tools.names]\nload = \"read_skill\"\nread_file = \"read_it\"\n[tools.args]\nname = \"id\"\n\
         [agents.a]\nuses_skills = [\"alpha\"]\nbind = { beta = \"hint\" }\n",
    );
    let prompt = sandbox.run(&["prompt", "--agent", "a"]).stdout;
    assert!(!prompt.contains("load_skill") && !prompt.contains("read_skill_file"), "{prompt}");
    assert!(prompt.contains("To use the skill beta, call read_skill with the id beta: "), "{prompt}");
    assert!(prompt.contains("Read a file with `read_it`"), "{prompt}");
    assert!(prompt.contains(r#"{"name": "read_skill", "arguments": {"id": "beta"}}"#), "{prompt}");
    let role = sandbox.run(&["prompt", "--role", "beta"]).stdout;
    assert!(role.contains(r#"{"name": "read_skill", "arguments": {"id": "alpha"}}"#), "{role}");
    let catalog = sandbox.run(&["catalog"]).stdout;
    assert!(catalog.contains("\"read_skill\"") && !catalog.contains("load_skill"), "{catalog}");
}

#[test]
fn a_role_is_a_skill_or_a_file_or_a_sentence() {
    let sandbox = with_agent();
    sandbox.write("templates/roles/qa/system_prompt.md", "You test {{ what }} as {{ role }}.\n");
    sandbox.write("roles/docs/system_prompt.md", "You write.\n");
    assert_run!(sandbox.run(&["prompt", "--role", "beta"]), @r#"
    exit 0
    --- stdout
    Skills:
    * beta: Does beta things well. Use when beta is asked for.
    - alpha: Does alpha things well. Use when alpha is asked for.

    If the task matches a skill, load it first: {"name": "load_skill", "arguments": {"name": "alpha"}}. If no skill matches, answer directly without this call.

    <skill name="beta" digest="sha256:831992a83c00bba3" tokens="~6" source="project:.agents/skills">
    # Beta

    Do beta.

    </skill>--- stderr
    "#);
    assert_eq!(
        sandbox.run(&["prompt", "--role", "qa", "--var", "what=boats"]).stdout,
        "You test boats as qa."
    );
    let both = sandbox.run(&["prompt", "--role", "qa", "--agent", "builder"]).stdout;
    assert!(both.starts_with("You build bridges.\n\n<skill name=\"beta\""), "{both}");
    assert!(both.ends_with("\n\nYou test bridges as qa."), "{both}");
    let both = sandbox.run(&["prompt", "--role", "beta", "--agent", "builder"]).stdout;
    assert_eq!(both.matches("Do beta.").count(), 1, "{both}");
    assert_eq!(sandbox.run_in("prompts", &["prompt", "--role", "docs"]).stdout, "You write.");
    let prompt = sandbox.json(&["prompt", "--role", "qa", "--json"]);
    assert_eq!(prompt["origin"], "legacy");
    assert!(prompt["path"].as_str().unwrap().ends_with("/templates/roles/qa/system_prompt.md"), "{prompt}");
    let stub = sandbox.json(&["prompt", "--role", "visionary", "--json"]);
    assert_eq!((&stub["text"], &stub["origin"]), (&"You are a visionary specialist.".into(), &"stub".into()));
    assert_run!(sandbox.run(&["prompt", "--role", "../qa"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: not a name that a role can have: ../qa
    "#);
    sandbox
        .write("repertoire.toml", "[binding]\nrole_default = \"hint\"\n[roles]\ndirectories = [\"old\"]\n");
    sandbox.write("old/qa/system_prompt.md", "Older.");
    let hint = sandbox.run(&["prompt", "--role", "beta"]).stdout;
    assert!(hint.starts_with("Role: beta. Call load_skill with the name beta.\n\n"), "{hint}");
    assert!(!hint.contains("Do beta."), "{hint}");
    assert_eq!(sandbox.run(&["prompt", "--role", "qa"]).stdout, "Older.");
}

#[test]
#[cfg(unix)]
fn prompts_of_roles_do_not_lead_out_of_the_project() {
    let sandbox = Sandbox::new();
    sandbox.write("../outside/qa/system_prompt.md", "secret");
    let link = |target: &str, link: &str| {
        let link = sandbox.project().join(link);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(sandbox.project().join(target), link).unwrap();
    };
    link("../outside", "roles");
    assert_eq!(sandbox.run(&["prompt", "--role", "qa"]).stdout, "You are a qa specialist.");
    link("../outside/qa", "templates/roles/qa");
    let run = sandbox.run(&["prompt", "--role", "qa"]);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    sandbox.write("repertoire.toml", "[roles]\ndirectories = [\"../outside\"]\n");
    assert_eq!(sandbox.run(&["prompt", "--role", "qa"]).code, 2);
}

#[test]
fn a_role_of_which_nothing_is_known_is_warned_of() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("templates/roles/reviewer/system_prompt.md", "Review.");
    assert_run!(sandbox.run(&["prompt", "--role", "alhpa"]), @r#"
    exit 0
    --- stdout
    You are a alhpa specialist.--- stderr
    warning: there is no skill and no prompt for the role `alhpa`, so the prompt says only its name
    hint: did you mean `alpha`?
    "#);
    assert!(sandbox.run(&["prompt", "--role", "reviwer"]).stderr.contains("did you mean `reviewer`?"));
    assert_eq!(sandbox.run(&["prompt", "--role", "alpha"]).stderr, "");
}
