//! The words of names and descriptions, which skills are chosen by.

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use repertoire_model::text::start;

use crate::rank::ln_1p;
use crate::words::{Term, TermMap, TextRole, WordCutter, clauses};

/// The least number of skills that weights are computed with. In a small library a word that two skills share
/// would otherwise weigh much less than a word of only one.
const MIN_SKILLS: usize = 1000;
/// The most bytes of a description that are read.
pub(super) const MAX_DESCRIPTION_BYTES: usize = 4096;
/// Words of descriptions that are about skills in general.
const GENERIC: &[&str] = &[
    "agent", "ask", "asked", "best", "claude", "guide", "handle", "include", "mention", "need", "provide",
    "request", "skill", "support", "task", "tool", "trigger", "user", "work",
];

static GENERIC_TERMS: LazyLock<HashSet<Term>> =
    LazyLock::new(|| GENERIC.iter().map(|word| Term::of(word).0).collect());

/// The words of a skill's name and description.
#[derive(Debug, Default)]
pub(crate) struct SkillClaims {
    /// The terms of its name and of what it is for, with their spelling and order.
    pub(crate) terms: BTreeMap<Term, Spelling>,
    /// The terms in both its name and its description.
    subjects: HashSet<Term>,
    /// The terms of what it is not for.
    excluded: HashSet<Term>,
}

/// The first spelling of a term in a text.
#[derive(Debug)]
pub(crate) struct Spelling {
    word: String,
    /// The number of terms before this one.
    place: usize,
}

/// A part of the text that a skill is chosen by.
#[derive(Clone, Copy)]
enum ClaimPart {
    Name,
    Description,
    Excluded,
}

impl SkillClaims {
    pub(crate) fn of(name: &str, description: &str) -> Self {
        let mut cutter = WordCutter::default();
        let mut claims = Self::default();
        let mut named = HashSet::new();
        let clauses = clauses(start(description, MAX_DESCRIPTION_BYTES)).map(|(clause, is_excluded)| {
            (clause, if is_excluded { ClaimPart::Excluded } else { ClaimPart::Description })
        });
        for (text, part) in [(name, ClaimPart::Name)].into_iter().chain(clauses) {
            cutter.each(text, TextRole::Query, |word| {
                let (term, is_common) = Term::of(word);
                if is_common || GENERIC_TERMS.contains(&term) {
                    return;
                }
                match part {
                    ClaimPart::Name => _ = named.insert(term),
                    ClaimPart::Description if named.contains(&term) => _ = claims.subjects.insert(term),
                    ClaimPart::Description => {}
                    ClaimPart::Excluded => {
                        claims.excluded.insert(term);
                        return;
                    }
                }
                let place = claims.terms.len();
                claims.terms.entry(term).or_insert_with(|| Spelling { word: word.to_owned(), place });
            });
        }
        claims
    }

    /// Returns whether this skill has a subject, a term of both name and description, that `other` lacks.
    pub(crate) fn has_other_subject(&self, other: &Self) -> bool {
        self.subjects.iter().any(|term| !other.terms.contains_key(term))
    }

    /// Returns whether this skill excludes a term of `other` that it does not have itself.
    pub(crate) fn excludes(&self, other: &Self) -> bool {
        let is_others = |term: &Term| other.terms.contains_key(term) && !self.terms.contains_key(term);
        self.excluded.iter().any(is_others)
    }
}

/// The inverse document frequencies of terms.
#[derive(Debug)]
pub(crate) struct TermWeights {
    holders: TermMap<usize>,
    count: usize,
}

impl TermWeights {
    /// Returns the weights of all terms of these skills.
    pub(crate) fn of<'c>(claims: impl ExactSizeIterator<Item = &'c SkillClaims>) -> Self {
        let count = claims.len().max(MIN_SKILLS);
        let mut holders = TermMap::default();
        for term in claims.flat_map(|claims| claims.terms.keys()) {
            *holders.entry(*term).or_default() += 1;
        }
        Self { holders, count }
    }

    fn get(&self, term: Term) -> f32 {
        let holders = self.holders.get(&term).copied().unwrap_or_default() as f32;
        ln_1p(((self.count as f32 - holders + 0.5) / (holders + 0.5)).max(0.0))
    }

    /// Returns the weight of shared terms as a share of the terms of the skill with more weight, from 0 to 1.
    pub(crate) fn likeness(&self, a: &SkillClaims, b: &SkillClaims) -> f32 {
        let sum = |terms: &mut dyn Iterator<Item = &Term>| terms.map(|term| self.get(*term)).sum::<f32>();
        let shared = sum(&mut a.terms.keys().filter(|term| b.terms.contains_key(term)));
        let most = sum(&mut a.terms.keys()).max(sum(&mut b.terms.keys()));
        if most > 0.0 { (shared / most).min(1.0) } else { 0.0 }
    }

    /// Returns the `limit` words of `terms` with the highest weights, highest first.
    pub(crate) fn best<'s>(
        &self,
        terms: impl IntoIterator<Item = (&'s Term, &'s Spelling)>,
        limit: usize,
    ) -> Vec<String> {
        let mut terms: Vec<(f32, &Spelling)> =
            terms.into_iter().map(|(term, spelling)| (self.get(*term), spelling)).collect();
        terms.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.place.cmp(&b.1.place)));
        terms.into_iter().take(limit).map(|(_, spelling)| spelling.word.clone()).collect()
    }
}
