//! `rep check --compat skills-ref`: the command line of the Python reference `agentskills`, reproduced.
//!
//! What the reference says about a skill is decided in [`repertoire_model::compat::skills_ref`]; here its command
//! line is parsed and its files are found and read.

#![allow(
    clippy::disallowed_methods,
    reason = "it reads files as the reference does, and no provider lists them"
)]

mod click;

use std::ffi::OsString;
use std::io::{self, ErrorKind, IsTerminal as _, Write};
use std::path::Path;

use repertoire_model::compat::skills_ref::python::{encode_strictly, path_text, repr, shown};
use repertoire_model::compat::skills_ref::{
    Crash, Entry, Error, decode, read_properties, to_prompt, validate,
};

use click::{Command, Request};

use crate::exit::Exit;
use crate::regular_file;
use crate::ui::escape_lines;

/// The largest `SKILL.md` that is read, in bytes; the reference has no limit.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// The number of the error "permission denied".
const EACCES: i32 = 13;

/// Runs the command for a whole process: prints as the reference does, and returns its exit code.
pub(crate) fn run(arguments: &[OsString]) -> Exit {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let told = skills_ref(arguments, &mut stdout, &mut stderr).and_then(|code| {
        let (out, err) = (io::stdout(), io::stderr());
        write(&mut out.lock(), out.is_terminal(), &stdout)?;
        write(&mut err.lock(), err.is_terminal(), &stderr)?;
        Ok(code)
    });
    match told {
        Ok(code) => Exit::Compat(code),
        Err(error) if is_broken_pipe(&error) => Exit::Success,
        Err(_) => Exit::Failure,
    }
}

/// Returns whether whoever read the output had enough of it.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// Writes the reference's words: byte for byte to a program, escaped to a terminal, which the reference does not do.
fn write(stream: &mut dyn Write, is_terminal: bool, bytes: &[u8]) -> io::Result<()> {
    if is_terminal {
        stream.write_all(escape_lines(&String::from_utf8_lossy(bytes)).as_bytes())?;
    } else {
        stream.write_all(bytes)?;
    }
    stream.flush()
}

/// Runs the reference's command line `arguments`, without the program's name, and returns its exit code.
///
/// # Errors
///
/// Fails only when `stdout` or `stderr` cannot be written.
pub(crate) fn skills_ref(
    arguments: &[OsString],
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> anyhow::Result<u8> {
    let arguments: Vec<String> =
        arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let exists = |path: &str| Path::new(path).metadata().is_ok();
    let (command, paths) = match click::parse(&arguments, exists) {
        Request::Run(command, paths) => (command, paths),
        Request::Show(text) => {
            stdout.write_all(text.as_bytes())?;
            return Ok(0);
        }
        Request::Refuse(text) => {
            stderr.write_all(shown(&text).as_bytes())?;
            return Ok(2);
        }
    };
    let directories: Vec<String> = paths.iter().map(|path| skill_directory(path)).collect();
    match answer(command, &directories) {
        Ok(output) => {
            writeln!(stdout, "{output}")?;
            Ok(0)
        }
        Err(Failure::Told(message)) => {
            writeln!(stderr, "{}", shown(&message))?;
            Ok(1)
        }
        Err(Failure::Crash(line)) => {
            writeln!(stderr, "{}", shown(&line))?;
            Ok(1)
        }
    }
}

/// Why a command fails, as it is written to stderr.
enum Failure {
    /// With a message of the reference.
    Told(String),
    /// With a traceback, of which only the last line is reproduced.
    Crash(String),
}

impl From<Crash> for Failure {
    fn from(crash: Crash) -> Self {
        Self::Crash(crash.last_line().to_owned())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Crash(crash) => crash.into(),
            other => Self::Told(format!("Error: {other}")),
        }
    }
}

