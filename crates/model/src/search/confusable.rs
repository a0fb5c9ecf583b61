//! Finds pairs of skills that an agent could mix up, because what they say of themselves does not tell them apart.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::LazyLock;

use super::exclusion;
use super::index::{Index, Key};
use super::logarithm::ln_1p;
use super::meaning::Meanings;
use super::query::Query;
use super::record::{Record, SkillText, Term, TermMap};
use super::slots::SlotSet;
use super::vector::Vector;
use super::weights::Weights;
use super::words::{Cutter, Side};
use crate::text::start;

/// How much of what each of two skills says the other must say, too.
const ALIKE: f32 = 0.6;
/// How near the meanings of two descriptions must be.
const NEAR: f32 = 0.95;
/// How much of what each says the other must say where their meanings are near.
const ALIKE_IF_NEAR: f32 = 0.3;
/// How many skills each one is compared with: those that its own words find first.
const CANDIDATES: usize = 8;
/// The most bytes of a description that are read.
const MAX_DESCRIPTION_BYTES: usize = 4096;
/// The most words by which a skill looks for others.
const MAX_ASKED: usize = 16;
/// Words count as if there were as many skills, so that in a small library one that two skills share tells about as much as one
/// that only one of them has.
const MIN_SKILLS: usize = 1000;
/// The most words that are told of what two skills share.
const MAX_SHARED: usize = 6;
/// The most words that are told of what only one has.
const MAX_OWN: usize = 4;
/// Words of descriptions that are about skills, not about what they do.
const GENERIC: &[&str] = &[
    "agent", "ask", "asked", "best", "claude", "guide", "handle", "include", "mention", "need", "provide",
    "request", "skill", "support", "task", "tool", "trigger", "user", "work",
];

static GENERIC_TERMS: LazyLock<HashSet<Term>> =
    LazyLock::new(|| GENERIC.iter().map(|word| Term::known(word).0).collect());

/// Two skills that could be mixed up.
#[derive(Debug, Clone, PartialEq)]
pub struct Confusable {
    /// The place of the first among the skills.
    pub first: usize,
    /// The place of the second, which comes after it.
    pub second: usize,
    /// Why they could be.
    pub kind: Confusion,
    /// How alike they are, from 0 to 1.
    pub likeness: f32,
    /// Words that both say of themselves, those that tell most first.
    pub shared: Vec<String>,
    /// Words that only the first says.
    pub only_first: Vec<String>,
    /// Words that only the second says.
    pub only_second: Vec<String>,
}

/// Why two skills could be mixed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Confusion {
    /// They have the same description.
    Same,
    /// They say much the same, and neither says when to use the other.
    Alike,
    /// They say much the same, but one says when to use the other.
    ToldApart,
}

impl Confusion {
    /// Returns its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Alike => "alike",
            Self::ToldApart => "told apart",
        }
    }
}

/// Returns the pairs of `skills` that an agent could mix up, the most alike first.
///
/// Agents choose by names and descriptions, so nothing else counts. `meanings` finds pairs that say the same in other words.
/// Of many skills with one description, each is paired with the first, and only the first with others.
///
/// ```
/// use repertoire_model::search::{Confusion, SkillText, confusable};
/// let skill = |name, description| SkillText { name, description, ..SkillText::default() };
/// let skills = [
///     skill("pdf-fill", "Fills PDF forms from JSON data."),
///     skill("pdf-forms", "Fills PDF forms from CSV data."),
///     skill("changelog", "Writes release notes."),
/// ];
/// let pairs = confusable(&skills, None);
/// assert_eq!((pairs[0].first, pairs[0].second, pairs[0].kind), (0, 1, Confusion::Alike));
/// assert_eq!(pairs[0].only_first, ["json"]);
/// assert_eq!(pairs.len(), 1);
/// ```
pub fn confusable(skills: &[SkillText<'_>], meanings: Option<&Meanings<'_>>) -> Vec<Confusable> {
    let heads: Vec<Head<'_>> = skills.iter().map(|skill| Head::of(skill, meanings)).collect();
    let heads = Heads::new(heads);
    let candidates = (0..heads.len()).flat_map(|place| heads.candidates(place)).collect();
    heads.confusable(candidates)
}

/// What an agent chooses a skill by, made ready to be compared with others.
#[derive(Debug)]
pub struct Head<'a> {
    text: SkillText<'a>,
    said: Said,
    vector: Option<Vector>,
}

