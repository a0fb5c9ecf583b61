//! A report on a rendered catalog: the tier of each skill, and the tokens.

use super::Tokenizer;

crate::words! {
    /// The share of a skill that the catalog shows.
    #[derive(PartialOrd, Ord)]
    Tier {
        /// Nothing: the host chose so, or not even all names fit.
        Omitted "omitted",
        /// Its name.
        NameOnly "name_only",
        /// Its name and the first sentence of its description.
        FirstSentence "first_sentence",
        /// Its name and its description.
        Full "full",
    }
}

/// The reason for the tier of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The host highlighted it or gave it priority.
    Host,
    /// The task needs it.
    Task {
        /// Its place among the skills that the task needs, from 1.
        rank: usize,
    },
    /// It was its turn.
    FairShare,
    /// The rule for all skills gave it that much.
    Tier,
    /// Nothing of it is shown.
    Omitted,
}

impl Reason {
    /// Returns the word used on every surface.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Task { .. } => "task",
            Self::FairShare => "fair_share",
            Self::Tier => "tier",
            Self::Omitted => "omitted",
        }
    }
}

/// A skill and how much of it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillTier {
    /// The name of the skill.
    pub name: String,
    /// The share of it that is shown.
    pub tier: Tier,
    /// The reason for that tier.
    pub reason: Reason,
}

/// A report on how each skill is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CatalogReport {
    /// The tokenizer of all counts.
    pub tokenizer: Tokenizer,
    /// The budget, where there was one.
    pub budget_tokens: Option<usize>,
    /// The exact count of the text by `tokenizer`; `None` without a budget, as it costs more than rendering.
    pub tokens: Option<usize>,
    /// True if the text is over the budget nevertheless.
    pub over_budget: bool,
    /// The skills in the order of the text.
    pub tiers: Vec<SkillTier>,
    /// The number of descriptions that were cut at [`MAX_DESCRIPTION_CHARS`](super::MAX_DESCRIPTION_CHARS).
    pub clipped: usize,
    /// After how many epochs every skill has had its turn; `None` where there are no turns, or all fits.
    pub turns: Option<usize>,
}

impl CatalogReport {
    /// Returns the number of skills shown as `tier`.
    pub fn count(&self, tier: Tier) -> usize {
        self.tiers.iter().filter(|skill| skill.tier == tier).count()
    }

    /// Returns the number of skills whose description was shortened or omitted because of the budget.
    pub fn shortened(&self) -> usize {
        self.tiers.iter().filter(|skill| skill.tier != Tier::Full).count()
    }
}
