//! Events: one for every way in which a skill reaches a model.
//!
//! Every call of a tool becomes an [`Event`], whether it went well or not, and so does every skill or file
//! that reaches a model in another way: with a prompt, as a resource, as a prerequisite of another skill. A
//! session hands events to its [`Sinks`]; a sink that fails never fails the call. Events carry names, paths
//! and sizes, never the contents of a skill.

mod fields;
mod sinks;
mod memory;
pub mod jsonl;
mod queue;
mod journal;
#[cfg(feature = "otel")]
pub mod otel;
#[cfg(test)]
mod sink_tests;

pub use fields::{CallOrigin, Event, EventKind, Outcome, Surface, Via};
pub use journal::{JournalOptions, JournalSink};
pub use memory::MemorySink;
pub use queue::OnFailure;
pub use sinks::{EventSink, Sinks};
