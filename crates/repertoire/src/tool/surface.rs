//! The tool surface: which built-in tools a model is offered, and what they are called and described as.

use std::collections::{BTreeMap, BTreeSet};

use super::names::{ArgumentNames, ToolNames};

/// The tool that every surface has.
const LOAD: &str = "load_skill";

/// The tools that are offered only with a runner, with handlers, or to an agent that reviews.
const ASKED_FOR: [&str; 3] = ["call_skill_tool", "review_skill_proposals", "run_skill_script"];

/// The arguments that a schema can do without: models that give them are understood nevertheless.
pub(crate) const OPTIONAL_ARGUMENTS: [&str; 11] = [
    "asset",
    "directory",
    "end_line",
    "file",
    "force",
    "limit",
    "query",
    "reference",
    "script",
    "start_line",
    "tag",
];

/// The argument of `load_skill` for a file of the skill.
pub(crate) const FILE_ARGUMENT: &str = "file";

/// The arguments that schemas leave out where tools are offered by need; answers name them where they help.
pub(crate) const SELDOM_NEEDED: [&str; 6] =
    ["asset", "end_line", "force", "reference", "script", "start_line"];

/// The built-in tools that a model is offered, out of those of its library.
///
/// ```
/// use repertoire::SessionOptions;
/// use repertoire::tool::OfferedTools;
/// let mut options = SessionOptions::default();
/// options.tools.offered = OfferedTools::Minimal;
/// assert!(options.tools.offered.includes("load_skill") && !options.tools.offered.includes("list_skills"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum OfferedTools {
    /// All of them.
    #[default]
    All,
    /// The tools that a session needs, out of the tools with these usual names if there is a list. The others
    /// answer when they are called. It is the default of sessions.
    Needed(Option<BTreeSet<String>>),
    /// `load_skill` alone, with the name of a skill and a file of it as its only arguments.
    Minimal,
    /// `load_skill` and those with these usual names.
    Only(BTreeSet<String>),
    /// The default of a profile: `load_skill`, the tools with these usual names, and the tools that a person
    /// asks for otherwise. An agent's own choice takes its place.
    Preset(BTreeSet<String>),
}

impl OfferedTools {
    /// Returns `true` if the tool with the usual name `tool` is among them; `load_skill` always is.
    pub fn includes(&self, tool: &str) -> bool {
        match self {
            Self::All => true,
            Self::Minimal => tool == LOAD,
            Self::Needed(limit) => tool == LOAD || limit.as_ref().is_none_or(|tools| tools.contains(tool)),
            Self::Only(tools) => tool == LOAD || tools.contains(tool),
            Self::Preset(tools) => tool == LOAD || tools.contains(tool) || ASKED_FOR.contains(&tool),
        }
    }

    /// Returns `true` if the session decides which of them its model sees.
    pub(crate) fn are_by_need(&self) -> bool {
        matches!(self, Self::Needed(_))
    }

    /// Returns `true` if `load_skill` reads the files of skills, too, because no other tool does.
    pub fn load_reads_files(&self) -> bool {
        *self == Self::Minimal
    }

    /// Returns `true` if the tool that reads a file lists directories, because no other tool need do so.
    pub(crate) fn read_directories(&self) -> bool {
        self.are_by_need() || self.load_reads_files()
    }

    /// Returns `true` if the tool with the usual name `tool` is in a list of them.
    pub fn lists(&self, tool: &str) -> bool {
        matches!(self, Self::Only(tools) | Self::Preset(tools) if tools.contains(tool))
    }

    /// Returns the tools that are among both.
    #[must_use]
    pub fn within(&self, limit: &Self) -> Self {
        match (self, limit) {
            (Self::Minimal, _) | (_, Self::Minimal) => Self::Minimal,
            (Self::All, other) | (other, Self::All) => other.clone(),
            (Self::Needed(None), Self::Only(other)) | (Self::Only(other), Self::Needed(None)) => {
                Self::Needed(Some(other.clone()))
            }
            (Self::Needed(None), other) | (other, Self::Needed(None)) => other.clone(),
            (Self::Needed(Some(own)), limit) | (limit, Self::Needed(Some(own))) => {
                Self::Needed(Some(own.iter().filter(|tool| limit.includes(tool)).cloned().collect()))
            }
            (Self::Preset(own), Self::Preset(limit)) => Self::Preset(own & limit),
            (Self::Only(own), limit) | (limit, Self::Only(own)) => {
                Self::Only(own.iter().filter(|tool| limit.includes(tool)).cloned().collect())
            }
        }
    }

    /// Returns these tools and the one with the usual name `tool`.
    pub(crate) fn and(&self, tool: &str) -> Self {
        let with = |tools: &BTreeSet<String>| tools.iter().cloned().chain([tool.to_owned()]).collect();
        match self {
            Self::Only(tools) => Self::Only(with(tools)),
            Self::Minimal => Self::Needed(Some(with(&BTreeSet::from(["read_skill_file".to_owned()])))),
            Self::Needed(Some(tools)) => Self::Needed(Some(with(tools))),
            Self::All | Self::Needed(None) | Self::Preset(_) => self.clone(),
        }
    }

    /// Returns the tools that an agent with the choice `own` is offered; `self` is the library's choice.
    pub(crate) fn of_agent(&self, own: &Self) -> Self {
        match (self, own) {
            (Self::Preset(_), Self::Minimal | Self::Only(_) | Self::Needed(_))
            | (Self::Needed(None), Self::Minimal | Self::Only(_)) => own.clone(),
            _ => own.within(self),
        }
    }
}

/// The tool surface of one agent, where it differs from that of its library.
///
/// ```
/// use repertoire::Agent;
/// use repertoire::tool::OfferedTools;
/// let mut agent = Agent::new("reviewer");
/// agent.tools.offered = OfferedTools::Minimal;
/// agent.tools.names.insert("load_skill".to_owned(), "activate".to_owned());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentTools {
    /// The tools that the agent is offered, out of those of the library.
    pub offered: OfferedTools,
    /// The optional arguments that its tools do not show, beside the ones that the library hides.
    pub hidden_arguments: BTreeSet<String>,
    /// The names of tools, by usual name.
    pub names: BTreeMap<String, String>,
    /// The names of arguments, by usual name.
    pub arguments: BTreeMap<String, String>,
    /// The descriptions of tools, by usual name.
    pub descriptions: BTreeMap<String, String>,
}

impl AgentTools {
    /// Returns the names of tools where the library calls them `names`.
    pub(crate) fn tool_names(&self, names: &ToolNames) -> ToolNames {
        let mut names = names.clone();
        let usual = ToolNames::default();
        for (usual, name) in usual.all().into_iter().zip(names.all_mut()) {
            if let Some(own) = self.names.get(usual) {
                name.clone_from(own);
            }
        }
        names
    }

    /// Returns the names of arguments where the library calls them `arguments`.
    pub(crate) fn argument_names(&self, arguments: &ArgumentNames) -> ArgumentNames {
        let mut arguments = arguments.clone();
        let usual = ArgumentNames::default();
        for (usual, name) in usual.all().into_iter().zip(arguments.all_mut()) {
            if let Some(own) = self.arguments.get(usual) {
                name.clone_from(own);
            }
        }
        arguments
    }
}
