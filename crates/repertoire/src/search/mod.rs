//! Search: finding the skills of a registry that a task needs.
//!
//! A registry keeps one index of its skills (`shelf`). It is brought up to date when somebody asks, for what changed alone, and kept
//! in a file between runs. What ranks is `repertoire_model::search`; what skills mean is said by an [`Embedder`], by the table
//! inside the program unless the host brings another.

mod embedder;
mod builtin;
#[cfg(feature = "http-embedder")]
pub mod http;
mod options;
mod request;
mod shelf;
mod read;
mod ask;
mod result;
mod evals;
mod confusable;

pub use builtin::{BuiltinEmbedder, builtin};
pub use confusable::{MAX_PAIRS_TOLD, MixUp};
pub use embedder::Embedder;
pub use evals::{MAX_EVAL_FILES, MAX_SHOWN, SkillEvals, SkillTriggers, TriggerOutcome, TriggerReport};
pub use options::SearchOptions;
pub use request::{Found, Match, SearchRequest, Seen};
pub(crate) use shelf::Shelf;
