//! Where configuration files are, and how their faults are shown.

use std::ops::Range;
use std::path::{Path, PathBuf};

use repertoire::discovery::repository_root;
use repertoire_model::Severity;

use crate::env::{self, Env};
use crate::error::CliError;
use crate::globals::Globals;
use crate::ui::{Note, render_note};

/// The name of a project's configuration file.
pub(crate) const FILE_NAME: &str = "repertoire.toml";

/// The most faults of a file that are shown.
const MAX_FAULTS_SHOWN: usize = 50;

/// Something wrong with a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The bytes of the file it is about.
    pub range: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

/// Why a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It was named on the command line or in the environment.
    Named,
    /// It is the user's.
    User,
    /// It is the project's.
    Project,
}

impl Standing {
    /// Returns the word used on every surface.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Named => "named",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// Returns the configuration files to read, those that win last, with all places that have none.
pub(crate) fn find_files(env: &Env, globals: &Globals) -> (Vec<(Standing, PathBuf)>, Vec<PathBuf>) {
    let named = globals.config.clone().or_else(|| env.get(env::CONFIG).map(PathBuf::from));
    if let Some(named) = named {
        return (vec![(Standing::Named, env.working_directory().join(named))], Vec::new());
    }
    let user = env.config_home().map(|home| home.join("repertoire").join("config.toml"));
    let (mut files, mut absent) = (Vec::new(), Vec::new());
    if let Some(path) = user {
        match is_there(&path) {
            true => files.push((Standing::User, path)),
            false => absent.push(path),
        }
    }
    for directory in up_to_repository_root(env) {
        let path = directory.join(FILE_NAME);
        if is_there(&path) {
            files.push((Standing::Project, path));
            break;
        }
        absent.push(path);
    }
    (files, absent)
}

/// What cannot be looked at counts as there, so that reading it tells why.
fn is_there(path: &Path) -> bool {
    path.try_exists().unwrap_or(true)
}

/// Returns the working directory and those above it up to the root of its repository; outside one, it alone.
///
/// Going further would let whoever can write to a shared parent decide about us.
pub(crate) fn up_to_repository_root(env: &Env) -> Vec<&Path> {
    let working_directory = env.working_directory();
    let Some(root) = repository_root(working_directory, env.home().as_deref()) else {
        return vec![working_directory];
    };
    // A working directory whose links could not be resolved does not lie below the root; it still counts alone.
    let above = working_directory.ancestors().skip(1).take_while(|directory| directory.starts_with(&root));
    [working_directory].into_iter().chain(above).collect()
}

/// Returns the error that shows `faults` of the file at `path`.
pub(crate) fn faulty(path: &Path, text: &str, faults: &[Fault], is_coloured: bool) -> CliError {
    let shown = path.display().to_string();
    let mut rendered: Vec<String> = faults
        .iter()
        .take(MAX_FAULTS_SHOWN)
        .map(|fault| {
            let note = Note {
                severity: Severity::Error,
                rule: None,
                message: &fault.message,
                help: fault.help.as_deref(),
                path: &shown,
                place: Some((text, fault.range.clone())),
                line: None,
            };
            render_note(&note, is_coloured)
        })
        .collect();
    let more = faults.len().saturating_sub(MAX_FAULTS_SHOWN);
    if more > 0 {
        rendered.push(format!("and {more} more\n"));
    }
    let first = faults.first().map(|fault| fault.message.as_str()).unwrap_or_default();
    CliError::rendered(format!("{shown}: {first}"), rendered.join("\n"))
}
