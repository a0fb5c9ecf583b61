//! `rep call`.

use std::io::Read as _;

use clap::Args;
use repertoire::{Lookup, Reply, Session};
use repertoire_model::answer::Render;
use repertoire_model::ledger::Reload;
use serde_json::{Value, json};

use crate::answered_call::exit_of;
use crate::complete::skill_names;
use crate::error::CliError;
use crate::exit::Exit;
use crate::served::ServedArgs;
use crate::ui::Ui;
use crate::wire::{Workspace, report};
use repertoire_app::review::record_current;

/// The longest arguments that are read, in bytes.
const MAX_ARGUMENT_BYTES: u64 = 1024 * 1024;

/// The sentence about tools and scripts of skills, which need a loaded skill.
const RUNS_NOTHING: &str = "`rep call` runs no tools and scripts of skills, which only a session can load; `rep run` and `rep session` run them.";

/// Calls one tool as a model would, and prints what the model would read
///
/// The tools are load_skill, unload_skill, read_skill_file, list_skill_files, list_skills and search_skills,
/// or what the configuration calls them. Nothing is remembered from call to call, so load_skill always
/// returns the instructions; `rep session` remembers.
#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// The tool
    #[arg(value_name = "TOOL")]
    tool: String,
    /// Its arguments as a JSON object, or - to read them from standard input
    #[arg(value_name = "JSON", default_value = "{}")]
    arguments: String,
    #[command(flatten)]
    pub(crate) served: ServedArgs,
    /// Call as this agent of the configuration
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Offer only these skills: names or patterns such as `git-*`, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', add = skill_names())]
    skills: Vec<String>,
    /// The format of the answer
    #[arg(long, value_name = "HOW", value_parser = Render::ALL.map(Render::as_str))]
    render: Option<String>,
}

pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &CallArgs) -> Result<Exit, CliError> {
    let text = match args.arguments.as_str() {
        "-" => read_input()?,
        text => text.to_owned(),
    };
    let arguments: Value = serde_json::from_str(&text).map_err(|error| {
        CliError::usage("the arguments are not JSON")
            .because(error)
            .hint("give an object, as in `rep call load_skill '{\"name\": \"git\"}'`")
    })?;
    let mut options = workspace.session_options(args.render.as_deref());
    // There is no transcript, so nothing can be known to be in it.
    options.loading.reload = Reload::AlwaysBody;
    if workspace.settings.exec.enabled {
        options.running.running_off = Some(RUNS_NOTHING.to_owned());
    }
    let session = workspace.session_with(options, args.agent.as_deref(), &args.skills, None)?;
    let reply = pollster::block_on(session.call(&args.tool, &arguments));
    record_loaded(workspace, &session, &reply);
    // A search may have built the index for the next run.
    pollster::block_on(session.library().save());
    let snapshot = session.registry().snapshot();
    report(ui, workspace, &snapshot, snapshot.problems())?;
    if ui.is_json() {
        let data = session.data(&reply);
        ui.write_json(&json!({"is_error": reply.is_error(), "text": reply.text(), "data": data}))?;
        return exit_of(&reply, &data);
    }
    ui.write_untrusted(reply.text().as_bytes())?;
    // On a terminal this was seen to already.
    if !ui.out_is_terminal() {
        writeln!(ui.out())?;
    }
    Ok(if reply.is_error() { Exit::No } else { Exit::Success })
}

/// Records the skills that were loaded as versions, as sessions do.
fn record_loaded(workspace: &Workspace, session: &Session, reply: &Reply) {
    let loaded = reply.injections();
    if loaded.is_empty() || !workspace.records_versions() {
        return;
    }
    let Ok(store) = workspace.lazy_store().get() else { return };
    let snapshot = session.registry().snapshot();
    for injection in loaded {
        if let Lookup::Found(entry) = snapshot.find(injection.name.as_str())
            && entry.identity.is_some()
            && !entry.is_last_good()
        {
            // Best effort, as in sessions: the skill was given all the same.
            let _ = record_current(session.registry(), entry, &*store);
        }
    }
}

fn read_input() -> Result<String, CliError> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(MAX_ARGUMENT_BYTES).read_to_string(&mut text);
    read.map_err(|error| CliError::usage("cannot read the arguments from standard input").because(error))?;
    Ok(text)
}
