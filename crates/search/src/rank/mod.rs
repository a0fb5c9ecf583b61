//! The ranking of skills, and of the sections of a skill.

mod candidates;
mod logarithm;
mod query;
mod ranking;
mod section;
#[cfg(test)]
mod tests;
mod view;

pub(crate) use logarithm::ln_1p;
pub use query::Query;
pub use ranking::RankedSlot;
pub(crate) use section::best_section;
