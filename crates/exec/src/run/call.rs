//! Calls of a tool or script: checks the approval, copies the skill, and runs the command.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use repertoire::registry::{Entry, Registry};
use repertoire::runner::{ScriptCall, SkillCaller, ToolRun};
use repertoire::tool::quoted;
use repertoire::{Error, ErrorKind, Runner as _};
use repertoire_model::answer::FaultKind;
use repertoire_model::toolbox::{
    DEFAULT_TIMEOUT_SECONDS, Handler, Interpreter, Needs, OutputForm, PYTHON_FILE, TOOLBOX_FILE, Toolbox,
    schema,
};
use repertoire_model::{Bundle, Capabilities, Digest, FileEntry, FileKind, LineRange, SkillPath, SkillTool};
use serde_json::{Map, Value};

use super::command::{SkillCopy, UV};
use super::executor::Executor;
use super::grants::{CreatedPaths, grants};
use super::host_command::{self, HostCall};
use super::jobs::{CancelOnDrop, is_ending};
use super::outcome::{self, ResultFormat};
use super::skill_copy;
use crate::approval::decide::{ApprovalRules, RunRequest};
use crate::{Cancel, ExecError, ExecErrorKind, GitUser, Job, RunEnding, environment};

/// The note on a failed script that may need packages.
const NO_PACKAGES: &str = "It runs without the network, so `uv` fetches neither packages nor interpreters for it. A person can give it the network with `rep run`, or make it a tool that declares `network`.";

pub(super) async fn run_tool(
    executor: &Executor,
    caller: SkillCaller<'_>,
    tool: &SkillTool,
    arguments: &Map<String, Value>,
) -> Result<ToolRun, FaultKind> {
    expect_arguments(tool, arguments)?;
    let no_handler = || FaultKind::NoHandler { tool: tool.name.clone() };
    // The person who approves a command of the host sees the command with everything that it is given.
    let host = match tool.needs.host {
        Some(command) => Some(HostCall::resolve(executor, command, arguments).await?),
        None => None,
    };
    let written =
        host.as_ref().map_or_else(|| Value::Object(arguments.clone()).to_string(), ToString::to_string);
    let prepared = prepare(caller.registry, executor, caller.entry, Some((&tool.name, &written))).await?;
    // The approved declaration counts, not the one from when the skill was loaded.
    let tool = prepared.toolbox.get(&tool.name).ok_or_else(no_handler)?;
    expect_arguments(tool, arguments)?;
    if tool.needs.host != host.as_ref().map(|call| call.command) {
        return Err(failed(Error::new(ErrorKind::SkillChanged)));
    }
    let timeout = Duration::from_secs(tool.timeout).min(executor.options.limits.timeout);
    if let Some(call) = host {
        let mut run = ToolRun::new(call.run(executor, (caller.address, &tool.name), timeout).await?);
        run.digest = Some(prepared.bundle.digest());
        return Ok(run);
    }
    let handler =
        Handler::of(tool, &listed(&prepared.bundle), prepared.python.as_deref()).ok_or_else(no_handler)?;
    let copy = SkillCopy { path: &prepared.path, bundle: &prepared.bundle };
    let command = copy.tool(executor, tool, &handler).ok_or_else(no_handler)?;
    let mut job = Job::new(command, &prepared.path);
    job.input = Some(format!("{written}\n").into_bytes());
    let (grants, made) = grants(executor, &tool.needs)?;
    job.grants = grants;
    let reading = ResultFormat {
        output: tool.output,
        is_driven: matches!(handler, Handler::Python(_)),
        is_terse: caller.is_terse,
        timeout,
    };
    let names = (caller.address, tool.name.as_str());
    finish(executor, (job, made), &tool.needs.env, names, reading, prepared.bundle.digest()).await
}

