//! A home and a project in a temporary directory, and `rep` run in them with a clean environment.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::machine::probed;

/// Returns the names of all sandboxes that work here, and of the one that confines nothing.
pub(crate) fn sandboxes() -> Vec<String> {
    let mut names = confining_sandboxes();
    names.push("none".to_owned());
    names
}

/// Runs `test` in every sandbox that works here and in the one that confines nothing, each time in a new home
/// and project.
#[allow(clippy::print_stdout, reason = "shown if the test fails")]
pub(crate) fn in_every_sandbox(test: impl Fn(Sandbox)) {
    for name in sandboxes() {
        println!("in the sandbox {name}:");
        let mut sandbox = Sandbox::new();
        sandbox.set("REPERTOIRE_EXEC_SANDBOX", &name);
        test(sandbox);
    }
}

/// Returns the names of all sandboxes that work here.
pub(crate) fn confining_sandboxes() -> Vec<String> {
    let works = probed().rows().iter().filter(|row| row.sandbox.is_some());
    works.map(|row| row.name.to_owned()).collect()
}

/// The `SKILL.md` of the skill `alpha`.
pub(crate) const ALPHA: &str = ".agents/skills/alpha/SKILL.md";

/// The frontmatter of a skill that nothing is wrong with.
pub(crate) fn skill(name: &str, body: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: Does {name} things well. Use when {name} is asked for.\n---\n{body}"
    )
}

/// A home and a project.
pub(crate) struct Sandbox {
    directory: TempDir,
    /// The user that `rep` is run by, and the copy of it for this user; by default it is run by the user of
    /// the test.
    other_user: Option<(u32, PathBuf)>,
    variables: Vec<(String, String)>,
}

