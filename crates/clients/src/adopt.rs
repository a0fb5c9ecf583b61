//! Gathers scattered copies of a skill in one place, and puts them back.

mod record;
mod plan;
mod gather;
mod finish;
mod undo;

pub use finish::finish;
pub use gather::GatheredSkills;
pub use plan::{AdoptOptions, AdoptPlan, GatheredSkill, OtherFilesReader, plan};
pub use record::original;
pub use undo::{AdoptUndo, CopyState, RestoredCopy};
