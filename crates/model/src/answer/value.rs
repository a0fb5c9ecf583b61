//! The type of all answers.

use super::{
    Acknowledgement, BucketText, Fault, FileList, FileText, LoadAnswer, LoadedSkill, SearchResults,
    SkillList, ToolResult,
};
use crate::{Digest, SkillName};

/// The answer of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// A skill's instructions.
    Loaded(Box<LoadAnswer>),
    /// The instructions are in the context already.
    Acknowledged(Acknowledgement),
    /// Files that were requested by their kinds.
    Bucket(Box<BucketText>),
    /// The skill is no longer active.
    Unloaded(SkillName),
    /// The skill was not active.
    NotLoaded(SkillName),
    /// A file of a skill, or some of its lines.
    File(FileText),
    /// The files of a skill.
    Files(FileList),
    /// The skills there are.
    Skills(SkillList),
    /// The skills that a search found.
    Results(SearchResults),
    /// The result of a tool or script of a skill.
    Tool(Box<ToolResult>),
    /// The text of a host's own tool, and whether it is an error.
    Custom {
        /// The text.
        text: String,
        /// True if the call failed.
        is_error: bool,
    },
    /// The call could not be answered.
    Fault(Fault),
}

/// A skill whose whole instructions an answer puts into the context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injection {
    /// The skill.
    pub name: SkillName,
    /// The digest of its instructions.
    pub digest: Digest,
}

impl Answer {
    /// Returns whether the call failed.
    pub fn is_error(&self) -> bool {
        match self {
            Self::Fault(_) | Self::Custom { is_error: true, .. } => true,
            Self::Tool(result) => result.error.is_some(),
            _ => false,
        }
    }

    /// Returns the skills whose whole instructions this answer puts into the context, in order.
    ///
    /// A skill that is called by another address than its name is left out: the name is another skill's.
    pub fn injections(&self) -> Vec<Injection> {
        let Self::Loaded(loaded) = self else { return Vec::new() };
        let skills = loaded.first.iter().chain([&loaded.skill]);
        let is_named = |skill: &&LoadedSkill| skill.address == skill.name.as_str();
        skills
            .filter(is_named)
            .map(|skill| Injection { name: skill.name.clone(), digest: skill.digest })
            .collect()
    }
}
