//! Changes of installed skills: all or none, also after a crash.
//!
//! A change is written to a journal, then the directories of skills are exchanged one by one, and last the locks are written. The next
//! command completes a change whose journal is still there, or undoes it.

mod writer_lock;
mod journal;
mod steps;
mod recover;
mod apply;

pub use apply::{AppliedChange, Change, SkillChange, apply};
pub use recover::{Recovery, recover};
