//! The table of edge cases that was measured on the reference.

use super::{complaints, printed};

const NAME_AND: &str = "name: a\n";
const DESCRIBED: &str = "name: a\ndescription: x\n";

/// Checks the frontmatter `fields` of a skill in a directory `a`: valid or not, and what of the properties is told.
fn check(fields: &str, valid: bool, told: &str) {
    check_in("a", &format!("---\n{fields}---\n"), valid, told);
}

fn check_in(directory: &str, content: &str, valid: bool, told: &str) {
    let errors = complaints(content, directory);
    assert_eq!(errors.is_empty(), valid, "{content:?}: {errors:?}");
    let printed = printed(content);
    assert!(printed.contains(told), "{content:?}: {printed}");
}

#[test]
fn descriptions() {
    for (description, valid, told) in [
        ("Use when: x", false, "Invalid YAML in frontmatter: mapping values are not allowed here\n"),
        ("Use http://x:80", true, r#""description": "Use http://x:80""#),
        ("Use C#", true, r#""description": "Use C#""#),
        ("Use C # comment", true, r#""description": "Use C""#),
        (">\n  a\n  b\n\n  c", true, r#""description": "a b\nc""#),
        ("|\n  a\n  b", true, r#""description": "a\nb""#),
        ("a\n  b", true, r#""description": "a b""#),
        ("foo --- bar", true, r#""description": "foo""#),
        ("true", true, r#""description": "true""#),
        ("", false, "Field 'description' must be a non-empty string"),
        ("\"\"", false, "Field 'description' must be a non-empty string"),
        ("'   '", false, "Field 'description' must be a non-empty string"),
        ("'  x '", true, r#""description": "x""#),
        ("é 😀", true, r#""description": "\u00e9 \ud83d\ude00""#),
    ] {
        check(&format!("{NAME_AND}description: {description}\n"), valid, told);
    }
}

#[test]
fn other_fields() {
    for (field, valid, told) in [
        ("allowed-tools: [Read, Write]", false, "Found ugly disallowed JSONesque flow mapping"),
        ("metadata: {x: y}", false, "Found ugly disallowed JSONesque flow mapping"),
        (
            "allowed-tools:\n  - Read\n  - Write",
            true,
            "\"allowed-tools\": [\n    \"Read\",\n    \"Write\"\n  ]",
        ),
        ("allowed-tools: Bash(jq:*) Bash(git:*)", true, r#""allowed-tools": "Bash(jq:*) Bash(git:*)""#),
        ("metadata:\n  x:\n    y: 1", true, r#""x": "{'y': '1'}""#),
        ("metadata:\n  x:\n    - y\n    - it's", true, r#""x": "['y', \"it's\"]""#),
        ("metadata:\n  - x", true, "\"metadata\": [\n    \"x\"\n  ]"),
        ("metadata: x", true, r#""metadata": "x""#),
        ("metadata:", true, "\"description\": \"x\"\n}"),
        ("license:\n  - MIT", true, "\"license\": [\n    \"MIT\"\n  ]"),
        ("license:", true, r#""license": """#),
        ("compatibility: \"\"", true, r#""compatibility": """#),
        ("compatibility:\n  - x", false, "\"compatibility\": [\n    \"x\"\n  ]"),
        ("name: b", false, "Duplicate key 'name' found"),
        ("license: &x y", false, "Found confusing disallowed anchor token"),
        ("license: *x", false, "found undefined alias 'x'"),
        ("license: !!str x", false, "Found disallowed tag tokens"),
        ("metadata:\n\tx: y", false, "found character '\\t' that cannot start any token"),
        ("version: 1", false, "\"description\": \"x\"\n}"),
        ("disable-model-invocation: true", false, "\"description\": \"x\"\n}"),
        ("...", true, "\"description\": \"x\"\n}"),
    ] {
        check(&format!("{DESCRIBED}{field}\n"), valid, told);
    }
}

#[test]
fn fences() {
    let fields = DESCRIBED;
    let must_start = "SKILL.md must start with YAML frontmatter (---)";
    let must_be_mapping = "SKILL.md frontmatter must be a YAML mapping";
    for (content, valid, told) in [
        (format!("---\n{fields}---"), true, "\"name\": \"a\""),
        (format!("\u{feff}---\n{fields}---\n"), false, must_start),
        (format!("\n---\n{fields}---\n"), false, must_start),
        (format!("---\n{fields}"), false, "SKILL.md frontmatter not properly closed with ---"),
        ("---\n---\n".to_owned(), false, must_be_mapping),
        ("---\n# nothing\n---\n".to_owned(), false, must_be_mapping),
        ("---\n- a\n---\n".to_owned(), false, must_be_mapping),
        (format!("---yaml\n{fields}---\n"), false, "Invalid YAML in frontmatter: "),
        (format!("----\n{fields}---\n"), false, "Invalid YAML in frontmatter: "),
    ] {
        check_in("a", &content, valid, told);
    }
}

#[test]
fn names() {
    let long = "a".repeat(64);
    for (name, directory, complaint) in [
        ("1", "1", None),
        ("' a '", "a", None),
        ("ａ", "a", None),
        ("straße", "straße", None),
        ("x²", "x2", None),
        ("a٣", "a٣", None),
        (&long, &long, None),
        (&format!("{long}a"), &format!("{long}a"), Some("exceeds 64 character limit (65 chars)")),
        ("", "a", Some("Field 'name' must be a non-empty string")),
        ("a😀", "a😀", Some("contains invalid characters")),
        // Marks are neither letters nor numbers to Python.
        ("ทักษะ", "ทักษะ", Some("contains invalid characters")),
        ("हिन्दी", "हिन्दी", Some("contains invalid characters")),
        ("🅐", "🅐", Some("contains invalid characters")),
        ("a", "", Some("Directory name '' must match skill name 'a'")),
    ] {
        let errors = complaints(&format!("---\nname: {name}\ndescription: x\n---\n"), directory);
        match complaint {
            None => assert_eq!(errors, Vec::<String>::new(), "{name}"),
            Some(part) => assert!(errors.len() == 1 && errors[0].contains(part), "{name}: {errors:?}"),
        }
    }
    assert!(printed("---\nname: ａ\ndescription: x\n---\n").contains(r#""name": "\uff41""#));
}

#[test]
fn a_description_of_1024_characters_is_the_longest() {
    for (length, valid) in [(1024, true), (1025, false)] {
        check(
            &format!("{NAME_AND}description: {}\n", "é".repeat(length)),
            valid,
            r#""description": "\u00e9"#,
        );
    }
}

#[test]
fn complaints_keep_their_order() {
    let content = format!(
        "---\nzeta: 1\nName: x\nname: -A--b_\ndescription: ''\ncompatibility: {}\n---\n",
        "x".repeat(501)
    );
    assert_eq!(
        complaints(&content, "dir"),
        [
            "Unexpected fields in frontmatter: Name, zeta. Only ['allowed-tools', 'compatibility', 'description', \
             'license', 'metadata', 'name'] are allowed.",
            "Skill name '-A--b_' must be lowercase",
            "Skill name cannot start or end with a hyphen",
            "Skill name cannot contain consecutive hyphens",
            "Skill name '-A--b_' contains invalid characters. Only letters, digits, and hyphens are allowed.",
            "Directory name 'dir' must match skill name '-A--b_'",
            "Field 'description' must be a non-empty string",
            "Compatibility exceeds 500 character limit (501 chars)",
        ]
    );
    assert_eq!(
        complaints("---\nName: a\n---\n", "a"),
        [
            "Unexpected fields in frontmatter: Name. Only ['allowed-tools', 'compatibility', 'description', \
             'license', 'metadata', 'name'] are allowed.",
            "Missing required field in frontmatter: name",
            "Missing required field in frontmatter: description",
        ]
    );
}
