//! Skills defined in code.
//!
//! An agent that ships with its skills needs no directory: it hands [`SkillDefinition`]s to a
//! [`MemoryProvider`], which behaves as a directory with the same files would.

mod definition;
mod render;
mod provider;
#[cfg(test)]
mod tests;

pub use definition::{LoadError, Resource, SkillDefinition, define_skill};
pub use provider::MemoryProvider;
