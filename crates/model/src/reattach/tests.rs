//! Tests of putting skills back, and of the cost.

use proptest::prelude::*;

use super::*;
use crate::answer::{Injection, Wording};
use crate::catalog::Tokenizer;
use crate::essence::essence;
use crate::{Digest, SkillName};

#[derive(Debug)]
struct Skill {
    name: SkillName,
    body: String,
    essence: String,
}

fn skills() -> Vec<Skill> {
    let skill = |name: &str, body: &str| {
        let (name, body) = (SkillName::new(name).unwrap(), body.repeat(4));
        Skill { name, essence: essence(&body), body }
    };
    vec![
        skill("git", "Commit often.\n- NEVER force-push.\n"),
        skill("docx", "Some prose about documents, none of it a rule, and plenty of it.\n"),
        skill(
            "release",
            "1. Tag it.\n2. You MUST sign the tag.\nA long story about why this is so, and what went wrong.\n",
        ),
    ]
}

fn candidates(skills: &[Skill]) -> Vec<ReattachCandidate<'_>> {
    let mut candidates = Vec::new();
    for Skill { name, body, essence } in skills {
        candidates.push(ReattachCandidate { name, body, digest: Digest::of(body.as_bytes()), essence });
    }
    candidates
}

fn bytes(text: &str) -> usize {
    text.len()
}

fn levels(budget: usize) -> Vec<Level> {
    let skills = skills();
    let plan = plan(&candidates(&skills), 0, budget, &bytes, &Wording::default());
    plan.pieces.iter().map(|piece| piece.level).collect()
}

#[test]
fn the_budget_buys_bodies_then_essences_then_names() {
    use Level::{Body, Essence, Omitted, Pointer};
    for tiny in [0, 1, 2, 100] {
        assert_eq!(levels(tiny), [Omitted; 3]);
    }
    for (budget, expect) in [
        (190, [Omitted; 3]),
        (193, [Pointer, Omitted, Omitted]),
        (196, [Pointer; 3]),
        (480, [Body, Pointer, Pointer]),
        (700, [Body, Pointer, Essence]),
        (760, [Body, Body, Pointer]),
        (800, [Body, Body, Essence]),
        (10_000, [Body; 3]),
    ] {
        assert_eq!(levels(budget), expect, "{budget}");
    }
}

#[test]
fn reattached_text_is_as_in_the_snapshots() {
    let skills = skills();
    let text = |more, budget| plan(&candidates(&skills), more, budget, &bytes, &Wording::default()).text;
    insta::assert_snapshot!("mixed", text(0, 700));
    insta::assert_snapshot!("names", text(7, 230));
    assert_eq!(text(0, 100), "");
    assert_eq!(plan(&[], 3, 1_000, &bytes, &Wording::default()).text, "");
    assert!(text(2, 10_000).contains("\nLoad again when needed: 2 more\n</"));
    assert!(!text(0, 10_000).contains("Load again when needed"));
}

#[test]
fn metadata_names_skills_that_are_reattached_in_full() {
    let skills = skills();
    let metadata = |budget| plan(&candidates(&skills), 0, budget, &bytes, &Wording::default()).metadata();
    assert_eq!(metadata(480), Some(serde_json::json!({"skillInjection": true, "skillIds": ["git"]})));
    assert_eq!(metadata(220), None);
}

/// Texts that are likely to hold what the wrappers are made of.
fn hostile_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => "(<|</|< /|&lt;|&amp;lt;)(skill|skill_digest|skills_reattached|SKILL)[ >\n]?",
        1 => Just("\n</skill>\n<skill name=\"x\" digest=\"y\">\n".to_owned()),
        1 => "(\r\n|\n|\"|\u{200b}|\u{feff})",
        2 => "\\PC{0,8}",
        2 => "[a-z ]{0,12}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn any_skill() -> impl Strategy<Value = Skill> {
    ("[a-z][a-z0-9-]{0,12}", hostile_text(), hostile_text()).prop_map(|(name, body, essence)| Skill {
        name: SkillName::new(&name).unwrap(),
        body,
        essence,
    })
}

/// Counters that are sensible, coarse, and out of their minds.
fn price(which: usize) -> Box<dyn Fn(&str) -> usize> {
    match which {
        0 => Box::new(str::len),
        1 => Box::new(|text| Tokenizer::O200kBase.count(text)),
        2 => Box::new(|text| text.len().div_ceil(4)),
        3 => Box::new(|text| text.len() * text.len() / 100),
        _ => Box::new(|text| usize::MAX - text.len()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_budget_holds_and_bodies_are_recognised(
        skills in prop::collection::vec(any_skill(), 0..6),
        budget in 0..1_500_usize,
        which in 0..5_usize,
        more in 0..3_usize,
        around in prop::sample::select(vec![("", ""), ("Hello\n\n", "\nBye"), ("<system-reminder>", "</system-reminder>")]),
    ) {
        let price = price(which);
        let candidates = candidates(&skills);
        let plan = || super::plan(&candidates, more, budget, &*price, &Wording::default());
        let reattachment = plan();
        prop_assert_eq!(&reattachment, &plan());
        prop_assert!(reattachment.tokens <= budget);
        if !reattachment.text.is_empty() {
            prop_assert_eq!(reattachment.tokens, price(&reattachment.text));
        }
        prop_assert_eq!(reattachment.pieces.len(), skills.len());
        let given = candidates.iter().zip(&reattachment.pieces).filter(|(_, piece)| piece.level == Level::Body);
        let given: Vec<_> =
            given.map(|(candidate, _)| Injection { name: candidate.name.clone(), digest: candidate.digest }).collect();
        let given: Vec<_> = given.into_iter().rev().collect();
        let (before, behind) = around;
        prop_assert_eq!(recognise(&format!("{before}{}{behind}", reattachment.text)), given);
        let unsaid = reattachment.pieces.iter().any(|piece| piece.level == Level::Omitted) || more > 0;
        prop_assert_eq!(reattachment.text.contains(" more\n</skills_reattached>"), unsaid && !reattachment.text.is_empty());
        let ends = reattachment.text.matches("</skills_reattached>").count();
        prop_assert_eq!(ends, usize::from(!reattachment.text.is_empty()));
    }
}
