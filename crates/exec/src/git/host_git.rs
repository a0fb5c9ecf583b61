//! Runs git on the host: fixed arguments, no configuration of users or the system, no hooks, no network.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Settings that override those of the repository. Together with the variables they keep git from running
/// other programs and from accessing anything but this repository.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.alternateRefsCommand=",
    "core.askPass=",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    // `Repository::at` checks the directory instead, and settings that run programs are overridden.
    "safe.directory=*",
];

/// Makes git leave out the settings and attributes of the whole system. Git ends where a sandbox refuses to
/// open its settings, which may contain secrets, name programs and include other files.
pub(crate) const NO_SYSTEM_FILES: &[(&str, &str)] =
    &[("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_ATTR_NOSYSTEM", "1")];

/// The variables of git on the host, beside [`NO_SYSTEM_FILES`].
const ENVIRONMENT: &[(&str, &str)] = &[
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("HOME", "/nonexistent"),
    ("LC_ALL", "C"),
];

/// The most output of one call, in bytes.
const MAX_OUTPUT: u64 = 64 << 20;
/// The longest error message, in characters.
const MAX_MESSAGE: usize = 300;

/// Runs git on the host in one repository.
#[derive(Debug)]
pub(crate) struct HostGit {
    program: PathBuf,
    directory: PathBuf,
    deadline: Instant,
}

/// Standard input of a call.
#[derive(Debug)]
pub(crate) enum GitInput {
    Nothing,
    Text(String),
    File(File),
}

impl HostGit {
    /// Returns git at `program` for the git directory `directory`. All calls together may take `time`.
    pub(crate) fn new(program: &Path, directory: &Path, time: Duration) -> Self {
        Self { program: program.to_owned(), directory: directory.to_owned(), deadline: Instant::now() + time }
    }

    /// Runs git and returns its output as text. Any exit status but 0 is an error with the message of git.
    pub(crate) fn text(&self, arguments: &[&str], input: GitInput) -> io::Result<String> {
        self.bytes(arguments, input).map(|output| String::from_utf8_lossy(&output).into_owned())
    }

    /// Runs git and returns its output. Any exit status but 0 is an error with the message of git.
    pub(crate) fn bytes(&self, arguments: &[&str], input: GitInput) -> io::Result<Vec<u8>> {
        let (is_success, output, message) = self.run(arguments, input)?;
        if !is_success {
            let command = arguments.first().copied().unwrap_or_default();
            return Err(io::Error::other(format!("git {command}: {message}")));
        }
        Ok(output)
    }

    fn run(&self, arguments: &[&str], input: GitInput) -> io::Result<(bool, Vec<u8>, String)> {
        #[allow(clippy::disallowed_methods, reason = "processes start in this crate, git among them")]
        let mut command = Command::new(&self.program);
        command.env_clear().envs(NO_SYSTEM_FILES.iter().chain(ENVIRONMENT).copied());
        command.env("GIT_DIR", &self.directory);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.args(arguments).current_dir("/").stdout(Stdio::piped()).stderr(Stdio::piped());
        let text = match input {
            GitInput::Nothing => {
                command.stdin(Stdio::null());
                None
            }
            GitInput::Text(text) => {
                command.stdin(Stdio::piped());
                Some(text)
            }
            GitInput::File(file) => {
                command.stdin(file);
                None
            }
        };
        let mut child = command.spawn()?;
        let stdin = child.stdin.take();
        // Threads write and read the pipes, so that none can fill up and block.
        let writer = std::thread::spawn(move || {
            if let (Some(mut stdin), Some(text)) = (stdin, text) {
                let _ = stdin.write_all(text.as_bytes());
            }
        });
        let stdout = reader(child.stdout.take());
        let stderr = reader(child.stderr.take());
        let is_success = self.wait(&mut child)?;
        let _ = writer.join();
        let output = stdout.join().unwrap_or_default();
        if output.len() as u64 > MAX_OUTPUT {
            return Err(io::Error::other("git printed too much"));
        }
        let message = shortened(&stderr.join().unwrap_or_default());
        Ok((is_success, output, message))
    }

    /// Waits for `child`, and kills it at the deadline. Returns whether it exited with status 0.
    fn wait(&self, child: &mut Child) -> io::Result<bool> {
        let mut pause = Duration::from_micros(200);
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status.success());
            }
            if Instant::now() >= self.deadline {
                let _ = child.kill();
                let _ = child.wait();
                return Err(io::Error::new(io::ErrorKind::TimedOut, "git took too long"));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(5));
        }
    }
}

/// Reads a pipe to its end in a thread, and returns the first bytes, one more than [`MAX_OUTPUT`] at most.
fn reader(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.by_ref().take(MAX_OUTPUT + 1).read_to_end(&mut bytes);
            let _ = io::copy(&mut pipe, &mut io::sink());
        }
        bytes
    })
}

/// Returns the last line of an error message, without control characters.
fn shortened(message: &[u8]) -> String {
    let text = String::from_utf8_lossy(message);
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no message");
    line.chars().filter(|letter| !letter.is_control()).take(MAX_MESSAGE).collect()
}
