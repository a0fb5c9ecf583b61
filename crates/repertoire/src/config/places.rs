//! The directories that are searched for skills, as configured.

use std::path::{Path, PathBuf};

use repertoire_model::Policy;

use super::client_plugins::{self, PluginSwitch};
use super::input::ConfigInput;
use super::settings::{LinkTargets, Settings};
use crate::discovery::{self, DiscoveryInput, Place, Presence, Root, Tier, UserDirectories};
use crate::provider::Problem;
use crate::provider::fs::{FsOptions, LinkScope};

impl Settings {
    /// Returns every place of the configuration, in order of precedence, and the problems of packs.
    pub fn places(&self, input: &ConfigInput, policy: &Policy) -> (Vec<Place>, Vec<Problem>) {
        let mut discovery = DiscoveryInput::new(&input.working_directory, input.home.clone());
        discovery.xdg_config.clone_from(&input.config_home);
        discovery.client_homes.clone_from(&input.client_homes);
        (discovery.project, discovery.user) = (self.discover_project, self.discover_user);
        discovery.role_packs = self.discover_role_packs;
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
        places.extend(self.installed(input).into_iter().map(Place::of));
        (Place::distinct(places), problems)
    }

    /// Returns the roots of the plugins of clients and of the packages of the project, if they are wanted.
    fn installed(&self, input: &ConfigInput) -> Vec<Root> {
        let (directories, project) = surroundings(input);
        let mut roots = Vec::new();
        if self.discover_user && self.discover_plugins {
            roots.extend(client_plugins::installed(&directories, &project, PluginSwitch::On));
        }
        if self.discover_user && self.discover_plugin_caches {
            roots.extend(client_plugins::cursor(&directories));
        }
        if self.discover_packages {
            roots.extend(discovery::packages(&project));
        }
        roots
    }

    /// Returns the roots of plugins that clients installed but did not enable; their skills are left out.
    pub fn disabled_plugins(&self, input: &ConfigInput) -> Vec<Root> {
        if !self.discover_user || !self.discover_plugins {
            return Vec::new();
        }
        let (directories, project) = surroundings(input);
        client_plugins::installed(&directories, &project, PluginSwitch::Off)
    }

    /// Returns the directories that links below `places` may lead to.
    pub fn link_scope<'p>(&self, places: impl Iterator<Item = &'p Place>) -> LinkScope {
        match self.scan_links {
            LinkTargets::Anywhere => LinkScope::Anywhere,
            LinkTargets::Roots => LinkScope::Within(places.map(|place| place.root.path.clone()).collect()),
        }
    }

    /// Returns the provider options of each place. A directory that an earlier place leads to is read there.
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
                // The specification of plugins allows skills one level deep, and no link out of the plugin.
                if let (Tier::Plugin, Some(plugin)) = (place.root.tier, place.root.path.parent()) {
                    options.limits.max_depth = 1;
                    options.links = LinkScope::Within(vec![plugin.to_owned()]);
                }
                options
            })
            .collect()
    }
}

pub(super) fn root_label(given: &Path) -> String {
    format!("config:{}", given.display())
}

/// Returns the user's directories and the directory of the project.
fn surroundings(input: &ConfigInput) -> (UserDirectories<'_>, PathBuf) {
    let (home, config) = (input.home.as_deref(), input.config_home.as_deref());
    let project = discovery::repository_root(&input.working_directory, home);
    let project = project.unwrap_or_else(|| input.working_directory.clone());
    (UserDirectories { home, config, client_homes: &input.client_homes }, project)
}
