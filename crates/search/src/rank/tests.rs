//! Properties of every index and every query.

use std::collections::BTreeMap;
use std::ops::RangeFrom;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample;

use super::Query;
use crate::index::{SearchIndex, SkillKey, SkillRecord, SkillSource, SlotSet, Weights};
use crate::meaning::Vector;
use crate::skill_text::SkillText;

const WORDS: &[&str] = &[
    "pdf",
    "forms",
    "fill",
    "image",
    "resize",
    "the",
    "for",
    "deploy",
    "cluster",
    "BlobClient",
    "翻译",
    "café",
    "k8s",
    "# Steps",
    "```",
    "Do not use for",
    ".",
    "\n",
];

#[derive(Debug, Clone)]
struct Skill {
    name: String,
    description: String,
    body: String,
    vector: Option<Vector>,
}

impl Skill {
    fn record(&self) -> SkillRecord {
        let Self { name, description, body, .. } = self;
        SkillRecord::of(&SkillText { name, description, body, ..SkillText::default() })
    }
}

/// A change of an index.
#[derive(Debug, Clone)]
enum Step {
    Add(Skill),
    /// Adds skills of the same text, each under another name.
    AddMany(Skill, u8),
    Drop(sample::Index),
    /// Reverses the order of the slots.
    Reverse,
    /// Leaves an empty slot.
    Leave,
    /// Stores the index and reads it again.
    Store,
}

fn text(words: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    vec(sample::select(WORDS), words).prop_map(|words| words.join(" "))
}

fn vector() -> impl Strategy<Value = Option<Vector>> {
    prop::option::of(vec(-1.0f32..1.0, 4).prop_map(|values| Vector::of(&values))).prop_map(Option::flatten)
}

fn skill() -> impl Strategy<Value = Skill> {
    (text(1..4), text(0..12), text(0..40), vector()).prop_map(|(name, description, body, vector)| Skill {
        name,
        description,
        body,
        vector,
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => skill().prop_map(Step::Add),
        2 => (skill(), 2..60u8).prop_map(|(skill, count)| Step::AddMany(skill, count)),
        3 => any::<sample::Index>().prop_map(Step::Drop),
        1 => Just(Step::Reverse),
        1 => Just(Step::Leave),
        1 => Just(Step::Store),
    ]
}

fn weights() -> Weights {
    Weights { meaning: 0.5, ..Weights::default() }
}

/// Returns the index after `steps`, and the skills in it.
fn after(steps: Vec<Step>) -> (SearchIndex, BTreeMap<u64, Skill>) {
    let (mut index, mut skills) = (SearchIndex::new(weights()), BTreeMap::new());
    let mut identities = 1..;
    for step in steps {
        let mut sources: Vec<SkillSource> = (0..index.slots() as u32).map(SkillSource::Kept).collect();
        match step {
            Step::Add(skill) => sources.push(source(&mut skills, &mut identities, skill)),
            Step::AddMany(skill, count) => {
                for number in 0..count {
                    let name = format!("{} {number}", skill.name);
                    sources.push(source(&mut skills, &mut identities, Skill { name, ..skill.clone() }));
                }
            }
            Step::Drop(which) if index.slots() > 0 => {
                let slot = which.index(index.slots());
                sources.remove(slot);
                skills.remove(&index.keys().nth(slot).unwrap().identity);
            }
            Step::Drop(_) => {}
            Step::Reverse => sources.reverse(),
            Step::Leave => sources.insert(sources.len() / 2, SkillSource::Empty),
            Step::Store => index = SearchIndex::from_bytes(&index.to_bytes(1), 1, weights()).unwrap(),
        }
        index = index.rebuilt(sources);
    }
    (index, skills)
}

fn source(skills: &mut BTreeMap<u64, Skill>, identities: &mut RangeFrom<u64>, skill: Skill) -> SkillSource {
    let identity = identities.start;
    identities.start += 1;
    let source = SkillSource::New(SkillKey { identity, version: 1 }, skill.record(), skill.vector.clone());
    skills.insert(identity, skill);
    source
}

/// Returns an index of `skills`, built at once.
fn built<'s>(skills: impl Iterator<Item = (&'s u64, &'s Skill)>) -> SearchIndex {
    let skills = skills.map(|(identity, skill)| {
        (SkillKey { identity: *identity, version: 1 }, skill.record(), skill.vector.clone())
    });
    SearchIndex::of(weights(), skills)
}

