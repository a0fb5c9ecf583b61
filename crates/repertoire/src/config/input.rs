//! The input of the configuration: directories, a named file, and values that override files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::discovery::repository_root;

/// The name of a project's configuration file.
pub const FILE_NAME: &str = "repertoire.toml";

/// Directories and overrides that the configuration is loaded from. The library reads neither the environment
/// nor the home directory by itself.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ConfigInput {
    /// The working directory; the project's file is searched from here up to the root of the repository.
    pub working_directory: PathBuf,
    /// The home directory.
    pub home: Option<PathBuf>,
    /// The directory of user configuration, as `~/.config`; it has the user's `repertoire/config.toml`.
    pub config_home: Option<PathBuf>,
    /// The directories that environment variables of clients name, as `CODEX_HOME`, by variable.
    pub client_homes: BTreeMap<String, PathBuf>,
    /// A file to read instead of the project's and the user's.
    pub file: Option<PathBuf>,
    /// Values that win over files, later ones over earlier ones.
    pub overrides: Vec<ConfigOverride>,
    /// The kits that are in use; all other skills are switched off.
    pub kits: Option<KitChoice>,
}

/// The kits that somebody chose to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KitChoice {
    /// The names of the kits.
    pub names: Vec<String>,
    /// The origin of the choice for messages: a variable or a command.
    pub origin: String,
}

/// A value that wins over files.
#[derive(Debug, Clone)]
pub struct ConfigOverride {
    /// The name of the key, as in `catalog.format`.
    pub key: String,
    /// The value.
    pub value: OverrideValue,
    /// The origin of the value for error messages: a variable or a flag.
    pub origin: String,
}

/// The value of an override.
#[derive(Debug, Clone)]
pub enum OverrideValue {
    /// A word, number or switch, as text.
    Word(String),
    /// Directories; relative ones count from the working directory.
    Paths(Vec<PathBuf>),
}

/// A directory or file that a layer of the configuration names.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfiguredPath {
    /// The path as it was written.
    pub given: PathBuf,
    /// The path, relative to the directory of the layer.
    pub path: PathBuf,
}

repertoire_model::words! {
    /// The owner of a configuration file.
    ConfigFileOwner {
        /// It was named by the caller.
        Named "named",
        /// The user.
        User "user",
        /// The project.
        Project "project",
    }
}

/// The configuration files of an input.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ConfigFiles {
    /// The files to read, the weakest first.
    pub found: Vec<(ConfigFileOwner, PathBuf)>,
    /// The paths where a file could be and is not.
    pub absent: Vec<PathBuf>,
}

impl ConfigInput {
    /// Returns the input for `working_directory` without user configuration.
    pub fn new(working_directory: impl Into<PathBuf>) -> Self {
        Self { working_directory: working_directory.into(), ..Self::default() }
    }

    /// Sets the home directory and, in it, the directory of user configuration.
    #[must_use]
    pub fn home(mut self, home: impl Into<PathBuf>) -> Self {
        let home = home.into();
        self.config_home = Some(home.join(".config"));
        self.home = Some(home);
        self
    }

    /// Returns the configuration files.
    pub fn files(&self) -> ConfigFiles {
        if let Some(file) = &self.file {
            let found = vec![(ConfigFileOwner::Named, self.working_directory.join(file))];
            return ConfigFiles { found, absent: Vec::new() };
        }
        let mut files = ConfigFiles::default();
        if let Some(path) = self.file_of(ConfigFileOwner::User) {
            if is_there(&path) {
                files.found.push((ConfigFileOwner::User, path));
            } else {
                files.absent.push(path);
            }
        }
        for directory in self.project_directories() {
            let path = directory.join(FILE_NAME);
            if is_there(&path) {
                files.found.push((ConfigFileOwner::Project, path));
                break;
            }
            files.absent.push(path);
        }
        files
    }

    /// Returns the configuration file of `owner`: the one that is read, or else the one to create.
    pub fn file_of(&self, owner: ConfigFileOwner) -> Option<PathBuf> {
        match owner {
            ConfigFileOwner::Named => self.file.as_ref().map(|file| self.working_directory.join(file)),
            ConfigFileOwner::User => Some(self.config_home.as_ref()?.join("repertoire").join("config.toml")),
            ConfigFileOwner::Project => {
                let mut files =
                    self.project_directories().into_iter().map(|directory| directory.join(FILE_NAME));
                files.clone().find(|path| is_there(path)).or_else(|| files.next_back())
            }
        }
    }

    /// Returns the working directory and those above it up to its repository's root; outside one, it alone.
    ///
    /// A file further up could belong to anyone who can write to a shared parent.
    pub fn project_directories(&self) -> Vec<&Path> {
        let working_directory = self.working_directory.as_path();
        let Some(root) = self.repository() else { return vec![working_directory] };
        // A working directory with unresolved links does not lie below the root; it still counts alone.
        let above =
            working_directory.ancestors().skip(1).take_while(|directory| directory.starts_with(&root));
        [working_directory].into_iter().chain(above).collect()
    }

    /// Returns the root of the repository that contains the working directory.
    pub(super) fn repository(&self) -> Option<PathBuf> {
        repository_root(&self.working_directory, self.home.as_deref())
    }
}

/// A path that cannot be examined, or a link that leads nowhere, is there: reading it gives the error.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().map_or_else(|error| error.kind() != std::io::ErrorKind::NotFound, |_| true)
}
