//! The confidence that a skill fits a query.
//!
//! It is a logistic regression over the features of the first result, fitted to labelled questions in
//! libraries of 10 to 26,000 skills, some of which no skill answers (`bench/README.md`).

use repertoire::searcher::MIN_CONFIDENCE;

use super::logarithm::{ln, ln_1p, pow};

/// The number of content words beyond which more say no more.
const ENOUGH_WORDS: f32 = 12.0;
/// The number of skills of a small library, and the number from which on meaning and claims say nothing more.
const SMALL: f32 = 100.0;
const LARGE: f32 = 26_000.0;
/// The smallest library that the weights were fitted to.
const SMALLEST: f32 = 10.0;

/// The lead of a skill that is clearly ahead of all others.
const CLEAR_LEAD: f32 = 0.3;
/// The cosine from which on a skill may fit by its meaning alone.
const NEAR: f32 = 0.6;
/// The cosine below which a skill is about something else.
const FAR: f32 = 0.35;
/// The most confidence in a skill that is about something else and claims none of the words, because a long
/// text shares words with every skill, and in one that excludes more of the words than it claims.
const MAX_UNCLAIMED: f32 = 0.45;

/// The weights of the features. Those of the cosine and of claims hold for a small library and fall with the
/// logarithm of the number of skills: the more there are, the more of them are similar to any query.
struct Weights {
    constant: f32,
    cosine: f32,
    claimed: f32,
    lead: f32,
    /// The lead once more, multiplied by the logarithm of the number of skills.
    lead_by_size: f32,
    words: f32,
    score: f32,
    unknown: f32,
}

const WITH_COSINE: Weights = Weights {
    constant: -7.7,
    cosine: 5.75,
    claimed: 2.07,
    lead: 5.79,
    lead_by_size: 0.7,
    words: 1.65,
    score: 6.48,
    unknown: -0.71,
};
const WITHOUT_COSINE: Weights = Weights {
    constant: -7.89,
    cosine: 0.0,
    claimed: 5.6,
    lead: 4.76,
    lead_by_size: 0.24,
    words: 2.28,
    score: 6.86,
    unknown: 0.0,
};

/// The evidence that a skill fits a query.
///
/// Shares are of the query's content words, by importance and rarity: a word that no skill has weighs most.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Evidence {
    /// The cosine of the embeddings of the query and the skill, if the query has one. The weight is that of
    /// the program's embedding table; the cosines of other embedders are higher or lower.
    pub cosine: Option<f32>,
    /// The share that the skill has.
    pub matched: f32,
    /// The share that it has in its name, description or keywords.
    pub claimed: f32,
    /// The share that its description excludes.
    pub excluded: f32,
    /// The share that no skill has.
    pub unknown: f32,
    /// The distance to the score of the next skill, as a share of its own; 0 for all but the first.
    pub lead: f32,
    /// The number of content words of the query.
    pub words: usize,
    /// The score of the skill.
    pub score: f32,
    /// The number of skills that were searched.
    pub skills: usize,
}

impl Evidence {
    /// Returns the estimated probability that the skill fits, from 0 to 1.
    pub fn confidence(&self) -> f32 {
        let words = ln_1p((self.words as f32).min(ENOUGH_WORDS));
        let size = ln((self.skills as f32).clamp(SMALLEST, LARGE) / SMALL);
        let falling = 1.0 - size / ln(LARGE / SMALL);
        let weights = if self.cosine.is_some() { &WITH_COSINE } else { &WITHOUT_COSINE };
        let similar = weights.cosine * self.cosine.unwrap_or_default() + weights.claimed * self.claimed;
        let sum = weights.constant
            + similar * falling
            + (weights.lead + weights.lead_by_size * size) * self.lead
            + weights.words * words
            + weights.score * self.score
            + weights.unknown * self.unknown;
        let confidence = 1.0 / (1.0 + pow(std::f32::consts::E, -sum));
        // Somebody who asks for a single word, or for two that lead to one skill, may look for the one whose
        // instructions have them.
        let is_literal =
            self.matched >= 1.0 && (self.words == 1 || self.words == 2 && self.lead >= CLEAR_LEAD);
        let is_near = self.cosine.is_some_and(|cosine| cosine >= NEAR);
        let is_unclaimed = self.claimed == 0.0 && self.cosine.is_none_or(|cosine| cosine < FAR);
        let confidence = if is_unclaimed || self.excluded > self.claimed {
            confidence.min(MAX_UNCLAIMED)
        } else {
            confidence
        };
        if is_literal || is_near { confidence.max(MIN_CONFIDENCE) } else { confidence }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strong() -> Evidence {
        Evidence {
            cosine: Some(0.5),
            matched: 0.9,
            claimed: 0.8,
            excluded: 0.0,
            unknown: 0.05,
            lead: 0.4,
            words: 6,
            score: 0.5,
            skills: 100,
        }
    }

    #[test]
    fn more_evidence_gives_more_confidence() {
        let weak = Evidence { matched: 0.2, words: 3, score: 0.1, skills: 100, ..Evidence::default() };
        for cosine in [Some(0.1), None] {
            let weak = Evidence { cosine, ..weak };
            let strong = Evidence { cosine: cosine.map(|_| 0.5), ..strong() };
            let found = [weak.confidence(), strong.confidence()];
            assert!(found[0] < 0.1 && found[1] > 0.9, "{found:?}");
            let excluding = Evidence { excluded: 0.9, ..strong };
            assert_eq!(excluding.confidence(), MAX_UNCLAIMED);
            for skills in [0, 1, 100, 5_000, 1_000_000] {
                let strong = Evidence { skills, ..strong };
                let less = Evidence { claimed: 0.3, cosine: strong.cosine.map(|_| 0.4), ..strong };
                assert!(less.confidence() <= strong.confidence(), "{skills}");
            }
        }
        assert_eq!(Evidence { words: 12, ..weak }.confidence(), Evidence { words: 500, ..weak }.confidence());
    }

    #[test]
    fn the_same_evidence_says_less_in_a_large_library() {
        let narrow = Evidence { lead: 0.02, ..strong() };
        let many = Evidence { skills: 26_000, ..narrow };
        assert!(many.confidence() < narrow.confidence() - 0.2);
        assert!(
            Evidence { cosine: None, ..many }.confidence() < Evidence { cosine: None, ..narrow }.confidence()
        );
    }

    #[test]
    fn one_word_is_looked_up_and_a_long_text_about_something_else_is_weak() {
        let literal =
            Evidence { cosine: Some(0.0), matched: 1.0, words: 1, skills: 100, ..Evidence::default() };
        assert_eq!(literal.confidence(), MIN_CONFIDENCE);
        let two = Evidence { words: 2, ..literal };
        assert!(two.confidence() < MIN_CONFIDENCE);
        assert!(Evidence { lead: CLEAR_LEAD, ..two }.confidence() >= MIN_CONFIDENCE);
        let unclaimed = Evidence { claimed: 0.0, cosine: Some(0.2), words: 40, lead: 0.9, ..strong() };
        assert_eq!(unclaimed.confidence(), MAX_UNCLAIMED);
        let near = Evidence { cosine: Some(NEAR), words: 1, skills: 100, ..Evidence::default() };
        assert!(near.confidence() >= MIN_CONFIDENCE);
    }
}
