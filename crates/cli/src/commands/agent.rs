//! `rep agent`.

mod mcp_servers;
mod screen;
mod service;

use std::io::{self, BufRead as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::Args;
use repertoire::event::Surface;
use repertoire::tool::reserved_names;
use repertoire::{Inherit, LibraryBuilder, Runner, SessionRequest};
use repertoire_agent::{
    Agent, AgentError, AgentOptions, Cancellation, ClientErrorKind, Header, SUBAGENT_TOOL, Transcript,
    TurnEnding, TurnOutcome,
};
use repertoire_exec::Executor;
use repertoire_exec::approval::Approver;
use repertoire_model::prompt::{Fragment, WORKSPACE};
use serde_json::json;

use self::mcp_servers::{RunningServers, ServerProcesses};
use self::screen::Screen;
use self::service::{Service, ServiceArgs};
use crate::complete::agent_names;
use crate::error::{self, CliError};
use crate::exit::Exit;
use crate::interrupt::{Interrupt, on_interrupt};
use crate::served::ServedArgs;
use crate::terminal_approver::{self, TerminalApprover};
use crate::ui::{Style, Ui};
use crate::wire::{ExecRequest, Workspace, report};

/// Gives a task to a model whose only tools are skills
///
/// For example: `rep agent "Which month sold most in data/sales.csv?"`. The model gets the catalog, loads the
/// skills that fit, and calls their tools in the sandbox. There is no shell and no editor. Without a task it
/// is a conversation. `/name` at the start of a message and `$name` anywhere load a skill. The answer goes to
/// standard output, everything else to standard error. The conversation is saved, and --resume continues it.
#[derive(Debug, Args)]
pub(crate) struct AgentArgs {
    #[command(flatten)]
    pub(crate) served: ServedArgs,
    /// The task; without one, messages are read from standard input, one per line
    #[arg(value_name = "TASK")]
    task: Option<String>,
    /// Act as this agent of the configuration
    #[arg(long, value_name = "NAME", add = agent_names())]
    agent: Option<String>,
    #[command(flatten)]
    service: ServiceArgs,
    /// Continue this conversation: its id, or `last`
    #[arg(long, value_name = "ID")]
    resume: Option<String>,
    /// Give the model the tools of the MCP servers in this file, which looks like `.mcp.json`; they are not
    /// confined
    #[arg(long, value_name = "FILE")]
    mcp_config: Option<PathBuf>,
    /// Let the model give tasks to sub-agents, whose skills `subagent.inherit` decides
    #[arg(long)]
    subagents: bool,
    /// The most requests for one task; each sub-agent has the same limit for its own task
    #[arg(long, value_name = "NUMBER", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: u32,
    /// The most tokens for one task, in and out, cached or not; each sub-agent has the same limit for its own
    /// task
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    max_tokens: Option<u64>,
}

/// The sentence for models where nothing can run.
const NO_SANDBOX: &str =
    "Running tools and scripts of skills is off, because no sandbox works here. Go on without them.";

/// The cancellation of the task that runs, if one does, and the signal that it was cancelled by.
#[derive(Clone, Default)]
struct CurrentTask(Arc<Mutex<(Option<Cancellation>, Option<Interrupt>)>>);

impl CurrentTask {
    fn state(&self) -> MutexGuard<'_, (Option<Cancellation>, Option<Interrupt>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cancels the task that runs, for the first time. Returns whether there is one.
    fn cancel(&self, interrupt: Interrupt) -> bool {
        let mut state = self.state();
        match &state.0 {
            Some(cancellation) if !cancellation.is_cancelled() => {
                cancellation.cancel();
                state.1 = Some(interrupt);
                true
            }
            _ => false,
        }
    }
}

pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &AgentArgs) -> Result<Exit, CliError> {
    if args.task.as_deref().is_some_and(|task| task.trim().is_empty()) {
        return Err(CliError::usage("the task is empty").hint("leave it out for a conversation"));
    }
    let directory = workspace.conversations()?;
    let resumed = args.resume.as_deref().map(|id| find(&directory, id)).transpose()?;
    let header = resumed
        .as_deref()
        .map(Transcript::header)
        .transpose()
        .map_err(|error| CliError::no(error.to_string()))?;
    let service = Service::choose(workspace, &args.service, header.as_ref())?;
    let name = args.agent.clone().or_else(|| header.as_ref().and_then(|header| header.agent.clone()));
    let AgentSetup { executor, mut agent, servers } =
        open(ui, workspace, args, &service, name.as_deref(), header.as_ref())?;
    let library = agent.session().library().clone();
    let _watcher = workspace.follow(library.registry());
    let _releases = workspace.follow_releases(library.registry());
    let _recorder = workspace.recorder(library.registry());
    match &resumed {
        Some(path) => {
            agent.resume(path).map_err(|error| failure(error, &service, None))?;
            let id = header.as_ref().map(|header| header.id.clone()).unwrap_or_default();
            let now = Header::new(id, service.provider, service.model.clone(), name.as_deref());
            if header.as_ref() != Some(&now) {
                agent.replace_header(&now).map_err(|error| CliError::failure(error.to_string()))?;
            }
        }
        None => {
            let id = agent.session().id().to_owned();
            let path = directory.join(format!("{id}.jsonl"));
            let header = Header::new(id, service.provider, service.model.clone(), name.as_deref());
            create_directory(&directory)?;
            agent.save(&path, &header).map_err(|error| CliError::failure(error.to_string()))?;
        }
    }
    let running = CurrentTask::default();
    let processes = servers.as_ref().map(RunningServers::processes).unwrap_or_default();
    cancel_when_interrupted(&running, executor.clone(), processes)?;
    let screen = Screen::new(ui);
    let mut talk = Conversation { agent, service, screen, running };
    let outcome = match &args.task {
        Some(task) => talk.task(ui, Some(task)),
        None if resumed.is_some() && talk.is_owed_an_answer() => talk.task(ui, None),
        None => talk.converse(ui),
    };
    // A tool of a task that was cancelled may still be about to end.
    end(executor.as_ref());
    pollster::block_on(library.save());
    outcome
}

