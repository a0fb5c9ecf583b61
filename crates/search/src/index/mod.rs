//! The index of a library: the words and the embedding of every skill.

mod posting;
mod postings;
mod record;
mod search_index;
mod slots;
mod stored;
mod weights;

pub(crate) use posting::{Posting, WeightTable};
pub(crate) use postings::PostingList;
#[cfg(test)]
pub(crate) use postings::Postings;
pub use record::SkillRecord;
pub use search_index::{SearchIndex, SkillKey, SkillSource};
pub use slots::{Slot, SlotSet};
pub(crate) use stored::EDITION;
pub use weights::Weights;
