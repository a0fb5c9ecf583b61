//! Tests of the repairs.

use proptest::prelude::*;

use super::*;
use crate::{Document, ManifestSource, Policy};
use crate::{FileKind, SkillPath};

fn entry(path: &str) -> FileEntry {
    let path = SkillPath::new(path).unwrap();
    FileEntry { kind: FileKind::of(&path, "SKILL.md"), path, size: Some(1), executable: false }
}

fn run(text: &str) -> (Option<String>, Vec<String>) {
    let files =
        ["SKILL.md", "references/Guide.md", "references/a.md", "references/A.md", "docs/x y.md"].map(entry);
    let (fixed, left) = fix(text, Some("pdf-tools"), &files);
    let left = left.iter().map(|(rule, reason)| format!("{rule}: {reason}")).collect();
    (fixed, left)
}

fn check(before: &str, after: &str) {
    assert_eq!(run(before), (Some(after.to_owned()), Vec::new()), "{before}");
    assert_eq!(run(after), (None, Vec::new()), "a second repair");
}

#[test]
fn a_frontmatter_that_is_never_closed_is_closed() {
    let whole = "---\nname: pdf-tools\ndescription: Fills forms.\n---\n\n# Fill\n\ntext\n";
    check(&whole.replace("---\n\n# Fill", "\n# Fill"), whole);
    check(&whole.replace("---\n\n", "----\n\n"), whole);
    let windows = whole.replace('\n', "\r\n");
    check(&windows.replace("---\r\n\r\n#", "\r\n#"), &windows);
    let unclear = ["---\nname: pdf-tools\n", "---\nname: pdf-tools\n\ntext\n", "---\ndescription: x\n\n"];
    let left = vec!["frontmatter-unterminated: it is not clear where the frontmatter ends".to_owned()];
    for text in unclear {
        assert_eq!(run(text), (None, left.clone()), "{text}");
    }
}

#[test]
fn a_name_becomes_that_of_the_directory_if_it_is_loaded_by_it() {
    let skill = |name: &str| format!("---\n{name}description: Fills forms.\n---\ntext\n");
    let named = skill("name: pdf-tools\n");
    check(&skill("name: PDF Tools\n"), &named);
    check(&skill("name: \"pdf tools\"\n"), &named);
    check(&skill(""), &named);
    assert_eq!(run("---\n  description: Fills forms.\n---\ntext\n"), (None, Vec::new()));
    let left = "name-directory: only you know if `forms` or the directory is right, and who uses the name";
    assert_eq!(run(&skill("name: forms\n")), (None, vec![left.to_owned()]));
}

#[test]
fn links_are_led_to_the_one_file_that_is_spelled_otherwise() {
    let skill = |body: &str| format!("---\nname: pdf-tools\ndescription: Fills forms.\n---\n{body}\n");
    let check = |before: &str, after: &str| check(&skill(before), &skill(after));
    check("[g](references/guide.md#top)", "[g](references/Guide.md#top)");
    check(
        "[g](references/Guide), [h](./references/guide)",
        "[g](references/Guide.md), [h](references/Guide.md)",
    );
    check("[g](references\\Guide.md)", "[g](references/Guide.md)");
    let untouched = |body: &str| assert_eq!(run(&skill(body)), (None, Vec::new()), "{body}");
    untouched("[g](references/Guide.md) [a](references/a.md) [d](references/) [n](references/none.md)");
    untouched("`[g](references/guide.md)` [r](https://x.y/references/guide.md)");
    let left = |body: &str| run(&skill(body)).1;
    assert_eq!(left("[a](references/A)"), ["link-broken: several files could be meant by references/A"]);
    assert_eq!(
        left("[a](docs/X%20y.md)"),
        ["link-broken: the link is not written plainly: write docs/x y.md"]
    );
    assert_eq!(
        left("[g][r]\n\n[r]: references/guide.md"),
        ["link-broken: the link is not written plainly: write references/Guide.md"]
    );
}

#[test]
fn repairs_that_would_lose_something_are_named() {
    let left = |yaml: &str| run(&format!("---\nname: pdf-tools\n{yaml}\n---\ntext\n")).1;
    assert_eq!(
        left("<<<<<<< a\ndescription: x\n=======\ndescription: y\n>>>>>>> b"),
        ["frontmatter-repaired: only you know which side of the merge is meant"]
    );
    assert_eq!(
        left("description: x\nmetadata: {tags: [b]"),
        ["frontmatter-repaired: `metadata` could lose lines or brackets that belong to it"]
    );
}

proptest! {
    #[test]
    fn no_byte_of_the_body_and_no_key_is_lost(
        keys in prop::collection::vec(
            prop::sample::select(vec![
                "name: PDF Tools", "name: x", "description: Use when: a", "description: b", "\tversion: 1.10",
                "version: 1.10", "tags: [a, b", "metadata:\n\ta: b", "x: @y", "license: 'MIT", "", "# c",
            ]),
            0..6,
        ),
        closing in prop::sample::select(vec!["---\n", "----\n", "", "\n"]),
        body in prop::collection::vec(
            prop::sample::select(vec![
                "# X\n", "\n", "[g](references/guide.md)\n", "[g](references\\Guide)", "---\n", "text é\n", "[a](references/A)",
            ]),
            0..6,
        ),
    ) {
        let body = body.concat();
        let text = format!("---\n{}\n{closing}{body}", keys.join("\n"));
        let Some(fixed) = run(&text).0 else { return Ok(()) };
        // Links alone differ in the body, and only in their targets.
        let plain = |text: &str| text.replace('\\', "/").to_lowercase().replace("guide.md)", "guide)");
        prop_assert!(plain(&fixed).ends_with(&plain(&body)), "{text:?} -> {fixed:?}");
        for key in keys.iter().filter_map(|line| line.trim().split_once(':')).map(|(key, _)| key) {
            prop_assert!(fixed.contains(&format!("{key}:")), "{key} in {fixed:?}");
        }
        prop_assert_eq!(run(&fixed).0, None, "a second repair of {:?}", fixed);
        let parse = |text: &str| {
            let source = ManifestSource { bytes: text.as_bytes(), directory: Some("pdf-tools"), file_name: "SKILL.md" };
            Document::parse(source, &Policy::default())
        };
        let (before, after) = (parse(&text), parse(&fixed));
        if before.standing == crate::Standing::Sound {
            prop_assert_eq!(before.name, after.name);
            prop_assert_eq!(before.manifest.description, after.manifest.description);
            prop_assert_eq!(before.manifest.unknown, after.manifest.unknown);
        }
    }
}
