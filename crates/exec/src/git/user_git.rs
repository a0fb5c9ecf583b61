//! Runs git on the host as the user does: with their settings, hooks and credentials.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::Cancel;
use crate::scratch::{self, Scratch};

/// The most output of one call that is returned, in bytes.
const MAX_OUTPUT: u64 = 16 * 1024;

/// Variables of git that are passed on. All others could move the repository, its objects or its settings to another place.
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
    /// The top of the checkout.
    pub(crate) top: &'a Path,
    /// The variables of the host.
    pub(crate) variables: &'a [(String, String)],
    /// The `PATH` of git and everything that it starts.
    pub(crate) search_path: &'a str,
}

impl UserGit<'_> {
    /// Runs git until its end, `deadline` or `cancel`. Returns whether it exited with status 0, and the beginning of its output.
    pub(crate) fn run(
        &self,
        arguments: &[String],
        deadline: Instant,
        cancel: &Cancel,
    ) -> io::Result<(bool, String)> {
        // A file and no pipe: a process that git leaves behind, such as a cache of credentials, would hold a pipe open.
        let scratch = Scratch::create(Path::new(scratch::PARENT))?;
        let output = scratch.path().join("output");
        let mut output = File::options().read(true).write(true).create_new(true).open(output)?;
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
        command.args(["-c", "core.fsmonitor=false"]).args(arguments).current_dir(self.top);
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?).process_group(0);
        let is_success = wait(&mut command.spawn()?, deadline, cancel)?;
        Ok((is_success, beginning(&mut output)?))
    }
}

/// Waits for the end of `child`. Its process group is killed at `deadline` and when `cancel` is set.
fn wait(child: &mut Child, deadline: Instant, cancel: &Cancel) -> io::Result<bool> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        let is_late = Instant::now() >= deadline;
        if is_late || cancel.is_cancelled() {
            if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                let _ = kill_process_group(group, Signal::KILL);
            }
            child.wait()?;
            let reason = if is_late { "git took too long" } else { "git was cancelled" };
            return Err(io::Error::new(io::ErrorKind::TimedOut, reason));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the beginning of what was written to `output`.
fn beginning(output: &mut File) -> io::Result<String> {
    output.rewind()?;
    let mut bytes = Vec::new();
    output.take(MAX_OUTPUT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
