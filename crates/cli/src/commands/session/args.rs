//! The options of `rep session`.

use clap::Args;
use repertoire_model::answer::Render;

use crate::complete::{agent_names, skill_names};
use crate::served::ServedArgs;

/// Opens one session over standard input and output, one JSON object per line
///
/// Write {"op":"catalog"}, {"op":"tools"}, {"op":"call","tool":"load_skill","arguments":{"name":"git"}} and
/// so on; each line is answered with one line. The session ends with the input. A program whose first line is
/// {"op":"hello","protocol":1} opens any number of sessions, and need not wait for answers.
/// https://github.com/repertoire-rs/repertoire/blob/main/docs/reference/session.md describes every operation.
#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    #[command(flatten)]
    pub(crate) served: ServedArgs,
    /// Open the session for this agent of the configuration
    #[arg(long, value_name = "NAME", add = agent_names())]
    pub(super) agent: Option<String>,
    /// Open the session for this role: its prompt is that of `rep prompt --role`, and the skill in it counts
    /// as loaded
    #[arg(long, value_name = "ROLE", add = skill_names())]
    pub(super) role: Option<String>,
    /// Offer only these skills: names or patterns such as `git-*`, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', add = skill_names())]
    pub(super) skills: Vec<String>,
    /// The format of tool answers
    #[arg(long, value_name = "HOW", value_parser = Render::ALL.map(Render::as_str))]
    pub(super) render: Option<String>,
    /// Let the model call the tools of approved skills and run their scripts, as `exec.enabled` does
    #[arg(long)]
    pub(super) exec: bool,
    /// Offer the model all tools that loaded skills declare: the harness runs them itself
    #[arg(long, conflicts_with = "exec")]
    pub(super) own_handlers: bool,
}
