//! The ranking of skills, and of the sections of a skill.

mod confidence;
mod logarithm;
mod query;
mod query_reader;
mod ranking;
mod section;
#[cfg(test)]
mod tests;
mod view;

pub use confidence::Evidence;
pub(crate) use logarithm::ln_1p;
pub use query::Query;
pub use ranking::RankedSlot;
pub(crate) use section::best_section;
