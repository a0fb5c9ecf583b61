//! What a tool or script of a skill came to.

use serde_json::Value;

/// What a tool or script of a skill came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolResult {
    /// The skill, by the name or address it was called with.
    pub skill: String,
    /// The tool, or the path of the script.
    pub tool: String,
    /// What it said; on failure, what it said about that.
    pub text: String,
    /// The value that the text is, where the tool says that its result is JSON and it is.
    pub structured: Option<Value>,
    /// Why it failed, where it did: `ValueError: no such sheet` or `exit code 2`.
    pub error: Option<String>,
    /// What else the model should know, one sentence each: that something was cut off, and the like.
    pub notes: Vec<String>,
}

impl ToolResult {
    /// Returns what `tool` of `skill` said.
    pub fn new(skill: impl Into<String>, tool: impl Into<String>, text: impl Into<String>) -> Self {
        Self { skill: skill.into(), tool: tool.into(), text: text.into(), ..Self::default() }
    }
}

// JSON has no numbers that are not themselves.
impl Eq for ToolResult {}