impl<'a> Head<'a> {
    /// Returns that of `skill`.
    pub fn of(skill: &SkillText<'a>, meanings: Option<&Meanings<'_>>) -> Self {
        let description = start(skill.description, MAX_DESCRIPTION_BYTES);
        let text = SkillText { name: skill.name, description, ..SkillText::default() };
        Self { said: Said::of(&text), vector: meanings.and_then(|meanings| meanings.of_skill(&text)), text }
    }
}

/// Skills among which pairs are looked for that could be mixed up.
///
/// [`confusable`] takes all steps one after the other. Those for single skills can be taken side by side: heads are made, then candidates
/// looked for; what comes out is the same.
///
/// ```
/// use repertoire_model::search::{Head, Heads, SkillText, confusable};
/// let skill = |name, description| SkillText { name, description, ..SkillText::default() };
/// let skills = [skill("a", "Fills PDF forms from JSON."), skill("b", "Fills PDF forms from CSV.")];
/// let heads = Heads::new(skills.iter().map(|skill| Head::of(skill, None)).collect());
/// let candidates = (0..heads.len()).flat_map(|place| heads.candidates(place)).collect();
/// assert_eq!(heads.confusable(candidates), confusable(&skills, None));
/// ```
#[derive(Debug)]
pub struct Heads<'a> {
    heads: Vec<Head<'a>>,
    worths: Worths,
    /// The first skill of each description, sorted.
    firsts: Vec<usize>,
    /// The others, each after the one it copies.
    copies: Vec<(usize, usize)>,
    /// The first ones, in order.
    index: Index,
    seen: SlotSet,
}

impl<'a> Heads<'a> {
    /// Returns the skills, ready to be looked among.
    pub fn new(heads: Vec<Head<'a>>) -> Self {
        let worths = Worths::of(&heads);
        let (firsts, copies) = copies(&heads);
        let skills = firsts.iter().map(|place| {
            let Head { text, vector, .. } = &heads[*place];
            (Key { identity: *place as u64, version: 0 }, Record::of(text), vector.clone())
        });
        let index = Index::of(Weights::default(), skills);
        let seen = SlotSet::all(index.slots());
        Self { heads, worths, firsts, copies, index, seen }
    }

    /// Returns how many skills there are.
    pub fn len(&self) -> usize {
        self.heads.len()
    }

    /// Returns whether there are no skills.
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// Returns the pairs with the skill at `place` that are worth a closer look: with skills that are found by what it says.
    pub fn candidates(&self, place: usize) -> Vec<(usize, usize)> {
        if self.firsts.binary_search(&place).is_err() {
            return Vec::new();
        }
        let Head { said, vector, .. } = &self.heads[place];
        let asked = self.worths.telling(&said.terms, MAX_ASKED).join(" ");
        let query = Query::new(&asked).meaning(vector.clone());
        let hits = self.index.search(&query, &self.seen, CANDIDATES + 1);
        let others = hits.iter().filter_map(|hit| self.firsts.get(hit.slot as usize).copied());
        others.filter(|other| *other != place).map(|other| (place.min(other), place.max(other))).collect()
    }

    /// Returns the pairs that an agent could mix up, the most alike first: copies, and those of `candidates` that are alike.
    pub fn confusable(&self, mut candidates: Vec<(usize, usize)>) -> Vec<Confusable> {
        candidates.sort_unstable();
        candidates.dedup();
        let copies = self.copies.iter().map(|(first, second)| self.pair(*first, *second, 1.0));
        let alike = candidates.into_iter().filter_map(|(first, second)| {
            let likeness = self.likeness(first, second)?;
            Some(self.pair(first, second, likeness))
        });
        let mut pairs: Vec<Confusable> = copies.chain(alike).collect();
        pairs.sort_by(|a, b| {
            b.likeness.total_cmp(&a.likeness).then(a.first.cmp(&b.first)).then(a.second.cmp(&b.second))
        });
        pairs
    }

    /// Returns how alike two skills are, from 0 to 1; none where they cannot be mixed up.
    fn likeness(&self, first: usize, second: usize) -> Option<f32> {
        let (a, b) = (&self.heads[first], &self.heads[second]);
        // Their names tell them apart: however much the rest is alike, one is about Jira and the other about Linear.
        if a.said.has_other_subject(&b.said) && b.said.has_other_subject(&a.said) {
            return None;
        }
        let alike = self.worths.alike(&a.said, &b.said);
        let near = a.vector.as_ref().zip(b.vector.as_ref()).map_or(0.0, |(a, b)| a.cosine(b));
        if near >= NEAR && alike >= ALIKE_IF_NEAR {
            return Some(alike.max(near.min(1.0)));
        }
        (alike >= ALIKE).then_some(alike)
    }

