//! Tests of `rep list`.

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, assert_run, skill};

#[test]
fn a_table_on_stdout_and_the_counts_on_stderr() {
    assert_run!(Sandbox::with_skills().run(&["list"]), @r#"
    exit 0
    --- stdout
    NAME   SOURCE          DESCRIPTION
    alpha  project:agents  Does alpha things well. Use when alpha is asked for.
    beta   project:agents  Does beta things well. Use when beta is asked for.
    --- stderr
    2 active
    "#);
}

#[test]
fn all_shows_shadowed_and_quarantined_skills() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/.claude/skills/alpha/SKILL.md", skill("alpha", "other\n"));
    sandbox.write(".claude/skills/broken/SKILL.md", "---\nname: broken\n");
    assert_run!(sandbox.run(&["list", "--all"]), @r#"
    exit 0
    --- stdout
    NAME       STATE        CLIENTS      SOURCE          DESCRIPTION
    alpha      active       -            project:agents  Does alpha things well. Use when alpha is asked for.
    alpha   !  shadowed     claude-code  claude          Does alpha things well. Use when alpha is asked for.
    beta       active       -            project:agents  Does beta things well. Use when beta is asked for.
    broken  !  quarantined  claude-code  project:claude
    --- stderr
    2 active, 1 shadowed, 1 quarantined, 1 with errors, 1 with warnings
    hint: run `rep check` to see what is wrong; it reads instructions and files too
    hint: run `rep explain alpha` to see why
    "#);
    assert_run!(sandbox.run(&["list"]), @r#"
    exit 0
    --- stdout
    NAME   CLIENTS  SOURCE          DESCRIPTION
    alpha  -        project:agents  Does alpha things well. Use when alpha is asked for.
    beta   -        project:agents  Does beta things well. Use when beta is asked for.
    --- stderr
    2 active, 1 shadowed, 1 quarantined, 1 with errors, 1 with warnings
    hint: run `rep check` to see what is wrong; it reads instructions and files too
    hint: run `rep list --all` to see all
    "#);
}

#[test]
fn names_choose_skills_in_whatever_state() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/.claude/skills/alpha/SKILL.md", skill("alpha", "other\n"));
    assert_run!(sandbox.run(&["list", "alpha"]), @r#"
    exit 0
    --- stdout
    NAME      STATE     CLIENTS      SOURCE          DESCRIPTION
    alpha     active    -            project:agents  Does alpha things well. Use when alpha is asked for.
    alpha  !  shadowed  claude-code  claude          Does alpha things well. Use when alpha is asked for.
    --- stderr
    1 active, 1 shadowed, 1 with warnings
    hint: run `rep check alpha` to see what is wrong; it reads instructions and files too
    hint: run `rep explain alpha` to see why
    "#);
    let listed = sandbox.json(&["list", "user:.claude/skills:alpha", "--json"]);
    assert_eq!(listed["skills"].as_array().unwrap().len(), 1);
    assert_eq!(sandbox.run(&["list", "nothing"]).code, 1);
}

#[test]
fn a_skill_that_is_asked_for_by_its_directory_is_named() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(".agents/skills/folder/SKILL.md", skill("gamma", "x\n"));
    insta::assert_snapshot!(sandbox.run(&["list", "folder"]).stderr, @r"
    error: there is no skill `folder`
    hint: did you mean `gamma`?
    hint: there are: alpha, beta, gamma
    hint: run `rep explain folder` to see why it is missing
    ");
    let explained = sandbox.run(&["explain", "folder"]).stdout;
    assert!(explained.starts_with("there is no skill `folder`\n\nnear it: gamma\n"), "{explained}");
}

#[test]
fn json_has_exactly_the_documented_keys() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".agents/skills/odd/SKILL.md",
        "---\nname: odd\ndescription: Short.\nversion: '2.1'\ntags: [a, b]\n---\nx\n",
    );
    insta::assert_snapshot!(sandbox.run(&["list", "--json"]).stdout, @r#"
    {
      "snapshot": 1,
      "skills": [
        {
          "name": "odd",
          "address": "odd",
          "description": "Short.",
          "source": "project:.agents/skills",
          "path": "[DIR]/project/.agents/skills/odd",
          "version": "2.1",
          "author": null,
          "tags": [
            "a",
            "b"
          ],
          "state": "active",
          "is_offered": true,
          "clients": [],
          "diagnostics": [
            {
              "rule": "description-short",
              "severity": "warning",
              "message": "the description has 6 characters, fewer than 20",
              "path": "[DIR]/project/.agents/skills/odd/SKILL.md",
              "line": 3
            },
            {
              "rule": "description-when",
              "severity": "warning",
              "message": "the description does not say when to use the skill",
              "path": "[DIR]/project/.agents/skills/odd/SKILL.md",
              "line": 3
            }
          ]
        }
      ],
      "problems": []
    }
    "#);
    let listing = sandbox.json(&["list", "--json", "--digest", "--tokens"]);
    assert_eq!(listing["tokenizer"], "o200k_base");
    let skill = &listing["skills"][0];
    assert!(skill["digest"].as_str().unwrap().starts_with("sha256:"));
    assert!(skill["tokens"]["catalog"].as_u64() > Some(0) && skill["tokens"]["body"].as_u64() > Some(0));
    let keys: Vec<&String> = skill.as_object().unwrap().keys().collect();
    let expected = [
        "name",
        "address",
        "description",
        "source",
        "path",
        "version",
        "author",
        "tags",
        "state",
        "is_offered",
        "digest",
        "tokens",
        "clients",
        "diagnostics",
    ];
    assert_eq!(keys, expected);
}

#[test]
fn states_in_json() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/.claude/skills/alpha/SKILL.md", skill("alpha", "other\n"));
    sandbox.write(".claude/skills/broken/SKILL.md", "---\nname: broken\n");
    let listing = sandbox.json(&["list", "--json", "--all"]);
    let states: Vec<_> =
        listing["skills"].as_array().unwrap().iter().map(|s| json!([s["name"], s["state"]])).collect();
    assert_eq!(
        json!(states),
        json!([["alpha", "active"], ["alpha", "shadowed"], ["beta", "active"], ["broken", "quarantined"]])
    );
    let diagnostic = &listing["skills"][3]["diagnostics"][0];
    assert_eq!(diagnostic["rule"], "frontmatter-unterminated");
    assert!(diagnostic["path"].as_str().unwrap().ends_with(".claude/skills/broken/SKILL.md"));
}

