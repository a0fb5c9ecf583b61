//! `rep check --compat skills-ref`: the verdicts, messages and exit codes of the Python `skills-ref` 0.1.1.

mod skills_ref;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use repertoire::regular_file;

use self::skills_ref::{Properties, read_properties, to_prompt, validate};
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Ui, escape_lines};

/// The largest `SKILL.md` that is read, in bytes; the reference has no limit.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// The usage, as a hint.
const USAGE: &str = "rep check --compat skills-ref validate PATH, read-properties PATH, or to-prompt PATH...";

/// A tool whose verdicts can be given.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum CompatTool {
    /// The reference library: validate, read-properties, to-prompt
    SkillsRef,
}

/// Runs the reference's command line: `words` are its command and its paths, relative to `working_directory`.
pub(super) fn run(ui: &mut Ui, working_directory: &Path, words: &[PathBuf]) -> Result<Exit, CliError> {
    let Some((command, paths)) = words.split_first() else {
        return Err(CliError::usage("--compat needs a command").hint(USAGE));
    };
    if let Some(missing) = paths.iter().find(|path| working_directory.join(path).metadata().is_err()) {
        return Err(CliError::usage(format!("path '{}' does not exist", missing.display())));
    }
    let directories: Vec<&Path> = paths.iter().map(|path| skill_directory(working_directory, path)).collect();
    let answer = match (command.to_str(), directories.as_slice()) {
        (Some("validate"), [directory]) => validated(working_directory, directory),
        (Some("read-properties"), [directory]) => {
            properties_in(&working_directory.join(directory)).map(|(properties, _)| properties.to_json())
        }
        (Some("to-prompt"), [_, ..]) => prompt(working_directory, &directories),
        (Some("validate" | "read-properties" | "to-prompt"), _) => {
            return Err(CliError::usage("wrong number of paths").hint(USAGE));
        }
        _ => {
            let message = format!("no such command '{}'", command.display());
            return Err(CliError::usage(message).hint(USAGE));
        }
    };
    match answer {
        Ok(text) => {
            ui.write_untrusted(format!("{text}\n").as_bytes())?;
            Ok(Exit::Success)
        }
        Err(message) => {
            ui.flush()?;
            ui.err().write_all(escape_lines(&format!("{message}\n")).as_bytes())?;
            Ok(Exit::No)
        }
    }
}

fn validated(working_directory: &Path, directory: &Path) -> Result<String, String> {
    let shown = directory.display();
    let errors = errors_in(directory, &working_directory.join(directory))?;
    if errors.is_empty() {
        return Ok(format!("Valid skill: {shown}"));
    }
    let errors: String = errors.iter().map(|error| format!("\n  - {error}")).collect();
    Err(format!("Validation failed for {shown}:{errors}"))
}

fn prompt(working_directory: &Path, directories: &[&Path]) -> Result<String, String> {
    let mut skills = Vec::new();
    for directory in directories {
        let directory = working_directory.join(directory);
        skills.push(properties_in(&directory.canonicalize().unwrap_or(directory))?);
    }
    Ok(to_prompt(&skills))
}

/// Returns the errors of the skill at `path`, which the user wrote as `given`.
fn errors_in(given: &Path, path: &Path) -> Result<Vec<String>, String> {
    if !path.is_dir() {
        return Ok(vec![format!("Not a directory: {}", given.display())]);
    }
    let Some(file) = manifest_in(path) else {
        return Ok(vec!["Missing required file: SKILL.md".to_owned()]);
    };
    let name = given.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    Ok(validate(&read(&file)?, &name))
}

/// Returns the properties of the skill in `directory`, and the path of its manifest.
fn properties_in(directory: &Path) -> Result<(Properties, String), String> {
    let Some(file) = manifest_in(directory) else {
        return Err(format!("Error: SKILL.md not found in {}", directory.display()));
    };
    let properties = read_properties(&read(&file)?).map_err(|error| format!("Error: {error}"))?;
    Ok((properties, file.display().to_string()))
}

/// Returns the directory that `path` means: itself, or the directory of a `SKILL.md` in any case.
fn skill_directory<'p>(working_directory: &Path, path: &'p Path) -> &'p Path {
    let is_manifest = path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
    match path.parent() {
        Some(parent) if is_manifest && working_directory.join(path).is_file() => {
            if parent.as_os_str().is_empty() { Path::new(".") } else { parent }
        }
        _ => path,
    }
}

fn manifest_in(directory: &Path) -> Option<PathBuf> {
    ["SKILL.md", "skill.md"]
        .iter()
        .map(|name| directory.join(name))
        .find(|file| file.try_exists().unwrap_or(true))
}

/// Returns the text of a manifest with every line break a `\n`.
fn read(file: &Path) -> Result<String, String> {
    let bytes = regular_file::read(file, MAX_FILE_BYTES)
        .map_err(|error| format!("Error: cannot read {}: {error}", file.display()))?;
    let text = String::from_utf8(bytes).map_err(|error| format!("Error: {}: {error}", file.display()))?;
    Ok(text.replace("\r\n", "\n").replace('\r', "\n"))
}
