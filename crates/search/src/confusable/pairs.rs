//! Finds pairs of skills that an agent could confuse.

use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;

use rayon::prelude::*;
use repertoire::Snapshot;
use repertoire_model::text::start;

use super::claims::{MAX_DESCRIPTION_BYTES, SkillClaims, TermWeights};
use crate::index::{SearchIndex, SkillKey, SkillRecord, SlotSet, Weights};
use crate::meaning::{EmbeddingTable, Vector, embedded_table};
use crate::parallel::map;
use crate::rank::Query;
use crate::skill_text::SkillText;

/// The least likeness of the words of a confusable pair.
const MIN_LIKENESS: f32 = 0.6;
/// The least cosine of two embeddings that have nearly the same meaning.
const MIN_COSINE: f32 = 0.95;
/// The least likeness of the words of a confusable pair with nearly the same meaning.
const MIN_LIKENESS_IF_NEAR: f32 = 0.3;
/// The number of skills that each one is compared with: the best matches for its own words.
const CANDIDATES: usize = 8;
/// The most words of a skill that are searched for.
const MAX_QUERY_TERMS: usize = 16;
/// The most words of [`ConfusablePair::shared`].
const MAX_SHARED: usize = 6;
/// The most words of [`ConfusablePair::only_first`] and [`ConfusablePair::only_second`].
const MAX_OWN: usize = 4;

/// Two skills that an agent could confuse.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ConfusablePair {
    /// The index of the first skill among the entries of the snapshot.
    pub first: usize,
    /// The index of the second skill, which is greater.
    pub second: usize,
    /// The relation of their descriptions.
    pub kind: PairKind,
    /// Their likeness, from 0 to 1.
    pub likeness: f32,
    /// Words of both skills, those with the highest weight first.
    pub shared: Vec<String>,
    /// Words of the first skill only.
    pub only_first: Vec<String>,
    /// Words of the second skill only.
    pub only_second: Vec<String>,
}

repertoire_model::words! {
    /// The relation of two descriptions.
    #[non_exhaustive]
    PairKind {
        /// They are equal.
        Same "same",
        /// They are similar, and neither says when to use the other skill.
        Alike "alike",
        /// They are similar, but one says when to use the other skill.
        ToldApart "told apart",
    }
}

