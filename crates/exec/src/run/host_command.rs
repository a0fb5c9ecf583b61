//! Commands of git that run outside of the sandbox, each after a person approved the call.

use std::fmt;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use repertoire_model::Digest;
use repertoire_model::answer::{FaultKind, ToolResult};
use repertoire_model::toolbox::HostCommand;
use serde_json::{Map, Value};

use super::commit::Commit;
use super::executor::Executor;
use super::jobs::{CancelOnDrop, is_ending};
use crate::git::settings_paths::{self, ProtectedFiles};
use crate::git::{GitOutcome, Repository, UserGit};
use crate::{Cancel, GitUser};

/// The longest that aborting a rebase may take.
const ABORT_TIME: Duration = Duration::from_secs(30);
/// Files of an unfinished merge, rebase, cherry-pick or revert. No command runs while one exists.
const UNFINISHED: &[&str] =
    &["CHERRY_PICK_HEAD", "MERGE_HEAD", "REVERT_HEAD", "rebase-apply", "rebase-merge"];
/// Letters of a commit that are shown.
const SHORT: usize = 12;

const BUSY: &str = "another call works in the checkout at the moment; try again when it has ended";
const CHANGED: &str = "the repository changed since the call was approved; call again";
const NO_BRANCH: &str = "no branch is checked out";
const NO_REMOTE: &str =
    "the branch has no remote that is configured by name; the user has to push it the first time";
const LOCAL_UPSTREAM: &str =
    "the upstream of the branch is not a branch of a remote; the user has to rebase it";

/// A command of the host with all of its arguments and the state of the repository that it starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostCall {
    pub(super) command: HostCommand,
    program: PathBuf,
    repository: Repository,
    search_path: String,
    user: GitUser,
    arguments: Vec<String>,
    /// The branch that is checked out.
    branch: String,
    /// The commit of the branch; empty if it does not have one yet.
    head: String,
    /// The stash to apply, or the upstream to rebase onto.
    other: Option<String>,
    commit: Option<Commit>,
}

impl HostCall {
    /// Returns the call of `command` with `arguments` for the checkout around the working directory.
    pub(super) async fn resolve(
        executor: &Executor,
        command: HostCommand,
        arguments: &Map<String, Value>,
    ) -> Result<Self, FaultKind> {
        let failed = |reason: &str| FaultKind::Failed { reason: reason.to_owned() };
        let program = executor.program("git").ok_or_else(|| failed("`git` is not installed here"))?;
        let search_path = executor.search_path().unwrap_or_default();
        let top = executor.options.repository.as_deref();
        let top = top.ok_or_else(|| failed("the working directory lies in no git repository"))?;
        let repository = Repository::at(top)
            .map_err(|error| failed(&format!("the git repository cannot be used: {}", error.detail())))?;
        let variables = executor.options.variables.clone();
        let user = GitUser::of(&variables);
        let commit = if command == HostCommand::GitCommit {
            let directory = executor.options.directory.as_deref().and_then(|own| own.canonicalize().ok());
            let below = directory.as_deref().and_then(|own| own.strip_prefix(&repository.top).ok());
            Some(Commit::of(arguments, below.unwrap_or(Path::new(""))).map_err(|reason| failed(&reason))?)
        } else {
            None
        };
        let (arguments, branch, head, other) = Default::default();
        let call =
            Self { command, program, repository, search_path, user, arguments, branch, head, other, commit };
        blocking::unblock(move || call.resolved(&variables))
            .await
            .map_err(|reason| FaultKind::Failed { reason })
    }

