//! Everything that can be configured, from four layers: the user's file, the project's file, the environment, flags.

mod file;
mod keys;
mod layers;
mod parse;
mod settings;
mod template;

pub use file::{FILE_NAME, find_files, up_to_repository_root};
#[cfg(test)]
pub use keys::{KEYS, Kind};
pub use layers::{Config, load, unknown_variables};
pub use settings::Settings;
pub use template::template;
