//! Properties that hold for every text.

#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)] // Tests may touch the world.

use proptest::prelude::*;
use repertoire_model::document::frontmatter_json;
use repertoire_model::{
    Document, Fragment, LineRange, ManifestSource, Pattern, Policy, Profile, SkillName, SkillPath, prompt,
    repair, text, yaml,
};

/// Texts made of the pieces that frontmatter is made of, so that most of them come near to being one.
fn skill_like() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("---\n".to_owned()),
        Just("---\r\n".to_owned()),
        Just("--- \n".to_owned()),
        Just("name: ".to_owned()),
        Just("description: ".to_owned()),
        Just("metadata:\n  ".to_owned()),
        Just("tags: [".to_owned()),
        Just("]\n".to_owned()),
        Just("- ".to_owned()),
        Just(": ".to_owned()),
        Just(" # ".to_owned()),
        Just("\"".to_owned()),
        Just("'".to_owned()),
        Just("|\n  ".to_owned()),
        Just(">\n".to_owned()),
        Just("&a ".to_owned()),
        Just("*a ".to_owned()),
        Just("!!str ".to_owned()),
        Just("{".to_owned()),
        Just("}".to_owned()),
        Just("\n".to_owned()),
        Just("\t".to_owned()),
        Just("\r".to_owned()),
        Just("metadata:\n\t".to_owned()),
        Just("\n\t- ".to_owned()),
        Just("\u{feff}".to_owned()),
        Just("\u{202e}".to_owned()),
        "[a-z ]{1,12}",
        "\\PC{0,6}",
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn parse(text: &str, profile: Profile) -> Document {
    let source =
        ManifestSource { bytes: text.as_bytes(), directory: Some("some-skill"), file_name: "SKILL.md" };
    Document::parse(source, &Policy::of(profile))
}

