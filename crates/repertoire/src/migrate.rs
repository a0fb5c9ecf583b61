//! Makes skills of what other layouts hold: `<role>/{system_prompt.md,task_prompt.md,config.yaml}`.
//!
//! Reading is one thing and making another: [`read_roles`] looks at a directory, [`Pack::of`] is a pure function. Neither
//! writes anything, and the files of old stay as they are.

mod description;
mod pack;
mod roles;

pub use pack::{Pack, PackFile};
pub use roles::{RoleFiles, RolesFound, read_roles};
