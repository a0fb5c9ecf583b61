//! The history of skills: past versions are recorded in a store, and one of them can be restored.
//!
//! [`Recorder`] follows a registry and records every change of a skill as a version. [`write_skill`] replaces
//! the files of a skill, all or none of them.

mod capture;
mod recorder;
#[cfg(feature = "fs")]
mod skill_lock;
#[cfg(feature = "fs")]
mod staging;
#[cfg(feature = "fs")]
mod write_skill;

pub use capture::{MAX_RECORDED_BYTES, capture, record};
pub use recorder::Recorder;
#[cfg(feature = "fs")]
pub use skill_lock::{SkillLock, lock_skill};
#[cfg(feature = "fs")]
pub(crate) use staging::REMOVED;
#[cfg(feature = "fs")]
pub use staging::remove_unfinished_writes;
#[cfg(feature = "fs")]
pub use write_skill::{WrittenSkill, sync_skills, write_skill, write_skill_of_batch};
