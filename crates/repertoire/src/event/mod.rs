//! Events: one for every call that an agent makes.
//!
//! Every call of a tool becomes one [`Event`], whether it went well or not. A session hands it to its [`Sinks`]; a
//! sink that fails never fails the call. Events carry names, paths and sizes, never the contents of a skill.

mod fields;
mod sinks;
mod memory;
pub mod jsonl;
#[cfg(test)]
mod conformance;

pub use fields::{Event, EventKind, Outcome};
pub use jsonl::{JsonlOptions, JsonlSink};
pub use memory::MemorySink;
pub use sinks::{EventSink, Sinks};
