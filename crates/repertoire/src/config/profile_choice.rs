//! The choice of a profile.

use std::path::Path;

use repertoire_model::Profile;

use super::input::ConfiguredPath;

/// The names of all profiles.
pub const PROFILES: [&str; 8] =
    ["standard", "strict", "lenient", "harness", "bernstein", "yodoca", "helix", "pattern"];

/// A chosen profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProfileChoice {
    /// One of [`PROFILES`].
    Named(&'static str),
    /// A file with the keys of a configuration.
    File(ConfiguredPath),
}

impl Default for ProfileChoice {
    fn default() -> Self {
        Self::Named(Profile::Standard.as_str())
    }
}

impl ProfileChoice {
    /// Returns the profile that `word` names: one of [`PROFILES`], or the path of a file from `directory` on.
    pub fn parse(word: &str, directory: &Path) -> Option<Self> {
        if let Some(name) = PROFILES.iter().find(|name| **name == word) {
            return Some(Self::Named(name));
        }
        let is_path = word.contains(['/', '\\']) || word.ends_with(".toml");
        is_path.then(|| Self::File(ConfiguredPath { given: word.into(), path: directory.join(word) }))
    }

    /// Returns its name, or the path of its file as it was written.
    pub fn name(&self) -> String {
        match self {
            Self::Named(name) => (*name).to_owned(),
            Self::File(file) => file.given.display().to_string(),
        }
    }
}
