//! What is put back, and what it costs.

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

fn candidates(skills: &[Skill]) -> Vec<Candidate<'_>> {
    let mut candidates = Vec::new();
    for Skill { name, body, essence } in skills {
        candidates.push(Candidate { name, body, digest: Digest::of(body.as_bytes()), essence });
    }
    candidates
}

fn bytes(text: &str) -> usize {
    text.len()
}

fn levels(budget: usize) -> Vec<Level> {
    let skills = skills();
    let plan = plan(&candidates(&skills), budget, &bytes, &Wording::default());
    plan.pieces.iter().map(|piece| piece.level).collect()
}

#[test]
fn the_budget_buys_pointers_then_bodies_then_essences() {
    use Level::{Body, Essence, Omitted, Pointer};
    assert_eq!(levels(0), [Omitted; 3]);
    assert_eq!(levels(250), [Pointer, Omitted, Omitted]);
    assert_eq!(levels(320), [Pointer; 3]);
    assert_eq!(levels(520), [Body, Pointer, Pointer]);
    assert_eq!(levels(620), [Body, Pointer, Essence]);
    assert_eq!(levels(800), [Body, Body, Pointer]);
    assert_eq!(levels(900), [Body, Body, Essence]);
    assert_eq!(levels(10_000), [Body; 3]);
}

#[test]
fn the_text_says_what_it_is() {
    let skills = skills();
    let text = |budget| plan(&candidates(&skills), budget, &bytes, &Wording::default()).text;
    insta::assert_snapshot!("mixed", text(620));
    insta::assert_snapshot!("pointers", text(300));
    assert_eq!(text(100), "");
    assert_eq!(plan(&[], 100, &bytes, &Wording::default()).text, "");
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
    ) {
        let price = price(which);
        let candidates = candidates(&skills);
        let plan = || super::plan(&candidates, budget, &*price, &Wording::default());
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
        prop_assert_eq!(recognise(&reattachment.text), given);
        let ends = reattachment.text.matches("</skills_reattached>").count();
        prop_assert_eq!(ends, usize::from(!reattachment.text.is_empty()));
    }
}
