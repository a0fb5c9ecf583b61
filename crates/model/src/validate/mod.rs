//! Checks a skill against the [rules](crate::rule), one file per group of rules.

mod reporter;
mod place;
pub(crate) mod name;
pub(crate) mod description;
pub(crate) mod body;
pub(crate) mod links;
mod bundle;
mod tools;
mod suppression;

pub use crate::rule::{RULES, Rule, RuleId};
pub use bundle::{
    BundleCheck, BundleFacts, LinkedSkill, PUBLISHED_MAX_BYTES, PUBLISHED_MAX_FILES, SkillLookup, bundle,
};
pub use name::TOOL_NAMES;
pub use place::Place;
pub use reporter::{Finding, MAX_FINDINGS_PER_RULE, Reporter};
pub use suppression::suppress;
pub use tools::{MANY_TOOLS, SharedTool, ToolFacts, shared_tools, tools};
