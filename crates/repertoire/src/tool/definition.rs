//! What a model is told of a tool, and what a tool tells of a call.

use std::sync::Arc;

use repertoire_model::Digest;
use repertoire_model::answer::Answer;
use serde_json::Value;

/// What a model is told of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
}

/// An answer with what it is about.
#[derive(Debug, Clone)]
pub struct Answered {
    /// The answer.
    pub answer: Answer,
    /// What the journal is told.
    pub about: About,
}

/// What a call was about, for the journal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct About {
    /// The skill, as it was asked for.
    pub skill: Option<String>,
    /// The file.
    pub file: Option<String>,
    /// The source of the skill.
    pub source: Option<Arc<str>>,
    /// The digest of what was given.
    pub digest: Option<Digest>,
    /// How many tokens were given, as far as they were counted.
    pub tokens: usize,
    /// What was looked for, shortened.
    pub query: Option<String>,
    /// How many skills were found.
    pub results: Option<u64>,
    /// The tool of a skill that was called, where one was.
    pub skill_tool: Option<String>,
    /// What something ran in, where something ran.
    pub sandbox: Option<&'static str>,
    /// What it exited with, where it did by itself.
    pub exit_code: Option<i32>,
    /// Whether the skill is there but not for this agent, whatever the model is told.
    pub is_denied: bool,
}

impl From<Answer> for Answered {
    fn from(answer: Answer) -> Self {
        Self { answer, about: About::default() }
    }
}
