//! Commands of git that run outside of the sandbox, each after a person approved the call.

use std::fmt;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use repertoire_model::answer::{FaultKind, ToolResult};
use repertoire_model::toolbox::HostCommand;

use super::executor::Executor;
use super::jobs::{CancelOnDrop, is_ending};
use crate::Cancel;
use crate::git::{Repository, UserGit};

/// The file in the state directory that sandboxed commands with a checkout lock shared, and commands of the host exclusively.
const LOCK_FILE: &str = "checkout.lock";
/// The longest that git may take to name the branch and its remote.
const LOOKUP_TIME: Duration = Duration::from_secs(10);
const BUSY: &str = "another call works in a checkout at the moment; try again when it has ended";

/// A command of the host with all of its arguments, for the checkout around the working directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostCall {
    pub(super) command: HostCommand,
    program: PathBuf,
    repository: Repository,
    search_path: String,
    arguments: Vec<String>,
}

impl HostCall {
    /// Returns the call of `command`. For a push, git is asked for the current branch and its remote.
    pub(super) async fn resolve(executor: &Executor, command: HostCommand) -> Result<Self, FaultKind> {
        let failed = |reason: &str| FaultKind::Failed { reason: reason.to_owned() };
        let program = executor.program("git").ok_or_else(|| failed("`git` is not installed here"))?;
        let search_path = executor.search_path().unwrap_or_default();
        let top = executor.options.repository.as_deref();
        let top = top.ok_or_else(|| failed("the working directory lies in no git repository"))?;
        let repository = Repository::at(top)
            .map_err(|error| failed(&format!("the git repository cannot be used: {}", error.detail())))?;
        let mut call = Self { command, program, repository, search_path, arguments: Vec::new() };
        let variables = executor.options.variables.clone();
        blocking::unblock(move || {
            call.arguments = arguments(&call.git(&variables), command)?;
            Ok(call)
        })
        .await
        .map_err(|reason: String| FaultKind::Failed { reason })
    }

    fn git<'a>(&'a self, variables: &'a [(String, String)]) -> UserGit<'a> {
        UserGit {
            program: &self.program,
            top: &self.repository.top,
            variables,
            search_path: &self.search_path,
        }
    }

    /// Runs the call for the tool `tool` of `skill`.
    pub(super) async fn run(
        self,
        executor: &Executor,
        (skill, tool): (&str, &str),
        timeout: Duration,
    ) -> Result<ToolResult, FaultKind> {
        let failed = |reason: String| FaultKind::Failed { reason };
        let cancel = Cancel::new();
        let running = executor.jobs.begin(&cancel).ok_or_else(is_ending)?;
        let _cancel = CancelOnDrop(cancel.clone());
        let state = executor.options.state.clone();
        let variables = executor.options.variables.clone();
        let shown = self.to_string();
        let outcome = blocking::unblock(move || {
            let _running = running;
            let _lock = lock(&state, File::try_lock)?;
            self.run_git(&variables, Instant::now() + timeout, &cancel).map_err(|error| error.to_string())
        });
        let (is_success, text) = outcome.await.map_err(failed)?;
        let mut result = ToolResult::new(skill, tool, text);
        result.error = (!is_success).then(|| format!("`{shown}` failed"));
        Ok(result)
    }

    /// Returns whether git succeeded, and its output.
    fn run_git(
        &self,
        variables: &[(String, String)],
        deadline: Instant,
        cancel: &Cancel,
    ) -> io::Result<(bool, String)> {
        let git = self.git(variables);
        if self.is_rebasing() {
            return Err(io::Error::other(
                "a rebase is in progress; conclude or abort it on the command line",
            ));
        }
        let outcome = git.run(&self.arguments, deadline, cancel);
        if self.command != HostCommand::GitRebase || !self.is_rebasing() {
            return outcome;
        }
        // Tools cannot conclude a rebase with conflicts. It is undone even if the time is up or the call was cancelled.
        let abort = ["rebase", "--abort"].map(str::to_owned);
        let (is_aborted, more) = git.run(&abort, Instant::now() + LOOKUP_TIME, &Cancel::new())?;
        let (_, mut text) = outcome?;
        text.push_str(&more);
        text.push_str(if is_aborted {
            "The rebase was aborted."
        } else {
            "The rebase could not be aborted."
        });
        Ok((false, text))
    }

    fn is_rebasing(&self) -> bool {
        ["rebase-merge", "rebase-apply"].iter().any(|name| self.repository.own.join(name).is_dir())
    }
}

/// The command as a person would type it.
impl fmt::Display for HostCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "git {}", self.arguments.join(" "))
    }
}

/// Returns the arguments of git for `command`.
fn arguments(git: &UserGit<'_>, command: HostCommand) -> Result<Vec<String>, String> {
    let fixed: &[&str] = match command {
        HostCommand::GitPush => return push_arguments(git),
        HostCommand::GitRebase => &["rebase", "--no-autostash", "--no-update-refs", "@{upstream}"],
        HostCommand::GitStash => &["stash", "push", "--include-untracked"],
        HostCommand::GitStashPop => &["stash", "pop"],
    };
    Ok(fixed.iter().map(|&word| word.to_owned()).collect())
}

/// Returns the arguments that push the current branch, and nothing else, to the branch of the same name.
fn push_arguments(git: &UserGit<'_>) -> Result<Vec<String>, String> {
    let ask = |arguments: &[&str]| {
        let arguments: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
        let answer = git.run(&arguments, Instant::now() + LOOKUP_TIME, &Cancel::new());
        answer.map_err(|error| error.to_string()).map(|(is_success, text)| {
            let value = text.trim().to_owned();
            (is_success && !value.is_empty()).then_some(value)
        })
    };
    let branch = ask(&["symbolic-ref", "--quiet", "HEAD"])?;
    let branch = branch.ok_or("no branch is checked out, so there is nothing to push")?;
    let name =
        branch.strip_prefix("refs/heads/").ok_or("no branch is checked out, so there is nothing to push")?;
    let keys = [
        format!("branch.{name}.pushRemote"),
        "remote.pushDefault".to_owned(),
        format!("branch.{name}.remote"),
    ];
    let mut remote = "origin".to_owned();
    for key in &keys {
        if let Some(value) = ask(&["config", "--get", key])? {
            remote = value;
            break;
        }
    }
    if remote.starts_with('-') || remote.chars().any(char::is_whitespace) {
        return Err("the remote of the branch has a name that cannot be used".to_owned());
    }
    let words = ["push", "--no-follow-tags", "--recurse-submodules=no", "--set-upstream", &remote];
    let words = words.into_iter().map(str::to_owned);
    Ok(words.chain([format!("{branch}:{branch}")]).collect())
}

/// Locks the file of checkouts in the directory `state` by `how`, or returns the reason why that cannot be done now.
fn lock(state: &Path, how: fn(&File) -> Result<(), TryLockError>) -> Result<File, String> {
    let failed = |error: io::Error| format!("the state directory cannot be used: {}", error.kind());
    let file = File::options().create(true).append(true).open(state.join(LOCK_FILE)).map_err(failed)?;
    how(&file).map_err(|error| match error {
        TryLockError::WouldBlock => BUSY.to_owned(),
        TryLockError::Error(error) => failed(error),
    })?;
    Ok(file)
}

/// Keeps commands of the host away from checkouts until it is dropped; for a sandboxed command that may write in one.
pub(super) fn lock_shared(state: &Path) -> Result<File, String> {
    lock(state, File::try_lock_shared)
}
