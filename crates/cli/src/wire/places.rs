//! The directories that are searched for skills: those of `--root`, or else the configured ones.

use std::path::PathBuf;

use repertoire::discovery::{Place, Presence, Root, Tier};
use repertoire::provider::Problem;
use repertoire::provider::fs::LinkScope;
use repertoire_model::Policy;

use super::context::Context;
use crate::error::CliError;

impl Context {
    /// Returns every place that is searched, those that win first, and the problems of packs.
    pub(super) fn places(&self, policy: &Policy) -> (Vec<Place>, Vec<Problem>) {
        if self.globals.root.is_empty() {
            return self.settings.places(&self.config_input(), policy);
        }
        let place = |root: &PathBuf| {
            let path = self.env.working_directory().join(root);
            let label = format!("root:{}", root.display());
            Place::of(Root { label, path, tier: Tier::Given })
        };
        (Place::distinct(self.globals.root.iter().map(place).collect()), Vec::new())
    }

    /// Returns an error if something was given as a root that is there and is no directory.
    ///
    /// For commands that run until they are interrupted, where a warning in passing would be missed.
    pub(crate) fn expect_directories(&self) -> Result<(), CliError> {
        let is_other = |root: &&PathBuf| {
            let path = self.env.working_directory().join(root);
            Place::of(Root { label: String::new(), path, tier: Tier::Given }).presence
                == Presence::NotDirectory
        };
        match self.globals.root.iter().find(is_other) {
            Some(root) => {
                let message = format!("{} is not a directory that can be read", root.display());
                Err(CliError::usage(message).hint("`--root` takes a directory of skills"))
            }
            None => Ok(()),
        }
    }

    /// Returns the directories that links below `places` may lead to; the roots of the library count even if
    /// other places are given.
    pub(super) fn link_scope(&self, places: &[Place], policy: &Policy) -> LinkScope {
        let (library, _) = self.places(policy);
        self.settings.link_scope(places.iter().chain(&library))
    }
}
