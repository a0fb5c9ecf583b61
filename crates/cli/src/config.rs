//! The configuration, from four layers: the project's file, the user's file, the environment, flags.

mod agents;
mod clash;
mod file;
mod keys;
mod layers;
mod parse;
mod path;
mod settings;
mod template;
mod trust;

#[cfg(test)]
pub(crate) use agents::AGENT_KEYS;
pub(crate) use file::{FILE_NAME, find_files, up_to_repository_root};
#[cfg(test)]
pub(crate) use keys::{KEYS, Kind};
pub(crate) use layers::{load, unknown_variables};
pub(crate) use settings::{Embeddings, LinkTargets, SandboxChoice, Settings};
pub(crate) use template::template;
pub(crate) use trust::Trust;
