//! Proposals: changes of skills that wait for a person's decision.

use std::path::Path;
use std::time::SystemTime;

use repertoire_model::bundle::Digest;
use repertoire_model::words;

use crate::Error;

/// The most proposals of agents that may be pending in a store, whatever they are about.
pub const MAX_PENDING: u64 = 100;

/// The reviewer of new skills that are approved at once, where agents are free to make skills.
pub const FREE_RULE: &str = "rule:free";

/// The start of an author's name that is an agent's.
pub const AGENT_PREFIX: &str = "agent:";

/// The start of the identity of a skill of a channel.
const CHANNEL: &str = "channel:";

/// The start of the justification of a version that is to be released.
const VERSION: &str = "version ";

/// The start of the identity of a new skill.
const NEW: &str = "new:";

words! {
    /// The kind of a proposal.
    ProposalKind {
        /// A change of a skill.
        Update "update",
        /// A new skill.
        Create "create",
    }
}

words! {
    /// The state of a proposal.
    #[non_exhaustive]
    ProposalState {
        /// It waits for a decision.
        Pending "pending",
        /// A reviewer approved it; its files are about to be written.
        Approved "approved",
        /// Its files are written.
        Applied "applied",
        /// A reviewer rejected it.
        Rejected "rejected",
        /// The skill changed since; it has to be rebased.
        Stale "stale",
        /// Another proposal took its place.
        Superseded "superseded",
        /// It was applied, and an earlier version was restored since.
        RolledBack "rolled_back",
    }
}

/// A proposal to submit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewProposal {
    /// The kind.
    pub kind: ProposalKind,
    /// The identity of the skill, as in its versions; for a new skill, that of [`NewProposal::new_skill`].
    pub skill: String,
    /// The name of the skill.
    pub name: String,
    /// The digest of the bundle that the diff is against; `None` for a new skill.
    pub base: Option<Digest>,
    /// The digest of the bundle that the proposal leads to. Its content is in the store.
    pub result: Digest,
    /// The change as a unified diff.
    pub diff: String,
    /// The reason for it.
    pub justification: String,
    /// Errors, test failures or feedback that support it.
    pub evidence: Option<String>,
    /// The findings of the check of the result, one per line.
    pub check: String,
    /// The person or agent that proposes it.
    pub author: String,
    /// The session it was proposed in.
    pub session: Option<String>,
    /// When it was proposed.
    pub time: SystemTime,
    /// The proposal that this one takes the place of.
    pub replaces: Option<u64>,
}

impl NewProposal {
    /// Returns the identity of a new skill called `name`, to be written into `directory`.
    pub fn new_skill(directory: Option<&Path>, name: &str) -> String {
        match directory {
            Some(directory) => format!("{NEW}{}", directory.join(name).display()),
            None => format!("{NEW}{name}"),
        }
    }

    /// Returns whether an agent proposes it.
    pub fn is_by_agent(&self) -> bool {
        self.author.starts_with(AGENT_PREFIX)
    }

    /// Returns the identity of the skill `name` of `channel`, for a version that is to be released there.
    pub fn of_channel(channel: &str, name: &str) -> String {
        format!("{CHANNEL}{channel}:{name}")
    }

    /// Returns the channel that the result is to be released to, if it is a version of a channel's skill.
    pub fn channel(&self) -> Option<&str> {
        self.skill.strip_prefix(CHANNEL)?.split_once(':').map(|(channel, _)| channel)
    }

    /// Returns the justification of the version `version` of a channel's skill.
    pub fn of_version(version: &str) -> String {
        format!("{VERSION}{version}")
    }

    /// Returns the version that the result is to be released as, if it is a version of a channel's skill.
    pub fn version(&self) -> Option<&str> {
        self.channel().and_then(|_| self.justification.strip_prefix(VERSION))
    }

    /// Returns the directory of the skill, or where a new skill is to be written; `None` if not recorded.
    pub fn directory(&self) -> Option<&Path> {
        let directory = Path::new(self.skill.strip_prefix(NEW).unwrap_or(&self.skill));
        directory.is_absolute().then_some(directory)
    }
}

/// A submitted proposal. Everything but the decision is immutable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Its number.
    pub id: u64,
    /// Its content.
    pub content: NewProposal,
    /// Its state.
    pub state: ProposalState,
    /// The last decision about it.
    pub decision: Option<ProposalDecision>,
}

/// A decision about a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposalDecision {
    /// The person or agent that decided.
    pub reviewer: String,
    /// The reason.
    pub reason: Option<String>,
    /// When it was decided.
    pub time: SystemTime,
}

/// The most pending proposals. New skills of a session that [`FREE_RULE`] approved count for it, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProposalLimits {
    /// For one skill.
    pub per_skill: u64,
    /// From one session.
    pub per_session: u64,
    /// Of agents, in all. People are not held up by agents.
    pub total: u64,
}

/// The outcome of submitting a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Submission {
    /// It was accepted under this number.
    Accepted(u64),
    /// One with the same base and result is pending already.
    Duplicate(u64),
    /// One with the same base and result was rejected.
    Rejected(u64),
    /// Too many proposals are pending for the skill.
    TooManyForSkill,
    /// The session has too many pending proposals.
    TooManyForSession,
    /// Too many proposals are pending in all.
    TooMany,
}

/// Proposals and the decisions about them.
pub trait Proposals: Send + Sync {
    /// Submits `proposal` within `limits`. The proposal that it replaces becomes
    /// [`ProposalState::Superseded`] if it was pending or stale.
    fn submit(&self, proposal: &NewProposal, limits: ProposalLimits) -> Result<Submission, Error>;

    /// Returns the reason why [`Proposals::submit`] would not accept `proposal`, if there is one.
    fn refusal(&self, proposal: &NewProposal, limits: ProposalLimits) -> Result<Option<Submission>, Error>;

    /// Returns the proposal with this number.
    fn proposal(&self, id: u64) -> Result<Option<Proposal>, Error>;

    /// Returns the proposals in one of `states`, or all if there are not any, the newest first.
    fn proposals(&self, states: &[ProposalState]) -> Result<Vec<Proposal>, Error>;

    /// Moves the proposal from the state `from` to `to`, and notes `decision` if there is one. Returns
    /// `false` if it was not in `from`.
    ///
    /// Of several callers at the same time one gets `true`.
    fn decide(
        &self,
        id: u64,
        from: ProposalState,
        to: ProposalState,
        decision: Option<&ProposalDecision>,
    ) -> Result<bool, Error>;
}