    /// Returns this call with its arguments and the current state of the repository, unless it must not run.
    fn resolved(&self, variables: &[(String, String)]) -> Result<Self, String> {
        let git = self.git(variables);
        let ask = |arguments: &[&str]| git.ask(arguments).map_err(|error| error.to_string());
        let is_there = |name: &&&str| self.repository.own.join(name).symlink_metadata().is_ok();
        if let Some(name) = UNFINISHED.iter().find(is_there) {
            return Err(format!(
                "a merge, rebase, cherry-pick or revert is unfinished ({name}); the user has to conclude or abort it"
            ));
        }
        let branch = ask(&["symbolic-ref", "--quiet", "HEAD"])?.ok_or(NO_BRANCH)?;
        let name = branch.strip_prefix("refs/heads/").ok_or(NO_BRANCH)?;
        let head = ask(&["rev-parse", "--quiet", "--verify", "HEAD"])?;
        if let Some(commit) = &self.commit {
            let commit = commit.resolved(ask, &self.repository.top)?;
            let arguments = commit.arguments();
            let (head, commit) = (head.unwrap_or_default(), Some(commit));
            return Ok(Self { arguments, branch, head, commit, ..self.clone() });
        }
        let head = head.ok_or("the branch has no commit")?;
        let has_upstream = ask(&["config", "--get", &format!("branch.{name}.merge")])?.is_some();
        let (mut other, mut written) = (None, None);
        let arguments: Vec<&str> = match self.command {
            HostCommand::GitCommit => Vec::new(),
            HostCommand::GitPush => {
                other = Some(push_remote(ask, name)?);
                let mut arguments = vec!["push", "--no-follow-tags", "--recurse-submodules=no"];
                arguments.extend((!has_upstream).then_some("--set-upstream"));
                arguments.extend(other.as_deref());
                arguments
            }
            HostCommand::GitRebase => {
                let upstream = ask(&["rev-parse", "--symbolic-full-name", "@{upstream}"]);
                let upstream = upstream.ok().flatten().ok_or("the branch has no upstream")?;
                if !upstream.starts_with("refs/remotes/") {
                    return Err(LOCAL_UPSTREAM.to_owned());
                }
                other = ask(&["rev-parse", "--verify", &upstream])?;
                written =
                    ask(&["log", "-z", "--name-only", "--no-renames", "--format=", "@{upstream}..HEAD"])?;
                vec![
                    "-c",
                    NO_HOOKS,
                    "-c",
                    "rebase.backend=merge",
                    "rebase",
                    "--no-autostash",
                    "--no-update-refs",
                    "@{upstream}",
                ]
            }
            HostCommand::GitStash => {
                written = ask(&["diff", "-z", "--name-only", "--no-renames", "HEAD"])?;
                vec!["-c", NO_HOOKS, "stash", "push", "--include-untracked"]
            }
            HostCommand::GitStashPop => {
                other = Some(
                    ask(&["rev-parse", "--quiet", "--verify", "refs/stash"])?.ok_or("there is no stash")?,
                );
                written =
                    ask(&["stash", "show", "-z", "--name-only", "--no-renames", "--include-untracked"])?;
                vec!["-c", NO_HOOKS, "stash", "pop", "--index"]
            }
        };
        let mut arguments: Vec<String> = arguments.into_iter().map(str::to_owned).collect();
        if self.command == HostCommand::GitPush {
            arguments.push(format!("{branch}:{branch}"));
        }
        if let Some(path) = self.protected(written.unwrap_or_default().split('\0')) {
            return Err(format!(
                "it would write `{path}`, which agents, shells or git obey; the user has to do it in a shell"
            ));
        }
        Ok(Self { arguments, branch, head, other, ..self.clone() })
    }

    /// Returns the first of `paths` that agents, shells or git obey.
    ///
    /// A command in the sandbox cannot create such files, but it can commit them without a checkout.
    fn protected<'a>(&self, mut paths: impl Iterator<Item = &'a str>) -> Option<&'a str> {
        let files = ProtectedFiles::of(&self.repository.top, &self.user);
        paths.find(|path| files.contains(Path::new(path)))
    }

    fn git<'a>(&'a self, variables: &'a [(String, String)]) -> UserGit<'a> {
        UserGit {
            program: &self.program,
            top: &self.repository.top,
            variables,
            search_path: &self.search_path,
        }
    }

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
        let (state, variables) = (executor.options.state.clone(), executor.options.variables.clone());
        let deadline = Instant::now() + timeout;
        let shown = self.command.as_str();
        let outcome = blocking::unblock(move || {
            let _running = running;
            let _lock = lock(&state, &self.repository.top, File::try_lock)?;
            if self.resolved(&variables)? != self {
                return Err(CHANGED.to_owned());
            }
            self.run_git(&variables, deadline, &cancel).map_err(|error| error.to_string())
        });
        let outcome = outcome.await.map_err(failed)?;
        let mut result = ToolResult::new(skill, tool, without_secrets(&outcome.output));
        result.error = (outcome.code != Some(0)).then(|| match outcome.stopped {
            Some(reason) => format!("`{shown}` failed: {reason}"),
            None => format!("`{shown}` failed"),
        });
        Ok(result)
    }

    fn run_git(
        &self,
        variables: &[(String, String)],
        deadline: Instant,
        cancel: &Cancel,
    ) -> io::Result<GitOutcome> {
        let git = self.git(variables);
        if let Some(staging) = self.commit.as_ref().and_then(Commit::staging) {
            let outcome = git.run(&staging, None, deadline, cancel)?;
            if outcome.code != Some(0) {
                return Ok(outcome);
            }
        }
        let message = self.commit.as_ref().map(|commit| commit.message.as_str());
        let mut outcome = git.run(&self.arguments, message, deadline, cancel)?;
        // The rebase of this call, and not one that the user started meanwhile.
        let original = settings_paths::pointer(&self.repository.own.join("rebase-merge/orig-head"));
        if self.command == HostCommand::GitRebase && original.as_ref() == Some(&self.head) {
            // Tools cannot conclude a rebase with conflicts. It is undone even on a timeout or cancellation.
            let abort = ["-c", NO_HOOKS, "rebase", "--abort"].map(str::to_owned);
            let aborted = git.run(&abort, None, Instant::now() + ABORT_TIME, &Cancel::new())?;
            outcome.output.push_str(&aborted.output);
            outcome.output.push_str(match aborted.code {
                Some(0) => "The rebase was aborted.",
                _ => "The rebase could not be aborted; the user has to run `git rebase --abort`.",
            });
        }
        Ok(outcome)
    }
}