/// The result of a run of `rep`.
pub(crate) struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    pub bytes: Vec<u8>,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let sandbox = Self { directory: TempDir::new().unwrap(), other_user: None, variables: Vec::new() };
        fs::create_dir_all(sandbox.project().join(".git")).unwrap();
        fs::create_dir_all(sandbox.home()).unwrap();
        sandbox
    }

    /// Returns a sandbox with two sound skills, `alpha` and `beta`.
    pub(crate) fn with_skills() -> Self {
        let sandbox = Self::new();
        sandbox.write(ALPHA, skill("alpha", "# Alpha\n\nDo alpha.\n"));
        sandbox.write(".agents/skills/alpha/references/guide.md", "one\ntwo\nthree\n");
        sandbox.write(".agents/skills/alpha/scripts/run.sh", "echo alpha\n");
        sandbox.write(".agents/skills/beta/SKILL.md", skill("beta", "# Beta\n\nDo beta.\n"));
        sandbox
    }

    /// Returns the same, run by another user where the test is run by root: root may read everything. What
    /// the test writes then belongs to root.
    #[cfg(unix)]
    pub(crate) fn of_other_user() -> Self {
        use std::os::unix::fs::{PermissionsExt as _, chown};

        const NOBODY: u32 = 65_534;
        let mut sandbox = Self::with_skills();
        if rustix::process::geteuid().is_root() {
            // The directory that it was built in may be closed to others.
            let program = sandbox.base().join("rep");
            if fs::hard_link(env!("CARGO_BIN_EXE_rep"), &program).is_err() {
                fs::copy(env!("CARGO_BIN_EXE_rep"), &program).unwrap();
            }
            fs::set_permissions(sandbox.base(), fs::Permissions::from_mode(0o755)).unwrap();
            for directory in [sandbox.home(), sandbox.project()] {
                chown(directory, Some(NOBODY), Some(NOBODY)).unwrap();
            }
            sandbox.other_user = Some((NOBODY, program));
        }
        sandbox
    }

    /// Returns whether `rep` is run by another user than the test.
    #[cfg(unix)]
    pub(crate) fn is_of_other_user(&self) -> bool {
        self.other_user.is_some()
    }

    /// Returns the same for the user `ann`, who is the author of what is recorded.
    #[cfg(unix)]
    pub(crate) fn with_author() -> Self {
        let mut sandbox = Self::with_skills();
        sandbox.set("USER", "ann");
        sandbox
    }

    fn base(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.base().join("project")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.base().join("home")
    }

    /// Writes a file of the project; `../home/x` is a file of the home.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.project().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.project().join(path)).unwrap()
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// Returns the command, so that a test can change how it is run.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.command_in(&self.project(), arguments)
    }

    fn command_in(&self, directory: &Path, arguments: &[&str]) -> Command {
        #[cfg(unix)]
        if let Some((user, program)) = &self.other_user {
            use std::os::unix::process::CommandExt as _;

            let mut command = self.program_in(&program.to_string_lossy(), directory, arguments);
            command.uid(*user).gid(*user);
            return command;
        }
        self.program_in(env!("CARGO_BIN_EXE_rep"), directory, arguments)
    }

    /// Returns the command of another program in the project.
    pub(crate) fn other(&self, program: &str, arguments: &[&str]) -> Command {
        self.program_in(program, &self.project(), arguments)
    }

    fn program_in(&self, program: &str, directory: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.home())
            .current_dir(directory)
            .args(arguments)
            .stdin(Stdio::null());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        self.finish(self.command(arguments))
    }

    pub(crate) fn run_in(&self, directory: &str, arguments: &[&str]) -> Run {
        self.finish(self.command_in(&self.project().join(directory), arguments))
    }

    /// Runs with `input` on standard input.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> Run {
        let mut command = self.command(arguments);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // A command that refuses to start does not read its input.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        self.run_of(child.wait_with_output().unwrap())
    }

    pub(crate) fn finish(&self, mut command: Command) -> Run {
        self.run_of(command.output().unwrap())
    }

    fn run_of(&self, output: Output) -> Run {
        Run {
            code: output.status.code().unwrap(),
            stdout: self.redacted(&output.stdout),
            stderr: self.redacted(&output.stderr),
            bytes: output.stdout,
        }
    }

    /// Returns the output with the temporary directory called `[DIR]`.
    fn redacted(&self, bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.replace(&*self.base().to_string_lossy(), "[DIR]")
    }

    /// Takes back the newest change that `rep undo --list` has with a number and with words that begin like
    /// this, as `rep link cursor`.
    pub(crate) fn undo(&self, words: &str) -> Run {
        let list = self.json(&["undo", "--list", "--json"]);
        let is_meant = |change: &&Value| {
            let about = change["about"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
            let found: Vec<&str> = [change["command"].as_str().unwrap()].into_iter().chain(about).collect();
            !change["number"].is_null() && found.join(" ").starts_with(words)
        };
        let change = list["changes"].as_array().unwrap().iter().find(is_meant);
        let number = change.map_or_else(|| "0".to_owned(), |change| change["number"].to_string());
        self.run(&["undo", &number, "--yes"])
    }

    /// Returns the JSON that a run which has to succeed prints.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let run = self.run(arguments);
        assert_eq!(run.code, 0, "{}", run.stderr);
        serde_json::from_str(&run.stdout).unwrap()
    }
}

impl Sandbox {
    /// Returns the events in the store, the oldest first.
    pub(crate) fn events(&self) -> Vec<Value> {
        let run = self.run(&["events", "--json", "--limit", "1000"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Run {
    /// Returns everything that a person or a program sees, for a snapshot.
    pub(crate) fn transcript(&self) -> String {
        format!("exit {}\n--- stdout\n{}--- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}

/// Compares a run with the snapshot that follows.
macro_rules! assert_run {
    ($run:expr, @$snapshot:literal) => {
        insta::assert_snapshot!($run.transcript(), @$snapshot)
    };
}

pub(crate) use assert_run;

/// Reads a request of HTTP: its head, in lower case, and its body.
pub(crate) fn http_request(stream: &mut std::net::TcpStream) -> (String, Vec<u8>) {
    use std::io::{BufRead as _, BufReader, Read as _};
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0);
    }
    let head = head.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    (head, body)
}
