//! The rules a skill is held against: a table, and one file per group.

mod bundle;
mod reporter;
mod rules;

pub use bundle::{BundleFacts, bundle};
pub use reporter::{Finding, Reporter};
pub use rules::{RULES, Rule, RuleId};