/// Keeps git from running hooks while it writes the checkout.
const NO_HOOKS: &str = "core.hooksPath=/dev/null";

/// The command as a person would type it, and its place; for a commit, everything that it is given.
impl fmt::Display for HostCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let branch = self.branch.trim_start_matches("refs/heads/");
        let head = self.head.get(..SHORT).unwrap_or(&self.head);
        let top = self.repository.top.display();
        match &self.commit {
            Some(commit) if head.is_empty() => {
                write!(f, "git commit (in {top}, first of {branch})\n{commit}")
            }
            Some(commit) => write!(f, "git commit (in {top}, {branch} at {head})\n{commit}"),
            None => write!(f, "git {} (in {top}, {branch} at {head})", self.arguments.join(" ")),
        }
    }
}

/// Returns the name of the remote that the branch `name` is pushed to.
fn push_remote(
    ask: impl Fn(&[&str]) -> Result<Option<String>, String>,
    name: &str,
) -> Result<String, String> {
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
    // Git would take any other word for a path in the checkout or for an address.
    let is_word = !remote.starts_with('-') && !remote.chars().any(char::is_whitespace);
    let is_known = is_word && ask(&["config", "--get", &format!("remote.{remote}.url")])?.is_some();
    if is_known { Ok(remote) } else { Err(NO_REMOTE.to_owned()) }
}

/// Returns `text` without user names, passwords and queries in addresses.
fn without_secrets(text: &str) -> String {
    let clean = |word: &str| {
        let Some((scheme, rest)) = word.split_once("://") else { return word.to_owned() };
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let host = host.rsplit('@').next().unwrap_or_default();
        let space = if word.ends_with('\n') && !path.ends_with('\n') { "\n" } else { "" };
        format!("{scheme}://{host}{path}{space}")
    };
    text.split_inclusive(char::is_whitespace).map(clean).collect()
}

/// Locks the checkout at `top` by `how`, or returns the reason why that cannot be done now.
fn lock(state: &Path, top: &Path, how: fn(&File) -> Result<(), TryLockError>) -> Result<File, String> {
    let failed = |error: io::Error| format!("the state directory cannot be used: {}", error.kind());
    let digest = Digest::of(top.as_os_str().as_encoded_bytes()).to_string();
    let name =
        format!("checkout-{}.lock", digest.trim_start_matches("sha256:").get(..16).unwrap_or_default());
    let file = File::options().create(true).append(true).open(state.join(name)).map_err(failed)?;
    how(&file).map_err(|error| match error {
        TryLockError::WouldBlock => BUSY.to_owned(),
        TryLockError::Error(error) => failed(error),
    })?;
    Ok(file)
}

/// A checkout that no command of the host touches.
#[derive(Debug)]
pub(super) struct SharedLock {
    _file: File,
}

/// Keeps commands of the host away from the checkout at `top`, for a sandboxed command that may write in it.
pub(super) fn lock_shared(state: &Path, top: &Path) -> Result<SharedLock, String> {
    lock(state, top, File::try_lock_shared).map(|file| SharedLock { _file: file })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lose_their_secrets() {
        let text = "To https://ada:s3cr3t@host.example/x.git?private_token=abc\n ! [rejected] main -> main\n";
        assert_eq!(without_secrets(text), "To https://host.example/x.git\n ! [rejected] main -> main\n");
        assert_eq!(without_secrets("git@host:x.git ok"), "git@host:x.git ok");
    }
}
