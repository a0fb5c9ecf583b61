//! The explanation of a skill, or of its absence.

use std::collections::BTreeSet;

use repertoire::Entry;
use schemars::JsonSchema;
use serde::Serialize;

use super::{DiagnosticView, OriginView};

/// The explanation of all skills that a name may mean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExplanationView {
    /// The name.
    pub name: String,
    /// True if there is such a skill.
    pub found: bool,
    /// The skills: all of the name from the command line, the one that is meant from servers.
    pub skills: Vec<ExplainedSkillView>,
    /// The reasons that no skill is explained.
    #[serde(flatten)]
    pub absence: Option<AbsenceView>,
}

/// A skill with every decision about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct ExplainedSkillView {
    /// The name.
    pub name: String,
    /// The source.
    pub source: String,
    /// The location, for people.
    pub path: String,
    /// The state: `active`, `shadowed`, `disabled` or `quarantined`.
    pub state: &'static str,
    /// The decisions, in the order they were made.
    pub decisions: Vec<SkillDecisionView>,
    /// The records of installers about it.
    pub origins: Vec<OriginView>,
    /// The clients of which there is a sign on this machine.
    pub clients: Vec<SeeingClientView>,
    /// The findings of the rules.
    pub diagnostics: Vec<DiagnosticView>,
    /// The agents of the configuration, with what each gets of it; from servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<Vec<SeeingAgentView>>,
}

impl ExplainedSkillView {
    /// Returns the view of `entry`, of which nothing is explained.
    pub fn new(entry: &Entry) -> Self {
        Self {
            name: entry.name().to_string(),
            source: entry.source.to_string(),
            path: entry.path.to_string(),
            state: entry.state.as_str(),
            decisions: Vec::new(),
            origins: Vec::new(),
            clients: Vec::new(),
            diagnostics: Vec::new(),
            agents: None,
        }
    }
}

/// A decision about a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SkillDecisionView {
    /// The subject: `found`, `also`, `file`, `repair`, `name`, `description`, `version`, `rule`, `collision`,
    /// `state`, `enable`, `refusal`, `catalog`, `origin`, `plugin` or `clients`.
    pub topic: &'static str,
    /// The decision and its reason.
    pub text: String,
}

/// A client on this machine, with what it gets of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SeeingClientView {
    /// The client, such as `cursor`.
    pub id: &'static str,
    /// True if it reads the skill from files.
    pub reads: bool,
    /// True if the MCP server offers it the skill.
    pub connected: bool,
    /// True if its own switch for the skill is turned off.
    pub switched_off: bool,
    /// The names by which it knows the skill from files: of its directory, in `SKILL.md`, or `plugin:name`.
    pub known_as: BTreeSet<String>,
}

/// An agent of the configuration, with what it gets of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SeeingAgentView {
    /// The agent.
    pub agent: String,
    /// True if it sees the skill.
    pub sees: bool,
    /// The reason, in words.
    pub reason: String,
    /// The share of the skill that its catalog shows: `full`, `first_sentence`, `name_only` or `omitted`.
    pub shown: Option<&'static str>,
}

/// The explanation of a missing skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AbsenceView {
    /// The names of the skills that are nearest.
    pub nearest: Vec<String>,
    /// The places that were searched.
    pub places: Vec<SearchedPlaceView>,
    /// The directories that may have been meant.
    pub near_misses: Vec<NearMissView>,
}

/// A place that was searched for skills.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SearchedPlaceView {
    /// The source.
    pub source: String,
    /// The path.
    pub path: String,
    /// True if it is there.
    pub exists: bool,
    /// The number of skills that it has.
    pub skills: usize,
}

/// A directory that looks as if it were meant to be the skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NearMissView {
    /// The path.
    pub path: String,
    /// The reason that no skill was found there: `no_manifest`, `group`, `skipped`, `inside`, `too_deep`,
    /// `disabled_plugin` or `rejected_plugin`.
    #[schemars(with = "String")]
    pub reason: NearMissReason,
    /// Files of it that look like a misspelled `SKILL.md`; the names of skills for a group; the name of a
    /// plugin that is not enabled, or the reason that it is rejected.
    pub files: Vec<String>,
}

/// The reason that a directory is not the skill it may have been meant to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NearMissReason {
    /// It has no `SKILL.md`.
    NoManifest,
    /// It has no `SKILL.md`, and is a group of skills.
    Group,
    /// It, or a directory above it, is hidden or one that skills are never looked for in.
    Skipped,
    /// It lies inside a skill.
    Inside,
    /// It is deeper than `scan.max_depth`.
    TooDeep,
    /// Its plugin is installed in a client but not enabled.
    DisabledPlugin,
    /// Its plugin is rejected.
    RejectedPlugin,
}