    /// Returns what there is to say of the skills at `first` and `second`.
    fn pair(&self, first: usize, second: usize, likeness: f32) -> Confusable {
        let (one, other) = (&self.heads[first].text, &self.heads[second].text);
        let (a, b) = (&self.heads[first].said, &self.heads[second].said);
        let is_same = likeness >= 1.0 && is_copy(one, other);
        let is_told = a.excludes(b)
            || b.excludes(a)
            || names(one.description, other.name)
            || names(other.description, one.name);
        let kind = match (is_same, is_told) {
            (true, _) => Confusion::Same,
            (false, true) => Confusion::ToldApart,
            (false, false) => Confusion::Alike,
        };
        let words = |own: &Said, other: &Said, is_shared: bool, limit: usize| -> Vec<String> {
            let terms = own.terms.iter().filter(|(term, _)| other.terms.contains_key(term) == is_shared);
            self.worths.telling(terms, limit).into_iter().map(str::to_owned).collect()
        };
        Confusable {
            first,
            second,
            kind,
            likeness,
            shared: words(a, b, true, MAX_SHARED),
            only_first: words(a, b, false, MAX_OWN),
            only_second: words(b, a, false, MAX_OWN),
        }
    }
}

/// Returns the first skill of each description, and those that copy one, each after the one it copies.
fn copies(heads: &[Head<'_>]) -> (Vec<usize>, Vec<(usize, usize)>) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let (mut firsts, mut copies) = (Vec::new(), Vec::new());
    for (index, head) in heads.iter().enumerate() {
        let words: Vec<&str> = head.text.description.split_whitespace().collect();
        if words.is_empty() {
            continue;
        }
        match seen.entry(words.join(" ").to_lowercase()) {
            std::collections::hash_map::Entry::Occupied(first) => copies.push((*first.get(), index)),
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(index);
                firsts.push(index);
            }
        }
    }
    (firsts, copies)
}

/// What a skill says of itself.
#[derive(Debug)]
struct Said {
    /// What it is for: its terms, each with how it is spelt and where it was first said.
    terms: BTreeMap<Term, Spelt>,
    /// What both its name and its description say.
    subjects: HashSet<Term>,
    /// What it says it is not for.
    excluded: HashSet<Term>,
}

/// A part of what a skill says of itself.
#[derive(Clone, Copy)]
enum Part {
    Name,
    Description,
    Excluded,
}

#[derive(Debug)]
struct Spelt {
    word: String,
    place: usize,
}

impl Said {
    fn of(head: &SkillText<'_>) -> Self {
        let mut cutter = Cutter::default();
        let mut said = Self { terms: BTreeMap::new(), subjects: HashSet::new(), excluded: HashSet::new() };
        let mut named = HashSet::new();
        let clauses = exclusion::clauses(head.description).map(|(clause, is_excluded)| {
            (clause, if is_excluded { Part::Excluded } else { Part::Description })
        });
        for (text, part) in [(head.name, Part::Name)].into_iter().chain(clauses) {
            cutter.each(text, Side::Asked, |word| {
                let (term, is_common) = Term::known(word);
                if is_common || GENERIC_TERMS.contains(&term) {
                    return;
                }
                match part {
                    Part::Name => _ = named.insert(term),
                    Part::Description if named.contains(&term) => _ = said.subjects.insert(term),
                    Part::Description => {}
                    Part::Excluded => {
                        said.excluded.insert(term);
                        return;
                    }
                }
                let place = said.terms.len();
                said.terms.entry(term).or_insert_with(|| Spelt { word: word.to_owned(), place });
            });
        }
        said
    }

    /// Returns whether its name says what it is for, and `other` says nothing of that.
    fn has_other_subject(&self, other: &Self) -> bool {
        self.subjects.iter().any(|term| !other.terms.contains_key(term))
    }

    /// Returns whether it says that it is not for something that `other` is for.
    fn excludes(&self, other: &Self) -> bool {
        let is_others = |term: &&Term| other.terms.contains_key(term) && !self.terms.contains_key(term);
        self.excluded.iter().any(|term| is_others(&term))
    }
}

