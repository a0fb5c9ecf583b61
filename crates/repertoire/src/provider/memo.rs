//! What is remembered about skills from one run to the next.

use super::{BoxFuture, Locator};

/// How many tokens the parts of a skill make, as far as they were counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenCounts {
    /// Those of the body.
    pub body: Option<u64>,
    /// Those of its entry in the catalog.
    pub entry: Option<u64>,
}

/// What a provider remembers about its skills, so that it need not be worked out at every start.
///
/// Everything is about the skill as it was last listed, and forgotten when its `SKILL.md` changes.
pub trait Memo: Send + Sync {
    /// Returns the counts of `tokenizer` for the skill at `locator`.
    fn token_counts(&self, locator: &Locator, tokenizer: &str) -> Option<TokenCounts>;

    /// Remembers the counts of `tokenizer` for the skill at `locator`.
    fn set_token_counts(&self, locator: &Locator, tokenizer: &str, counts: TokenCounts);

    /// Keeps what was remembered for the next run; where that fails it is merely worked out again.
    fn save(&self) -> BoxFuture<'_, ()>;
}
