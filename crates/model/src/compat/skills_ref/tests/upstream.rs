//! The reference's own tests of parsing, prompt and validation, re-expressed. Those that need files are tests of the
//! command.

use super::super::{Entry, read_properties, to_prompt};
use super::{complaints, printed};

const VALID: &str = "---\nname: my-skill\ndescription: A test skill\n---\n# My Skill\n";

fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: A test skill\n---\nBody\n")
}

#[test]
fn parsing() {
    for (content, told) in [
        ("# No frontmatter here", "must start with YAML frontmatter"),
        ("---\nname: my-skill\ndescription: A test skill\n", "not properly closed"),
        ("---\nname: [invalid\ndescription: broken\n---\nBody\n", "Invalid YAML"),
        ("---\n- just\n- a\n- list\n---\nBody\n", "must be a YAML mapping"),
        ("---\ndescription: A test skill\n---\nBody\n", "Missing required field in frontmatter: name"),
        ("---\nname: my-skill\n---\nBody\n", "Missing required field in frontmatter: description"),
        (
            "---\nname: my-skill\ndescription: A test skill\nmetadata:\n  author: Test Author\n  version: 1.0\n---\n",
            "\"metadata\": {\n    \"author\": \"Test Author\",\n    \"version\": \"1.0\"\n  }",
        ),
        ("---\nname: my-skill\ndescription: A test skill\nlicense: MIT\n---\n", "\"license\": \"MIT\""),
        (VALID, "{\n  \"name\": \"my-skill\",\n  \"description\": \"A test skill\"\n}"),
    ] {
        let printed = printed(content);
        assert!(printed.contains(told), "{content:?}: {printed}");
    }
}

#[test]
fn prompts() {
    let first = read_properties(VALID).unwrap();
    let second = "---\nname: other\ndescription: Use <foo> & <bar> tags, \"q\" 'p'\n---\n";
    let second = read_properties(second).unwrap();
    let entries = [
        Entry { properties: &first, location: "/s/my-skill/SKILL.md" },
        Entry { properties: &second, location: "/s/<other>/SKILL.md" },
    ];
    assert_eq!(
        to_prompt(&entries),
        "<available_skills>\n\
         <skill>\n<name>\nmy-skill\n</name>\n<description>\nA test skill\n</description>\n\
         <location>\n/s/my-skill/SKILL.md\n</location>\n</skill>\n\
         <skill>\n<name>\nother\n</name>\n\
         <description>\nUse &lt;foo&gt; &amp; &lt;bar&gt; tags, &quot;q&quot; &#x27;p&#x27;\n</description>\n\
         <location>\n/s/<other>/SKILL.md\n</location>\n</skill>\n\
         </available_skills>"
    );
    assert_eq!(to_prompt(&[]), "<available_skills>\n</available_skills>");
}

#[test]
fn names() {
    for (name, directory, complaint) in [
        ("my-skill", "my-skill", None),
        ("技能", "技能", None),
        ("мой-навык", "мой-навык", None),
        ("навык", "навык", None),
        ("cafe\u{301}", "caf\u{e9}", None),
        ("НАВЫК", "НАВЫК", Some("lowercase")),
        ("MySkill", "MySkill", Some("lowercase")),
        ("-my-skill", "-my-skill", Some("cannot start or end with a hyphen")),
        ("my--skill", "my--skill", Some("consecutive hyphens")),
        ("my_skill", "my_skill", Some("invalid characters")),
        ("correct-name", "wrong-name", Some("must match skill name")),
        (&"a".repeat(70), &"a".repeat(70), Some("exceeds 64 character limit")),
    ] {
        let errors = complaints(&skill(name), directory);
        match complaint {
            None => assert_eq!(errors, Vec::<String>::new(), "{name}"),
            Some(part) => assert!(errors.iter().any(|error| error.contains(part)), "{name}: {errors:?}"),
        }
    }
}

#[test]
fn fields() {
    let with =
        |fields: &str| complaints(&VALID.replacen("---\n#", &format!("{fields}\n---\n#"), 1), "my-skill");
    assert_eq!(with("license: MIT\nmetadata:\n  author: Test"), Vec::<String>::new());
    assert_eq!(with("allowed-tools: Bash(jq:*) Bash(git:*)"), Vec::<String>::new());
    assert_eq!(with("compatibility: Requires Python 3.11+"), Vec::<String>::new());
    assert!(with("unknown_field: x")[0].starts_with("Unexpected fields in frontmatter: unknown_field. "));
    let long = "x".repeat(550);
    assert_eq!(
        with(&format!("compatibility: {long}")),
        ["Compatibility exceeds 500 character limit (550 chars)"]
    );
    let long = "x".repeat(1100);
    assert_eq!(
        complaints(&format!("---\nname: my-skill\ndescription: {long}\n---\n"), "my-skill"),
        ["Description exceeds 1024 character limit (1100 chars)"]
    );
}
