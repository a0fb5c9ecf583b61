//! Options of the provider of skills in a directory.

use std::path::PathBuf;

use super::limits::{LinkScope, ScanLimits};
use super::past_versions::PastVersions;
use crate::provider::limits::FileCaps;

/// Options of an [`FsProvider`](super::FsProvider).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FsOptions {
    /// The name of the source.
    pub label: String,
    /// The directory that holds the skills. It need not exist (yet).
    pub root: PathBuf,
    /// True if it is reported that the directory does not exist.
    pub is_expected: bool,
    /// Limits of the scan for skills.
    pub limits: ScanLimits,
    /// The directories that links to skills may lead to.
    pub links: LinkScope,
    /// Limits of the size of files.
    pub caps: FileCaps,
    /// Recorded versions, which stay in force for skills that are broken on disk.
    pub past: Option<PastVersions>,
}

impl FsOptions {
    /// Returns the default options for the directory `root`.
    pub fn new(label: impl Into<String>, root: impl Into<PathBuf>) -> Self {
        Self {
            label: label.into(),
            root: root.into(),
            is_expected: false,
            limits: ScanLimits::default(),
            links: LinkScope::default(),
            caps: FileCaps::default(),
            past: None,
        }
    }
}
