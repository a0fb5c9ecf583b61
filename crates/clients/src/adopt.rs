//! Gathers scattered copies of a skill in one place, and puts them back.

mod record;
mod plan;
mod gather;
mod undo;

pub use plan::{AdoptOptions, AdoptPlan, GatheredSkill, OtherFilesReader, plan};
pub use record::original;
pub use undo::{gathered, put_back};
