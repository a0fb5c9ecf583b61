//! The index of a library: the words and the embedding of every skill.

mod posting;
mod postings;
mod record;
mod search_index;
mod slots;
mod stored;
mod weights;

pub(crate) use postings::PostingList;
pub use record::SkillRecord;
pub use search_index::{SearchIndex, SkillKey, SkillSource};
pub use slots::{Slot, SlotSet};
pub(crate) use stored::EDITION;
pub use weights::Weights;