/// How much each word tells skills apart.
#[derive(Debug)]
struct Worths {
    holders: TermMap<usize>,
    count: usize,
}

impl Worths {
    fn of(heads: &[Head<'_>]) -> Self {
        let mut holders = TermMap::default();
        for term in heads.iter().flat_map(|head| head.said.terms.keys()) {
            *holders.entry(*term).or_default() += 1;
        }
        Self { holders, count: heads.len().max(MIN_SKILLS) }
    }

    fn get(&self, term: Term) -> f32 {
        let holders = self.holders.get(&term).copied().unwrap_or_default() as f32;
        ln_1p(((self.count as f32 - holders + 0.5) / (holders + 0.5)).max(0.0))
    }

    /// Returns how much of what each of two skills says the other says, too, from 0 to 1: that of the one that shares less.
    fn alike(&self, a: &Said, b: &Said) -> f32 {
        let sum = |terms: &mut dyn Iterator<Item = &Term>| terms.map(|term| self.get(*term)).sum::<f32>();
        let shared = sum(&mut a.terms.keys().filter(|term| b.terms.contains_key(term)));
        let most = sum(&mut a.terms.keys()).max(sum(&mut b.terms.keys()));
        if most > 0.0 { (shared / most).min(1.0) } else { 0.0 }
    }

    /// Returns the first `limit` words of `terms`, those that tell most first.
    fn telling<'s>(
        &self,
        terms: impl IntoIterator<Item = (&'s Term, &'s Spelt)>,
        limit: usize,
    ) -> Vec<&'s str> {
        let mut terms: Vec<(f32, &Spelt)> =
            terms.into_iter().map(|(term, spelt)| (self.get(*term), spelt)).collect();
        terms.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.place.cmp(&b.1.place)));
        terms.truncate(limit);
        terms.into_iter().map(|(_, spelt)| spelt.word.as_str()).collect()
    }
}

fn is_copy(a: &SkillText<'_>, b: &SkillText<'_>) -> bool {
    let words = |text: &str| text.to_lowercase().split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    words(a.description) == words(b.description)
}

/// Returns whether `description` names the skill `name`.
///
/// A name of one word may be just that word, so it must be quoted or called a skill.
fn names(description: &str, name: &str) -> bool {
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
        let found = confusable(&texts, None);
        let shown: Vec<(usize, usize, &str)> =
            found.iter().map(|pair| (pair.first, pair.second, pair.kind.as_str())).collect();
        assert_eq!(shown, expected, "{found:?}");
        assert!(found.iter().all(|pair| (0.0..=1.0).contains(&pair.likeness)));
    }

    #[test]
    fn skills_that_say_much_the_same_are_found() {
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
    fn skills_of_one_topic_for_different_things_are_not() {
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
    fn names_that_say_what_differs_tell_skills_apart() {
        let text =
            |product: &str| format!("Automate {product} boards: create issues, move cards, close sprints.");
        check(&[("jira-boards", &text("Jira")), ("linear-boards", &text("Linear"))], &[]);
        check(&[("boards", &text("Jira")), ("boards-2", &text("Linear"))], &[(0, 1, "alike")]);
    }

    #[test]
    fn a_skill_that_says_more_is_another() {
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
    fn a_description_that_tells_when_to_use_the_other_is_enough() {
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
    fn the_words_that_tell_most_are_told() {
        let skills = [
            SkillText { name: "x", description: "Fill PDF forms from JSON in bulk.", ..SkillText::default() },
            SkillText { name: "y", description: "Fill PDF forms from CSV in bulk.", ..SkillText::default() },
        ];
        let found = confusable(&skills, None);
        assert_eq!(found[0].shared, ["fill", "pdf", "forms", "bulk"]);
        assert_eq!(
            (&found[0].only_first[..], &found[0].only_second[..]),
            (&["x".to_owned(), "json".to_owned()][..], &["y".to_owned(), "csv".to_owned()][..])
        );
    }

    #[test]
    fn a_name_is_named_as_a_whole() {
        let check = |description: &str, name: &str, expected: bool| {
            assert_eq!(names(description, name), expected, "{description} {name}");
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
    fn any_text_is_fine() {
        check(&[("İ", "İİİ 🙂"), ("🙂", "🙂"), ("翻译", "翻译文档")], &[]);
    }
}
