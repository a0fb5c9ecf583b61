//! Converts other layouts into skills: `<role>/{system_prompt.md,task_prompt.md,config.yaml}`.
//!
//! Reading and converting are separate: [`read_roles`] reads a directory, [`Pack::of`] and [`RoleSplit::of`]
//! are pure functions. Neither writes anything, and the old files stay as they are.

mod description;
mod pack;
mod roles;
mod split;

pub use pack::{Pack, PackFile};
pub use roles::{RoleFiles, RolesFound, read_roles};
pub use split::RoleSplit;
