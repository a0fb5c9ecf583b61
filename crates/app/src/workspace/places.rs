//! The directories that are searched for skills: those of `--root`, or else the configured ones.

use std::path::{Path, PathBuf};

use repertoire::config::ConfigInput;
use repertoire::discovery::{Place, Presence, Root, Tier, project_skill_directories};
use repertoire::provider::Problem;
use repertoire::provider::fs::LinkScope;
use repertoire_clients::CANONICAL;
use repertoire_model::Policy;

use super::environment::Env;
use super::handle::Workspace;
use crate::error::Error;

/// Returns an error if something was given as a root that is not a directory.
pub fn expect_directories(env: &Env, roots: &[PathBuf]) -> Result<(), Error> {
    let is_other = |root: &&PathBuf| !env.working_directory().join(root).is_dir();
    let Some(root) = roots.iter().find(is_other) else { return Ok(()) };
    let shown = root.display();
    let message = if env.working_directory().join(root).symlink_metadata().is_ok() {
        format!("{shown} is not a directory")
    } else {
        format!("there is no directory {shown}")
    };
    Err(Error::usage(message).hint("`--root` takes a directory of skills"))
}

impl Workspace {
    /// Returns every place that is searched, in order of precedence, and the problems of packs.
    pub fn places(&self, policy: &Policy) -> (Vec<Place>, Vec<Problem>) {
        if self.options.roots.is_empty() {
            return self.settings.places(&self.config_input(), policy);
        }
        let places = self.options.roots.iter().flat_map(|root| self.given_places("root", root));
        (Place::distinct(places.collect()), Vec::new())
    }

    /// Returns the roots of plugins that clients have installed but not enabled.
    pub fn disabled_plugins(&self) -> Vec<Root> {
        if self.options.roots.is_empty() {
            self.settings.disabled_plugins(&self.config_input())
        } else {
            Vec::new()
        }
    }

    /// Returns the places of a directory that the user names: where it is a project, the hidden directories
    /// that agents keep skills in, which are sources of their own; then itself.
    pub fn given_places(&self, kind: &str, root: &Path) -> Vec<Place> {
        let path = self.env.working_directory().join(root);
        let place = |name: &Path, path: PathBuf| {
            let label = format!("{kind}:{}", name.display());
            Place::of(Root { label, path, tier: Tier::Given })
        };
        let hidden = project_skill_directories();
        let hidden = hidden.into_iter().map(|name| place(&root.join(name), path.join(name)));
        let hidden: Vec<Place> = hidden.filter(|place| place.presence == Presence::Found).collect();
        [hidden, vec![place(root, path.clone())]].concat()
    }

    /// Returns the directories that links below `places` may lead to; the roots of the library count even if
    /// other places are given.
    pub(super) fn link_scope(&self, places: &[Place], policy: &Policy) -> LinkScope {
        // Links that may lead anywhere need no second look at all the directories.
        if let LinkScope::Anywhere = self.settings.link_scope(places.iter()) {
            return LinkScope::Anywhere;
        }
        let (library, _) = self.places(policy);
        self.settings.link_scope(places.iter().chain(&library))
    }
}

/// Returns the directory of new skills: that of the project, which every client reads.
pub fn new_skill_place(env: &Env) -> PathBuf {
    let mut input = ConfigInput::new(env.working_directory());
    input.home = env.home();
    let mut above = input.project_directories().into_iter().map(|directory| directory.join(CANONICAL));
    above.find(|place| place.is_dir()).unwrap_or_else(|| env.working_directory().join(CANONICAL))
}
