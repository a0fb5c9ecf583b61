//! Results of tools and scripts of skills.

use serde_json::Value;

/// The result of a tool or script of a skill.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolResult {
    /// The skill, by the name or address it was called with.
    pub skill: String,
    /// The source of the skill, such as `project:.agents/skills`; empty if it is not known.
    pub source: String,
    /// The tool, or the path of the script.
    pub tool: String,
    /// Its output; on failure, its error output.
    pub text: String,
    /// The parsed text, if the tool declares that its result is JSON and it is.
    pub structured: Option<Value>,
    /// The failure, if any: `ValueError: no such sheet` or `exit code 2`.
    pub error: Option<String>,
    /// Notes for the model, one sentence each: that something was cut off, and the like.
    pub notes: Vec<String>,
}

impl ToolResult {
    /// Returns the result of `tool` of `skill`.
    pub fn new(skill: impl Into<String>, tool: impl Into<String>, text: impl Into<String>) -> Self {
        Self { skill: skill.into(), tool: tool.into(), text: text.into(), ..Self::default() }
    }
}

// JSON has no numbers that are not themselves.
impl Eq for ToolResult {}