/// The meaning of a pattern, by a plain and slow implementation.
fn means(pattern: &[char], text: &[char]) -> bool {
    match (pattern, text) {
        ([], []) => true,
        (['*', rest @ ..], _) => means(rest, text) || (!text.is_empty() && means(pattern, &text[1..])),
        (['?', rest @ ..], [_, behind @ ..]) => means(rest, behind),
        ([wanted, rest @ ..], [met, behind @ ..]) => wanted == met && means(rest, behind),
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_text_makes_a_document_whose_places_exist(text in skill_like()) {
        for profile in Profile::ALL {
            let document = parse(&text, profile);
            prop_assert!(text.get(document.body.offset..document.body.offset + document.body.length).is_some());
            for diagnostic in &document.diagnostics {
                if let Some(span) = diagnostic.span {
                    let end = (span.start + span.length) as usize;
                    prop_assert!(text.get(span.start as usize..end).is_some(), "{:?}", diagnostic);
                    prop_assert!(span.line as usize <= text.matches('\n').count() + 1);
                }
            }
        }
    }

    #[test]
    fn parsing_is_a_function(text in skill_like()) {
        prop_assert_eq!(parse(&text, Profile::Standard), parse(&text, Profile::Standard));
    }

    #[test]
    fn a_repair_changes_nothing_that_was_understood_and_is_done_once(text in skill_like()) {
        if let Some(fixed) = repair::fix(&text) {
            prop_assert_eq!(frontmatter_json(&fixed), frontmatter_json(&text));
            prop_assert_eq!(repair::fix(&fixed), None);
        }
    }

    #[test]
    fn repairs_restore_the_intended_values(
        tags in proptest::collection::vec("[a-z]{1,6}", 1..4),
        keys in proptest::collection::vec(("[a-z]{1,6}", "[a-z]{1,6}(: [a-z]{1,6})?"), 1..4),
        description in "[a-z]{1,6}( [a-z]{1,6}){0,3}(: [a-z]{1,6})?",
        indent in prop_oneof![Just("\t"), Just("  ")],
        ending in prop_oneof![Just("\n"), Just("\r\n"), Just("\r")],
    ) {
        let mut lines = vec!["---".to_owned(), format!("description: {description}"), "tags:".to_owned()];
        lines.extend(tags.iter().map(|tag| format!("{indent}- {tag}")));
        lines.push("metadata:".to_owned());
        lines.extend(keys.iter().map(|(key, value)| format!("{indent}{key}: {value}")));
        lines.extend(["---".to_owned(), "body".to_owned()]);
        let text = lines.join(ending);
        let string = |text: &String| serde_json::Value::String(text.clone());
        let meant = serde_json::json!({
            "description": description,
            "tags": tags,
            "metadata": keys.iter().map(|(key, value)| (key.clone(), string(value))).collect::<serde_json::Map<_, _>>(),
        });
        let fixed = repair::fix(&text).unwrap_or_else(|| text.clone());
        let read = frontmatter_json(&fixed).map(serde_json::Value::Object);
        // A plain word may be more than a word to YAML: `null`, `true`.
        let words = |value: &serde_json::Value| value.to_string().replace('"', "");
        prop_assert_eq!(read.as_ref().map(words), Some(words(&meant)));
        let fixed = repertoire_model::frontmatter::divide(&fixed);
        let repertoire_model::frontmatter::Division::Fenced(fenced) = fixed else { panic!() };
        prop_assert!(yaml::parse(fenced.yaml).is_ok(), "{:?}", fenced.yaml);
    }

    #[test]
    fn quoted_text_reads_back(text in "\\PC*|[\\x00-\\x7f]*") {
        let parsed = yaml::parse(&format!("k: {}", repair::quote(&text)));
        let json = parsed.map(|parsed| parsed.root.map(|root| root.to_json()));
        prop_assert_eq!(json, Ok(Some(serde_json::json!({ "k": text }))));
    }

    #[test]
    fn names_are_stable(written in "(\\PC|[a-z]|[\u{34f}\u{115f}\u{1160}\u{3164}\u{180b}-\u{180d}\u{fe00}-\u{fe0f}\u{e0100}]){0,80}") {
        for name in [SkillName::new(&written), SkillName::slug(&written)].into_iter().flatten() {
            prop_assert_eq!(SkillName::new(name.as_str()), Some(name.clone()));
            prop_assert!(!name.as_str().contains(['/', '\\', ':', '\0', ' ']));
            prop_assert!(!name.as_str().contains(|c| text::is_invisible(c) || text::is_variation_selector(c)));
        }
    }

    #[test]
    fn paths_never_lead_out(text in "([a-z.]{0,3}[/\\\\]?){0,6}|\\PC{0,30}") {
        if let Ok(path) = SkillPath::new(&text) {
            let native = std::path::Path::new(path.as_str());
            prop_assert!(native.components().all(|part| matches!(part, std::path::Component::Normal(_))));
        }
    }

    #[test]
    fn line_ranges_divide_a_text(text in "[ab\r\n]{0,30}", cut in 0_usize..8) {
        let head = LineRange::new(None, Some(cut)).apply(text.as_bytes());
        let tail = LineRange::new(Some(cut + 1), None).apply(text.as_bytes());
        prop_assert_eq!([head.bytes, tail.bytes].concat(), text.as_bytes());
        prop_assert_eq!(head.lines + tail.lines, head.total_lines);
    }

    #[test]
    fn patterns_match_as_in_the_reference_implementation(pattern in "[ab*?]{1,10}", name in "[ab]{0,12}") {
        let chars = |text: &str| text.chars().collect::<Vec<_>>();
        let expect = means(&chars(&pattern), &chars(&name));
        prop_assert_eq!(Pattern::new(&pattern).unwrap().matches("s:t", &name), expect);
        prop_assert_eq!(Pattern::new(&format!("s:t:{pattern}")).unwrap().matches("s:t", &name), expect);
        let elsewhere = Pattern::new(&format!("t:{pattern}")).unwrap();
        prop_assert!(!elsewhere.matches("s:t", &name));
    }

    #[test]
    fn every_text_is_a_pattern_that_reads_back_or_none(text in "\\PC{0,40}", name in "\\PC{0,20}") {
        if let Ok(pattern) = Pattern::new(&text) {
            let _ = pattern.matches(&name, &name);
            prop_assert_eq!(Pattern::new(&pattern.to_string()), Ok(pattern));
        }
    }

    #[test]
    fn a_prompt_does_not_depend_on_the_order_of_its_parts(
        parts in proptest::collection::vec(("[ab]", -2_i32..2, "[x \n]{0,4}"), 0..6),
        turn in 0_usize..6,
    ) {
        let mut fragments: Vec<Fragment> =
            parts.into_iter().map(|(name, priority, text)| Fragment::new(name, priority, text)).collect();
        let composed = prompt::compose(&fragments);
        let turn = turn.min(fragments.len());
        fragments.rotate_left(turn);
        prop_assert_eq!(&prompt::compose(&fragments), &composed);
        fragments.reverse();
        prop_assert_eq!(prompt::compose(&fragments), composed);
    }
}