/// Returns the slots that are not empty.
fn filled(index: &SearchIndex) -> SlotSet {
    (0..).zip(index.keys()).filter(|(_, key)| *key != SkillKey::default()).map(|(slot, _)| slot).collect()
}

/// Returns the identity of the skill at each slot.
fn identities(index: &SearchIndex) -> Vec<u64> {
    index.keys().map(|key| key.identity).collect()
}

/// Returns the scores of the skills that `index` finds, by identity.
fn found(index: &SearchIndex, query: &Query) -> BTreeMap<u64, f32> {
    let identities = identities(index);
    let hits = index.search(query, &filled(index), 5000);
    assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score), "best first");
    hits.iter().map(|hit| (identities[hit.slot as usize], hit.score)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn ranking_does_not_depend_on_how_an_index_was_built(
        steps in vec(step(), 0..40), asked in text(0..8), meaning in vector(),
    ) {
        let (index, skills) = after(steps);
        let fresh = built(skills.iter().rev());
        prop_assert_eq!(index.skills(), skills.len());
        let query = Query::new(&asked).with_vector(meaning);
        let (one, other) = (found(&index, &query), found(&fresh, &query));
        prop_assert!(one.keys().eq(other.keys()), "{:?} {:?}", one, other);
        for (identity, score) in &one {
            prop_assert_eq!(*score, other[identity], "{:?} {:?}", one, other);
        }
        // Also with a low limit, so that not all skills with a word get a full score.
        let best = |index: &SearchIndex| -> Vec<f32> {
            let hits = index.search(&query, &filled(index), 5);
            hits.into_iter().map(|hit| hit.score).collect()
        };
        let (one, other) = (best(&index), best(&fresh));
        prop_assert_eq!(one, other);
    }

    #[test]
    fn a_hidden_skill_is_never_found(steps in vec(step(), 0..40), asked in text(0..8), meaning in vector(), seen in vec(any::<bool>(), 400)) {
        let (index, _) = after(steps);
        let seen: SlotSet = (0..).zip(&seen).filter(|(_, seen)| **seen).map(|(slot, _)| slot).collect();
        for hit in index.search(&Query::new(&asked).with_vector(meaning), &seen, 10) {
            prop_assert!(seen.contains(hit.slot) && (hit.slot as usize) < index.slots());
            prop_assert!(hit.score.is_finite() && hit.score > 0.0);
        }
    }

    #[test]
    fn a_hidden_skill_changes_nothing(steps in vec(step(), 0..40), asked in text(0..8), meaning in vector(), seen in vec(any::<bool>(), 400)) {
        let (index, skills) = after(steps);
        let is_seen = |identity: u64| seen.get(identity as usize).copied().unwrap_or_default();
        let identities = identities(&index);
        let slots: SlotSet = (0..)
            .zip(&identities)
            .filter(|(_, identity)| **identity > 0 && is_seen(**identity))
            .map(|(slot, _)| slot)
            .collect();
        let fresh = built(skills.iter().filter(|(identity, _)| is_seen(**identity)));
        let query = Query::new(&asked).with_vector(meaning);
        let hits = index.search(&query, &slots, 5000);
        let found: BTreeMap<u64, f32> =
            hits.iter().map(|hit| (identities[hit.slot as usize], hit.score)).collect();
        let expected = self::found(&fresh, &query);
        prop_assert!(found.keys().eq(expected.keys()), "{:?} {:?}", found, expected);
        for (identity, score) in &found {
            prop_assert_eq!(*score, expected[identity], "{:?} {:?}", found, expected);
        }
    }

    #[test]
    fn any_text_is_a_query(steps in vec(step(), 0..20), asked in any::<String>(), limit in 0usize..5) {
        let (index, _) = after(steps);
        let query = Query::new(&asked);
        let hits = index.search_with_words(&query, &SlotSet::all(index.slots()), limit);
        prop_assert!(hits.len() <= limit);
        prop_assert!(hits.iter().all(|(hit, _)| hit.score.is_finite()));
    }

    #[test]
    fn any_text_is_a_skill(name in any::<String>(), description in any::<String>(), body in any::<String>()) {
        let record = SkillRecord::of(&SkillText { name: &name, description: &description, body: &body, ..SkillText::default() });
        let index = SearchIndex::of(weights(), [(SkillKey { identity: 1, version: 1 }, record, None)]);
        index.search(&Query::new(&body), &SlotSet::all(1), 1);
        index.search(&Query::new(&description), &SlotSet::all(1), 1);
    }
}