#[test]
fn no_skills_is_no_error() {
    assert_run!(Sandbox::new().run(&["list"]), @r#"
    exit 0
    --- stdout
    --- stderr
    0 active
    hint: no skills were found; run `rep doctor --verbose` to see where they are looked for
    hint: run `rep new my-skill` to make one, or `rep add samples` to try the sample library
    "#);
    assert_eq!(Sandbox::new().json(&["list", "--json"])["skills"], json!([]));
}

#[test]
fn roots_replace_discovery_and_the_first_wins() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("one/x/SKILL.md", skill("x", "one\n"));
    sandbox.write("two/x/SKILL.md", skill("x", "two\n"));
    let listing = sandbox.json(&["list", "--json", "--all", "--root", "two", "--root", "one"]);
    let sources: Vec<_> =
        listing["skills"].as_array().unwrap().iter().map(|s| json!([s["source"], s["state"]])).collect();
    assert_eq!(json!(sources), json!([["root:two", "active"], ["root:one", "shadowed"]]));
}

#[test]
fn untrusted_text_is_escaped_for_people_and_kept_for_programs() {
    let sandbox = Sandbox::new();
    let description =
        "Clears \\u{1b}".replace("\\u{1b}", "\u{1b}[2J") + " screens. Use when asked \u{202e}now.";
    sandbox.write(
        ".agents/skills/evil/SKILL.md",
        format!("---\nname: evil\ndescription: |\n  {description}\n---\nx\n"),
    );
    let run = sandbox.run(&["list"]);
    assert!(!run.stdout.contains('\u{1b}') && !run.stdout.contains('\u{202e}'), "{}", run.stdout);
    assert!(!run.stderr.contains('\u{1b}'));
}

