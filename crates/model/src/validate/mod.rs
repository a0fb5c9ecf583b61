//! The rules a skill is held against: a table, and one file per group.

mod rules;

pub use rules::{RULES, Rule, RuleId};
