//! Skills that an agent could confuse, because their names and descriptions are too similar.

mod claims;
mod findings;
mod pairs;

pub(crate) use claims::{SkillClaims, TermWeights};
pub use findings::{MAX_PAIRS_REPORTED, findings};
pub use pairs::{ConfusablePair, PairKind, confusable_pairs};
