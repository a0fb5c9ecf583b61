//! Origins of skills as their installers recorded them: who installed it, from where, and whether it changed.
//!
//! Every format has a function of its own here and is read tolerantly: a record that cannot be understood has
//! no entries, and an unknown field is ignored. Nothing is fetched and nothing is run.

mod installer;
mod record;
mod installed_files;
mod hashes;
mod lock_file;
mod lock_formats;
mod skill_records;
mod origins;

pub use hashes::{folder_hash, git_tree};
pub use installed_files::{InstalledFile, InstalledFiles};
pub use installer::Installer;
pub use origins::{OriginBase, Origins};
pub use record::{Comparison, Expectation, Origin};
