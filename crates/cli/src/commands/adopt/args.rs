//! The arguments of `rep adopt`.

use std::path::PathBuf;

use clap::Args;
use repertoire_clients::Owner;
use repertoire_clients::adopt::AdoptOptions;

use crate::complete::skill_names;
use crate::place_args::PlaceArgs;

/// Gathers scattered copies of a skill in one place
///
/// The one place is .agents/skills in the project or, with --user, in the home directory. The copy that is
/// found first is moved there, unless there is one already. A link to it takes the place of a copy that a
/// client needs; others are put aside. Copies whose files differ are left alone until --from says which one
/// counts. Links, and copies inside groups of skills, are compared too, but stay where they are. The
/// originals are kept in .agents/.repertoire-adopted, and `rep undo` puts them back as they were.
#[derive(Debug, Args)]
pub(crate) struct AdoptArgs {
    /// The skills
    #[arg(value_name = "NAME", add = skill_names())]
    pub(super) names: Vec<String>,
    /// Gather all skills that lie in a directory of a client
    #[arg(long, conflicts_with = "names")]
    pub(super) all: bool,
    #[command(flatten)]
    pub(super) place: PlaceArgs,
    /// The copy that counts where copies differ, or the directory of skills that it lies in, such as
    /// .claude/skills
    #[arg(long, value_name = "DIR")]
    pub(super) from: Option<PathBuf>,
    /// Show what would be done and do nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Do it without asking
    #[arg(long, short)]
    pub(super) yes: bool,
}

impl AdoptArgs {
    /// Returns the skills that are meant.
    pub(super) fn options(&self, owner: Owner) -> AdoptOptions {
        AdoptOptions { owner, names: self.names.clone(), from: self.from.clone() }
    }
}
