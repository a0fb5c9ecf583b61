//! The reasons that proposals are refused.

use std::fmt;

use repertoire_model::name::{Grammar, GrammarFault};
use repertoire_model::patch::PatchFault;

use crate::Error;

/// The reason that a proposal is refused.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProposalRefusal {
    /// Proposals are turned off.
    Off,
    /// The skill is locked.
    Locked(String),
    /// The skill has no files that could be changed.
    NoFiles(String),
    /// There is a skill of that name.
    Exists(String),
    /// The name cannot be used, for a reason that the one who proposes may not know.
    NameUnusable(String),
    /// The name of the new skill breaks the open standard.
    NameGrammar(String, GrammarFault),
    /// The diff does not apply.
    Diff(PatchFault),
    /// The diff changes nothing.
    Unchanged,
    /// It has a hidden file.
    Hidden(String),
    /// It adds or changes a file that is not text, so that a reviewer could not read the change.
    NotText(String),
    /// It has a file whose name differs from that of another only in case, or that would have to be a directory too.
    Clash(String, String),
    /// The result is not a valid skill.
    Broken(String),
    /// The result has another name.
    Renamed(String),
    /// A text is too long.
    TooLarge {
        /// The text.
        what: &'static str,
        /// The limit in bytes.
        limit: usize,
    },
    /// There is no reason given.
    NoJustification,
    /// The same proposal is pending.
    Duplicate(u64),
    /// The same proposal was rejected.
    Rejected(u64),
    /// Too many proposals are pending: for the skill, from the session, or in all.
    TooMany(&'static str),
    /// The skill cannot be read, or the store is not available.
    Failed(Error),
}

impl fmt::Display for ProposalRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("proposals are turned off"),
            Self::Locked(name) => write!(f, "the skill {name} is locked; its owner changes it"),
            Self::NoFiles(name) => write!(f, "the skill {name} has no directory that could be changed"),
            Self::NameUnusable(name) => write!(f, "the name {name} cannot be used for a new skill"),
            Self::NameGrammar(name, fault) => {
                write!(
                    f,
                    "the name {name} {fault}; the name of a new skill is {}",
                    Grammar::AgentSkills.in_words()
                )
            }
            Self::Exists(name) => write!(f, "there is a skill {name}; propose a change of it instead"),
            Self::Diff(fault) => fault.fmt(f),
            Self::Unchanged => f.write_str("the diff changes nothing"),
            Self::Hidden(path) => write!(f, "{path} is a hidden file, which no skill may bring along"),
            Self::NotText(path) => {
                write!(f, "{path} is not text; only text files can be added or changed by a proposal")
            }
            Self::Clash(one, other) => write!(f, "{one} and {other} cannot exist side by side"),
            Self::Broken(why) => write!(f, "the result is not a valid skill: {why}"),
            Self::Renamed(name) => {
                write!(f, "the result is called {name}; the name of a skill does not change")
            }
            Self::TooLarge { what, limit } => write!(f, "{what} is larger than {limit} bytes"),
            Self::NoJustification => f.write_str("a justification is missing: say why the change is needed"),
            Self::Duplicate(id) => write!(f, "the same change waits for review as proposal {id}"),
            Self::Rejected(id) => {
                write!(f, "the same change was rejected as proposal {id}; propose another one")
            }
            Self::TooMany(which) => write!(f, "too many proposals {which}"),
            Self::Failed(error) => f.write_str(&error.chain()),
        }
    }
}

impl std::error::Error for ProposalRefusal {}

impl From<Error> for ProposalRefusal {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}
