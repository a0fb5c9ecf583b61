//! `rep run`.

use std::io::{self, Read as _};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use clap::Args;
use repertoire::config::SandboxChoice;
use repertoire::event::{Event, Sinks};
use repertoire::tool::OfferedTools;
use repertoire::{EventKind, EventSink, Lookup, Outcome, Reply, Runner as _, Session};
use repertoire_exec::approval::Approver;
use repertoire_exec::{Executor, ScriptGrants};
use repertoire_model::answer::{Answer, FaultKind, Render, RunRefusal};
use repertoire_model::toolbox::{PYTHON_FILE, TOOLBOX_FILE, Toolbox};
use repertoire_model::{Digest, LineRange, SkillPath};
use serde_json::{Value, json};

use crate::answered_call::exit_of;
use crate::complete::skill_names;
use crate::error::CliError;
use crate::exit::Exit;
use crate::interrupt::{Interrupt, on_interrupt};
use crate::terminal_approver::{self, TerminalApprover};
use crate::ui::{Style, Ui, escape};
use crate::wire::{ExecRequest, Workspace};
use repertoire_app::approvals::TRUST_HINT;

/// The most that is read from standard input for a script, in bytes.
const MAX_INPUT_BYTES: u64 = 64 * 1024 * 1024;

/// The time within which signals belong to one Ctrl-C: the terminal sends it, and programs pass it on.
const ONE_KEY: Duration = Duration::from_secs(1);

/// The hint about the form of `--args`.
const OBJECT: &str = "give an object, as in `rep run git git_log --args '{\"count\": 3}'`";

/// Runs a tool or a script of a skill, in the sandbox that agents have
///
/// For example: `rep run git git_status`, or `rep run docs --script scripts/check-links.sh -- README.md`. The
/// skill must be approved, see `rep approve`. The output of the tool is printed; on failure it goes to
/// standard error, and the exit code is 1.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The skill
    #[arg(value_name = "SKILL", add = skill_names())]
    skill: String,
    /// The tool
    #[arg(value_name = "TOOL", required_unless_present = "script", conflicts_with = "script")]
    tool: Option<String>,
    /// The arguments of the tool as a JSON object
    #[arg(long, value_name = "JSON", conflicts_with = "script")]
    args: Option<String>,
    /// Run this file of the skill
    #[arg(long, value_name = "PATH")]
    script: Option<String>,
    /// Pass standard input to the script
    #[arg(long, requires = "script")]
    stdin: bool,
    /// Let the script read the working directory
    #[arg(long, requires = "script")]
    read: bool,
    /// Let the script write this path of the working directory
    #[arg(long, value_name = "PATH", requires = "script")]
    write: Vec<String>,
    /// Let the script use the network
    #[arg(long, requires = "script")]
    network: bool,
    /// The sandbox to run in; `none` runs the tool without any protection
    #[arg(long, value_name = "SANDBOX", value_parser = SandboxChoice::ALL.map(SandboxChoice::as_str))]
    sandbox: Option<String>,
    /// The arguments of the script
    #[arg(last = true, value_name = "ARGS", requires = "script")]
    script_args: Vec<String>,
}

/// Passes on other events than loads: no model reads the instructions of a skill whose tool a person runs.
struct WithoutLoads(Sinks);

impl EventSink for WithoutLoads {
    fn record(&self, event: &Event) {
        if event.kind != EventKind::SkillLoaded || event.outcome != Outcome::Ok {
            self.0.emit(event);
        }
    }
}

pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &RunArgs) -> Result<Exit, CliError> {
    let arguments = arguments(args)?;
    let sandbox = args.sandbox.as_deref().and_then(SandboxChoice::parse);
    let approver = ui.is_interactive().then(|| Arc::new(TerminalApprover::of_calls()) as Arc<dyn Approver>);
    let mut scripts = ScriptGrants::default();
    scripts.directory = args.read;
    scripts.write.clone_from(&args.write);
    scripts.network = args.network;
    let executor = workspace.executor(ExecRequest { sandbox, scripts, approver })?;
    let mut options = workspace.session_options(Some(Render::Markdown.as_str()));
    // A person calls here; what models are offered does not matter, and no other tool is to be named.
    let run = ["call_skill_tool", "run_skill_script"].map(str::to_owned);
    options.tools.offered = OfferedTools::Only(run.into());
    let sinks = Sinks::new().with(Arc::new(WithoutLoads(workspace.sinks())));
    let library = workspace.library_builder(options, &[], Some(executor.clone()))?.sinks(sinks);
    let session = pollster::block_on(workspace.open_library(library)?.session())?;
    let loaded = pollster::block_on(session.call("load_skill", &json!({"name": args.skill})));
    if loaded.is_error() {
        // The error of an unknown name suggests others.
        workspace.open()?.find(&args.skill)?;
        return write(ui, workspace, args, &session, &loaded);
    }
    let interrupted = end_when_interrupted(executor)?;
    let tool = if args.script.is_some() { "run_skill_script" } else { "call_skill_tool" };
    let reply = pollster::block_on(session.call(tool, &arguments));
    let written = write(ui, workspace, args, &session, &reply).map_err(|error| match reply.answer() {
        Answer::Fault(fault) if matches!(fault.kind, FaultKind::NoFile { .. }) => {
            error.hint(format!("run `rep show {} --files` to see its files", args.skill))
        }
        _ => error,
    });
    match interrupted.get() {
        // A terminal that is gone reads nothing any more; the end is the same.
        Some(interrupt) => Ok(interrupt.exit()),
        None => written,
    }
}

/// Ends the command on an interrupt, which the returned cell holds then. A later Ctrl-C ends the program.
fn end_when_interrupted(executor: Arc<Executor>) -> Result<Arc<OnceLock<Interrupt>>, CliError> {
    let interrupted = Arc::new(OnceLock::new());
    let noted = Arc::clone(&interrupted);
    let mut since = None;
    on_interrupt(move |interrupt| {
        let first = *since.get_or_insert_with(Instant::now);
        if terminal_approver::is_asking() || interrupt.is_typed() && first.elapsed() > ONE_KEY {
            interrupt.end_now();
        }
        let _ = noted.set(interrupt);
        executor.end();
    })?;
    Ok(interrupted)
}

fn arguments(args: &RunArgs) -> Result<Value, CliError> {
    if let Some(path) = &args.script {
        let mut arguments = json!({"skill": args.skill, "path": path, "args": args.script_args});
        if args.stdin {
            let mut text = String::new();
            let read = io::stdin().lock().take(MAX_INPUT_BYTES).read_to_string(&mut text);
            read.map_err(|error| CliError::usage("cannot read standard input as text").because(error))?;
            arguments["stdin"] = text.into();
        }
        return Ok(arguments);
    }
    let text = args.args.as_deref().unwrap_or("{}");
    let given: Value = serde_json::from_str(text)
        .map_err(|error| CliError::usage("`--args` is not JSON").because(error).hint(OBJECT))?;
    if !given.is_object() {
        return Err(CliError::usage("`--args` is not a JSON object").hint(OBJECT));
    }
    Ok(json!({"skill": args.skill, "tool": args.tool, "arguments": given}))
}

/// Returns the errors in the tools that the skill declares, if there are any.
fn broken(workspace: &Workspace, args: &RunArgs) -> Option<String> {
    let library = workspace.open().ok()?;
    let entry = library.find(&args.skill).ok()?;
    let path = SkillPath::new(TOOLBOX_FILE).ok()?;
    let content = pollster::block_on(library.registry.read(entry, &path, LineRange::default())).ok()?;
    let (_, problems) = Toolbox::read(&content.bytes);
    problems.into_iter().next().map(|problem| problem.message)
}

/// Returns the hint about the functions of a `tools.py` without a `schema.json`, if the skill has one.
fn python_hint(workspace: &Workspace, args: &RunArgs) -> Option<String> {
    let (library, skill) = (workspace.open().ok()?, &args.skill);
    let entry = library.find(skill).ok()?;
    let listing = pollster::block_on(library.registry.files(entry)).ok()?;
    let has = |name: &str| listing.files.iter().any(|file| file.path.as_str() == name);
    if !has(PYTHON_FILE) || has(TOOLBOX_FILE) {
        return None;
    }
    let path = SkillPath::new(PYTHON_FILE).ok()?;
    let content = pollster::block_on(library.registry.read(entry, &path, LineRange::default())).ok()?;
    let approval = workspace.approvals().ok()?.find(entry).ok()?;
    let digest = Digest::of(&content.bytes);
    let is_approved = approval.is_some_and(|approval| approval.files.get(PYTHON_FILE) == Some(&digest));
    Some(if is_approved {
        format!("run `rep check {skill}`, which says which functions of its {PYTHON_FILE} are tools")
    } else {
        format!("run `rep approve {skill}`, which makes the functions of its {PYTHON_FILE} tools")
    })
}

