//! `rep check --compat skills-ref`: the verdicts, messages and exit codes of the Python reference `skills-ref` 0.1.1.

mod skills_ref;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use repertoire::regular_file;

use self::skills_ref::validate;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Ui, escape_lines};

/// The largest `SKILL.md` that is read, in bytes; the reference has no limit.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// The usage, as a hint.
const USAGE: &str = "type `rep check --compat skills-ref validate PATH`";

/// A tool whose verdicts can be given.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum CompatTool {
    /// The reference library: validate
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
    let answer = match (command.to_str(), paths) {
        (Some("validate"), [path]) => validated(working_directory, skill_directory(working_directory, path)),
        (Some("validate"), _) => return Err(CliError::usage("wrong number of paths").hint(USAGE)),
        (Some("to-prompt"), _) => {
            let error = CliError::usage("`to-prompt` is a format of the catalog");
            return Err(error.hint("type `rep catalog --format compat`"));
        }
        (Some("read-properties"), _) => {
            let error = CliError::usage("properties are part of the list");
            return Err(error.hint("type `rep list --json`"));
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