/// Returns the pairs of offered skills of `snapshot` that an agent could confuse, the most alike first.
///
/// Agents choose by names and descriptions, so only these are compared. The embedding table finds pairs that
/// say the same in other words. Of several skills with equal descriptions, each is paired with the first, and
/// only the first with other skills. The function uses all cores, and blocks until it is done.
///
/// ```
/// use repertoire::{Library, MemoryProvider, SkillDefinition};
/// use repertoire_search::confusable::confusable_pairs;
/// let skills = vec![
///     SkillDefinition::new("pdf-fill", "Fills PDF forms from JSON data.", "# Fill\n"),
///     SkillDefinition::new("pdf-forms", "Fills PDF forms from CSV data.", "# Forms\n"),
/// ];
/// let builder = Library::builder().provider(MemoryProvider::new("builtin", skills));
/// let library = pollster::block_on(builder.open())?;
/// let pairs = confusable_pairs(&library.snapshot());
/// assert_eq!(pairs[0].only_first, ["json"]);
/// # Ok::<(), repertoire::Error>(())
/// ```
pub fn confusable_pairs(snapshot: &Snapshot) -> Vec<ConfusablePair> {
    let offered = snapshot.entries().iter().enumerate().filter(|(_, entry)| entry.is_offered());
    let (places, skills): (Vec<usize>, Vec<SkillText<'_>>) = offered
        .map(|(place, entry)| {
            let (name, description) = (entry.name().as_str(), &*entry.document.description);
            (place, SkillText { name, description, ..SkillText::default() })
        })
        .unzip();
    let in_snapshot = |pair: ConfusablePair| ConfusablePair {
        first: places[pair.first],
        second: places[pair.second],
        ..pair
    };
    pairs(&skills, embedded_table()).into_iter().map(in_snapshot).collect()
}

/// Returns the pairs of `skills` that an agent could confuse, by their places, the most alike first.
fn pairs(skills: &[SkillText<'_>], table: Option<&EmbeddingTable<'_>>) -> Vec<ConfusablePair> {
    let comparison = Comparison::new(map(skills, |skill| ComparedSkill::of(skill, table)));
    let candidates = comparison.firsts.par_iter().flat_map_iter(|place| comparison.candidates(*place));
    let mut candidates: Vec<(usize, usize)> = candidates.collect();
    candidates.sort_unstable();
    candidates.dedup();
    comparison.pairs(&candidates)
}

/// A skill to compare with others.
#[derive(Debug)]
struct ComparedSkill<'a> {
    /// Its name and the beginning of its description.
    text: SkillText<'a>,
    claims: SkillClaims,
    vector: Option<Vector>,
}

impl<'a> ComparedSkill<'a> {
    fn of(skill: &SkillText<'a>, table: Option<&EmbeddingTable<'_>>) -> Self {
        let text = SkillText { description: start(skill.description, MAX_DESCRIPTION_BYTES), ..*skill };
        let claims = SkillClaims::of(text.name, text.description);
        Self { text, claims, vector: table.and_then(|table| table.embed_skill(&text)) }
    }

    /// Returns whether the description says when to use `other`.
    fn refers_to(&self, other: &Self) -> bool {
        self.claims.excludes(&other.claims) || mentions(self.text.description, other.text.name)
    }
}

/// The skills that are compared with each other.
#[derive(Debug)]
struct Comparison<'a> {
    skills: Vec<ComparedSkill<'a>>,
    weights: TermWeights,
    /// The first skill with each description, sorted.
    firsts: Vec<usize>,
    /// The other skills, as pairs of the first skill with the same description and the copy.
    copies: Vec<(usize, usize)>,
    /// The index of `firsts`, in the same order.
    index: SearchIndex,
    slots: SlotSet,
}

impl<'a> Comparison<'a> {
    fn new(skills: Vec<ComparedSkill<'a>>) -> Self {
        let weights = TermWeights::of(skills.iter().map(|skill| &skill.claims));
        let (firsts, copies) = copies(&skills);
        let records = firsts.iter().map(|place| {
            let ComparedSkill { text, vector, .. } = &skills[*place];
            (SkillKey { identity: *place as u64, version: 0 }, SkillRecord::of(text), vector.clone())
        });
        let index = SearchIndex::of(Weights::default(), records);
        let slots = SlotSet::all(index.slots());
        Self { skills, weights, firsts, copies, index, slots }
    }

    /// Returns the pairs of the skill at `place` with the skills that a search for its own words finds.
    fn candidates(&self, place: usize) -> Vec<(usize, usize)> {
        let ComparedSkill { claims, vector, .. } = &self.skills[place];
        let words = self.weights.best(&claims.terms, MAX_QUERY_TERMS).join(" ");
        let query = Query::new(&words).with_vector(vector.clone());
        let hits = self.index.search(&query, &self.slots, CANDIDATES + 1);
        let others = hits.iter().map(|hit| self.firsts[hit.slot as usize]);
        others.filter(|other| *other != place).map(|other| (place.min(other), place.max(other))).collect()
    }

    /// Returns the confusable pairs, the most alike first: copies, and similar skills among `candidates`.
    fn pairs(&self, candidates: &[(usize, usize)]) -> Vec<ConfusablePair> {
        let copies =
            self.copies.iter().map(|(first, second)| self.pair(*first, *second, PairKind::Same, 1.0));
        let alike = candidates.iter().filter_map(|(first, second)| {
            let likeness = self.likeness(*first, *second)?;
            let (a, b) = (&self.skills[*first], &self.skills[*second]);
            let is_told_apart = a.refers_to(b) || b.refers_to(a);
            let kind = if is_told_apart { PairKind::ToldApart } else { PairKind::Alike };
            Some(self.pair(*first, *second, kind, likeness))
        });
        let mut pairs: Vec<ConfusablePair> = copies.chain(alike).collect();
        pairs.sort_by(|a, b| {
            b.likeness.total_cmp(&a.likeness).then(a.first.cmp(&b.first)).then(a.second.cmp(&b.second))
        });
        pairs
    }

