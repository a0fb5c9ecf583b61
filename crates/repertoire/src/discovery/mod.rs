//! Discovery of the directories that hold skills, by the conventions of the agents that read them.
//!
//! Nothing here reads the environment: the caller passes the working directory and the home.

mod roots;
mod packs;
#[cfg(test)]
mod tests;

pub use packs::packs;
pub use roots::{
    Discovery, DiscoveryInput, Place, Presence, Root, SKILL_DIRECTORIES, Tier, discover, distinct,
    repository_root,
};
