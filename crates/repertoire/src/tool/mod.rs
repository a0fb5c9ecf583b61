//! What models call.
//!
//! The tools of the house stand in one table, one file each; a host adds its own through [`Tool`]. A call never fails: what
//! is wrong with it is an answer that the model can read and do better by.

mod names;
mod arguments;
mod definition;
mod table;
mod loaded;
mod load_skill;
mod requires;
mod unload_skill;
mod read_skill_file;
mod list_skill_files;
mod list_skills;
mod search_skills;
mod call_skill_tool;
mod run_skill_script;

use serde_json::{Map, Value};

use crate::provider::BoxFuture;
use crate::session::Session;

pub(crate) use arguments::quoted;
pub use definition::{About, Answered, Definition};
pub(crate) use load_skill::{digest, given, loaded_skill, open};
pub(crate) use loaded::{address, loaded};
pub use names::{ArgumentNames, ToolNames};
pub(crate) use names::{SKILL_ALIASES, is_reserved, reserved_names};
pub(crate) use table::{BUILTINS, Builtin, View};

/// A tool of the host's own.
///
/// ```
/// use repertoire::model::answer::Answer;
/// use repertoire::provider::BoxFuture;
/// use repertoire::tool::{Answered, Tool};
/// use repertoire::Session;
/// use serde_json::{Map, Value, json};
///
/// struct Today;
///
/// impl Tool for Today {
///     fn name(&self) -> &str {
///         "today"
///     }
///     fn description(&self) -> String {
///         "Tells the date.".to_owned()
///     }
///     fn input_schema(&self) -> Value {
///         json!({"type": "object", "properties": {}, "additionalProperties": false})
///     }
///     fn call<'a>(&'a self, _: &'a Session, _: &'a Map<String, Value>) -> BoxFuture<'a, Answered> {
///         Box::pin(async { Answer::Custom { text: "1970-01-01".to_owned(), is_error: false }.into() })
///     }
/// }
/// ```
pub trait Tool: Send + Sync {
    /// Returns the name it is called by, none of the house's own.
    fn name(&self) -> &str;

    /// Returns what it does, for models.
    fn description(&self) -> String;

    /// Returns the JSON Schema of its arguments.
    fn input_schema(&self) -> Value;

    /// Answers a call.
    fn call<'a>(&'a self, session: &'a Session, arguments: &'a Map<String, Value>)
    -> BoxFuture<'a, Answered>;
}
