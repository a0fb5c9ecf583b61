//! The directories that skills are looked for in.

use std::path::PathBuf;

use repertoire::discovery::{self, DiscoveryInput, Presence, Tier};
use repertoire::provider::Problem;
use repertoire::provider::fs::LinkScope;
use repertoire_model::Policy;

use super::context::Context;
use crate::config::LinkTargets;
use crate::error::CliError;

/// A directory that skills are looked for in.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// The name of the source.
    pub(crate) label: String,
    /// The directory.
    pub(crate) path: PathBuf,
    /// The reason why it is looked at.
    pub(crate) reason: Reason,
    /// The state of the directory.
    pub(crate) presence: Presence,
}

/// The reason why a place is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// It was given on the command line.
    Given,
    /// It is one that projects have.
    Project,
    /// It is one that users have.
    User,
    /// It is configured.
    Configured,
    /// It is a pack in a configured directory.
    Pack,
}

impl Reason {
    /// Returns the reason in words.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Given => "given on the command line",
            Self::Project => "a place of the project",
            Self::User => "a place of the user",
            Self::Configured => "configured",
            Self::Pack => "a pack",
        }
    }
}

impl Place {
    /// Returns the place at `path`, whatever is there.
    pub(crate) fn at(label: String, path: PathBuf, reason: Reason) -> Self {
        let presence = match path.metadata() {
            Ok(metadata) if metadata.is_dir() => Presence::Found,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Presence::Missing,
            _ => Presence::NotDirectory,
        };
        Self { label, path, reason, presence }
    }
}

impl Context {
    /// Returns every place that is looked at, those that win first, and what is wrong with packs.
    pub(super) fn places(&self, policy: &Policy) -> (Vec<Place>, Vec<Problem>) {
        if !self.globals.root.is_empty() {
            let place = |root: &PathBuf| {
                let path = self.env.working_directory().join(root);
                Place::at(format!("root:{}", root.display()), path, Reason::Given)
            };
            return (distinct(self.globals.root.iter().map(place).collect()), Vec::new());
        }
        let mut places = self.discovered();
        places.extend(self.settings.roots.iter().map(|root| {
            Place::at(format!("config:{}", root.given.display()), root.path.clone(), Reason::Configured)
        }));
        let mut problems = Vec::new();
        for directory in &self.settings.packs {
            let (roots, broken) = discovery::packs(&directory.path, policy);
            places.extend(roots.into_iter().map(|root| Place::at(root.label, root.path, Reason::Pack)));
            problems.extend(broken);
        }
        (distinct(places), problems)
    }

    /// Returns an error if something was given as a root that is there and is no directory.
    ///
    /// It is for commands that go on until they are interrupted: a complaint in passing would be no answer.
    pub(crate) fn expect_directories(&self) -> Result<(), CliError> {
        let is_other = |root: &&PathBuf| {
            let path = self.env.working_directory().join(root);
            Place::at(String::new(), path, Reason::Given).presence == Presence::NotDirectory
        };
        match self.globals.root.iter().find(is_other) {
            Some(root) => {
                let message = format!("{} is not a directory that can be read", root.display());
                Err(CliError::usage(message).hint("`--root` takes a directory of skills"))
            }
            None => Ok(()),
        }
    }

    /// Returns the places that projects and users have by habit.
    fn discovered(&self) -> Vec<Place> {
        let mut input = DiscoveryInput::new(self.env.working_directory(), self.env.home());
        input.xdg_config = self.env.config_home();
        (input.project, input.user) = (self.settings.discover_project, self.settings.discover_user);
        let found = discovery::discover(&input);
        let place = |place: discovery::Place| Place {
            label: place.root.label,
            path: place.root.path,
            reason: if place.root.tier == Tier::Project { Reason::Project } else { Reason::User },
            presence: place.presence,
        };
        found.places.into_iter().map(place).collect()
    }

    /// Returns where links below `places` may lead; the roots of the library count even where others are looked at.
    pub(super) fn link_scope(&self, places: &[Place], policy: &Policy) -> LinkScope {
        match self.settings.scan_links {
            LinkTargets::Anywhere => LinkScope::Anywhere,
            LinkTargets::Roots => {
                let (library, _) = self.places(policy);
                LinkScope::Within(places.iter().chain(&library).map(|place| place.path.clone()).collect())
            }
        }
    }
}

/// Two sources may not share a name: a later one that would gets a number.
fn distinct(mut places: Vec<Place>) -> Vec<Place> {
    discovery::distinct(places.iter_mut().map(|place| &mut place.label));
    places
}
