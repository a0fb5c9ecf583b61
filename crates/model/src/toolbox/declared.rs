//! The declared tools of a skill.

use serde_json::{Value, json};

use super::needs::Needs;

/// The default timeout of a tool, in seconds.
pub const DEFAULT_TIMEOUT_SECONDS: u64 = 60;
/// The longest time that a tool may request to run.
pub const MAX_TIMEOUT_SECONDS: u64 = 600;
/// The longest name of a tool, in bytes: what providers of models allow.
const MAX_NAME_BYTES: usize = 64;

/// The tools of one skill, in the order in which they are declared.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Toolbox {
    /// The tools; no two have the same name.
    pub tools: Vec<SkillTool>,
}

impl Toolbox {
    /// Returns the tool called `name`.
    pub fn get(&self, name: &str) -> Option<&SkillTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Returns the names of the tools.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.name.as_str())
    }

    /// Returns whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }
}

/// A tool that a skill brings along.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SkillTool {
    /// Its name.
    pub name: String,
    /// Its description, for models.
    pub description: String,
    /// The JSON Schema of its arguments, always that of an object.
    pub parameters: Value,
    /// The command that runs it, where its author names one.
    pub command: Option<Vec<String>>,
    /// Its timeout, in seconds.
    pub timeout: u64,
    /// The access it requests beyond its own files.
    pub needs: Needs,
    /// The form of its result.
    pub output: OutputForm,
}

impl SkillTool {
    /// Returns the tool `name` that takes no arguments and requests nothing.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            parameters: json!({"type": "object", "properties": {}}),
            command: None,
            timeout: DEFAULT_TIMEOUT_SECONDS,
            needs: Needs::default(),
            output: OutputForm::default(),
        }
    }
}

/// The form of a tool's result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum OutputForm {
    /// Text; the default.
    #[default]
    Text,
    /// One JSON value.
    Json,
}

/// Returns `true` if a tool may be called `name`: letters, digits, `_` and `-`, of a length that all vendors
/// accept.
pub fn is_tool_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(is_plain)
}

/// Returns the name of a tool nearest to `text`: see [`is_tool_name`].
///
/// ```
/// use repertoire_model::toolbox::nearest_tool_name;
/// assert_eq!(nearest_tool_name("files.read"), "files_read");
/// assert_eq!(nearest_tool_name(""), "unknown");
/// ```
pub fn nearest_tool_name(text: &str) -> String {
    let letters = text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' });
    let name: String = letters.take(MAX_NAME_BYTES).collect();
    if name.is_empty() { "unknown".to_owned() } else { name }
}