    /// Returns the likeness of two skills, from 0 to 1; `None` if they cannot be confused.
    fn likeness(&self, first: usize, second: usize) -> Option<f32> {
        let (a, b) = (&self.skills[first], &self.skills[second]);
        // Different subjects in the names are enough: one skill is about Jira and the other about Linear.
        if a.claims.has_other_subject(&b.claims) && b.claims.has_other_subject(&a.claims) {
            return None;
        }
        let alike = self.weights.likeness(&a.claims, &b.claims);
        let near = a.vector.as_ref().zip(b.vector.as_ref()).map_or(0.0, |(a, b)| a.cosine(b));
        if near >= MIN_COSINE && alike >= MIN_LIKENESS_IF_NEAR {
            return Some(alike.max(near.min(1.0)));
        }
        (alike >= MIN_LIKENESS).then_some(alike)
    }

    fn pair(&self, first: usize, second: usize, kind: PairKind, likeness: f32) -> ConfusablePair {
        let (a, b) = (&self.skills[first].claims, &self.skills[second].claims);
        let own = |own: &SkillClaims, other: &SkillClaims| {
            let terms = own.terms.iter().filter(|(term, _)| !other.terms.contains_key(term));
            self.weights.best(terms, MAX_OWN)
        };
        let shared = a.terms.iter().filter(|(term, _)| b.terms.contains_key(term));
        let shared = self.weights.best(shared, MAX_SHARED);
        ConfusablePair {
            first,
            second,
            kind,
            likeness,
            shared,
            only_first: own(a, b),
            only_second: own(b, a),
        }
    }
}

