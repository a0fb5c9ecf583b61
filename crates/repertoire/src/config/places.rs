//! The directories that are searched for skills, as configured.

use std::path::Path;

use repertoire_model::{Policy, Profile};

use super::input::ConfigInput;
use super::settings::{LinkTargets, Settings};
use crate::discovery::{self, DiscoveryInput, Place, Presence, Root, Tier};
use crate::provider::Problem;
use crate::provider::fs::{FsOptions, LinkScope};

impl Settings {
    /// Returns every place of the configuration, those that win first, and the problems of packs.
    pub fn places(&self, input: &ConfigInput, policy: &Policy) -> (Vec<Place>, Vec<Problem>) {
        let mut discovery = DiscoveryInput::new(&input.working_directory, input.home.clone());
        discovery.xdg_config.clone_from(&input.config_home);
        discovery.client_homes.clone_from(&input.client_homes);
        (discovery.project, discovery.user) = (self.discover_project, self.discover_user);
        discovery.role_packs = policy.profile == Profile::Bernstein;
        let mut places = discovery::discover(&discovery).places;
        places.extend(self.roots.iter().map(|root| {
            let label = root_label(&root.given);
            Place::of(Root { label, path: root.path.clone(), tier: Tier::Configured })
        }));
        let mut problems = Vec::new();
        for directory in &self.packs {
            let (roots, broken) = discovery::packs(&directory.path, policy);
            places.extend(roots.into_iter().map(Place::of));
            problems.extend(broken);
        }
        (Place::distinct(places), problems)
    }

    /// Returns the directories that links below `places` may lead to.
    pub fn link_scope<'p>(&self, places: impl Iterator<Item = &'p Place>) -> LinkScope {
        match self.scan_links {
            LinkTargets::Anywhere => LinkScope::Anywhere,
            LinkTargets::Roots => LinkScope::Within(places.map(|place| place.root.path.clone()).collect()),
        }
    }

    /// Returns the options of the provider of each of `places`. A directory that an earlier place leads to is read there.
    pub fn provider_options<'p>(
        &self,
        places: impl Iterator<Item = &'p Place>,
        links: &LinkScope,
    ) -> Vec<FsOptions> {
        places
            .filter(|place| !matches!(place.presence, Presence::SameAs(_)))
            .map(|place| {
                let mut options = place.root.options();
                options.limits = self.scan;
                if place.root.tier == Tier::Given {
                    options.limits.max_depth = self.given_depth;
                    options.limits.hidden = true;
                }
                options.links = links.clone();
                options
            })
            .collect()
    }
}

/// Returns the label of a configured root.
pub(super) fn root_label(given: &Path) -> String {
    format!("config:{}", given.display())
}
