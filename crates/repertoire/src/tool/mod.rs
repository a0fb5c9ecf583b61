//! Tools that models call.
//!
//! The built-in tools stand in one table, one file each: its arguments and its answers. A host adds its own
//! through [`Tool`]. A call never fails: an error is an answer that the model can read and act upon.

mod names;
mod surface;
mod arguments;
mod definition;
mod reply;
mod custom;
mod builtin;
mod table;
mod load_skill;
mod unload_skill;
mod propose_skill;
mod propose_skill_update;
mod read_skill_file;
mod review_skill_proposals;
mod list_skill_files;
mod list_skills;
mod search_skills;
mod call_skill_tool;
mod run_skill_script;

pub use arguments::quoted;
pub(crate) use arguments::{object_of, recorded_path};
pub(crate) use builtin::{Builtin, DefinitionContext};
pub use custom::{Tool, ToolCall};
pub use definition::Definition;
pub(crate) use load_skill::TOOL as LOAD_SKILL;
pub(crate) use names::SKILL_ALIASES;
pub use names::{ArgumentNames, ToolNames, reserved_names};
pub(crate) use reply::{CallFailure, CallResult};
pub use reply::{EventDetails, ToolReply};
pub use surface::{AgentTools, OfferedTools};
pub(crate) use surface::{FILE_ARGUMENT, OPTIONAL_ARGUMENTS, SELDOM_NEEDED};
pub(crate) use table::BUILTINS;