/// An agent with what runs for it.
struct AgentSetup {
    executor: Option<Arc<Executor>>,
    agent: Agent,
    servers: Option<RunningServers>,
}

/// Opens the session, that of the resumed conversation if there is one, and returns an agent with it.
fn open(
    ui: &mut Ui,
    workspace: &Workspace,
    args: &AgentArgs,
    service: &Service,
    name: Option<&str>,
    resumed: Option<&Header>,
) -> Result<AgentSetup, CliError> {
    let approver = ui.is_interactive().then(|| Arc::new(TerminalApprover::of_skills()) as Arc<dyn Approver>);
    let mut options = workspace.session_options(None);
    options.surface = Surface::Agent;
    options.running.running_off = None;
    let executor = match workspace.executor(ExecRequest { approver, ..ExecRequest::default() }) {
        Ok(executor) => Some(executor),
        // Skills are of use without their tools.
        Err(error) => {
            ui.warn(error.message())?;
            options.running.running_off = Some(NO_SANDBOX.to_owned());
            None
        }
    };
    let runner = executor.clone().map(|executor| executor as Arc<dyn Runner>);
    let servers = args.mcp_config.as_deref().map(|path| {
        let mut taken = reserved_names(&options.tools.names);
        taken.insert(SUBAGENT_TOOL.to_owned());
        // A tool with the name of a skill would take its place.
        let library = workspace.open()?;
        taken.extend(library.snapshot.entries().iter().map(|entry| entry.name().to_string()));
        mcp_servers::start(path, &workspace.env, taken, &service.key_variables())
    });
    let (servers, tools) = servers.transpose()?.unzip();
    let builder = workspace.library_builder(options, name.as_slice(), runner)?;
    let builder = tools.into_iter().flatten().fold(builder, LibraryBuilder::tool);
    let library = workspace.open_library(builder)?;
    if let Some(name) = name {
        workspace.expect_enabled(&library.snapshot(), &workspace.agent(name)?)?;
    }
    let mut request = SessionRequest::default();
    request.agent = name.map(str::to_owned);
    let session = pollster::block_on(library.open_session(&request))?;
    let session = match resumed {
        Some(header) => session.with_id(&header.id),
        None => session,
    };
    let snapshot = session.registry().snapshot();
    report(ui, workspace, &snapshot, snapshot.problems())?;
    let place = workspace.env.working_directory().display();
    let workplace = Fragment::new(
        "workplace",
        WORKSPACE,
        format!("The working directory is {place}; paths are relative to it."),
    );
    if args.subagents
        && workspace.settings.subagent_inherit == Inherit::None
        && workspace.settings.agents.is_empty()
    {
        ui.warn("sub-agents see no skills, because `subagent.inherit` is `none`")?;
    }
    let mut options = AgentOptions::new(&service.model);
    options.limits.requests = args.max_turns;
    options.limits.tokens = args.max_tokens;
    options.subagents = args.subagents;
    options.temperature = args.service.temperature;
    let configured = u32::try_from(workspace.settings.model.max_output_tokens).unwrap_or(u32::MAX);
    options.max_output_tokens = args.service.max_output_tokens.or((configured > 0).then_some(configured));
    // Room for the next answer and for the request for a summary.
    let context_tokens = workspace.settings.model.context_tokens;
    options.compact_at = (context_tokens / 4 * 3) as u64;
    options.reattach_tokens = context_tokens / 10;
    let agent = Agent::new(service.client(), session.with_fragments(vec![workplace]), options);
    Ok(AgentSetup { executor, agent, servers })
}

