//! The options of a workspace.

use std::path::PathBuf;

/// The options of a workspace that win over its configuration.
#[derive(Debug, Clone, Default)]
pub struct WorkspaceOptions {
    /// The directories of skills that replace all places that discovery and configuration would find.
    pub roots: Vec<PathBuf>,
    /// The profile that skills are checked against.
    pub profile: Option<String>,
    /// The configuration file to use instead of looking for one.
    pub config: Option<PathBuf>,
    /// `true` to use no cache.
    pub no_cache: bool,
}