/// Returns the scores of skills with these descriptions, in a library with other skills.
fn scores(descriptions: &[&str], asked: &str) -> Vec<f32> {
    let others = ["Writes release notes.", "Paints walls.", "Cooks soup.", "Tunes pianos."];
    let skills = (0..).zip(descriptions.iter().chain(&others)).map(|(identity, description)| {
        let record = SkillRecord::of(&SkillText { name: "skill", description, ..SkillText::default() });
        (SkillKey { identity, version: 1 }, record, None)
    });
    let index = SearchIndex::of(Weights::default(), skills);
    let found = found(&index, &Query::new(asked));
    (0..descriptions.len() as u64).map(|identity| found.get(&identity).copied().unwrap_or_default()).collect()
}

#[test]
fn equal_scores_are_ordered_by_identity_not_by_slot() {
    let found = |identities: &[u64]| -> Vec<u64> {
        let skills = identities.iter().map(|identity| {
            let record = SkillRecord::of(&SkillText { name: "twin", ..SkillText::default() });
            (SkillKey { identity: *identity, version: 1 }, record, None)
        });
        let index = SearchIndex::of(Weights::default(), skills);
        let hits = index.search(&Query::new("twin"), &SlotSet::all(index.slots()), 2);
        hits.iter().map(|hit| identities[hit.slot as usize]).collect()
    };
    assert_eq!(found(&[5, 3, 8, 1]), [1, 3]);
    assert_eq!(found(&[1, 8, 3, 5]), [1, 3]);
}

#[test]
fn of_many_equal_skills_the_nearest_are_found_whatever_their_identity() {
    const COUNT: u64 = 600;
    let found = |salt: u64| -> Vec<u64> {
        let skills = (1..=COUNT).map(|version| {
            let record = SkillRecord::of(&SkillText { name: "twin", ..SkillText::default() });
            let vector = Vector::of(&[version as f32, 100.0, 10.0, 1.0]);
            let identity = (version ^ salt).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            (SkillKey { identity, version }, record, vector)
        });
        let index = SearchIndex::of(weights(), skills);
        let query = Query::new("twin").with_vector(Vector::of(&[1.0, 0.0, 0.0, 0.0]));
        let hits = index.search(&query, &SlotSet::all(index.slots()), 5);
        hits.iter().map(|hit| u64::from(hit.slot) + 1).collect()
    };
    let first = found(0);
    assert!(first.iter().all(|version| *version > COUNT / 2), "{first:?}");
    assert_eq!(found(77), first);
}

#[test]
fn the_evidence_does_not_depend_on_the_limit() {
    let skills = ["Fills forms.", "Fills bottles.", "Cooks soup."];
    let skills = (0..).zip(skills).map(|(identity, description)| {
        let record = SkillRecord::of(&SkillText { name: "skill", description, ..SkillText::default() });
        (SkillKey { identity, version: 1 }, record, None)
    });
    let index = SearchIndex::of(Weights::default(), skills);
    let first = |limit| index.search(&Query::new("fill a form"), &SlotSet::all(3), limit).remove(0);
    assert_eq!(first(1), first(3));
    assert!(index.search(&Query::new("fill a form"), &SlotSet::all(3), 0).is_empty());
}

#[test]
fn a_long_description_ranks_before_a_short_one_among_many_skills() {
    let more = "Fills forms. Use when somebody has a document with fields, boxes, dates, names, signatures, tables, \
        totals or addresses that must be written into it, checked against a list, exported, printed, merged or sent.";
    let few = scores(&["Fills forms.", more], "fills forms");
    assert_eq!(few[0], few[1], "it does not count among few");
    let others = vec!["Cooks soup."; 2000];
    let many = scores(&[&["Fills forms.", more], &others[..]].concat(), "fills forms");
    assert!(many[1] > many[0] && many[1] < many[0] * 1.3, "{:?}", &many[..2]);
}

