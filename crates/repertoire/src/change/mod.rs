//! Changes of files and of skills, all or nothing.
//!
//! [`replace_file`] replaces one file. A change of several skills, files, links and directories is written to
//! a journal, then the directories of the skills are exchanged one by one, and last the other steps are taken
//! in order: [`begin`] and [`apply`]. After a crash [`recover`] completes a change whose journal is there, or
//! undoes it. What was changed stays recorded, and [`take_back`] plans the change that takes it back.

mod leftovers;
mod replace_file;
mod place;
mod parallel;
mod installed;
mod writer_lock;
mod path_step;
mod journal;
mod steps;
mod pieces;
mod done;
mod recover;
mod apply;
mod take_back;

pub use apply::{ChangeSteps, FailedChange, SkillStep, apply};
pub use done::{DoneChange, UNDO, done_changes, milliseconds, record_change, undone};
pub use installed::{InstalledSkill, read_installed};
pub use journal::JournalSkill;
pub use leftovers::{remove_leftovers, remove_oldest, target_of_temporary};
pub use path_step::{FileStep, PathStep, can_link, can_write};
pub use pieces::Piece;
pub use place::ChangePlace;
pub use recover::{Recovery, RecoveryEnd, begin, recover};
pub use replace_file::{FileKind, MAX_FILE_BYTES, check_user_file, read_file, replace_file};
pub use take_back::{TakenBack, remove_made, take_back};
pub use writer_lock::WriterLock;
