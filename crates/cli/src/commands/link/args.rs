//! The arguments of `rep link`.

use clap::Args;
use repertoire_clients::link::{ConnectedClients, LinkKind};

use crate::complete::{agent_names, client_names, skill_names};
use crate::place_args::PlaceArgs;

/// Links skills into the directories that clients read, for clients without MCP
///
/// Skills have one place, .agents/skills in the project or, with --user, in the home directory. Clients that
/// read another directory get relative links to it there; clients that read it need no link. Skills that lie
/// elsewhere are linked into it. Existing files are never overwritten, and `rep undo` takes the links back. A
/// client that is connected to the MCP server is left out, because it gets every skill from there.
#[derive(Debug, Args)]
pub(crate) struct LinkArgs {
    /// The clients; by default, all that are found
    #[arg(value_name = "CLIENT", value_parser = client_names())]
    pub(super) clients: Vec<String>,
    #[command(flatten)]
    pub(super) place: PlaceArgs,
    /// Link this skill; may be given several times
    ///
    /// By default all that lie in the project or, for the user, all others.
    #[arg(long, short, value_name = "NAME", add = skill_names())]
    pub(super) skill: Vec<String>,
    /// Link only skills that this agent of the configuration may see
    #[arg(long, value_name = "NAME", add = agent_names())]
    pub(super) agent: Option<String>,
    /// Copy the skills instead of linking them; this also happens where links cannot be made
    #[arg(long)]
    pub(super) copy: bool,
    /// Show what would be done and do nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Do it without asking
    #[arg(long, short)]
    pub(super) yes: bool,
    /// Link for clients that are connected to the MCP server too
    #[arg(long)]
    pub(super) force: bool,
}

impl LinkArgs {
    /// Returns the use that is made of clients that are connected to the MCP server.
    pub(super) fn connected(&self) -> ConnectedClients {
        if self.force { ConnectedClients::Included } else { ConnectedClients::LeftOut }
    }

    /// Returns what is made where a link is needed.
    pub(super) fn kind(&self) -> LinkKind {
        if self.copy { LinkKind::Copy } else { LinkKind::Link }
    }
}