#[test]
fn repeating_a_word_gains_little() {
    let rest = "Handles documents of any kind.";
    let stuffed = |times: usize| "invoices ".repeat(times) + rest;
    let scores = scores(&[&stuffed(1), &stuffed(3), &stuffed(50)], "invoices");
    assert!(scores[0] > 0.0);
    assert_eq!(scores[2], scores[1], "no more than with three repetitions: {scores:?}");
    assert!(scores[2] < scores[0] * 2.0, "{scores:?}");
}

#[test]
fn excluded_words_count_against_a_skill() {
    let texts = [
        "Resizes pictures in bulk. Do not use for invoices.",
        "Writes invoices.",
        "Resizes pictures in bulk.",
    ];
    let about_it = scores(&texts, "invoices");
    assert!(about_it[0] < about_it[1], "{about_it:?}");
    let about_both = scores(&texts, "invoices in bulk");
    assert!(about_both[0] < about_both[2], "{about_both:?}");
}

#[test]
fn excluded_words_count_against_a_skill_even_if_its_body_has_them() {
    let refused = "Scanned images are refused: no field is found in scanned images. Tell so, and stop.";
    let skills = [
        ("pdf-forms", "Fills PDF forms. Do not use for scanned images.", refused),
        ("pictures", "Reads text from scanned images.", "Take the text out."),
        ("letters", "Writes letters.", "Write it."),
    ];
    let skills = (0..).zip(skills).map(|(identity, (name, description, body))| {
        let record = SkillRecord::of(&SkillText { name, description, body, ..SkillText::default() });
        (SkillKey { identity, version: 1 }, record, None)
    });
    let index = SearchIndex::of(Weights::default(), skills);
    let asked = Query::new("scanned images");
    let found = found(&index, &asked);
    assert!(found.get(&0).copied().unwrap_or_default() < found[&1], "{found:?}");
    let explained = index.search_with_words(&asked, &SlotSet::all(3), 3);
    let words_of = |slot| explained.iter().find(|(hit, _)| hit.slot == slot).map_or(0, |(_, why)| why.len());
    assert_eq!((words_of(0), words_of(1)), (0, 2), "{explained:?}");
    assert!(
        explained.iter().all(|(hit, _)| hit.slot == 1 || hit.evidence.confidence() < 0.5),
        "{explained:?}"
    );
}

#[test]
fn a_skill_with_the_word_is_found_even_if_its_embedding_is_far() {
    let skill = SkillText { name: "tea", description: "Brews Assam.", ..SkillText::default() };
    let away = Vector::of(&[-1.0, 0.0]);
    let index = SearchIndex::of(
        Weights::default(),
        [(SkillKey { identity: 0, version: 1 }, SkillRecord::of(&skill), away)],
    );
    let asked = Query::new("assam").with_vector(Vector::of(&[1.0, 0.0]));
    assert_eq!(found(&index, &asked).len(), 1);
}

#[test]
fn the_embedding_counts_less_if_words_put_one_skill_far_ahead() {
    let near = [1.0f32, 0.0];
    let scores = |first: &str| -> BTreeMap<u64, f32> {
        let skills =
            [(0, first, [0.0f32, 1.0]), (1, "Paints walls with lime.", near), (2, "Cooks soup.", [0.0, 1.0])];
        let skills = skills.map(|(identity, description, vector)| {
            let record = SkillRecord::of(&SkillText { name: "skill", description, ..SkillText::default() });
            (SkillKey { identity, version: 1 }, record, Vector::of(&vector))
        });
        let index = SearchIndex::of(Weights::default(), skills);
        found(&index, &Query::new("paints ships with tar").with_vector(Vector::of(&near)))
    };
    // The skill with the nearer embedding gains less if the words clearly favour the other.
    let (doubtful, clear) = (scores("Paints ships."), scores("Paints ships with tar."));
    assert!(doubtful[&1] > clear[&1], "{doubtful:?} {clear:?}");
    assert!(clear[&0] > clear[&1], "{clear:?}");
}
