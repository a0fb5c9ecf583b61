//! The listing of skills that each client shows its model: the rule by which it is cut to a budget, and what
//! that leaves of the skills that the client reads from files.

mod claude_settings;
mod offered;
mod rule;
mod rules;
mod simulation;
#[cfg(test)]
mod tests;

pub use claude_settings::{BUDGET_VARIABLE, with_settings};
pub use offered::offered;
pub use rule::{ListingBudget, ListingRule, OfferedSkill};
pub(crate) use rules::{CLAUDE_CODE, CODEX, COPILOT, CURSOR, GEMINI, GOOSE, OPENCODE};
pub use simulation::{ListedSkill, ShownPart, SimulatedListing, simulate};
