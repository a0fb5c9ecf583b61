//! The options that choose between the project and the user.

use clap::Args;
use repertoire_clients::Owner;

use crate::env::Env;

/// The owner of the files that a command changes: by default the project if there is one, else the user.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct PlaceArgs {
    /// The skills of the user, for all projects; the default outside of projects
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// The skills of the project; the default in a repository
    #[arg(long)]
    project: bool,
}

impl PlaceArgs {
    /// Returns the owner that is meant.
    pub(crate) fn owner(self, env: &Env) -> Owner {
        match (self.user, self.project) {
            (true, _) => Owner::User,
            (_, true) => Owner::Project,
            _ => env.places().default_owner(),
        }
    }
}
