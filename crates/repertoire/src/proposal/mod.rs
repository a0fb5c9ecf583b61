//! Proposals: agents and people propose changes of skills, and only a reviewer's approval changes files.
//!
//! [`Proposer`] submits proposals within the rules of its [`ProposalRules`]; [`review`] holds what reviewers
//! do. Files are written by [`crate::history::write_skill`], so an approved change is written whole or not at
//! all.

mod refusal;
mod draft;
mod markdown;
mod proposer;
#[cfg(feature = "fs")]
pub mod review;
#[cfg(feature = "fs")]
mod publish;

pub use draft::{
    Draft, MAX_DIFF_BYTES, MAX_TEXT_BYTES, check_skill, draft_replacement, draft_skill, draft_update,
};
pub use markdown::{file_name, markdown};
pub use proposer::{ProposalMode, ProposalRules, ProposalText, Proposer};
#[cfg(feature = "fs")]
pub use publish::{
    NewPublication, PublishFault, PublishMode, PublishOutcome, channel_source, publish, published_identity,
    source_channel,
};
pub use refusal::ProposalRefusal;
