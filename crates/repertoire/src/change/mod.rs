//! Changes of files and of skills, all or nothing.
//!
//! [`replace_file`] replaces one file. A change of several skills and files is written to a journal, then the directories of the skills
//! are exchanged one by one, and last the files are written: [`apply`]. After a crash [`recover`] completes a change whose journal is
//! still there, or undoes it.

mod leftovers;
mod replace_file;
mod place;
mod parallel;
mod installed;
mod writer_lock;
mod journal;
mod steps;
mod recover;
mod apply;

pub use apply::{AppliedChange, ChangeSteps, FailedChange, SkillStep, apply};
pub use installed::{InstalledSkill, read_installed};
pub use journal::FileStep;
pub use leftovers::{remove_leftovers, remove_oldest, target_of_temporary};
pub use place::ChangePlace;
pub use recover::{Recovery, recover, recover_locked};
pub use replace_file::{FileKind, MAX_FILE_BYTES, read_file, replace_file};
pub use writer_lock::WriterLock;
