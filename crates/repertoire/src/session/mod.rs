//! One agent's conversation: its scope, its pinned catalog, its tools, and the skills in its context.

mod options;
mod open;
mod state;
mod find;
mod presence;
mod load;
mod required;
mod catalog;
mod task;
mod record;
mod call;
mod exposed_tools;
mod skill_tools;
mod ceiling;
mod context;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod properties;

pub use call::Reply;
pub use catalog::{Note, PinnedCatalog};
pub use context::KeptContext;
pub use find::SkillLookup;
#[cfg(feature = "fs")]
pub(crate) use open::are_related;
pub use open::{Session, SessionRequest, SubagentOptions, process_of};
pub use options::{
    Account, DenyStyle, ENUM_LIMIT, LoadOptions, READ_BYTES, REQUIRED_TOKENS, Refresh, Requires,
    RunningOptions, SOFT_LIMIT_TOKENS, ScopeOptions, SessionOptions, SkillAsTool, ToolCeiling, ToolExposure,
    ToolOptions, Unload,
};
pub use presence::{ContextSkills, SkillState};
pub use record::SessionRecord;
pub use skill_tools::SkillTools;
pub use state::REMEMBERED_TASKS;
