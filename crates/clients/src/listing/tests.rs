//! The listings that each kind of rule makes of a few skills.

use std::path::PathBuf;

use super::rule::{ListingBudget, ListingRule};
use super::{CLAUDE_CODE, CODEX, COPILOT, GOOSE, OfferedSkill, ShownPart, simulate};

fn skill(name: &str, description: impl Into<String>) -> OfferedSkill {
    OfferedSkill {
        name: name.to_owned(),
        library_name: name.to_owned(),
        description: description.into(),
        path: PathBuf::from(format!("/home/me/.agents/skills/{name}/SKILL.md")),
        is_users: true,
        uses: 0.0,
    }
}

fn shown(rule: &ListingRule, skills: &[OfferedSkill]) -> Vec<(ShownPart, String)> {
    let listing = simulate(rule, skills.to_vec());
    listing.skills.into_iter().map(|listed| (listed.shown, listed.text)).collect()
}

fn parts(rule: &ListingRule, skills: &[OfferedSkill]) -> Vec<ShownPart> {
    shown(rule, skills).into_iter().map(|(shown, _)| shown).collect()
}

/// Claude Code without skills of its own, and a budget of `columns`.
fn most_used(columns: usize) -> ListingRule {
    let budget = ListingBudget::MostUsed(1.0, [1, 1], 0);
    ListingRule { budget, window: columns, own: &[], ..CLAUDE_CODE }
}

#[test]
fn the_most_used_skills_keep_their_descriptions() {
    let mut skills = [skill("aa", "x".repeat(20)), skill("bb", "处".repeat(10)), skill("cc", "z".repeat(20))];
    // Three lines of 26 columns, with two line ends.
    assert_eq!(parts(&most_used(80), &skills), [ShownPart::Whole, ShownPart::Whole, ShownPart::Whole]);
    assert_eq!(parts(&most_used(79), &skills), [ShownPart::Whole, ShownPart::Whole, ShownPart::NameOnly]);
    skills[2].uses = 1.5;
    assert_eq!(parts(&most_used(79), &skills), [ShownPart::Whole, ShownPart::NameOnly, ShownPart::Whole]);
    // Names stay even where they are too long.
    assert_eq!(parts(&most_used(5), &skills), [ShownPart::NameOnly; 3]);
    assert_eq!(shown(&most_used(5), &skills)[0].1, "- aa");
}

#[test]
fn a_smaller_description_may_fit_where_a_longer_one_does_not() {
    let skills = [skill("aa", "x".repeat(60)), skill("bb", "y".repeat(9))];
    assert_eq!(parts(&most_used(40), &skills), [ShownPart::NameOnly, ShownPart::Whole]);
}

#[test]
fn long_descriptions_are_cut_or_leave_the_skill_out() {
    let long = [skill("aa", "word ".repeat(500))];
    let (cut, text) = shown(&CLAUDE_CODE, &long).remove(0);
    assert_eq!((cut, text.ends_with('…')), (ShownPart::Cut(1_536), true));
    let (cut, text) = shown(&CODEX, &long).remove(0);
    assert_eq!((cut, text.contains("... (file: r0/aa/SKILL.md)")), (ShownPart::Cut(1_024), true));
    assert_eq!(shown(&COPILOT, &long), [(ShownPart::Gone, String::new())]);
    assert_eq!(parts(&GOOSE, &long), [ShownPart::Whole]);
}

#[test]
fn lines_are_joined_and_marks_are_escaped_as_each_client_does_it() {
    let written = |rule: &ListingRule| (rule.written)("One <b> & 'c'.\nTwo   more.\n");
    assert_eq!(written(&CLAUDE_CODE), "One &lt;b&gt; & 'c'. Two   more.");
    assert_eq!(written(&CODEX), "One <b> & 'c'. Two more.");
    assert_eq!(written(&COPILOT), "One &lt;b&gt; &amp; &apos;c&apos;.\nTwo   more.\n");
    assert_eq!(written(&GOOSE), "One <b> & 'c'.\nTwo   more.\n");
}

/// Codex without skills of its own, and a budget of `tokens`.
fn even(tokens: usize) -> ListingRule {
    ListingRule { budget: ListingBudget::Even(1.0), window: tokens, own: &[], ..CODEX }
}

#[test]
fn descriptions_are_cut_evenly_before_skills_go() {
    // The names alone are 29 bytes each, which are 8 tokens with room for a blank and two characters.
    let skills = [skill("aa", "x".repeat(40)), skill("bb", "y".repeat(8)), skill("cc", "z".repeat(40))];
    assert_eq!(parts(&even(24), &skills), [ShownPart::Cut(2), ShownPart::Cut(2), ShownPart::Cut(2)]);
    assert_eq!(parts(&even(29), &skills), [ShownPart::Cut(10), ShownPart::Whole, ShownPart::Cut(6)]);
    assert_eq!(parts(&even(1_000), &skills), [ShownPart::Whole; 3]);
    assert_eq!(parts(&even(23), &skills), [ShownPart::NameOnly, ShownPart::NameOnly, ShownPart::Gone]);
}

#[test]
fn the_first_that_does_not_fit_ends_the_descriptions() {
    let rule = ListingRule { budget: ListingBudget::FirstCome(300), ..COPILOT };
    let skills = [skill("aa", "x".repeat(60)), skill("bb", "y".repeat(100)), skill("cc", "z")];
    assert_eq!(parts(&rule, &skills), [ShownPart::Whole, ShownPart::NameOnly, ShownPart::NameOnly]);
    assert_eq!(shown(&rule, &skills)[2].1, "cc");
}

#[test]
fn a_skill_of_the_client_gives_way_to_one_of_its_name() {
    let own = |skills: &[OfferedSkill]| simulate(&CLAUDE_CODE, skills.to_vec()).own;
    let (other, same) = ([skill("aa", "x")], [skill("loop", "x")]);
    assert_eq!(own(&other) - own(&same), "- loop: ".len() + 336 + 1);
}

#[test]
fn a_smaller_window_leaves_less() {
    let skills: Vec<OfferedSkill> = (0..60).map(|at| skill(&format!("s{at:02}"), "x".repeat(200))).collect();
    let whole = |window: usize| {
        let listed = parts(&ListingRule { window, ..CLAUDE_CODE }, &skills);
        listed.into_iter().filter(|shown| *shown == ShownPart::Whole).count()
    };
    assert_eq!(whole(1_000_000), 60);
    assert!(whole(200_000) < 20);
}
