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
        [("2:3", "two\nthree\n"), ("2:", "two\nthree\n"), (":1", "one\n"), ("3", "three\n"), ("9:", "")]
    {
        assert_eq!(
            sandbox.run(&["show", "alpha", "--reference", "guide.md", "--lines", lines]).stdout,
            expect
        );
    }
    assert_eq!(sandbox.run(&["show", "alpha", "--lines", "1"]).stdout, "# Alpha\n");
    assert_run!(sandbox.run(&["show", "alpha", "--asset", "logo.png"]), @"");
    assert_run!(sandbox.run(&["show", "alpha", "--file", "../beta/SKILL.md"]), @"");
    assert_run!(sandbox.run(&["show", "alpha", "--file", "references"]), @"");
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
    insta::assert_snapshot!(sandbox.run(&["show", "alpha", "--json", "--reference", "guide.md"]).stdout, @"");
    let run = sandbox.run(&["show", "nope", "--json"]);
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, &answer["body"]), (1, &Value::from("")));
    assert_eq!(answer["error"], "there is no skill `nope`");
}

#[test]
fn an_unknown_name_is_answered_with_near_ones() {
    assert_run!(Sandbox::with_skills().run(&["show", "alhpa"]), @"");
}

#[test]
fn a_quarantined_skill_says_why() {
    let sandbox = Sandbox::new();
    sandbox.write(".agents/skills/broken/SKILL.md", "---\nname: broken\n");
    assert_run!(sandbox.run(&["show", "broken"]), @"");
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
