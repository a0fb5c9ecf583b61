//! Trigger evals: queries that test whether the ranking finds the intended skill in a library.

mod confusion;
mod eval_file;
mod evaluation;
mod share;
mod skill_evals;

pub use confusion::TriggerConfusion;
pub use eval_file::{MAX_EVAL_BYTES, MAX_EVAL_QUERIES, TriggerFile, TriggerQuery};
pub use evaluation::{MAX_SHOWN, SkillTriggers, TriggerOutcome, TriggerReport};
pub use share::Share;
pub use skill_evals::{MAX_EVAL_FILES, SkillEvals};
