//! The rules a skill is held against: a table, and one file per group.

pub(crate) mod body;
mod bundle;
pub(crate) mod description;
mod links;
pub(crate) mod name;
mod place;
mod reporter;
mod rules;

pub use bundle::{BundleFacts, PUBLISHED_MAX_BYTES, PUBLISHED_MAX_FILES, bundle};
pub use name::TOOL_NAMES;
pub use place::Place;
pub use reporter::{Finding, Reporter};
pub use rules::{RULES, Rule, RuleId};
