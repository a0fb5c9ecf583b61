//! What is dear to work out and remembered between runs: digests and token counts.

use repertoire_model::Digest;

use super::{Entry, Registry};
use crate::Error;
use crate::provider::{Provider, TokenCounts};

impl Registry {
    /// Returns the digest of the skill's files, from memory where its provider is sure of it.
    pub async fn digest(&self, entry: &Entry) -> Result<Digest, Error> {
        self.provider(entry)?.digest(&entry.locator).await
    }

    /// Returns what is remembered of the skill's token counts under the tokenizer `tokenizer`.
    pub fn token_counts(&self, entry: &Entry, tokenizer: &str) -> TokenCounts {
        let memo = self.provider(entry).ok().and_then(Provider::memo);
        memo.and_then(|memo| memo.token_counts(&entry.locator, tokenizer)).unwrap_or_default()
    }

    /// Remembers the skill's token counts under the tokenizer `tokenizer`, where its provider can.
    pub fn set_token_counts(&self, entry: &Entry, tokenizer: &str, counts: TokenCounts) {
        if let Some(memo) = self.provider(entry).ok().and_then(Provider::memo) {
            memo.set_token_counts(&entry.locator, tokenizer, counts);
        }
    }

    /// Keeps what was remembered for the next run.
    pub async fn save(&self) {
        for memo in self.providers().iter().filter_map(|provider| provider.memo()) {
            memo.save().await;
        }
    }
}
