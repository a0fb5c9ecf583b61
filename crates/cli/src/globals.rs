//! Options that every command takes. Every doc comment here is help text.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use repertoire::config::PROFILES;
use repertoire_app::workspace::WorkspaceOptions;

use crate::env::{self, Env};

/// Options that every command takes.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// Read skills from this directory only
    ///
    /// It replaces everything that discovery and configuration would find. Given several times, earlier
    /// directories win over later ones.
    // Not `global`: clap would forget the directories before the command for later ones; see `cli::command`.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub root: Vec<PathBuf>,
    /// Check skills against this profile
    ///
    /// standard loads what can be understood and reports the rest; strict demands the open standard to the
    /// letter; lenient complains less; harness takes the directory for the name and the first heading for the
    /// description; bernstein, yodoca, helix and pattern have the keys, tools and answers of these systems;
    /// any other is the path of a file with the keys of a profile.
    #[arg(long, global = true, value_name = "PROFILE", add = ArgValueCandidates::new(profiles))]
    pub profile: Option<String>,
    /// Use this configuration file instead of looking for one
    #[arg(long, global = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// Choose when to use colour
    #[arg(long, global = true, value_name = "WHEN")]
    pub color: Option<ColorChoice>,
    /// Neither read nor write the cache, which holds the search index
    #[arg(long, global = true)]
    pub no_cache: bool,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On terminals
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Returns the names of profiles, for shells.
fn profiles() -> Vec<CompletionCandidate> {
    PROFILES.map(CompletionCandidate::new).into()
}

impl Globals {
    pub(crate) fn workspace_options(&self) -> WorkspaceOptions {
        WorkspaceOptions {
            roots: self.root.clone(),
            profile: self.profile.clone(),
            config: self.config.clone(),
            no_cache: self.no_cache,
        }
    }
}

impl ColorChoice {
    /// Returns the choice of the environment; `rep doctor` reports an unknown word.
    pub(crate) fn from_env(env: &Env) -> Option<Self> {
        env.get(env::COLOR).and_then(OsStr::to_str).and_then(|word| Self::from_str(word, true).ok())
    }
}
