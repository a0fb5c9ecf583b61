//! The settings in force: a profile's choices with what the layers changed.

use std::path::PathBuf;

use repertoire::provider::fs::ScanLimits;
use repertoire_model::catalog::{Format, OverBudget, Tokenizer};
use repertoire_model::{Policy, Profile};

/// A directory of skills that some layer names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfiguredRoot {
    /// The directory as it was written.
    pub given: PathBuf,
    /// The directory, with the place it is relative to.
    pub path: PathBuf,
}

/// Where links to skills may lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkTargets {
    /// To any directory.
    Anywhere,
    /// Into a directory that is looked at for skills.
    Roots,
}

/// The settings in force.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// How skills are judged.
    pub policy: Policy,
    /// Directories of skills beside those that are discovered, first ones first.
    pub roots: Vec<ConfiguredRoot>,
    /// The shape of the catalog.
    pub catalog_format: Format,
    /// The most tokens of the catalog; 0 for any number.
    pub catalog_budget: usize,
    /// What happens to a catalog over its budget.
    pub catalog_over_budget: OverBudget,
    /// Whether loaded skills may be marked.
    pub catalog_show_loaded: bool,
    /// Whether a skill's frontmatter is shown with its instructions.
    pub include_frontmatter: bool,
    /// What tokens are counted with.
    pub estimator: Tokenizer,
    /// How far a scan goes.
    pub scan: ScanLimits,
    /// Where links to skills may lead.
    pub scan_links: LinkTargets,
    /// Whether the project's directories are looked for skills.
    pub discover_project: bool,
    /// Whether the user's directories are looked for skills.
    pub discover_user: bool,
    /// Directories of packs.
    pub packs: Vec<ConfiguredRoot>,
}

impl Settings {
    /// Returns the settings of `profile` before any layer changed them.
    pub(crate) fn of(profile: Profile) -> Self {
        Self {
            policy: Policy::of(profile),
            roots: Vec::new(),
            catalog_format: Format::default(),
            catalog_budget: 0,
            catalog_over_budget: OverBudget::default(),
            catalog_show_loaded: false,
            include_frontmatter: false,
            estimator: Tokenizer::default(),
            scan: ScanLimits::default(),
            scan_links: LinkTargets::Anywhere,
            discover_project: true,
            discover_user: true,
            packs: Vec::new(),
        }
    }
}
