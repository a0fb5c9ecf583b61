//! Discovery of the directories that hold skills, by the conventions of the agents that read them.
//!
//! Nothing here reads the environment: the caller passes the working directory and the home.

mod clients;
mod roots;
mod monorepo;
mod packages;
mod packs;
mod plugins;
#[cfg(test)]
mod tests;

pub use clients::{
    CANONICAL, CLIENT_DIRECTORIES, CLIENT_HOMES, ClientDirectories, ClientHome, UserDirectories,
};
pub use monorepo::GENERATED;
pub use packages::packages;
pub use packs::packs;
pub use plugins::{Plugin, is_plugin, plugin};
pub use roots::{
    Discovery, DiscoveryInput, Place, Presence, Root, Tier, discover, distinct, project_skill_directories,
    repository_root,
};
