//! The directories that are searched for skills, as configured.

use std::path::PathBuf;

use repertoire_model::Policy;

use super::input::ConfigInput;
use super::settings::{LinkTargets, Settings};
use crate::discovery::{self, DiscoveryInput, Presence, Tier};
use crate::provider::Problem;
use crate::provider::fs::{FsOptions, LinkScope};

/// A directory that is searched for skills.
#[derive(Debug, Clone)]
pub struct ConfiguredPlace {
    /// The name of the source.
    pub label: String,
    /// The directory.
    pub path: PathBuf,
    /// The reason that it is searched.
    pub origin: PlaceOrigin,
    /// The state of the directory.
    pub presence: Presence,
}

/// The reason that a place is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceOrigin {
    /// It was given by the caller.
    Given,
    /// It is a usual directory of projects.
    Project,
    /// It is a usual directory of users.
    User,
    /// It is configured.
    Configured,
    /// It is a pack in a configured directory.
    Pack,
}

impl PlaceOrigin {
    /// Returns the description of the reason.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Given => "given on the command line",
            Self::Project => "a place of the project",
            Self::User => "a place of the user",
            Self::Configured => "configured",
            Self::Pack => "a pack",
        }
    }
}

impl ConfiguredPlace {
    /// Returns the place at `path`, with the state of the directory.
    pub fn at(label: String, path: PathBuf, origin: PlaceOrigin) -> Self {
        let presence = match path.metadata() {
            Ok(metadata) if metadata.is_dir() => Presence::Found,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Presence::Missing,
            _ => Presence::NotDirectory,
        };
        Self { label, path, origin, presence }
    }

    /// Gives every place a name of its own: a later one of the same name gets a number.
    pub fn distinct(mut places: Vec<Self>) -> Vec<Self> {
        discovery::distinct(places.iter_mut().map(|place| &mut place.label));
        places
    }
}

impl Settings {
    /// Returns every place of the configuration, those that win first, and the problems of packs.
    pub fn places(&self, input: &ConfigInput, policy: &Policy) -> (Vec<ConfiguredPlace>, Vec<Problem>) {
        let mut places = self.discovered(input);
        places.extend(self.roots.iter().map(|root| {
            let label = format!("config:{}", root.given.display());
            ConfiguredPlace::at(label, root.path.clone(), PlaceOrigin::Configured)
        }));
        let mut problems = Vec::new();
        for directory in &self.packs {
            let (roots, broken) = discovery::packs(&directory.path, policy);
            places.extend(
                roots.into_iter().map(|root| ConfiguredPlace::at(root.label, root.path, PlaceOrigin::Pack)),
            );
            problems.extend(broken);
        }
        (ConfiguredPlace::distinct(places), problems)
    }

    fn discovered(&self, input: &ConfigInput) -> Vec<ConfiguredPlace> {
        let mut places = DiscoveryInput::new(&input.working_directory, input.home.clone());
        places.xdg_config.clone_from(&input.config_home);
        (places.project, places.user) = (self.discover_project, self.discover_user);
        let found = discovery::discover(&places);
        let place = |place: discovery::Place| ConfiguredPlace {
            label: place.root.label,
            path: place.root.path,
            origin: if place.root.tier == Tier::Project { PlaceOrigin::Project } else { PlaceOrigin::User },
            presence: place.presence,
        };
        found.places.into_iter().map(place).collect()
    }

    /// Returns the directories that links below `places` may lead to.
    pub fn link_scope<'p>(&self, places: impl Iterator<Item = &'p ConfiguredPlace>) -> LinkScope {
        match self.scan_links {
            LinkTargets::Anywhere => LinkScope::Anywhere,
            LinkTargets::Roots => LinkScope::Within(places.map(|place| place.path.clone()).collect()),
        }
    }

    /// Returns the options of the provider of each of `places`. A directory that an earlier place leads to is read there.
    pub fn provider_options<'p>(
        &self,
        places: impl Iterator<Item = &'p ConfiguredPlace>,
        links: &LinkScope,
    ) -> Vec<FsOptions> {
        places
            .filter(|place| !matches!(place.presence, Presence::SameAs(_)))
            .map(|place| {
                let mut options = FsOptions::new(&place.label, &place.path);
                options.limits = self.scan;
                options.links = links.clone();
                options
            })
            .collect()
    }
}