/// Returns the first skill with each description, and pairs of such a skill and a copy of it.
fn copies(skills: &[ComparedSkill<'_>]) -> (Vec<usize>, Vec<(usize, usize)>) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let (mut firsts, mut copies) = (Vec::new(), Vec::new());
    for (index, skill) in skills.iter().enumerate() {
        let words: Vec<&str> = skill.text.description.split_whitespace().collect();
        if words.is_empty() {
            continue;
        }
        match seen.entry(words.join(" ").to_lowercase()) {
            MapEntry::Occupied(first) => copies.push((*first.get(), index)),
            MapEntry::Vacant(place) => {
                place.insert(index);
                firsts.push(index);
            }
        }
    }
    (firsts, copies)
}

/// Returns whether `description` mentions the skill `name`.
///
/// A name of one word must be quoted or called a skill, because it may be an ordinary word.
fn mentions(description: &str, name: &str) -> bool {
    let (description, name) = (description.to_lowercase(), name.to_lowercase());
    if name.is_empty() {
        return false;
    }
    let is_of_name = |letter: char| letter.is_alphanumeric() || letter == '-' || letter == '_';
    description.match_indices(&name).any(|(at, _)| {
        let (before, after) = (&description[..at], &description[at + name.len()..]);
        let is_whole = !before.ends_with(is_of_name) && !after.starts_with(is_of_name);
        let is_quoted = before.ends_with(['`', '"', '\'', '/', '$', '@']);
        is_whole && (name.contains(['-', '_', ':']) || is_quoted || after.starts_with(" skill"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(skills: &[(&str, &str)], expected: &[(usize, usize, &str)]) {
        let texts: Vec<SkillText<'_>> = skills
            .iter()
            .map(|(name, description)| SkillText { name, description, ..SkillText::default() })
            .collect();
        let found = pairs(&texts, None);
        let shown: Vec<(usize, usize, &str)> =
            found.iter().map(|pair| (pair.first, pair.second, pair.kind.as_str())).collect();
        assert_eq!(shown, expected, "{found:?}");
        assert!(found.iter().all(|pair| (0.0..=1.0).contains(&pair.likeness)));
    }

    #[test]
    fn similar_skills_are_found() {
        check(&[], &[]);
        check(&[("a", "Fills forms.")], &[]);
        check(
            &[
                ("pdf-fill", "Fill PDF forms with data from JSON files."),
                ("pdf-forms", "Fill out PDF forms from JSON. Use when a user asks."),
                ("k8s-deploy", "Deploy services to a Kubernetes cluster."),
            ],
            &[(0, 1, "alike")],
        );
    }

    #[test]
    fn skills_of_one_topic_with_different_tasks_are_not_confusable() {
        check(
            &[
                ("pdf-fill", "Fill PDF forms with data from JSON files."),
                ("pdf-merge", "Merge and split PDF documents, reorder their pages."),
                ("pdf-sign", "Sign PDF contracts with a certificate."),
            ],
            &[],
        );
        check(&[("a", ""), ("b", "")], &[]);
    }

    #[test]
    fn names_with_different_subjects_distinguish_skills() {
        let text =
            |product: &str| format!("Automate {product} boards: create issues, move cards, close sprints.");
        check(&[("jira-boards", &text("Jira")), ("linear-boards", &text("Linear"))], &[]);
        check(&[("boards", &text("Jira")), ("boards-2", &text("Linear"))], &[(0, 1, "alike")]);
    }

    #[test]
    fn a_much_longer_description_is_not_confusable() {
        check(
            &[
                ("review", "Review code."),
                (
                    "review-security",
                    "Review code for injection, broken authentication, secrets and unsafe parsing.",
                ),
            ],
            &[],
        );
    }

    #[test]
    fn copies_are_paired_with_the_first() {
        let text = "Plan sprints and estimate stories.";
        check(
            &[
                ("plan", text),
                ("plan-2", "plan  sprints and\nestimate stories."),
                ("other", "Paint."),
                ("plan-3", text),
            ],
            &[(0, 1, "same"), (0, 3, "same")],
        );
    }

    #[test]
    fn one_description_that_refers_to_the_other_is_enough() {
        let ads = "Write copy for paid campaigns on social media.";
        let posts = "Write copy for organic campaigns on social media.";
        check(&[("ads", ads), ("posts", posts)], &[(0, 1, "alike")]);
        let check_told =
            |a: String, b: &str| check(&[("paid-ads", &a), ("posts", b)], &[(0, 1, "told apart")]);
        check_told(format!("{ads} Do not use for organic posts."), posts);
        check_told(format!("{ads} For anything organic, see posts."), posts);
        check_told(format!("{ads} The `posts` skill is another."), posts);
        check_told(ads.to_owned(), &format!("{posts} Complements paid-ads."));
    }

    #[test]
    fn words_with_the_highest_weight_are_listed() {
        let skills = [
            SkillText { name: "x", description: "Fill PDF forms from JSON in bulk.", ..SkillText::default() },
            SkillText { name: "y", description: "Fill PDF forms from CSV in bulk.", ..SkillText::default() },
        ];
        let found = pairs(&skills, None);
        assert_eq!(found[0].shared, ["fill", "pdf", "forms", "bulk"]);
        assert_eq!(
            (&found[0].only_first[..], &found[0].only_second[..]),
            (&["x".to_owned(), "json".to_owned()][..], &["y".to_owned(), "csv".to_owned()][..])
        );
    }

    #[test]
    fn a_name_must_be_mentioned_as_a_whole() {
        let check = |description: &str, name: &str, expected: bool| {
            assert_eq!(mentions(description, name), expected, "{description} {name}");
        };
        check("See pdf-forms for more.", "pdf-forms", true);
        check("See PDF-Forms.", "pdf-forms", true);
        check("See pdf-forms-2.", "pdf-forms", false);
        check("Reads pdf files.", "pdf", false);
        check("Use `pdf` instead.", "pdf", true);
        check("Use the pdf skill.", "pdf", true);
        check("Anything", "", false);
    }

    #[test]
    fn unusual_characters_are_accepted() {
        check(&[("İ", "İİİ 🙂"), ("🙂", "🙂"), ("翻译", "翻译文档")], &[]);
    }
}