fn answer(command: Command, directories: &[String]) -> Result<String, Failure> {
    let first = directories.first().map_or(".", String::as_str);
    let output = match command {
        Command::Validate => {
            let errors = errors_in(first)?;
            if !errors.is_empty() {
                let errors: String = errors.iter().map(|error| format!("\n  - {error}")).collect();
                return Err(Failure::Told(format!("Validation failed for {first}:{errors}")));
            }
            format!("Valid skill: {first}")
        }
        Command::ReadProperties => properties_in(first)?.0.to_json()?,
        Command::ToPrompt => {
            let mut skills = Vec::new();
            for directory in directories {
                skills.push(properties_in(&resolved(directory))?);
            }
            let entries: Vec<Entry<'_>> =
                skills.iter().map(|(properties, location)| Entry { properties, location }).collect();
            to_prompt(&entries)
        }
    };
    Ok(encode_strictly(&output)?.to_owned())
}

fn errors_in(directory: &str) -> Result<Vec<String>, Failure> {
    if !Path::new(directory).is_dir() {
        return Ok(vec![format!("Not a directory: {directory}")]);
    }
    let Some(file) = skill_file(directory) else {
        return Ok(vec!["Missing required file: SKILL.md".to_owned()]);
    };
    Ok(validate(&read(&file)?, file_name(directory))?)
}

fn properties_in(
    directory: &str,
) -> Result<(repertoire_model::compat::skills_ref::Properties, String), Failure> {
    let Some(file) = skill_file(directory) else {
        return Err(Failure::Told(format!("Error: SKILL.md not found in {directory}")));
    };
    Ok((read_properties(&read(&file)?)?, file))
}

/// Returns the directory that `path` means: itself, or what holds it when it is a `SKILL.md` in any case.
fn skill_directory(path: &str) -> String {
    let path = path_text(path);
    if file_name(&path).to_lowercase() != "skill.md" || !Path::new(&path).is_file() {
        return path;
    }
    match path.rsplit_once('/') {
        None => ".".to_owned(),
        Some(("", _)) => "/".to_owned(),
        Some(("/", _)) => "//".to_owned(),
        Some((parent, _)) => parent.to_owned(),
    }
}

fn skill_file(directory: &str) -> Option<String> {
    ["SKILL.md", "skill.md"].iter().map(|name| join(directory, name)).find(|file| Path::new(file).exists())
}

fn read(file: &str) -> Result<String, Failure> {
    let bytes = regular_file::read(Path::new(file), MAX_FILE_BYTES)
        .map_err(|error| Failure::Crash(exception(&error, file)))?;
    Ok(decode(&bytes)?)
}

/// Returns the last line of the traceback that Python shows for an error of the operating system.
fn exception(error: &io::Error, file: &str) -> String {
    let (name, text) = match error.kind() {
        ErrorKind::IsADirectory => ("IsADirectoryError", "Is a directory"),
        // What we refuse and the reference would wait for or choke on counts as unreadable.
        ErrorKind::PermissionDenied | ErrorKind::InvalidInput | ErrorKind::FileTooLarge => {
            ("PermissionError", "Permission denied")
        }
        ErrorKind::NotFound => ("FileNotFoundError", "No such file or directory"),
        _ => return format!("OSError: {error}: {}", repr(file)),
    };
    let number = error.raw_os_error().unwrap_or(EACCES);
    format!("{name}: [Errno {number}] {text}: {}", repr(file))
}

fn resolved(path: &str) -> String {
    match std::fs::canonicalize(path) {
        Ok(resolved) => resolved.to_string_lossy().into_owned(),
        Err(_) => path.to_owned(),
    }
}

/// Returns `pathlib`'s name of a path: its last part, nothing for `.` and roots.
fn file_name(path: &str) -> &str {
    match path.rsplit('/').next() {
        Some(".") | None => "",
        Some(name) => name,
    }
}

fn join(directory: &str, name: &str) -> String {
    match directory {
        "." => name.to_owned(),
        directory if directory.ends_with('/') => format!("{directory}{name}"),
        directory => format!("{directory}/{name}"),
    }
}
