//! Tests of `rep show`.

use serde_json::Value;

use crate::sandbox::{Sandbox, assert_run, skill};

#[test]
fn the_body_is_printed_byte_for_byte() {
    let sandbox = Sandbox::new();
    let body = "\n[bold] \u{1b}[31mred\u{1b}[0m \u{202e}\r\n\ttab\n\nno end";
    sandbox.write(".agents/skills/a/SKILL.md", skill("a", body));
    let run = sandbox.run(&["show", "a"]);
    assert_eq!((run.code, run.bytes.as_slice()), (0, body.as_bytes()));
    assert_eq!(run.stderr, "");
    let run = sandbox.run(&["show", "a", "--raw"]);
    assert_eq!(run.bytes, skill("a", body).as_bytes());
}

#[test]
fn files_of_a_skill() {
    let sandbox = Sandbox::with_skills();
    assert_eq!(sandbox.run(&["show", "alpha", "--reference", "guide.md"]).stdout, "one\ntwo\nthree\n");
    assert_eq!(sandbox.run(&["show", "alpha", "--script", "run.sh"]).stdout, "echo alpha\n");
    assert_eq!(sandbox.run(&["show", "alpha", "--file", "references/guide.md"]).stdout, "one\ntwo\nthree\n");
    for (lines, expect) in
        [("2:3", "two\nthree\n"), ("2:", "two\nthree\n"), (":1", "one\n"), ("3", "three\n")]
    {
        assert_eq!(
            sandbox.run(&["show", "alpha", "--reference", "guide.md", "--lines", lines]).stdout,
            expect
        );
    }
    assert_eq!(sandbox.run(&["show", "alpha", "--lines", "1"]).stdout, "# Alpha\n");
    assert_run!(sandbox.run(&["show", "alpha", "--reference", "guide.md", "--lines", "1000:"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: line 1000 is past the end: the text has only 3 lines
    "#);
    assert_eq!(sandbox.run(&["show", "alpha", "--lines", "9:"]).code, 1);
    assert_run!(sandbox.run(&["show", "alpha", "--asset", "logo.png"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: file not found: assets/logo.png ([DIR]/project/.agents/skills/alpha/assets/logo.png)
    hint: run `rep show alpha --files` to see its files
    "#);
    assert_run!(sandbox.run(&["show", "alpha", "--file", "../beta/SKILL.md"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: `../beta/SKILL.md` is not a path in a skill
      because: the path leads upwards (`..`)
    "#);
    assert_run!(sandbox.run(&["show", "alpha", "--file", "references"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: not a file but a directory: references ([DIR]/project/.agents/skills/alpha/references)
    hint: run `rep show alpha --files` to see its files
    "#);
    assert_eq!(sandbox.run(&["show", "alpha", "--file", ".env"]).code, 1);
    assert_eq!(sandbox.run(&["show", "alpha", "--raw", "--file", "x"]).code, 2);
    assert_eq!(sandbox.run(&["show", "alpha", "--lines", "3:1"]).code, 2);
}

#[test]
fn binary_files_go_to_pipes_as_they_are() {
    let sandbox = Sandbox::with_skills();
    sandbox.write(".agents/skills/alpha/assets/x.png", b"\x89PNG\0\xff");
    assert_eq!(sandbox.run(&["show", "alpha", "--asset", "x.png"]).bytes, b"\x89PNG\0\xff");
    let run = sandbox.run(&["show", "alpha", "--asset", "x.png", "--json"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("image/png"), "{}", run.stderr);
}

#[test]
fn json_has_every_key() {
    let sandbox = Sandbox::with_skills();
    insta::assert_snapshot!(sandbox.run(&["show", "alpha", "--json", "--reference", "guide.md"]).stdout, @r##"
    {
      "name": "alpha",
      "address": "alpha",
      "description": "Does alpha things well. Use when alpha is asked for.",
      "source": "project:.agents/skills",
      "path": "[DIR]/project/.agents/skills/alpha",
      "version": null,
      "author": null,
      "tags": [],
      "state": "active",
      "is_offered": true,
      "diagnostics": [],
      "body": "",
      "available_references": [
        "guide.md"
      ],
      "available_scripts": [
        "run.sh"
      ],
      "available_assets": [],
      "license": null,
      "compatibility": null,
      "allowed_tools": [],
      "frontmatter": {
        "name": "alpha",
        "description": "Does alpha things well. Use when alpha is asked for."
      },
      "reference_content": "one\ntwo\nthree\n",
      "script_content": null,
      "asset_content": null,
      "error": null
    }
    "##);
    let run = sandbox.run(&["show", "nope", "--json"]);
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, &answer["body"]), (1, &Value::from("")));
    assert_eq!(answer["error"], "there is no skill `nope`");
    assert_eq!(answer["hints"][0], "there are: alpha, beta");
}

#[test]
fn an_unknown_name_is_answered_with_near_ones() {
    assert_run!(Sandbox::with_skills().run(&["show", "alhpa"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: there is no skill `alhpa`
    hint: did you mean `alpha`?
    hint: there are: alpha, beta
    hint: run `rep explain alhpa` to see why it is missing
    "#);
}

#[test]
fn a_quarantined_skill_says_why() {
    let sandbox = Sandbox::new();
    sandbox.write(".agents/skills/broken/SKILL.md", "---\nname: broken\n");
    assert_run!(sandbox.run(&["show", "broken"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: the skill `broken` is quarantined ([DIR]/project/.agents/skills/broken)
      because: the frontmatter is never closed
    hint: run `rep check [DIR]/project/.agents/skills/broken` to see what is wrong
    "#);
}

#[test]
fn a_shadowed_skill_is_reached_by_its_source() {
    let sandbox = Sandbox::new();
    sandbox.write("one/x/SKILL.md", skill("x", "one\n"));
    sandbox.write("two/x/SKILL.md", skill("x", "two\n"));
    let roots = ["--root", "one", "--root", "two"];
    assert_eq!(sandbox.run(&[&["show", "x"], &roots[..]].concat()).stdout, "one\n");
    assert_eq!(sandbox.run(&[&["show", "root:two:x"], &roots[..]].concat()).stdout, "two\n");
}

#[test]
fn resource_listing_decides_which_files_are_reported() {
    let sandbox = Sandbox::new();
    let frontmatter =
        "name: a\ndescription: Does things. Use when asked.\nreferences: [b.md, references/c.md]";
    sandbox.write(".agents/skills/a/SKILL.md", format!("---\n{frontmatter}\n---\nx\n"));
    sandbox.write(".agents/skills/a/references/a.md", "a");
    sandbox.write(".agents/skills/a/references/b.md", "b");
    let listed = |settings: &str| {
        sandbox.write("repertoire.toml", settings);
        sandbox.json(&["show", "a", "--json"])["available_references"].clone()
    };
    assert_eq!(listed(""), serde_json::json!(["a.md", "b.md"]));
    assert_eq!(listed("resources.listing = \"declared\""), serde_json::json!(["b.md", "c.md"]));
    assert_eq!(listed("resources.listing = \"both\""), serde_json::json!(["a.md", "b.md", "c.md"]));
    assert_eq!(listed("resources.max_listed = 1"), serde_json::json!(["a.md"]));
}

#[test]
fn every_reason_for_a_quarantine_is_reported() {
    let sandbox = Sandbox::new();
    sandbox.write(".agents/skills/a/SKILL.md", "---\nname: b\n---\n");
    sandbox.write(
        "repertoire.toml",
        "name_mismatch = \"quarantine\"\n[rules]\ndescription-missing = \"error\"\nbody-empty = \"error\"\n",
    );
    assert_run!(sandbox.run(&["show", "b"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: the skill `b` is quarantined ([DIR]/project/.agents/skills/a)
      because: the name `b` differs from the directory `a`
      because: there is no description, and nothing in the body to take one from
      because: the skill has neither a description nor instructions
      because: there are no instructions after the frontmatter
    hint: run `rep check [DIR]/project/.agents/skills/a` to see what is wrong
    "#);
}

#[test]
fn a_path_is_no_other_spelling_of_a_name() {
    let sandbox = Sandbox::with_skills();
    assert_eq!(sandbox.run(&["show", "Alpha"]).code, 0);
    for name in ["../alpha", "./alpha", "/alpha", "alpha/", "..alpha"] {
        let run = sandbox.run(&["show", name]);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{name}");
        assert!(run.stderr.contains("there is no skill"), "{name} {}", run.stderr);
    }
}

#[test]
fn a_skill_that_hides_another_is_announced() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/.claude/skills/alpha/SKILL.md", skill("alpha", "The user's own.\n"));
    let run = sandbox.run(&["show", "alpha"]);
    let expect = "note: this is project:.agents/skills:alpha, which hides user:.claude/skills:alpha\n";
    assert_eq!((run.code, run.stderr.as_str()), (0, expect));
    assert_eq!(sandbox.run(&["show", "beta"]).stderr, "");
    assert_eq!(sandbox.run(&["show", "user:.claude/skills:alpha"]).stderr, "");
}