/// Returns the file of the conversation called `id`, or of the last one.
fn find(directory: &Path, id: &str) -> Result<PathBuf, CliError> {
    let missing = |message: String| {
        CliError::no(message).hint(format!("conversations are saved in {}", directory.display()))
    };
    let mut ids: Vec<(String, std::time::SystemTime)> = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(stem) = name.strip_suffix(".jsonl") else { continue };
        // Those of sub-agents have a number behind a dot.
        if !stem.contains('.') {
            let changed = entry.metadata().and_then(|metadata| metadata.modified());
            ids.push((stem.to_owned(), changed.unwrap_or(std::time::UNIX_EPOCH)));
        }
    }
    let path = |id: &str| directory.join(format!("{id}.jsonl"));
    if id == "last" {
        let last = ids.iter().max_by_key(|(_, changed)| *changed);
        return last
            .map(|(id, _)| path(id))
            .ok_or_else(|| missing("there is no conversation to go on with".to_owned()));
    }
    match ids.iter().find(|(known, _)| known == id) {
        Some((id, _)) => Ok(path(id)),
        None => Err(missing(format!("there is no conversation `{id}`"))),
    }
}

/// Creates the directory of conversations, which only its owner can read.
fn create_directory(directory: &Path) -> Result<(), CliError> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory).map_err(|error| CliError::io("create", directory, error))
}

/// Cancels the task that runs when the program is interrupted; where none does, the program ends.
fn cancel_when_interrupted(
    running: &CurrentTask,
    executor: Option<Arc<Executor>>,
    processes: ServerProcesses,
) -> Result<(), CliError> {
    let running = running.clone();
    on_interrupt(move |interrupt| {
        if terminal_approver::is_asking() || !running.cancel(interrupt) {
            end(executor.as_ref());
            processes.end();
            interrupt.end_now();
        }
    })
}

/// Ends what runs in the sandbox.
fn end(executor: Option<&Arc<Executor>>) {
    if let Some(executor) = executor {
        executor.end();
        pollster::block_on(executor.settled());
    }
}

/// A conversation of a person with an agent.
struct Conversation {
    agent: Agent,
    service: Service,
    screen: Screen,
    running: CurrentTask,
}

impl Conversation {
    /// Returns whether the last message is one that the model has not answered.
    fn is_owed_an_answer(&self) -> bool {
        self.agent.messages().last().is_some_and(|last| last.role == repertoire_agent::Role::User)
    }

