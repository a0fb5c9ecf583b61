//! The fields of a skill's frontmatter.

/// The fields of a skill's frontmatter, scalars as their source text (`version: 1.0` is `1.0`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Manifest {
    /// `name`, as written.
    pub name: Option<String>,
    /// `description`, as written.
    pub description: Option<String>,
    /// `license`.
    pub license: Option<String>,
    /// `compatibility`.
    pub compatibility: Option<String>,
    /// `metadata`, in the order written; a value that is no scalar is compact JSON.
    pub metadata: Vec<(String, String)>,
    /// `allowed-tools`, split outside parentheses.
    pub allowed_tools: Vec<String>,
    /// `version`, or else `metadata.version`.
    pub version: Option<String>,
    /// `author`, or else `metadata.author`.
    pub author: Option<String>,
    /// `trigger_keywords`.
    pub trigger_keywords: Vec<String>,
    /// `references`: files below `references/`.
    pub references: Vec<String>,
    /// `scripts`: files below `scripts/`.
    pub scripts: Vec<String>,
    /// `assets`: files below `assets/`.
    pub assets: Vec<String>,
    /// `tags`.
    pub tags: Vec<String>,
    /// `requires`: names of skills to load first.
    pub requires: Vec<String>,
    /// `paths`: globs of files the skill is about.
    pub paths: Vec<String>,
    /// `disable-model-invocation`: whether the skill is kept out of the catalog.
    pub disable_model_invocation: bool,
    /// `user-invocable`: whether a person may call the skill by name.
    pub user_invocable: Option<bool>,
    /// Keys that are none of the above, in the order written.
    pub unknown: Vec<String>,
}

/// The version of a skill that states none.
pub const DEFAULT_VERSION: &str = "1.0.0";

impl Manifest {
    /// Returns the stated version, or [`DEFAULT_VERSION`].
    pub fn effective_version(&self) -> &str {
        self.version.as_deref().unwrap_or(DEFAULT_VERSION)
    }
}