pub(super) async fn run_script(
    executor: &Executor,
    caller: SkillCaller<'_>,
    call: ScriptCall,
) -> Result<ToolRun, FaultKind> {
    let shown = quoted(&call.path);
    let no_handler = || FaultKind::NoHandler { tool: shown.clone() };
    let path = SkillPath::new(call.path.strip_prefix("./").unwrap_or(&call.path))
        .map_err(|fault| FaultKind::BadPath { path: shown.clone(), reason: fault.to_string() })?;
    // No approval would make a script of another file.
    let listing = caller.registry.files(caller.entry).await.map_err(failed)?;
    let Some(file) = listing.files.iter().find(|file| file.path == path) else {
        return Err(FaultKind::NoFile { path: shown, near: Vec::new() });
    };
    let content = caller.registry.read(caller.entry, &path, LineRange::default()).await.map_err(failed)?;
    Interpreter::of(&path, &content.bytes, file.executable).ok_or_else(no_handler)?;
    let prepared = prepare(caller.registry, executor, caller.entry, None).await?;
    if !prepared.bundle.files().iter().any(|file| file.path == path) {
        return Err(FaultKind::NoFile { path: shown, near: Vec::new() });
    }
    let copy = SkillCopy { path: &prepared.path, bundle: &prepared.bundle };
    let mut command = copy.script(executor, &path).ok_or_else(no_handler)?;
    command.extend(call.args.into_iter().map(Into::into));
    let mut job = Job::new(command, &prepared.path);
    job.input = call.stdin.map(String::into_bytes);
    let given = &executor.options.scripts;
    let needs = Needs {
        network: given.network,
        directory: given.directory || !given.write.is_empty(),
        write: given.write.clone(),
        ..Needs::default()
    };
    let (grants, made) = grants(executor, &needs)?;
    job.grants = grants;
    let timeout = Duration::from_secs(DEFAULT_TIMEOUT_SECONDS).min(executor.options.limits.timeout);
    let reading = ResultFormat { output: OutputForm::Text, is_driven: false, is_terse: false, timeout };
    let names = (caller.address, path.as_str());
    finish(executor, (job, made), &[], names, reading, prepared.bundle.digest()).await
}

fn expect_arguments(tool: &SkillTool, arguments: &Map<String, Value>) -> Result<(), FaultKind> {
    let violations = schema::check(&tool.parameters, &Value::Object(arguments.clone()));
    if violations.is_empty() {
        return Ok(());
    }
    let problems = violations.iter().map(ToString::to_string).collect();
    Err(FaultKind::BadArguments { tool: tool.name.clone(), problems })
}

/// A copy of a skill that may run.
struct PreparedSkill {
    path: PathBuf,
    bundle: Bundle,
    toolbox: Toolbox,
    python: Option<String>,
}

/// Checks that the skill may run the tool `call`, or its scripts if that is `None`, and copies the skill.
async fn prepare(
    registry: &Registry,
    executor: &Executor,
    entry: &Entry,
    call: Option<(&str, &str)>,
) -> Result<PreparedSkill, FaultKind> {
    let bundle = registry.bundle(entry).await.map_err(failed)?;
    let toolbox = match text(registry, entry, &bundle, TOOLBOX_FILE).await.map_err(failed)? {
        Some(text) => Toolbox::read(&text).0,
        None => {
            let python = bundle.files().iter().find(|file| file.path.as_str() == PYTHON_FILE);
            let schema = python.and_then(|file| executor.python_tools(entry, &file.digest));
            schema.map(|schema| Toolbox::read(schema.as_bytes()).0).unwrap_or_default()
        }
    };
    let tool = call.and_then(|(name, arguments)| Some((toolbox.get(name)?, arguments)));
    let rules = ApprovalRules {
        trust: executor.options.trust.of(&entry.source),
        approvals: &executor.approvals,
        approver: executor.options.approver.as_deref(),
    };
    let capabilities = Capabilities::of(&toolbox);
    let wanted = RunRequest { entry, bundle: &bundle, capabilities: &capabilities, tool };
    if let Some(why) = rules.objection(&wanted).await.map_err(failed)? {
        let tool = call.map_or("a script", |(name, _)| name).to_owned();
        return Err(FaultKind::NotApproved { tool, why });
    }
    let python = text(registry, entry, &bundle, PYTHON_FILE).await.map_err(failed)?;
    let python = python.and_then(|bytes| String::from_utf8(bytes).ok());
    let path = skill_copy::copy(executor, registry, entry, &bundle).await.map_err(failed)?;
    Ok(PreparedSkill { path, bundle, toolbox, python })
}

/// Returns the content of the file `name`; `None` if `bundle` does not have it. Fails if it changed since.
async fn text(
    registry: &Registry,
    entry: &Entry,
    bundle: &Bundle,
    name: &str,
) -> Result<Option<Vec<u8>>, Error> {
    let Some(file) = bundle.files().iter().find(|file| file.path.as_str() == name) else { return Ok(None) };
    let content = registry.read(entry, &file.path, LineRange::default()).await?;
    if Digest::of(&content.bytes) != file.digest {
        return Err(Error::new(ErrorKind::SkillChanged).about(entry.name().as_str()));
    }
    Ok(Some(content.bytes))
}

fn listed(bundle: &Bundle) -> Vec<FileEntry> {
    let files = bundle.files().iter();
    files
        .map(|file| FileEntry {
            path: file.path.clone(),
            size: Some(file.size),
            kind: FileKind::of(&file.path, "SKILL.md"),
            executable: file.executable,
        })
        .collect()
}

