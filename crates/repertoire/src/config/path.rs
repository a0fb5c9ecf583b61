//! A path that a layer of the configuration names.

use std::path::PathBuf;

/// A directory or file that a layer of the configuration names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredPath {
    /// The path as it was written.
    pub given: PathBuf,
    /// The path, relative to the directory of the layer.
    pub path: PathBuf,
}
