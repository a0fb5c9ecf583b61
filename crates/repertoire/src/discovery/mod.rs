//! Discovery of the directories that hold skills, by the conventions of the agents that read them.
//!
//! Nothing here knows the environment: the caller says where it works and where home is.

mod roots;
mod packs;
#[cfg(test)]
mod tests;

pub use packs::packs;
pub use roots::{
    Discovery, DiscoveryInput, Place, Presence, Root, SKILL_DIRECTORIES, Tier, discover, distinct,
    repository_root,
};