    /// Reads messages and answers each.
    fn converse(&mut self, ui: &mut Ui) -> Result<Exit, CliError> {
        let mut exit = Exit::Success;
        loop {
            if ui.is_interactive() {
                write!(ui.err(), "> ")?;
                ui.err().flush()?;
            }
            let mut line = String::new();
            if io::stdin()
                .lock()
                .read_line(&mut line)
                .map_err(|error| CliError::failure("cannot read standard input").because(error))?
                == 0
            {
                return Ok(exit);
            }
            if line.trim().is_empty() {
                continue;
            }
            exit = match self.task(ui, Some(line.trim())) {
                Ok(exit) => exit,
                // A person can try again.
                Err(error) if ui.is_interactive() => error::report(&error, ui),
                Err(error) => return Err(error),
            };
        }
    }

    /// Works on one task, or goes on with the last one.
    fn task(&mut self, ui: &mut Ui, task: Option<&str>) -> Result<Exit, CliError> {
        let cancellation = Cancellation::new();
        self.agent.set_cancellation(cancellation.clone());
        *self.running.state() = (Some(cancellation), None);
        let screen = &self.screen;
        let observer = |progress: repertoire_agent::Progress<'_>| screen.show(progress);
        let outcome = pollster::block_on(async {
            match task {
                Some(task) => self.agent.run(task, &observer).await,
                None => self.agent.go_on(&observer).await,
            }
        });
        let interrupt = std::mem::take(&mut *self.running.state()).1;
        self.screen.end_line();
        let id = self.id();
        match outcome {
            Ok(outcome) => self.tell(ui, &outcome, &id),
            Err(AgentError::Cancelled) => {
                ui.message(Style::Warning, "cancelled", &format!("go on with `rep agent --resume {id}`"))?;
                Ok(interrupt.map_or(Exit::No, Interrupt::exit))
            }
            Err(error) => Err(failure(error, &self.service, Some(&id))),
        }
    }

    fn id(&self) -> String {
        let stem = self.agent.transcript().and_then(Path::file_stem);
        stem.map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Tells how a task ended and which tokens it used.
    fn tell(&mut self, ui: &mut Ui, outcome: &TurnOutcome, id: &str) -> Result<Exit, CliError> {
        let usage = outcome.usage;
        let loaded: Vec<String> =
            self.agent.session().context().loaded().iter().map(ToString::to_string).collect();
        if ui.is_json() {
            ui.write_json(&json!({
                "id": id,
                "text": outcome.text,
                "ending": ending(outcome.ending),
                "model": self.service.model,
                "loaded": loaded,
                "usage": usage,
                "transcript": self.agent.transcript(),
            }))?;
            ui.flush()?;
        } else {
            self.screen.usage(&usage, id);
        }
        let limit = match outcome.ending {
            TurnEnding::Done => return Ok(Exit::Success),
            TurnEnding::Length => {
                "the last answer was cut at the most tokens that one may have (--max-output-tokens)"
            }
            TurnEnding::Refusal => "the model refused to go on",
            TurnEnding::RequestLimit => "the task took as many requests as it may (--max-turns)",
            TurnEnding::TokenLimit => "the task took as many tokens as it may (--max-tokens)",
            _ => "the task did not end",
        };
        Err(CliError::no(limit).hint(format!("go on with `rep agent --resume {id}`")))
    }
}

/// Returns the word for the end of a task.
fn ending(ending: TurnEnding) -> &'static str {
    match ending {
        TurnEnding::Done => "done",
        TurnEnding::Length => "length",
        TurnEnding::Refusal => "refusal",
        TurnEnding::RequestLimit => "max_turns",
        TurnEnding::TokenLimit => "max_tokens",
        _ => "other",
    }
}

/// Returns the error of a conversation, with what can be done about it.
fn failure(error: AgentError, service: &Service, id: Option<&str>) -> CliError {
    let kind = match &error {
        AgentError::Client(error) => Some(error.kind()),
        _ => None,
    };
    let told = match error {
        AgentError::Session(error) => return error.into(),
        error => CliError::failure(error.to_string()),
    };
    let told = match kind {
        Some(ClientErrorKind::Unauthorized) => told.hint(service.key_hint()),
        Some(ClientErrorKind::NotFound) => told.hint("check --model and --base-url"),
        Some(ClientErrorKind::Connection) => told.hint("check --base-url, and whether the server runs"),
        _ => told,
    };
    match id {
        Some(id) => told.hint(format!("the conversation is kept; go on with `rep agent --resume {id}`")),
        None => told,
    }
}
