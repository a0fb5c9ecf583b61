//! Tests of configuration files, variables and their layers.

use serde_json::Value;

use crate::sandbox::{Sandbox, assert_run, skill};

#[test]
fn faults_are_shown_with_their_line() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "repertoire.toml",
        "profil = \"strict\"\nduplicates = \"abrt\"\n\n[scan]\nmax_depth = 99\ncatalog = 1\n\n[rules]\nname-gramar = \"off\"\n",
    );
    assert_run!(sandbox.run(&["list"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: unknown key `profil`
     --> [DIR]/project/repertoire.toml:1:1
      |
    1 | profil = "strict"
      | ^^^^^^
      |
      = help: did you mean `profile`?

    error: bad value for `duplicates`
     --> [DIR]/project/repertoire.toml:2:14
      |
    2 | duplicates = "abrt"
      |              ^^^^^^
      |
      = help: did you mean "abort"?

    error: bad value for `scan.max_depth`
     --> [DIR]/project/repertoire.toml:5:13
      |
    5 | max_depth = 99
      |             ^^
      |
      = help: it takes a whole number, 1 to 10

    error: unknown key `scan.catalog`
     --> [DIR]/project/repertoire.toml:6:1
      |
    6 | catalog = 1
      | ^^^^^^^
      |
      = help: every key is listed in https://github.com/repertoire-rs/repertoire/blob/main/docs/reference/configuration.md

    error: there is no rule `name-gramar`
     --> [DIR]/project/repertoire.toml:9:1
      |
    9 | name-gramar = "off"
      | ^^^^^^^^^^^
      |
      = help: did you mean `name-grammar`?
    "#);
    sandbox.write("repertoire.toml", "profile = \n");
    assert_run!(sandbox.run(&["list"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: string values must be quoted, expected literal string
     --> [DIR]/project/repertoire.toml:1:11
      |
    1 | profile = 
      |           ^
    "#);
    sandbox.write("repertoire.toml", b"\xff");
    assert_eq!(sandbox.run(&["list"]).code, 2);
}

#[test]
fn a_bad_variable_is_an_error_too() {
    let mut sandbox = Sandbox::new();
    sandbox.set("REPERTOIRE_CATALOG_FORMAT", "yaml");
    assert_run!(sandbox.run(&["list"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: bad value `yaml` for REPERTOIRE_CATALOG_FORMAT
    hint: it takes xml, list, menu, bracket, markdown, json, compat
    "#);
    let mut sandbox = Sandbox::new();
    sandbox.set("REPERTOIRE_EVENTS_MAX", "9");
    assert_run!(sandbox.run(&["list"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: the key `events.max` of REPERTOIRE_EVENTS_MAX is gone
    hint: its value is fixed at 2000000; take it away
    "#);
}

/// Returns the least number of characters of a description, from the message of the rule.
fn profile(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let run = sandbox.run(&[&["doctor", "--json"], arguments].concat());
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    let checks = answer["checks"].as_array().unwrap();
    let profile = checks.iter().find(|check| check["topic"] == "profile").unwrap();
    profile["message"].as_str().unwrap().to_owned()
}

#[test]
fn a_profile_may_be_a_file_that_the_user_names() {
    let mut sandbox = Sandbox::with_skills();
    sandbox.write("../home/.config/repertoire/my.toml", "profile = \"helix\"\ncatalog.format = \"list\"\n");
    sandbox.write("../home/.config/repertoire/config.toml", "profile = \"./my.toml\"\n");
    assert_eq!(profile(&sandbox, &[]), "./my.toml");
    assert!(sandbox.run(&["catalog"]).stdout.starts_with("Skills:\n- alpha: "));
    sandbox.write("repertoire.toml", "profile = \"./my.toml\"\n");
    let run = sandbox.run(&["list"]);
    assert!(run.stderr.contains("error: `profile` of a project's file may not be a file"), "{}", run.stderr);
    std::fs::remove_file(sandbox.project().join("repertoire.toml")).unwrap();
    sandbox.write("mine.toml", "tools.offer = 1\n");
    sandbox.set("REPERTOIRE_PROFILE", "./mine.toml");
    let run = sandbox.run(&["list"]);
    assert!(run.code == 2 && run.stderr.contains("error: bad value for `tools.offer`"), "{}", run.stderr);
    let run = sandbox.run(&["list", "--profile", "strikt"]);
    assert!(run.stderr.contains("error: bad value `strikt` for --profile"), "{}", run.stderr);
}

#[test]
fn p12_p13_the_pattern_loads_the_instructions_alone() {
    let sandbox = Sandbox::new();
    sandbox.write("skills/weather/SKILL.md", skill("weather", "# Weather\n"));
    let call = ["--profile", "pattern", "call", "load_skill", "{\"skill_name\": \"weather\"}"];
    assert_eq!(sandbox.run(&call).stdout.trim_end(), "# Weather");
    let answer = sandbox.json(&["--profile", "pattern", "list", "--json"]);
    let found = &answer["skills"][0];
    assert_eq!((&found["version"], &found["author"]), (&"1.0.0".into(), &"".into()));
}

#[test]
fn later_layers_win() {
    let mut sandbox = Sandbox::new();
    assert_eq!(profile(&sandbox, &[]), "standard");
    sandbox.write("repertoire.toml", "profile = \"bernstein\"\n");
    assert_eq!(profile(&sandbox, &[]), "bernstein");
    sandbox.write("../home/.config/repertoire/config.toml", "profile = \"lenient\"\n");
    assert_eq!(profile(&sandbox, &[]), "lenient", "the user's word over the project's");
    sandbox.set("REPERTOIRE_PROFILE", "strict");
    assert_eq!(profile(&sandbox, &[]), "strict");
    assert_eq!(profile(&sandbox, &["--profile", "standard"]), "standard");
    sandbox.write("other.toml", "profile = \"standard\"\n");
    sandbox.set("REPERTOIRE_PROFILE", "");
    assert_eq!(profile(&sandbox, &["--config", "other.toml"]), "standard");
    sandbox.set("REPERTOIRE_CONFIG", "other.toml");
    assert_eq!(profile(&sandbox, &[]), "standard");
}

#[test]
fn the_nearest_project_file_counts_and_only_within_the_repository() {
    let sandbox = Sandbox::new();
    sandbox.write("../repertoire.toml", "x = 1\n");
    sandbox.write("repertoire.toml", "profile = \"strict\"\n");
    sandbox.write("a/repertoire.toml", "profile = \"lenient\"\n");
    sandbox.write("a/b/x", "");
    let run = sandbox.run_in("a/b", &["doctor", "--verbose"]);
    assert!(run.stdout.contains("profile   lenient"), "{}", run.stdout);
    std::fs::remove_file(sandbox.project().join("repertoire.toml")).unwrap();
    assert_eq!(sandbox.run(&["list"]).code, 0);
}

#[test]
fn roots_add_up_and_are_relative_to_their_file() {
    let mut sandbox = Sandbox::new();
    for place in ["../home/.config/repertoire/mine", "theirs", "extra"] {
        sandbox.write(&format!("{place}/x/SKILL.md"), skill("x", "x\n"));
    }
    sandbox.write("../home/.config/repertoire/config.toml", "roots = [\"mine\"]\n");
    sandbox.write("repertoire.toml", "roots = [\"theirs\"]\n");
    sandbox.set("REPERTOIRE_ROOTS", "extra");
    sandbox.write("deep/x", "");
    let sources = |sandbox: &Sandbox| -> Vec<String> {
        let listing = sandbox.json(&["list", "--json", "--all"]);
        let skills = listing["skills"].as_array().unwrap().clone();
        skills.iter().map(|skill| skill["source"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(sources(&sandbox), ["config:extra", "config:theirs", "config:mine"]);
    let run = sandbox.run_in("deep", &["show", "config:theirs:x"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn rules_are_turned_off_and_up() {
    let sandbox = Sandbox::new();
    sandbox.write(".agents/skills/dir/SKILL.md", skill("other", "x\n"));
    assert_eq!(sandbox.run(&["check"]).code, 0);
    sandbox.write("repertoire.toml", "rules.name-directory = \"error\"\n");
    assert_eq!(sandbox.run(&["check"]).code, 1);
    sandbox.write("repertoire.toml", "[rules]\nname-directory = \"off\"\n");
    assert!(sandbox.run(&["check"]).stdout.contains("nothing to report"));
}

#[test]
fn a_project_file_is_bounded() {
    let mut sandbox = Sandbox::new();
    sandbox.write("../outside/x/SKILL.md", skill("x", "x\n"));
    sandbox.write(
        "repertoire.toml",
        "roots = [\"in\", \"../outside\"]\n\n[packs]\ndirectories = [\"/etc\"]\n\n[requires]\nmax_tokens = 8001\n\n\
         [rules]\ninvisible-characters = \"off\"\nname-tool = \"error\"\ndescription-when = \"off\"\n\n\
         [events]\njournal = true\n",
    );
    assert_run!(sandbox.run(&["list"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: `roots` of a project's file may not lead out of [DIR]/project
     --> [DIR]/project/repertoire.toml:1:16
      |
    1 | roots = ["in", "../outside"]
      |                ^^^^^^^^^^^^
      |
      = help: put it in your user configuration instead, or name it on the command line

    error: `packs.directories` of a project's file may not lead out of [DIR]/project
     --> [DIR]/project/repertoire.toml:4:16
      |
    4 | directories = ["/etc"]
      |                ^^^^^^
      |
      = help: put it in your user configuration instead, or name it on the command line

    error: `requires.max_tokens` of a project's file may be at most 8000
     --> [DIR]/project/repertoire.toml:7:14
      |
    7 | max_tokens = 8001
      |              ^^^^
      |
      = help: put it in your user configuration instead

    error: a project's file may not turn off or lower the rule `invisible-characters`
      --> [DIR]/project/repertoire.toml:10:24
       |
    10 | invisible-characters = "off"
       |                        ^^^^^
       |
       = help: put it in your user configuration instead; here it may only be "error"

    error: a project's file may not have `events.journal`
      --> [DIR]/project/repertoire.toml:15:11
       |
    15 | journal = true
       |           ^^^^
       |
       = help: put it in your user configuration instead
    "#);
    // The user's configuration may have the same keys.
    let words = sandbox.read("repertoire.toml");
    assert_eq!(sandbox.run(&["list", "--config", "repertoire.toml"]).code, 0);
    std::fs::remove_file(sandbox.project().join("repertoire.toml")).unwrap();
    sandbox.write("../home/.config/repertoire/config.toml", words);
    assert_eq!(sandbox.run(&["list"]).code, 0);
    sandbox.set("REPERTOIRE_ROOTS", "../outside");
    assert_eq!(sandbox.json(&["list", "--json"])["skills"][0]["name"], "x");
}

#[test]
fn a_project_file_does_not_weaken_a_session() {
    let sandbox = Sandbox::with_skills();
    for (line, expect) in [
        ("scope.enforce = true", "a project's file may not have `scope.enforce`"),
        ("tools.args.name = \"id\"", "a project's file may not have `tools.args.name`"),
        ("load.reload = \"short_ack\"", "a project's file may not have `load.reload`"),
        ("search.embeddings = \"http\"", "a project's file may not have `search.embeddings`"),
        ("search.url = \"https://x\"", "a project's file may not have `search.url`"),
        ("search.key_env = \"HOME\"", "a project's file may not have `search.key_env`"),
        ("search.rerank = \"https://x\"", "a project's file may not have `search.rerank`"),
        ("requires.max_tokens = 8001", "`requires.max_tokens` of a project's file may be at most 8000"),
    ] {
        sandbox.write("repertoire.toml", line);
        let run = sandbox.run(&["list"]);
        assert!(run.code == 2 && run.stderr.contains(expect), "{line}: {}", run.stderr);
        assert_eq!(sandbox.run(&["list", "--config", "repertoire.toml"]).code, 0, "{line}");
    }
}

#[test]
fn clashing_tool_names_are_errors() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/.config/repertoire/config.toml", "[tools.names]\nload = \"x\"\nlist = \"x\"\n");
    assert_run!(sandbox.run(&["catalog"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: `tools.names.load` and `tools.names.list` are both "x"
    hint: give one of them another name
    "#);
}

#[test]
fn a_project_file_sets_no_key_of_an_agent_that_is_the_users_alone() {
    for key in [
        "reviews = true",
        "token_file = \"token\"",
        "tools.names = { load = \"read_skill\" }",
        "tools.args = { name = \"skill\" }",
        "tools.descriptions = { load_skill = \"Loads.\" }",
    ] {
        let sandbox = Sandbox::with_skills();
        sandbox.write("repertoire.toml", format!("[agents.editor]\n{key}\n"));
        let run = sandbox.run(&["list"]);
        assert_eq!(run.code, 2, "{key}: {}", run.stderr);
        assert!(run.stderr.contains("put it in your user configuration instead"), "{key}: {}", run.stderr);
    }
}

#[test]
fn a_project_file_below_the_root_may_name_its_repository() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("lib/x/SKILL.md", skill("x", "x\n"));
    sandbox.write("deep/repertoire.toml", "roots = [\"../lib\"]\n");
    assert_eq!(sandbox.run_in("deep", &["show", "x"]).code, 0);
    // Without a repository its own directory is the bound.
    std::fs::remove_dir(sandbox.project().join(".git")).unwrap();
    let run = sandbox.run_in("deep", &["show", "x"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("may not lead out of [DIR]/project/deep"), "{}", run.stderr);
}

#[cfg(unix)]
#[test]
fn configuration_is_a_regular_file_of_bounded_size() {
    let sandbox = Sandbox::new();
    std::os::unix::fs::symlink("/dev/zero", sandbox.project().join("repertoire.toml")).unwrap();
    assert_run!(sandbox.run(&["list"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: cannot read the configuration file [DIR]/project/repertoire.toml
      because: it is a symbolic link
    "#);
    std::fs::remove_file(sandbox.project().join("repertoire.toml")).unwrap();
    // A link of a clone must not show a line of the user's files.
    sandbox.write("../home/.npmrc", "//registry.example/:_authToken=s3cret\n");
    std::os::unix::fs::symlink("../home/.npmrc", sandbox.project().join("repertoire.toml")).unwrap();
    let run = sandbox.run(&["list"]);
    assert!(run.code == 2 && !run.stderr.contains("s3cret"), "{}", run.stderr);
    std::fs::remove_file(sandbox.project().join("repertoire.toml")).unwrap();
    sandbox.write("repertoire.toml", "#".repeat(1024 * 1024 + 1));
    assert_eq!(sandbox.run(&["list"]).code, 2);
    sandbox.write("repertoire.toml", "#".repeat(1024 * 1024));
    assert_eq!(sandbox.run(&["list"]).code, 0);
}

/// Discovery resolves links before it compares with home, and so must the search for the file.
#[cfg(unix)]
#[test]
fn a_home_that_is_a_link_is_no_project_either() {
    let mut sandbox = Sandbox::new();
    std::os::unix::fs::symlink(sandbox.home(), sandbox.project().join("../link")).unwrap();
    let home = sandbox.project().join("../link");
    sandbox.set("HOME", home.to_str().unwrap());
    sandbox.write("../home/.git/x", "");
    sandbox.write("../home/repertoire.toml", "nonsense = 1\n");
    sandbox.write("../home/code/x", "");
    assert_eq!(sandbox.run_in("../home/code", &["list"]).code, 0);
}

#[cfg(unix)]
#[test]
fn links_to_skills_may_be_confined_to_the_roots() {
    let sandbox = Sandbox::new();
    sandbox.write(".agents/skills/own/SKILL.md", skill("own", "x\n"));
    sandbox.write("../home/.claude/skills/shared/SKILL.md", skill("shared", "x\n"));
    sandbox.write("../outside/stray/SKILL.md", skill("stray", "x\n"));
    let link = |target: &str, name: &str| {
        let skills = sandbox.project().join(".agents/skills");
        std::os::unix::fs::symlink(skills.join(target), skills.join(name)).unwrap();
    };
    link("../../../home/.claude/skills/shared", "shared");
    link("../../../outside/stray", "stray");
    let names = || -> Vec<String> {
        let list = sandbox.json(&["list", "--json"]);
        list["skills"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(), ["own", "shared", "stray"]);
    sandbox.write("repertoire.toml", "[scan]\nlinks = \"roots\"\n");
    assert_eq!(names(), ["own", "shared"]);
    let problems = sandbox.json(&["list", "--json"])["problems"].clone();
    assert_eq!(problems[0]["rule"], "file-symlink");
    assert_eq!(problems[0]["message"], "the symbolic link leads out of all roots and is not followed");
    // A path that is checked alone may link into the roots of the library too.
    let checked = sandbox.json(&["check", "--json", ".agents/skills"]);
    assert_eq!(checked["skills"].as_array().unwrap().len(), 2);
}
