//! Tests of `rep list`.

use serde_json::json;

use crate::sandbox::{Sandbox, assert_run, skill};

#[test]
fn a_table_on_stdout_and_the_counts_on_stderr() {
    assert_run!(Sandbox::with_skills().run(&["list"]), @r#"
    exit 0
    --- stdout
    NAME   DESCRIPTION                                           SOURCE
    alpha  Does alpha things well. Use when alpha is asked for.  project:.agents/skills
    beta   Does beta things well. Use when beta is asked for.    project:.agents/skills
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
    NAME    STATE        DESCRIPTION                                           SOURCE
    alpha   active       Does alpha things well. Use when alpha is asked for.  project:.agents/skills
    alpha   shadowed     Does alpha things well. Use when alpha is asked for.  user:.claude/skills
    beta    active       Does beta things well. Use when beta is asked for.    project:.agents/skills
    broken  quarantined                                                        project:.claude/skills
    --- stderr
    2 active, 1 shadowed, 1 quarantined, 2 with warnings
    hint: run `rep check` to see what is wrong
    hint: run `rep explain NAME` to see why
    "#);
    assert_run!(sandbox.run(&["list"]), @r#"
    exit 0
    --- stdout
    NAME   DESCRIPTION                                           SOURCE
    alpha  Does alpha things well. Use when alpha is asked for.  project:.agents/skills
    beta   Does beta things well. Use when beta is asked for.    project:.agents/skills
    --- stderr
    2 active, 1 shadowed, 1 quarantined, 2 with warnings
    hint: run `rep check` to see what is wrong
    hint: run `rep list --all` to see all
    "#);
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
        "description",
        "source",
        "path",
        "version",
        "author",
        "tags",
        "digest",
        "tokens",
        "state",
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
    hint: no skills were found; run `rep doctor` to see where they are looked for, `rep new NAME` to make one
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
    hint: run `rep check` to see everything that is wrong
    hint: `--profile standard` sets such skills aside instead of refusing all of them
    "#);
    assert_eq!(sandbox.run(&["list", "--all", "--profile", "strict"]).code, 0);
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
