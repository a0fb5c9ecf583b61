//! The origins of skills: the records of installers around the places of a library, compared with the skills.

use std::fs::canonicalize;
use std::path::{Path, PathBuf};

use repertoire::Entry;
use repertoire::discovery::{Place, Tier};
use repertoire_clients::projects;
use repertoire_sources::origin::{Comparison, InstalledFiles, Origin, OriginBase, Origins};

use crate::workspace::environment as env;
use crate::workspace::{Library, Workspace};

/// An origin of a skill, compared with the skill as it is.
#[derive(Debug)]
pub struct ComparedOrigin {
    /// The origin.
    pub origin: Origin,
    /// The result of the comparison.
    pub comparison: Comparison,
}

/// The reason that a skill is changed whose files all have the recorded content.
pub const MODE_CHANGED: &str = "the executable bit of a file was changed";

impl ComparedOrigin {
    /// Returns the installer, the source and the state in words.
    pub fn in_words(&self) -> String {
        let source = self.origin.in_words().map(|source| format!(" from {source}")).unwrap_or_default();
        format!("{}{source}, {}", self.origin.installer.command(), self.state_in_words())
    }

    /// Returns the state in words, with the files or the reason.
    fn state_in_words(&self) -> String {
        match &self.comparison {
            Comparison::Unchanged => "unchanged since".to_owned(),
            Comparison::Changed { files } if files.is_empty() => "changed since".to_owned(),
            Comparison::Changed { files } => format!("changed since: {}", files.join(", ")),
            Comparison::ModeChanged => format!("changed since: {MODE_CHANGED}"),
            Comparison::Unknown(reason) => format!("changed or not is unknown: {reason}"),
        }
    }
}

/// Returns the directories that lead to `entry`, the real one first; empty if it is not in the file system.
pub fn routes(entry: &Entry) -> Vec<PathBuf> {
    let paths =
        [entry.directory(), &*entry.path].into_iter().chain(entry.also.iter().map(|route| &*route.path));
    let mut routes: Vec<PathBuf> = Vec::new();
    for path in paths.map(Path::new).filter(|path| path.is_absolute()) {
        if !routes.iter().any(|route| route == path) {
            routes.push(path.to_owned());
        }
    }
    routes
}

/// Returns the origins of `entry`, compared with its files.
pub fn compared_origins(origins: &Origins, entry: &Entry) -> Vec<ComparedOrigin> {
    let routes = routes(entry);
    let found = origins.of(&routes, entry.name().as_str(), &entry.document.manifest);
    let Some(directory) = routes.first().filter(|_| !found.is_empty()) else { return Vec::new() };
    let files = InstalledFiles::read(directory);
    let compare = |origin: Origin| ComparedOrigin { comparison: origin.compare(&files), origin };
    found.into_iter().map(compare).collect()
}

impl Workspace {
    /// Reads the records of installers around the places of `library`.
    pub fn origins(&self, library: &Library) -> Origins {
        self.origins_around(&library.places)
    }

    /// Returns the records among `origins` that cannot be read, each with its path and a message.
    pub fn broken_records<'o>(&self, origins: &'o Origins) -> impl Iterator<Item = (&'o Path, String)> {
        origins.faults.iter().map(|(path, reason)| {
            let shown = self.shown(&path.display().to_string());
            (path.as_path(), format!("{shown} cannot be read: {reason}"))
        })
    }

    /// Returns the records of installers around `places`.
    pub fn origins_around(&self, places: &[Place]) -> Origins {
        let project = |(directory, skill_directories)| {
            let record_directories = Vec::new();
            with_real_paths(OriginBase { directory, skill_directories, record_directories })
        };
        let mut bases: Vec<OriginBase> = projects(places).into_iter().map(project).collect();
        if let Some(directory) = self.env.home() {
            let places = places.iter().filter(|place| place.root.tier == Tier::User);
            let skill_directories: Vec<PathBuf> = places.map(|place| place.root.path.clone()).collect();
            let mut record_directories = vec![directory.join(".agents"), directory.join(".apm")];
            let claude =
                self.env.directory(env::CLAUDE_CONFIG_DIR).unwrap_or_else(|| directory.join(".claude"));
            record_directories.push(claude.join("plugins"));
            record_directories.extend(self.env.config_home().map(|home| home.join("repertoire")));
            let state = self.env.get(env::XDG_STATE_HOME).map(PathBuf::from);
            record_directories
                .extend(state.filter(|state| state.is_absolute()).map(|state| state.join("skills")));
            if !skill_directories.is_empty() {
                bases.push(with_real_paths(OriginBase { directory, skill_directories, record_directories }));
            }
        }
        Origins::read(&bases)
    }
}

/// Adds the directories that those of skills lead to by links.
fn with_real_paths(mut base: OriginBase) -> OriginBase {
    let real: Vec<PathBuf> =
        base.skill_directories.iter().filter_map(|path| canonicalize(path).ok()).collect();
    base.skill_directories.extend(real);
    base
}
