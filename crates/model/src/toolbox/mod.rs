//! The tools that a skill brings: their declarations in `schema.json`, their handlers, and their access.
//!
//! All of it is written by a skill's author, so it is bounded, and a problem of a tool is a finding about it.

mod needs;
mod declared;
mod read;
mod handler;
mod interpreter;
mod capabilities;
pub mod schema;
#[cfg(test)]
mod properties;

pub use capabilities::Capabilities;
pub use declared::{
    DEFAULT_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS, OutputForm, SkillTool, Toolbox, is_tool_name,
    nearest_tool_name,
};
pub use handler::Handler;
pub use handler::PYTHON_FILE;
pub use interpreter::Interpreter;
pub use needs::{HostCommand, Needs};
pub use read::{MAX_TOOLBOX_BYTES, MAX_TOOLS, TOOLBOX_FILE, ToolProblem};
