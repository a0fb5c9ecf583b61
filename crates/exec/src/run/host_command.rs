//! Commands of git that run outside of the sandbox, each after a person approved the call.

use std::time::Duration;

use repertoire_model::answer::{FaultKind, ToolResult};
use repertoire_model::toolbox::HostCommand;

use super::executor::Executor;

/// Runs `command` in the checkout that the working directory lies in; `skill` and `tool` are the names of the call.
pub(super) async fn run(
    executor: &Executor,
    command: HostCommand,
    (skill, tool): (&str, &str),
    timeout: Duration,
) -> Result<ToolResult, FaultKind> {
    let failed = |reason: String| FaultKind::Failed { reason };
    let program = executor.program("git").ok_or_else(|| failed("`git` is not installed here".to_owned()))?;
    let top = executor.options.repository.clone();
    let top = top.ok_or_else(|| failed("the working directory lies in no git repository".to_owned()))?;
    let mut variables = executor.options.variables.clone();
    variables.retain(|(name, _)| name != "PATH");
    variables.extend(executor.search_path().map(|path| ("PATH".to_owned(), path)));
    let outcome = blocking::unblock(move || git(&program, &top, variables, command, timeout)).await;
    let (is_success, text) = outcome.map_err(failed)?;
    let mut result = ToolResult::new(skill, tool, text);
    result.error = (!is_success).then(|| format!("`{}` failed", command.as_str()));
    Ok(result)
}

/// Returns the arguments of git, and those of the call that follows a failure.
#[cfg(unix)]
fn arguments(command: HostCommand) -> (&'static [&'static str], Option<&'static [&'static str]>) {
    match command {
        // The branch of the same name, and never a force.
        HostCommand::GitPush => {
            (&["-c", "push.default=current", "-c", "push.autoSetupRemote=true", "push"], None)
        }
        // A checkout in the middle of a rebase is of no use to tools, which cannot conclude it.
        HostCommand::GitRebase => (&["rebase"], Some(&["rebase", "--abort"])),
        HostCommand::GitStash => (&["stash", "push", "--include-untracked"], None),
        HostCommand::GitStashPop => (&["stash", "pop"], None),
    }
}

/// Runs git as the user in the repository whose checkout is at `top`. Returns whether it succeeded, and its output.
#[cfg(unix)]
fn git(
    program: &std::path::Path,
    top: &std::path::Path,
    variables: Vec<(String, String)>,
    command: HostCommand,
    timeout: Duration,
) -> Result<(bool, String), String> {
    use crate::git::{Repository, UserGit};

    let refused = |error: crate::ExecError| format!("the git repository cannot be used: {}", error.detail());
    let repository = Repository::at(top).map_err(refused)?;
    let git = UserGit { program, repository: &repository, variables, time: timeout };
    let (first, then) = arguments(command);
    let failed = |error: std::io::Error| error.to_string();
    let (is_success, mut text) = git.run(first).map_err(failed)?;
    if let (false, Some(then)) = (is_success, then) {
        let (_, more) = git.run(then).map_err(failed)?;
        text.push_str(&more);
    }
    Ok((is_success, text))
}

#[cfg(not(unix))]
fn git(
    _: &std::path::Path,
    _: &std::path::Path,
    _: Vec<(String, String)>,
    _: HostCommand,
    _: Duration,
) -> Result<(bool, String), String> {
    Err("commands of the host are not supported on this system".to_owned())
}