/// Returns the error for a person that a fault of `kind` is; `text` is the sentence for models.
fn person_error(workspace: &Workspace, args: &RunArgs, kind: &FaultKind, text: &str) -> CliError {
    let skill = &args.skill;
    let usual = CliError::no(text.strip_suffix(" Go on without it.").unwrap_or(text));
    match kind {
        FaultKind::NotApproved { tool, why } => match why {
            RunRefusal::Unknown => CliError::no(format!("the skill `{skill}` is not approved"))
                .hint(format!("run `rep approve {skill}`, which shows what it can do and asks")),
            RunRefusal::Changed => CliError::no(format!("the skill `{skill}` changed since it was approved"))
                .hint(format!("run `rep approve {skill}`, which shows the changes and asks")),
            RunRefusal::Source => usual.hint(TRUST_HINT),
            RunRefusal::Asks => {
                let message = format!(
                    "`{tool}` of `{skill}` asks before every call, and there is no terminal to ask on"
                );
                CliError::no(message)
                    .hint(format!("run it in a terminal, or run `rep approve {skill} --tool {tool}` once"))
            }
            RunRefusal::EachCall => {
                let message = format!(
                    "`{tool}` of `{skill}` runs outside of the sandbox, so a person approves every call, and there is no terminal to ask on"
                );
                CliError::no(message).hint("run it in a terminal")
            }
            RunRefusal::Refused => CliError::no(format!("`{tool}` of `{skill}` was not run")),
            _ => usual,
        },
        FaultKind::NoSkillTool { .. } => {
            let hint = broken(workspace, args).map(|problem| format!("{problem}; see `rep check`"));
            match hint.or_else(|| python_hint(workspace, args)) {
                Some(hint) => usual.hint(hint),
                None => usual,
            }
        }
        FaultKind::UnknownSkill { .. } => {
            match workspace.inspect(workspace.settings.policy.clone()).snapshot.find(skill) {
                Lookup::Disabled(entry) => workspace.disabled_error(entry),
                _ => usual,
            }
        }
        _ => usual,
    }
}

fn write(
    ui: &mut Ui,
    workspace: &Workspace,
    args: &RunArgs,
    session: &Session,
    reply: &Reply,
) -> Result<Exit, CliError> {
    let exit = if reply.is_error() { Exit::No } else { Exit::Success };
    let data = ui.is_json().then(|| session.data(reply));
    if let Some(data) = &data {
        ui.write_json(data)?;
    }
    if let Answer::Fault(fault) = reply.answer() {
        // A person reads this: the sentence of the fault, not the fixed ones of a profile.
        let text = session.text_as(reply.answer(), Render::Markdown);
        let text = text.strip_prefix("**Error:** ").unwrap_or(&text);
        return Err(person_error(workspace, args, &fault.kind, text));
    }
    if let Some(data) = &data {
        return exit_of(reply, data);
    }
    let Answer::Tool(result) = reply.answer() else { return Ok(exit) };
    match &result.error {
        None => {
            ui.write_untrusted(result.text.as_bytes())?;
            if !ui.out_is_terminal() && !result.text.is_empty() && !result.text.ends_with('\n') {
                writeln!(ui.out())?;
            }
        }
        Some(error) => {
            let word = ui.paint_err(Style::Error, "error:");
            // Line by line: escaping the whole would escape its line ends too.
            let mut lines = error.lines();
            writeln!(ui.err(), "{word} {}", escape(lines.next().unwrap_or_default()))?;
            for line in lines.chain(result.text.lines()) {
                let line = escape(line).into_owned();
                writeln!(ui.err(), "{line}")?;
            }
        }
    }
    for note in &result.notes {
        let note = escape(note).into_owned();
        writeln!(ui.err(), "note: {note}")?;
    }
    Ok(exit)
}
