//! The cost of conversations: prices, a simulated prompt cache, and scripted conversations that are measured with it.
//!
//! [`compare`] runs one script over a library in every [`Disclosure`], with real sessions and the agent loop of this crate; only the
//! model and its service are simulated. Tokens are those of the texts, without what a service adds between them.

mod input_error;
mod prices;
mod prompt_cache;
mod segments;
mod script;
mod conversation;
mod whole_library;
mod comparison;

pub use comparison::{BreakEven, Comparison, Disclosure, Outlay, compare};
pub use conversation::{Measurement, ScriptedConversation};
pub use input_error::InputError;
pub use prices::{PriceTable, Prices};
pub use prompt_cache::{CacheRules, MAX_BREAKPOINTS, PromptCache, Segment};
pub use script::{Action, ActionKind, Script};
pub use whole_library::WholeLibrary;
