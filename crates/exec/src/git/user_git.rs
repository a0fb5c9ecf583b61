//! Runs git on the host as the user does: with their settings, hooks and credentials.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::Cancel;
use crate::scratch::{self, Scratch};

/// The most output of one call that is returned, in bytes.
const MAX_OUTPUT: u64 = 64 * 1024;
/// The longest answer to a question about the repository, in bytes.
const MAX_ANSWER: u64 = 16 << 20;
/// The longest that a question about the repository may take.
const LOOKUP_TIME: Duration = Duration::from_secs(10);
/// The time between asking git to end and killing it.
const GRACE: Duration = Duration::from_secs(5);

/// Variables of git that are passed on. Others could move the repository, its objects or settings elsewhere.
const GIT_VARIABLES: &[&str] = &[
    "GIT_ASKPASS",
    "GIT_AUTHOR_",
    "GIT_COMMITTER_",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_SSH",
];

/// Variables that keep git and ssh from waiting for a person.
const NO_PROMPTS: &[(&str, &str)] = &[
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("SSH_ASKPASS_REQUIRE", "force"),
    ("SSH_ASKPASS", "false"),
];

/// Git of the user in one checkout.
#[derive(Debug)]
pub(crate) struct UserGit<'a> {
    pub(crate) program: &'a Path,
    pub(crate) top: &'a Path,
    pub(crate) variables: &'a [(String, String)],
    /// The `PATH` of git and everything that it starts.
    pub(crate) search_path: &'a str,
}

/// The end of git and the last part of its output.
#[derive(Debug)]
pub(crate) struct GitOutcome {
    /// The exit code, unless a signal ended it.
    pub(crate) code: Option<i32>,
    /// The reason why it was ended early.
    pub(crate) stopped: Option<&'static str>,
    pub(crate) output: String,
    /// `true` if the output was longer.
    is_cut: bool,
}

impl UserGit<'_> {
    /// Returns what git prints for `arguments`, or `None` if it prints nothing or exits with 1.
    pub(crate) fn ask(&self, arguments: &[&str]) -> io::Result<Option<String>> {
        let mut command = self.command();
        command.args(arguments);
        let outcome = finish(command, None, false, MAX_ANSWER, Instant::now() + LOOKUP_TIME, &Cancel::new())?;
        if outcome.is_cut {
            return Err(io::Error::other(format!("`git {}` prints too much", arguments.join(" "))));
        }
        let value = outcome.output.trim_end_matches(['\n', '\0']).to_owned();
        match outcome.code {
            Some(0) => Ok(Some(value).filter(|value| !value.is_empty())),
            Some(1) => Ok(None),
            _ => Err(io::Error::other(format!("`git {}` failed", arguments.join(" ")))),
        }
    }

    /// Runs git with the standard input `input` until its end, `deadline` or `cancel`.
    pub(crate) fn run(
        &self,
        arguments: &[String],
        input: Option<&str>,
        deadline: Instant,
        cancel: &Cancel,
    ) -> io::Result<GitOutcome> {
        let mut command = self.command();
        command.args(arguments);
        finish(command, input, true, MAX_OUTPUT, deadline, cancel)
    }

    fn command(&self) -> Command {
        #[allow(clippy::disallowed_methods, reason = "processes start in this crate, git among them")]
        let mut command = Command::new(self.program);
        let is_passed_on = |name: &str| {
            !name.starts_with("GIT_") || GIT_VARIABLES.iter().any(|passed_on| name.starts_with(passed_on))
        };
        let variables = self.variables.iter().filter(|(name, _)| is_passed_on(name));
        command.env_clear().envs(variables.cloned()).envs(NO_PROMPTS.iter().copied());
        command.env("PATH", self.search_path);
        // The repository of this checkout or none.
        command.env("GIT_CEILING_DIRECTORIES", self.top.parent().unwrap_or(self.top));
        command.args(["-c", "core.fsmonitor=false"]).current_dir(self.top);
        command
    }
}

/// Runs `command` until its end, `deadline` or `cancel`. The output contains standard error if `with_errors`
/// is `true`; its last `most` bytes are returned.
fn finish(
    mut command: Command,
    input: Option<&str>,
    with_errors: bool,
    most: u64,
    deadline: Instant,
    cancel: &Cancel,
) -> io::Result<GitOutcome> {
    // A file, not a pipe: a process that git leaves behind, such as a credential cache, would keep it open.
    let scratch = Scratch::create(Path::new(scratch::PARENT))?;
    let output = scratch.path().join("output");
    let mut output = File::options().read(true).write(true).create_new(true).open(output)?;
    let errors = if with_errors { output.try_clone()?.into() } else { Stdio::null() };
    let input = match input {
        Some(input) => {
            let path = scratch.path().join("input");
            fs::write(&path, input)?;
            File::open(path)?.into()
        }
        None => Stdio::null(),
    };
    command.stdin(input).stdout(output.try_clone()?).stderr(errors).process_group(0);
    let mut child = command.spawn()?;
    let (status, stopped) = wait(&mut child, deadline, cancel)?;
    let length = output.seek(SeekFrom::End(0))?;
    output.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    output.take(most).read_to_end(&mut bytes)?;
    let output = String::from_utf8_lossy(&bytes).into_owned();
    Ok(GitOutcome { code: status.code(), stopped, output, is_cut: length > most })
}

/// Waits for the end of `child`. At `deadline` and when `cancel` is set, its process group is asked to end,
/// so that git removes its locks, and is killed after a while.
fn wait(
    child: &mut Child,
    deadline: Instant,
    cancel: &Cancel,
) -> io::Result<(ExitStatus, Option<&'static str>)> {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let signal = |signal| group.is_some_and(|group| kill_process_group(group, signal).is_ok());
    let mut stopped: Option<(&'static str, Instant)> = None;
    loop {
        if let Some(status) = child.try_wait()? {
            if stopped.is_some() {
                signal(Signal::KILL);
            }
            return Ok((status, stopped.map(|(reason, _)| reason)));
        }
        let now = Instant::now();
        match stopped {
            Some((_, kill_at)) if now >= kill_at => {
                signal(Signal::KILL);
            }
            Some(_) => {}
            None if cancel.is_cancelled() || now >= deadline => {
                let reason = if now >= deadline { "git took too long" } else { "git was cancelled" };
                stopped = Some((reason, now + GRACE));
                signal(Signal::TERM);
            }
            None => {}
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
