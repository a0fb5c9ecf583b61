//! The answer to a request that publishes a version.

use schemars::JsonSchema;
use serde::Serialize;

/// A version that was published, or waits for a review.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct PublishAnswer {
    /// The name of the skill.
    pub(crate) name: String,
    /// The version.
    pub(crate) version: String,
    /// The channel.
    pub(crate) channel: String,
    /// The digest of the files.
    pub(crate) digest: String,
    /// The state: `released` (201), `proposed` if it waits for a review (202), or `unchanged` if the channel
    /// has it already (200).
    pub(crate) state: String,
    /// The number of the release.
    pub(crate) release: Option<u64>,
    /// The number of the proposal that waits for a review.
    pub(crate) proposal: Option<u64>,
    /// The findings of the rules.
    pub(crate) findings: Vec<String>,
}