#[test]
fn strict_refuses_a_library_with_a_broken_skill() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(".agents/skills/broken/SKILL.md", "---\nname: broken\n");
    assert_run!(sandbox.run(&["list", "--profile", "strict"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: the policy refuses this library: broken ([DIR]/project/.agents/skills/broken): the frontmatter is never closed
    hint: run `rep --profile strict check` to see everything that is wrong
    hint: `--profile standard` sets such skills aside instead of refusing all of them
    "#);
    let all = sandbox.run(&["--root", ".agents/skills", "--profile", "strict", "list", "--all"]);
    assert_eq!(all.code, 0);
    for command in ["check", "explain broken"] {
        let hint = format!("\nhint: run `rep --root .agents/skills --profile strict {command}` to see ");
        assert!(all.stderr.contains(&hint), "{}", all.stderr);
    }
}

#[test]
fn an_empty_directory_is_examined_by_the_command_of_the_hint() {
    let sandbox = Sandbox::new();
    sandbox.write("empty/README.md", "");
    let stderr = sandbox.run(&["--root", "empty", "list"]).stderr;
    assert!(
        stderr.contains("hint: no skills were found; run `rep --root empty doctor --verbose` to see"),
        "{stderr}"
    );
}

#[test]
fn catalog_tokens_are_those_of_the_format_in_force() {
    let sandbox = Sandbox::with_skills();
    let count = |format: &str| {
        sandbox.write("repertoire.toml", format!("catalog.format = \"{format}\"\n"));
        let listing = sandbox.json(&["list", "--json", "--tokens"]);
        listing["skills"][0]["tokens"]["catalog"].as_u64().unwrap()
    };
    let (list, xml) = (count("list"), count("xml"));
    assert!((10..30).contains(&list) && (list + 5..60).contains(&xml), "{list} {xml}");
}

#[test]
fn skills_in_groups_and_in_a_cloned_repository_are_found() {
    let sandbox = Sandbox::new();
    sandbox.write(".agents/skills/group/one/SKILL.md", skill("one", "x\n"));
    sandbox.write(".agents/skills/clone/skills/two/SKILL.md", skill("two", "x\n"));
    let names = |arguments: &[&str]| -> Vec<String> {
        let listing = sandbox.json(&[&["list", "--json"], arguments].concat());
        let skills = listing["skills"].as_array().unwrap();
        skills.iter().map(|skill| skill["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&[]), ["one", "two"]);
    for path in [
        "skills/a",
        "skills/group/b",
        ".claude/skills/c",
        "plugins/plugin/skills/d",
        ".github/skills/e",
        "node_modules/skills/f",
        ".hidden/skills/g",
    ] {
        let name = path.rsplit('/').next().unwrap();
        sandbox.write(&format!("../clone/{path}/SKILL.md"), skill(name, "x\n"));
    }
    assert_eq!(names(&["--root", "../clone"]), ["a", "b", "c", "d", "e", "g"]);
    assert_eq!(sandbox.run(&["check", "../clone"]).stdout, "6 skills, nothing to report\n");
    for (command, arguments) in [("list", &["list"][..]), ("doctor", &["doctor", "--verbose"])] {
        let run = sandbox.run_in("../clone/skills/group", arguments);
        let told = run.stdout + &run.stderr;
        assert!(told.contains("there is 1 skill below this directory"), "{command} {told}");
        assert!(!told.contains("rep new"), "{command} {told}");
    }
}

#[test]
fn a_skill_with_neither_description_nor_body_is_not_offered() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(".agents/skills/empty/SKILL.md", "");
    sandbox.write(".agents/skills/hollow/SKILL.md", "---\nname: hollow\n---\n\n");
    sandbox.write(".agents/skills/bare/SKILL.md", "# Bare\n\nDo it.\n");
    let listing = sandbox.json(&["list", "--all", "--json"]);
    let states: Vec<String> = listing["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| format!("{}: {}", skill["name"], skill["state"]))
        .collect();
    assert_eq!(
        states.join(", ").replace('"', ""),
        "alpha: active, bare: active, beta: active, empty: quarantined, hollow: quarantined"
    );
    let run = sandbox.run(&["check", "hollow"]);
    assert!(run.code == 1 && run.stdout.contains("error[skill-empty]"), "{}", run.stdout);
}

#[test]
fn output_to_a_program_is_not_padded_to_the_longest_description() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(
        ".agents/skills/long/SKILL.md",
        format!("---\nname: long\ndescription: {}Use when asked.\n---\nx\n", "Many words. ".repeat(60)),
    );
    let listing = sandbox.run(&["list"]).stdout;
    let short: Vec<&str> = listing.lines().filter(|line| !line.starts_with("long")).collect();
    assert!(short.iter().all(|line| line.len() < 120 && !line.ends_with(' ')), "{listing}");
    assert!(listing.lines().any(|line| line.len() > 700), "{listing}");
}

#[test]
fn list_shows_what_listing_finds_at_every_size() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(
        ".agents/skills/gone/SKILL.md",
        "---\nname: gone\ndescription: Reads a file. Use when asked.\nunknown: 1\n---\n[x](missing.md) \u{202e}\n",
    );
    let of = |command: &str| -> Vec<Value> {
        let answer: Value = serde_json::from_str(&sandbox.run(&[command, "--json"]).stdout).unwrap();
        let skill =
            answer["skills"].as_array().unwrap().iter().find(|skill| skill["name"] == "gone").unwrap();
        skill["diagnostics"].as_array().unwrap().iter().map(|found| found["rule"].clone()).collect()
    };
    let listed = of("list");
    assert_eq!(listed, ["field-unknown"]);
    let checked = of("check");
    assert!(checked.len() > 1 && checked.contains(&listed[0]), "{checked:?}");
    let footer = || sandbox.run(&["list"]).stderr.split_once(' ').unwrap().1.to_owned();
    let small = footer();
    assert_eq!(
        small,
        "active, 1 with warnings\nhint: run `rep check` to see what is wrong; it reads instructions and files too\n"
    );
    for number in 0..60 {
        sandbox.write(
            &format!(".agents/skills/s{number}/SKILL.md"),
            skill(&format!("s{number}"), "[x](no.md)\n"),
        );
    }
    assert_eq!((of("list"), footer()), (listed, small));
}

#[test]
fn near_misses_are_reported() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(".agents/skills/almost/SKILLS.md", skill("almost", "x\n"));
    sandbox.write(".agents/skills/clone/.git/config", "");
    sandbox.write(".agents/skills/clone/1/2/3/4/deep/SKILL.md", skill("deep", "x\n"));
    for command in ["list", "doctor", "check"] {
        let run = sandbox.run(&[command]);
        let told = run.stdout + &run.stderr;
        assert!(told.contains("the file is called `SKILLS.md` and not SKILL.md"), "{command} {told}");
        assert!(
            told.contains("the repository holds no skill within 3 levels of the root"),
            "{command} {told}"
        );
    }
}

#[test]
fn a_given_root_is_searched_with_its_hidden_directories() {
    let sandbox = Sandbox::new();
    for path in ["skills/.curated/a", ".mine/skills/b", ".claude/skills/c", "skills/c", ".git/skills/d"] {
        let name = path.rsplit('/').next().unwrap();
        sandbox.write(&format!("clone/{path}/SKILL.md"), skill(name, "x\n"));
    }
    assert_run!(sandbox.run(&["--root", "clone", "list", "--all"]), @r#"
    exit 0
    --- stdout
    NAME     STATE     SOURCE                     DESCRIPTION
    a        active    root:clone                 Does a things well. Use when a is asked for.
    b        active    root:clone                 Does b things well. Use when b is asked for.
    c        active    root:clone/.claude/skills  Does c things well. Use when c is asked for.
    c     !  shadowed  root:clone                 Does c things well. Use when c is asked for.
    --- stderr
    3 active, 1 shadowed, 1 with warnings
    hint: run `rep --root clone check` to see what is wrong; it reads instructions and files too
    hint: run `rep --root clone explain c` to see why
    "#);
    // The places of agents have no such depths.
    sandbox.write(".agents/skills/own/SKILL.md", skill("own", "x\n"));
    sandbox.write(".agents/skills/.hidden/SKILL.md", skill("hidden", "x\n"));
    let run = sandbox.run(&["list"]);
    assert!(!run.stdout.contains("hidden"), "{}", run.stdout);
}

#[test]
fn check_and_doctor_hint_at_skills_that_are_not_listed() {
    let sandbox = Sandbox::new();
    for path in ["a", "a/inside/b", "a/inside/c", "1/2/3/4/5/6/7/deep"] {
        let name = path.rsplit('/').next().unwrap();
        sandbox.write(&format!("lib/{path}/SKILL.md"), skill(name, "x\n"));
    }
    assert_run!(sandbox.run(&["--root", "lib", "list"]), @r#"
    exit 0
    --- stdout
    NAME  SOURCE    DESCRIPTION
    a     root:lib  Does a things well. Use when a is asked for.
    --- stderr
    1 active
    "#);
    let run = sandbox.run(&["--root", "lib", "explain", "b"]);
    assert!(run.stdout.contains("lib/a/inside/b is there, but inside another skill"), "{}", run.stdout);
    let inside = "2 more skills inside listed skills: set `scan.nested` to list skills inside skills";
    let deep = "1 more skill too deep or in hidden directories below a root (lib/1/2/3/4/5/6/7/deep): add the directory \
                around them to `roots`";
    let hinted = || {
        for command in [&["check"][..], &["doctor", "--verbose"]] {
            let run = sandbox.run(&[&["--root", "lib"], command].concat());
            let told = run.stdout + &run.stderr;
            assert!(told.contains(inside) && told.contains(deep), "{command:?}: {told}");
        }
    };
    hinted();
    for index in 0..60 {
        sandbox.write(&format!("lib/more-{index}/SKILL.md"), skill(&format!("more-{index}"), "x\n"));
    }
    hinted();
}

#[test]
fn the_hint_without_skills_is_about_the_given_root() {
    let sandbox = Sandbox::new();
    sandbox.write("elsewhere/a/SKILL.md", skill("a", "x\n"));
    sandbox.write("empty/README.md", "x\n");
    sandbox.write("deep/1/2/3/4/5/6/7/b/SKILL.md", skill("b", "x\n"));
    let hints = |arguments: &[&str]| sandbox.run(arguments).stderr;
    assert!(hints(&["list"]).contains("there are 2 skills below this directory"));
    assert!(hints(&["--root", "empty", "list"]).contains("run `rep new my-skill`"));
    let deep = hints(&["--root", "deep", "list"]);
    assert!(deep.contains("there is 1 skill further down: raise `scan.max_depth`"), "{deep}");
}

#[test]
fn a_stray_skill_md_beside_skills_is_reported_and_hides_none() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(".agents/skills/SKILL.md", "# My skills\n");
    assert_run!(sandbox.run(&["list"]), @r#"
    exit 0
    --- stdout
    NAME   SOURCE          DESCRIPTION
    alpha  project:agents  Does alpha things well. Use when alpha is asked for.
    beta   project:agents  Does beta things well. Use when beta is asked for.
    --- stderr
    warning: the file has no frontmatter and lies beside skills, so it is ignored; a skill has a directory of its own ([DIR]/project/.agents/skills/SKILL.md)
    2 active
    hint: run `rep check` to see what is wrong; it reads instructions and files too
    "#);
}

#[test]
fn a_clone_in_a_directory_of_skills_is_counted() {
    let sandbox = Sandbox::new();
    sandbox.write(".agents/skills/alpha/SKILL.md", skill("alpha", "Do alpha.\n"));
    for name in ["one", "two"] {
        sandbox
            .write(&format!(".agents/skills/clone/skills/.curated/{name}/SKILL.md"), skill(name, "Do it.\n"));
    }
    sandbox.write(".agents/skills/clone/plugins/x/skills/deep/SKILL.md", skill("deep", "Do it.\n"));
    let expect = "3 more skills too deep or in hidden directories below a root (such as \
        .agents/skills/clone/plugins/x/skills/deep): add the directory around them to `roots`";
    let told = |command: &str| {
        let run = sandbox.run(&command.split(' ').collect::<Vec<_>>());
        run.stdout + &run.stderr
    };
    assert!(
        ["check", "doctor --verbose"].iter().all(|command| told(command).contains(expect)),
        "{}",
        told("doctor")
    );
    std::fs::remove_dir_all(sandbox.project().join(".agents/skills/alpha")).unwrap();
    assert!(
        ["check", "doctor --verbose"].iter().all(|command| told(command).contains(expect)),
        "{}",
        told("doctor")
    );
    assert!(told("list").contains("there are 3 skills below this directory"), "{}", told("list"));
}

#[test]
fn skills_of_packages_are_listed_from_the_root_and_offered_for_their_files() {
    let sandbox = Sandbox::with_skills();
    std::fs::create_dir_all(sandbox.project().join(".git")).unwrap();
    std::fs::create_dir_all(sandbox.home().join(".claude")).unwrap();
    std::fs::create_dir_all(sandbox.home().join(".cursor")).unwrap();
    sandbox.write("packages/web/.claude/skills/deploy/SKILL.md", skill("deploy", "# Deploy\n"));
    sandbox.write("packages/web/node_modules/x/.claude/skills/foreign/SKILL.md", skill("foreign", "# X\n"));
    let listed = sandbox.json(&["list", "--json"]);
    let deploy = listed["skills"].as_array().unwrap().iter().find(|it| it["name"] == "deploy").unwrap();
    assert_eq!(deploy["source"], "project:packages/web/.claude/skills");
    let clients =
        deploy["clients"].as_array().unwrap().iter().map(|it| (it["id"].clone(), it["reads"].clone()));
    assert_eq!(
        clients.collect::<Vec<_>>(),
        [("claude-code".into(), true.into()), ("cursor".into(), false.into())]
    );
    assert!(!listed.to_string().contains("foreign"), "{listed}");
    let for_files = |path: &str| {
        let run = sandbox.run(&["catalog", "--paths", path]).stdout;
        run.split("<skills_for_files>").nth(1).unwrap_or_default().contains("- deploy: ")
    };
    assert_eq!((for_files("packages/web/src/a.ts"), for_files("packages/api/a.ts")), (true, false));
    // Claude Code lists them once it has read a file of the package.
    let listing = sandbox.json(&["list", "--client", "claude-code", "--json"]);
    assert!(!listing["skills"].to_string().contains("deploy"), "{listing}");
    let inside = sandbox.run_in("packages/web", &["list", "--json"]).stdout;
    assert!(inside.contains("\"project:.claude/skills\""), "{inside}");
    let listing = sandbox.run_in("packages/web", &["list", "--client", "claude-code", "--json"]).stdout;
    assert!(listing.contains("\"deploy\""), "{listing}");
}
