//! Finds the skills that a task needs, by words and by meaning.
//!
//! Everything here is a function of the skills in an [`Index`] and of the query: the same ones rank the same, in whatever order
//! they were added, in whatever process. There is no syntax of queries, so no query is wrong.

mod hash;
mod logarithm;
mod words;
mod stem;
mod vocabulary;
mod exclusion;
mod field;
mod weights;
mod posting;
mod vector;
mod record;
mod pieces;
mod meaning;
mod postings;
mod query;
mod index;
mod stored;
mod slots;
mod view;
mod candidates;
mod rank;
mod statistics;
mod trigger;
mod section;
mod confusable;
#[cfg(test)]
mod tests;

pub use confusable::{Confusable, Confusion, Head, Heads, confusable};
pub use field::Field;
pub use index::{Index, Key, SkillSource};
pub use meaning::Meanings;
pub use query::Query;
pub use rank::{Explained, Hit};
pub use record::{Record, SkillText};
pub use section::best_section;
pub use slots::{Slot, SlotSet};
pub use statistics::Share;
pub use trigger::{MAX_EVAL_BYTES, MAX_EVAL_QUERIES, TriggerFile, TriggerQuery};
pub use vector::Vector;
pub use weights::Weights;
