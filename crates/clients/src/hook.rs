//! Prompt hooks: programs that clients run before a turn, and what `rep hook` reads from them and answers.

mod rule;
mod plan;

pub use plan::{plan, removal};
pub(crate) use rule::{CLAUDE_CODE, CODEX, COPILOT, GEMINI};
pub use rule::{HookEvent, HookRule};
