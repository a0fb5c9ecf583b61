//! Prompts: agents, the skills bound to them, roles, and the templates that prompts are written as.

mod agent;
mod template;
mod template_subset;
mod skill_text;
mod hiding;
mod binding;
mod role;
#[cfg(feature = "fs")]
mod role_file;
#[cfg(test)]
mod tests;

pub use agent::{Agent, Bind, Inherit};
pub use binding::{AgentPrompt, BindingOptions, BoundSkill, MAX_BOUND_SKILLS, MAX_PROMPT_BYTES, check};
pub(crate) use hiding::hiding_note;
pub use role::{RoleBinding, RoleOptions, RoleOrigin, RolePrompt, RoleResolver};
#[cfg(feature = "fs")]
pub use role_file::SYSTEM_PROMPT_FILE;
pub(crate) use skill_text::{instructions, skill_text};
pub use template::{Jinja, MAX_RENDERED_BYTES, MAX_TEMPLATE_BYTES, MAX_VARIABLE_BYTES, Renderer};