async fn finish(
    executor: &Executor,
    (mut job, made): (Job, CreatedPaths),
    variables: &[String],
    (address, tool): (&str, &str),
    reading: ResultFormat,
    digest: Digest,
) -> Result<ToolRun, FaultKind> {
    job.environment = environment::allowed(executor.options.variables.iter().cloned(), variables);
    job.protected = executor.options.protected.clone();
    job.protected.push(executor.options.state.clone());
    job.state = Some(executor.options.state.clone());
    job.git = GitUser::of(&executor.options.variables);
    job.workplaces = executor.workplaces();
    job.limits = executor.options.limits.clone();
    job.limits.timeout = reading.timeout;
    job.limits.cpu = job.limits.cpu.max(reading.timeout);
    // Otherwise `uv` would try for long to reach the network.
    let is_offline = !job.grants.network && job.command.first().is_some_and(|program| program == UV);
    if is_offline {
        job.environment.push(("UV_OFFLINE".to_owned(), "1".to_owned()));
    }
    let cancel = Cancel::new();
    job.cancel = Some(cancel.clone());
    let running = executor.jobs.begin(&cancel).ok_or_else(is_ending)?;
    let _cancel = CancelOnDrop(cancel);
    let writes = !job.grants.write.is_empty() || job.grants.repository.is_some();
    let top = executor.options.repository.as_deref().filter(|_| writes);
    let lock = top.map(|top| host_command::lock_shared(&executor.options.state, top)).transpose();
    let lock = lock.map_err(|reason| FaultKind::Failed { reason })?;
    let program =
        job.command.first().map(|program| program.to_string_lossy().into_owned()).unwrap_or_default();
    let sandbox = Arc::clone(&executor.sandbox);
    let name = sandbox.name();
    let directory = job.grants.directory.clone();
    let outcome = blocking::unblock(move || {
        let outcome = sandbox.run(&job);
        // Kept until the job ends, even if nobody waits for it any more.
        drop(made);
        drop(lock);
        drop(running);
        outcome
    })
    .await;
    let outcome = outcome
        .map_err(|error| FaultKind::Failed { reason: reason(&error, &program, directory.as_deref()) })?;
    let exit_code = match outcome.ending {
        RunEnding::Exited(code) => Some(code),
        _ => None,
    };
    let mut result = outcome::result(address, tool, &outcome, directory.as_deref(), reading);
    if is_offline && result.error.is_some() {
        result.notes.push(NO_PACKAGES.to_owned());
    }
    let mut run = ToolRun::new(result);
    run.sandbox = Some(name);
    run.exit_code = exit_code;
    run.digest = Some(digest);
    Ok(run)
}

/// Returns the reason of an error for a model, without paths of the machine.
fn reason(error: &ExecError, program: &str, directory: Option<&Path>) -> String {
    let program = program.rsplit('/').next().unwrap_or(program);
    match error.kind() {
        ExecErrorKind::CommandNotFound => format!("`{}` is not installed here", quoted(program)),
        ExecErrorKind::CommandFailed => format!("`{}` cannot be started", quoted(program)),
        ExecErrorKind::Repository => format!("the git repository cannot be used: {}", error.detail()),
        ExecErrorKind::TooLong => {
            format!("its arguments and variables are too long: {}; pass less, or a file", error.detail())
        }
        ExecErrorKind::GrantRefused => refusal(error, directory),
        ExecErrorKind::Unavailable => "there is no sandbox that works here".to_owned(),
        _ => "it could not be run".to_owned(),
    }
}

/// Returns why a grant was refused, with its path relative to `directory`.
fn refusal(error: &ExecError, directory: Option<&Path>) -> String {
    let place = error.path().zip(directory).map(|(path, directory)| outcome::relative(path, directory));
    match (place, error.detail()) {
        (Some(place), detail) => {
            format!("it may not write `{}`: {detail}", quoted(&place))
        }
        // A detail from the launcher may contain a path of the machine.
        (None, detail) if detail.contains('/') => {
            "a path that it asks for was replaced meanwhile; try again".to_owned()
        }
        (None, detail) => format!("a grant was refused: {detail}"),
    }
}

fn failed(error: Error) -> FaultKind {
    let reason = match error.kind() {
        ErrorKind::SkillNotFound => return FaultKind::Gone,
        ErrorKind::SkillChanged => "the skill changed meanwhile; try again".to_owned(),
        ErrorKind::Record => {
            "the file of approvals cannot be read; a person has to repair or remove it".to_owned()
        }
        _ => "the skill cannot be read".to_owned(),
    };
    FaultKind::Failed { reason }
}
