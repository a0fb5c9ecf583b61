//! A client on this machine, with the skills that it gets.

use schemars::JsonSchema;
use serde::Serialize;

/// A client of which there is a sign in the home directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct ClientView {
    /// The name by which commands know it, such as `claude-code`.
    pub id: &'static str,
    /// The name that people know.
    pub title: &'static str,
    /// The directories of skills that it reads and that are there.
    pub directories: Vec<String>,
    /// The configuration that connects it to the server; `null` if it is not connected.
    pub connected: Option<String>,
    /// The skills of the library, active ones and disabled ones that it may still find in files.
    pub skills: Vec<ClientSkillView>,
    /// The reason to change something, and how; `null` if all is well.
    pub advice: Option<AdviceView>,
}

impl ClientView {
    /// Returns the number of skills that come in `way`, except disabled ones that the client does not get.
    pub fn count(&self, way: SkillWay) -> usize {
        let is_meant =
            |skill: &&ClientSkillView| skill.way == way && !(skill.disabled && way == SkillWay::None);
        self.skills.iter().filter(is_meant).count()
    }

    /// Returns the number of skills that come in each way, in words.
    pub fn ways_in_words(&self) -> String {
        let ways =
            SkillWay::ALL.into_iter().map(|way| (self.count(way), way)).filter(|(count, _)| *count > 0);
        let words: Vec<String> = ways.map(|(count, way)| format!("{count} {}", way.in_words())).collect();
        words.join(", ")
    }
}

/// The advice to change something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct AdviceView {
    /// The reason.
    pub reason: String,
    /// The command, or the words that say what to do.
    pub hint: String,
}

/// A skill, as a client gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct ClientSkillView {
    /// The name.
    pub name: String,
    /// `true` if no skill of the name is active.
    pub disabled: bool,
    /// The number of directories from which the client reads it.
    pub files: usize,
    /// `true` if the server offers it to the client.
    pub mcp: bool,
    /// The way by which the client gets it: `files`, `mcp`, `twice`, `off` or `none`.
    #[schemars(with = "String")]
    pub way: SkillWay,
}

/// The way by which a client gets a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SkillWay {
    /// From files; the server, if it is connected, leaves it out of its catalog.
    Files,
    /// From the server.
    Mcp,
    /// From more than one directory.
    Twice,
    /// It is switched off in the client's own configuration.
    Off,
    /// It does not get it.
    None,
}

impl SkillWay {
    /// All ways.
    pub const ALL: [Self; 5] = [Self::Files, Self::Mcp, Self::Twice, Self::Off, Self::None];

    /// Returns the way for people, behind a number of skills.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Files => "from files",
            Self::Mcp => "over MCP",
            Self::Twice => "twice",
            Self::Off => "switched off",
            Self::None => "not at all",
        }
    }
}
