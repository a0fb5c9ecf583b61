//! `rep session`: one session over standard input and output, for harnesses in any language.

mod protocol;
mod lines;

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::Args;
use repertoire::Runner;
use repertoire::event::Surface;
use repertoire_model::answer::Render;

use self::lines::{Line, Lines};
use self::protocol::Conversation;
use crate::complete::{agent_names, skill_names};
use crate::error::CliError;
use crate::exit::Exit;
use crate::interrupt::on_interrupt;
use crate::role::Role;
use crate::served::ServedArgs;
use crate::ui::Ui;
use crate::wire::{Workspace, report};

/// Opens one session over standard input and output, one JSON object per line
///
/// Write {"op":"catalog"}, {"op":"tools"}, {"op":"call","tool":"load_skill","arguments":{"name":"git"}} and
/// so on; each line is answered with one line. The session ends with the input.
/// https://github.com/repertoire-rs/repertoire/blob/main/docs/reference/session.md describes every operation.
#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    #[command(flatten)]
    pub(crate) served: ServedArgs,
    /// Open the session for this agent of the configuration
    #[arg(long, value_name = "NAME", add = agent_names())]
    agent: Option<String>,
    /// Open the session for this role: its prompt is that of `rep prompt --role`, and the skill in it counts as loaded
    #[arg(long, value_name = "ROLE", add = skill_names())]
    role: Option<String>,
    /// Offer only these skills: names or patterns such as `git-*`, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', add = skill_names())]
    skills: Vec<String>,
    /// The format of tool answers
    #[arg(long, value_name = "HOW", value_parser = Render::ALL.map(Render::as_str))]
    render: Option<String>,
    /// Let the model call the tools of approved skills and run their scripts, as `exec.enabled` does
    #[arg(long)]
    exec: bool,
    /// Offer the model all tools that loaded skills declare: the harness runs them itself
    #[arg(long, conflicts_with = "exec")]
    own_handlers: bool,
}

pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &SessionArgs) -> Result<Exit, CliError> {
    let mut conversation = open(ui, workspace, args)?;
    // Changes in the meantime are known by the next request.
    let _watcher = workspace.follow(conversation.library().registry());
    let _releases = workspace.follow_releases(conversation.library().registry());
    let _recorder = workspace.recorder(conversation.library().registry());
    let mut lines = Lines::new(std::io::stdin().lock());
    loop {
        let answer = match lines.next_line()? {
            Line::End => {
                pollster::block_on(conversation.library().save());
                return Ok(Exit::Success);
            }
            Line::Text(line) if line.trim_ascii().is_empty() => continue,
            Line::Text(line) => conversation.answer(line),
            Line::TooLong => protocol::too_long(),
        };
        serde_json::to_writer(ui.out(), &answer).map_err(std::io::Error::from)?;
        ui.out().write_all(b"\n")?;
        ui.flush()?;
    }
}

fn open<'a>(ui: &mut Ui, workspace: &'a Workspace, args: &SessionArgs) -> Result<Conversation<'a>, CliError> {
    let mut options = workspace.session_options(args.render.as_deref());
    options.surface = Surface::Session;
    options.running.host_runs_tools = args.own_handlers;
    let role = match &args.role {
        None => None,
        Some(name) => {
            let agent = args.agent.as_deref().map(|name| workspace.agent(name)).transpose()?;
            Some(Role { name: name.clone(), agent, variables: BTreeMap::new() })
        }
    };
    // The catalog alone is to be that of the prompt.
    options.catalog.highlight.clone_from(&args.role);
    let executor = if args.own_handlers {
        None
    } else {
        workspace.session_executor(args.exec, args.agent.as_deref())?
    };
    if let Some(executor) = executor.clone() {
        on_interrupt(move |interrupt| {
            executor.end();
            pollster::block_on(executor.settled());
            interrupt.end_now();
        })?;
    }
    let runner: Option<Arc<dyn Runner>> = match (executor, workspace.approvals()) {
        (Some(executor), _) => Some(executor),
        // They know the tools of each `tools.py` without a `schema.json`.
        (None, Ok(approvals)) if args.own_handlers => Some(Arc::new(approvals)),
        (None, _) => None,
    };
    let session = workspace.session_with(options, args.agent.as_deref(), &args.skills, runner)?;
    let snapshot = session.registry().snapshot();
    report(ui, workspace, &snapshot, snapshot.problems())?;
    let mut conversation = Conversation::new(workspace, session);
    if let Some(role) = role {
        let origin = conversation.take(role.clone())?;
        role.warn_if_unknown(ui, workspace, &snapshot, &origin)?;
    }
    Ok(conversation)
}
