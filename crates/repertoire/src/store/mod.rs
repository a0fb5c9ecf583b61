//! The memory of a library: what happened, what is used, what changed, and who decided it.
//!
//! A [`Store`] keeps six things: the [`Journal`] of events, the [`Versions`] of skills with their content,
//! the [`Proposals`] that people review, the [`Releases`] that servers serve skills from, the
//! [`Publications`] that these are made of, and the [`Tokens`] by which servers know people and programs.
//! The crate `repertoire-store` has SQLite and PostgreSQL; one suite of tests holds both to this page.
//!
//! The methods block until the data is durable. Asynchronous code calls them on a thread that may block.

mod journal;
mod versions;
mod proposals;
mod releases;
mod tokens;
mod lazy;
mod content;
#[cfg(test)]
#[path = "../../tests/support/memory_store.rs"]
mod memory;
#[cfg(test)]
mod tests;

pub use content::{
    blob, bundle, find_skill_files, keep_skill, put_skill, put_skill_safely, put_skills, put_skills_safely,
    skill_files,
};
pub use journal::{DailyLoads, EventQuery, Journal, JournalLine, Retention, UsageCount};
pub use lazy::LazyStore;
#[cfg(test)]
pub(crate) use memory::MemoryStore;
pub use proposals::{
    AGENT_PREFIX, FREE_RULE, MAX_PENDING, NewProposal, Proposal, ProposalDecision, ProposalKind,
    ProposalLimits, ProposalState, Proposals, Submission,
};
pub use releases::{Publication, Publications};
pub use releases::{Release, ReleaseChange, ReleasedSkill, Releases, effective_changes};
pub use tokens::{
    ENDED_TOKEN_TIME, MAX_TOKENS, Role, TOKEN_PREFIX, TokenRecord, TokenScope, Tokens, is_principal_name,
    token_exists, too_many_tokens,
};
pub use versions::{Blob, NewVersion, Origin, Version, Versions};

use crate::Error;

/// A place that keeps the memory of a library.
pub trait Store: Journal + Versions + Proposals + Releases + Publications + Tokens {
    /// Returns where the data is, for people: a path, or an address without its password.
    fn location(&self) -> String;

    /// Returns the number of the newest migration that was applied to the data.
    fn schema_version(&self) -> Result<u32, Error>;

    /// Returns the number of processes that share the data now, with this one; `None` if it is unknown.
    fn processes(&self) -> Result<Option<u64>, Error> {
        Ok(None)
    }

    /// Looks for damage to the data, where that does not take long.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Looks for damage to the data, however long that takes.
    fn check_fully(&self) -> Result<(), Error> {
        self.check()
    }
}
