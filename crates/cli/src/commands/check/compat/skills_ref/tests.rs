//! The reference's own tests of parsing, prompts and validation, and verdicts recorded from it. The cases
//! that need files are tests of the command.

use super::{read_properties, to_prompt, validate};

const VALID: &str = "---\nname: my-skill\ndescription: A test skill\n---\n# My Skill\n";

fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: A test skill\n---\nBody\n")
}

/// Returns the output of `read-properties`, on either stream, without `Error: `.
fn printed(content: &str) -> String {
    read_properties(content).map_or_else(|error| error, |properties| properties.to_json())
}

#[test]
fn read_properties_parses_frontmatter_or_says_why_not() {
    for (content, expect) in [
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
        ("---\nname: ' '\ndescription: x\n---\n", "Field 'name' must be a non-empty string"),
        // The first `---` anywhere ends the frontmatter.
        ("---\nname: a\ndescription: foo --- bar\n---\n", "\"description\": \"foo\""),
        ("---\nname: a\ndescription: b\nallowed-tools:\n- Read\n- Write\n---\n", "\"Read\",\n    \"Write\""),
    ] {
        let printed = printed(content);
        assert!(printed.contains(expect), "{content:?}: {printed}");
    }
}

#[test]
fn prompts_escape_names_and_descriptions_but_not_paths() {
    let first = read_properties(VALID).unwrap();
    let second = "---\nname: other\ndescription: Use <foo> & <bar> tags, \"q\" 'p'\n---\n";
    let second = read_properties(second).unwrap();
    let skills = [(first, "/s/my-skill/SKILL.md".to_owned()), (second, "/s/<other>/SKILL.md".to_owned())];
    assert_eq!(
        to_prompt(&skills),
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
fn names_are_validated() {
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
        let errors = validate(&skill(name), directory);
        match complaint {
            None => assert_eq!(errors, Vec::<String>::new(), "{name}"),
            Some(part) => assert!(errors.iter().any(|error| error.contains(part)), "{name}: {errors:?}"),
        }
    }
}

#[test]
fn fields_are_validated() {
    let with =
        |fields: &str| validate(&VALID.replacen("---\n#", &format!("{fields}\n---\n#"), 1), "my-skill");
    let none = Vec::<String>::new();
    assert_eq!(with("license: MIT\nmetadata:\n  author: Test"), none);
    assert_eq!(with("allowed-tools: Bash(jq:*) Bash(git:*)"), none);
    assert_eq!(with("compatibility: Requires Python 3.11+"), none);
    assert_eq!(with("compatibility:"), none);
    assert_eq!(with("compatibility:\n- a"), ["Field 'compatibility' must be a string"]);
    assert!(with("unknown_field: x")[0].starts_with("Unexpected fields in frontmatter: unknown_field. "));
    let long = "x".repeat(550);
    assert_eq!(
        with(&format!("compatibility: {long}")),
        ["Compatibility exceeds 500 character limit (550 chars)"]
    );
    let long = "x".repeat(1100);
    assert_eq!(
        validate(&format!("---\nname: my-skill\ndescription: {long}\n---\n"), "my-skill"),
        ["Description exceeds 1024 character limit (1100 chars)"]
    );
}

#[test]
fn yaml_outside_the_strict_subset_is_refused() {
    for field in [
        "tags: [a, b]",
        "metadata: {a: b}",
        "license: MIT\nlicense: MIT",
        "license: &x MIT",
        "license: !!str MIT",
    ] {
        let errors = validate(&VALID.replacen("---\n#", &format!("{field}\n---\n#"), 1), "my-skill");
        assert_eq!(errors.len(), 1, "{field}: {errors:?}");
        assert!(errors[0].starts_with("Invalid YAML in frontmatter: "), "{field}: {errors:?}");
    }
}
