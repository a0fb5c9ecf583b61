//! The tokens that requests used.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// The tokens that one or more requests used, as the service counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TokenUsage {
    /// The number of requests.
    pub requests: u64,
    /// Tokens of the input that were neither read from the service's cache nor written to it.
    pub input: u64,
    /// Tokens of the input that were read from the cache.
    pub cache_read: u64,
    /// Tokens of the input that were written to the cache.
    pub cache_write: u64,
    /// Tokens that the model wrote.
    pub output: u64,
}

impl TokenUsage {
    /// Returns the tokens of the input, cached or not.
    pub fn whole_input(&self) -> u64 {
        self.input + self.cache_read + self.cache_write
    }

    /// Returns all tokens.
    pub fn total(&self) -> u64 {
        self.whole_input() + self.output
    }
}

impl AddAssign for TokenUsage {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.input += other.input;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.output += other.output;
    }
}
