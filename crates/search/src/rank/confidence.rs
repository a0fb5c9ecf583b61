//! The confidence that a skill fits a query.
//!
//! It is a logistic regression over five features, fitted to labelled questions, a third of which no skill
//! answers (`bench/README.md`).

use repertoire::searcher::MIN_CONFIDENCE;

use super::logarithm::{ln_1p, pow};

/// The number of content words beyond which more say no more.
const ENOUGH_WORDS: f32 = 12.0;

/// The lead of a skill that is clearly ahead of all others.
const CLEAR_LEAD: f32 = 0.3;
/// The cosine from which on a skill may fit by its meaning alone.
const NEAR: f32 = 0.6;
/// The cosine below which a skill is about something else.
const FAR: f32 = 0.35;
/// The most confidence in a skill that is about something else and claims none of the words: a long text
/// shares words with every skill.
const MAX_UNCLAIMED: f32 = 0.45;

/// The weights of the features.
struct Weights {
    constant: f32,
    cosine: f32,
    matched: f32,
    claimed: f32,
    lead: f32,
    words: f32,
}

const WITH_COSINE: Weights =
    Weights { constant: -7.52, cosine: 2.82, matched: 1.61, claimed: 3.68, lead: 2.32, words: 2.36 };
const WITHOUT_COSINE: Weights =
    Weights { constant: -6.91, cosine: 0.0, matched: 1.36, claimed: 4.3, lead: 3.65, words: 2.18 };

/// The evidence that a skill fits a query.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Evidence {
    /// The cosine of the embeddings of the query and the skill, if the query has one. The weight is that of
    /// the program's embedding table; the cosines of other embedders are higher or lower.
    pub cosine: Option<f32>,
    /// The share of the content words of the query that the skill has, by importance.
    pub matched: f32,
    /// The share of the words that it has in its name, description or keywords.
    pub claimed: f32,
    /// The distance to the score of the next skill, as a share of its own; 0 for all but the first.
    pub lead: f32,
    /// The number of content words of the query.
    pub words: usize,
}

impl Evidence {
    /// Returns the estimated probability that the skill fits, from 0 to 1.
    pub fn confidence(&self) -> f32 {
        let words = ln_1p((self.words as f32).min(ENOUGH_WORDS));
        let Weights { constant, cosine, matched, claimed, lead, words: by_words } = match self.cosine {
            Some(_) => WITH_COSINE,
            None => WITHOUT_COSINE,
        };
        let sum = constant
            + cosine * self.cosine.unwrap_or_default()
            + matched * self.matched
            + claimed * self.claimed
            + lead * self.lead
            + by_words * words;
        let confidence = 1.0 / (1.0 + pow(std::f32::consts::E, -sum));
        // Somebody who asks for a single word, or for two that lead to one skill, may look for the one whose
        // instructions have them.
        let is_literal =
            self.matched >= 1.0 && (self.words == 1 || self.words == 2 && self.lead >= CLEAR_LEAD);
        let is_near = self.cosine.is_some_and(|cosine| cosine >= NEAR);
        let is_unclaimed = self.claimed == 0.0 && self.cosine.is_none_or(|cosine| cosine < FAR);
        let confidence = if is_unclaimed { confidence.min(MAX_UNCLAIMED) } else { confidence };
        if is_literal || is_near { confidence.max(MIN_CONFIDENCE) } else { confidence }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_evidence_gives_more_confidence() {
        let weak = Evidence { cosine: Some(0.1), matched: 0.2, claimed: 0.0, lead: 0.0, words: 3 };
        let strong = Evidence { cosine: Some(0.5), matched: 0.9, claimed: 0.8, lead: 0.4, words: 6 };
        assert!(
            weak.confidence() < 0.2 && strong.confidence() > 0.9,
            "{} {}",
            weak.confidence(),
            strong.confidence()
        );
        let words_only = [weak, strong].map(|evidence| Evidence { cosine: None, ..evidence }.confidence());
        assert!(words_only[0] < words_only[1]);
        let literal = Evidence { cosine: Some(0.0), matched: 1.0, words: 1, ..Evidence::default() };
        assert_eq!(literal.confidence(), MIN_CONFIDENCE);
        let two = Evidence { words: 2, ..literal };
        assert!(two.confidence() < MIN_CONFIDENCE);
        assert_eq!(Evidence { lead: CLEAR_LEAD, ..two }.confidence(), MIN_CONFIDENCE);
        let unclaimed = Evidence { claimed: 0.0, cosine: Some(0.2), words: 40, ..strong };
        assert_eq!(unclaimed.confidence(), MAX_UNCLAIMED);
        let near = Evidence { cosine: Some(NEAR), words: 1, ..Evidence::default() };
        assert_eq!(near.confidence(), MIN_CONFIDENCE);
        assert_eq!(Evidence { words: 12, ..weak }.confidence(), Evidence { words: 500, ..weak }.confidence());
    }
}
