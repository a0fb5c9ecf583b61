//! The reasons that proposals are refused.

use repertoire_model::name::{Grammar, GrammarFault};
use repertoire_model::patch::PatchFault;

use crate::Error;

/// The reason that a proposal is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProposalRefusal {
    /// Proposals are turned off.
    #[error("proposals are turned off")]
    Off,
    /// The skill is locked.
    #[error("the skill {0} is locked; its owner changes it")]
    Locked(String),
    /// The skill has no files that could be changed.
    #[error("the skill {0} has no directory that could be changed")]
    NoFiles(String),
    /// There is a skill of that name.
    #[error("there is a skill {0}; propose a change of it instead")]
    Exists(String),
    /// The name cannot be used, for a reason that the one who proposes may not know.
    #[error("the name {0} cannot be used for a new skill")]
    NameUnusable(String),
    /// The name of the new skill breaks the open standard.
    #[error("the name {0} {1}; the name of a new skill is {words}", words = Grammar::AgentSkills.in_words())]
    NameGrammar(String, GrammarFault),
    /// The diff does not apply.
    #[error("{0}")]
    Diff(PatchFault),
    /// The diff changes nothing.
    #[error("the diff changes nothing")]
    Unchanged,
    /// It has a hidden file.
    #[error("{0} is a hidden file, which no skill may bring along")]
    Hidden(String),
    /// It adds or changes a file that is not text, so that a reviewer could not read the change.
    #[error("{0} is not text; only text files can be added or changed by a proposal")]
    NotText(String),
    /// A file's name differs from that of another only in case, or would have to be a directory too.
    #[error("{0} and {1} cannot exist side by side")]
    Clash(String, String),
    /// The result is not a valid skill.
    #[error("the result is not a valid skill: {0}")]
    Broken(String),
    /// The result has another name.
    #[error("the result is called {0}; the name of a skill does not change")]
    Renamed(String),
    /// A text is too long.
    #[error("{what} is larger than {limit} bytes")]
    TooLarge {
        /// The text.
        what: &'static str,
        /// The limit in bytes.
        limit: usize,
    },
    /// There is no reason given.
    #[error("a justification is missing: say why the change is needed")]
    NoJustification,
    /// The same proposal is pending.
    #[error("the same change waits for review as proposal {0}")]
    Duplicate(u64),
    /// The same proposal was rejected.
    #[error("the same change was rejected as proposal {0}; propose another one")]
    Rejected(u64),
    /// Too many proposals are pending: for the skill, from the session, or in all.
    #[error("too many proposals {0}")]
    TooMany(&'static str),
    /// The skill cannot be read, or the store is not available.
    #[error("{}", .0.chain())]
    Failed(Error),
}

impl From<Error> for ProposalRefusal {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}
