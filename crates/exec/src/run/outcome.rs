//! The answer for a model, made from the outcome of a job.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use repertoire_model::answer::ToolResult;
use repertoire_model::toolbox::OutputForm;

use super::command::RAISED;
use crate::{CleanupProblem, ExceededLimit, Output, RunEnding, RunOutcome};
use repertoire::tool::quoted;

#[derive(Debug, Clone, Copy)]
pub(super) struct ResultFormat {
    /// The declared form of the output.
    pub(super) output: OutputForm,
    /// `true` if the driver of `tools.py` ran it.
    pub(super) is_driven: bool,
    /// `true` if the answer has only the exception and not the printed output, as in the profile `harness`.
    pub(super) is_terse: bool,
    pub(super) timeout: Duration,
}

/// The most paths that a message names.
const MAX_PATHS: usize = 10;

/// Returns the result of `tool` of `skill`, which ran in `directory`.
pub(super) fn result(
    skill: &str,
    tool: &str,
    outcome: &RunOutcome,
    directory: Option<&Path>,
    reading: ResultFormat,
) -> ToolResult {
    let mut result = ToolResult::new(skill, tool, "");
    let stdout = text(&outcome.stdout, "output", &mut result.notes);
    if !outcome.refused.is_empty() {
        let shown = listed(outcome.refused.iter(), directory);
        result.notes.push(format!("It created files under protected names; they were renamed to {shown}."));
    }
    if !outcome.cleanup_problems.is_empty() {
        // A problem after the run is an error even if the command succeeded.
        let how = Some(ending(outcome.ending, reading.timeout)).filter(|_| !outcome.ending.is_success());
        let told: Vec<String> =
            how.into_iter().chain(cleanup_problems(&outcome.cleanup_problems, directory)).collect();
        result.error = Some(told.join("; "));
        result.text = stdout;
        let errors = text(&outcome.stderr, "error output", &mut result.notes);
        if !errors.trim().is_empty() {
            result.text.push_str(&format!("\nStandard error:\n{errors}"));
        }
        return result;
    }
    if outcome.ending.is_success() {
        if reading.output == OutputForm::Json {
            result.structured = serde_json::from_str(&stdout).ok();
            if result.structured.is_none() {
                result.notes.push("The tool declares that its output is JSON, but it is not.".to_owned());
            }
        }
        result.text = stdout;
        return result;
    }
    if reading.is_driven && outcome.ending == RunEnding::Exited(RAISED) {
        result.error = Some(stdout);
        if !reading.is_terse {
            result.text = text(&outcome.stderr, "error output", &mut result.notes);
        }
        return result;
    }
    result.error = Some(ending(outcome.ending, reading.timeout));
    result.text = text(&outcome.stderr, "error output", &mut result.notes);
    if !stdout.trim().is_empty() {
        let line_end = if result.text.is_empty() || result.text.ends_with('\n') { "" } else { "\n" };
        result.text.push_str(&format!("{line_end}Standard output:\n{stdout}"));
    }
    result
}

/// Returns the problems after a run for a model, without paths of the machine.
fn cleanup_problems(all: &[CleanupProblem], directory: Option<&Path>) -> Vec<String> {
    let mut unswept: Vec<&PathBuf> = Vec::new();
    let mut replaced: Vec<&PathBuf> = Vec::new();
    let mut checked_out: Vec<&PathBuf> = Vec::new();
    let mut others = Vec::new();
    for one in all {
        match one {
            CleanupProblem::NotSwept(path) => unswept.push(path),
            CleanupProblem::ProtectedFileReplaced(path) => replaced.push(path),
            CleanupProblem::CheckedOut(path) => checked_out.push(path),
            other => others.push(other.to_string()),
        }
    }
    let shown = |paths: Vec<&PathBuf>| (!paths.is_empty()).then(|| listed(paths.into_iter(), directory));
    let unswept = shown(unswept).map(|shown| {
        format!(
            "files that it created could not be checked, so a person has to look for files that agents, shells or git obey, in {shown}"
        )
    });
    let replaced = shown(replaced).map(|shown| {
        format!("{shown} was replaced by another program meanwhile; a person has to look at its content")
    });
    let checked_out = shown(checked_out).map(|shown| {
        format!(
            "another program checked out {shown} meanwhile, which is left alone; the tool can be run again"
        )
    });
    unswept.into_iter().chain(replaced).chain(checked_out).chain(others).collect()
}

/// Returns the first paths relative to `directory`, and the number of further ones.
fn listed<'a>(paths: impl ExactSizeIterator<Item = &'a PathBuf>, directory: Option<&Path>) -> String {
    let more = paths.len().saturating_sub(MAX_PATHS);
    let shown = paths.take(MAX_PATHS).map(|path| match directory {
        Some(directory) => format!("`{}`", quoted(&relative(path, directory))),
        None => "its directory".to_owned(),
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

/// Returns `path` relative to `directory`; neither contains symbolic links.
pub(super) fn relative(path: &Path, directory: &Path) -> String {
    let common =
        path.components().zip(directory.components()).take_while(|(one, other)| one == other).count();
    let up = directory.components().skip(common).map(|_| Component::ParentDir);
    let relative: PathBuf = up.chain(path.components().skip(common)).collect();
    if relative.as_os_str().is_empty() { ".".to_owned() } else { relative.to_string_lossy().into_owned() }
}

/// Returns output as text, and adds notes if it was cut or is not UTF-8.
fn text(output: &Output, what: &str, notes: &mut Vec<String>) -> String {
    if output.dropped > 0 {
        let (kept, dropped) = (output.bytes.len(), output.dropped);
        notes.push(format!("The {what} was cut after {kept} bytes; {dropped} more were dropped."));
    }
    let text = String::from_utf8_lossy(&output.bytes);
    // A character that was cut in two is not news.
    let replaced = matches!(text, std::borrow::Cow::Owned(_))
        && std::str::from_utf8(&output.bytes).is_err_and(|error| error.error_len().is_some());
    if replaced {
        notes.push(format!("Some of the {what} is not UTF-8 and was replaced."));
    }
    text.into_owned()
}

/// Returns how the command ended, in words.
fn ending(ending: RunEnding, timeout: Duration) -> String {
    match ending {
        RunEnding::Exited(code) => format!("exit code {code}"),
        RunEnding::Signalled(signal) => format!("killed by signal {signal}"),
        RunEnding::TimedOut => format!("timed out after {} seconds", timeout.as_secs()),
        RunEnding::Cancelled => "cancelled".to_owned(),
        RunEnding::Exceeded(ExceededLimit::Memory) => "killed for using too much memory".to_owned(),
        RunEnding::Exceeded(ExceededLimit::Processes) => "killed for starting too many processes".to_owned(),
        RunEnding::Exceeded(ExceededLimit::Disk) => "killed for writing too much".to_owned(),
        RunEnding::ProtectedName => {
            "killed because a file was created or replaced under a protected name".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ending: RunEnding, stdout: &[u8], stderr: &[u8], reading: (OutputForm, bool)) -> ToolResult {
        let output = |bytes: &[u8]| Output { bytes: bytes.to_vec(), dropped: 0 };
        let outcome = RunOutcome {
            ending,
            stdout: output(stdout),
            stderr: output(stderr),
            refused: Vec::new(),
            cleanup_problems: Vec::new(),
        };
        let reading = ResultFormat {
            output: reading.0,
            is_driven: reading.1,
            is_terse: reading.1,
            timeout: Duration::from_secs(5),
        };
        result("s", "t", &outcome, Some(Path::new("/w/sub")), reading)
    }

    #[test]
    fn output_is_the_result_and_failures_say_why() {
        let text = (OutputForm::Text, false);
        let done = check(RunEnding::Exited(0), b"out\n", b"warning", text);
        assert_eq!((done.text.as_str(), done.error, done.notes), ("out\n", None, vec![]));
        let failed = check(RunEnding::Exited(2), b"half", b"usage", text);
        assert_eq!(failed.error.as_deref(), Some("exit code 2"));
        assert_eq!(failed.text, "usage\nStandard output:\nhalf");
        let late = check(RunEnding::TimedOut, b"", b"", text);
        assert_eq!(late.error.as_deref(), Some("timed out after 5 seconds"));
        assert_eq!(
            check(RunEnding::Signalled(9), b"", b"", text).error.as_deref(),
            Some("killed by signal 9")
        );
        let raised = check(RunEnding::Exited(RAISED), b"ValueError: no", b"noise", (OutputForm::Text, true));
        assert_eq!((raised.error.as_deref(), raised.text.as_str()), (Some("ValueError: no"), ""));
    }

    #[test]
    fn incomplete_output_and_problems_after_the_run_are_reported() {
        let broken = check(RunEnding::Exited(0), b"a\xffb", b"", (OutputForm::Text, false));
        assert_eq!((broken.text.as_str(), broken.notes.len()), ("a\u{fffd}b", 1));
        let json = check(RunEnding::Exited(0), b"{\"a\": 1}", b"", (OutputForm::Json, false));
        assert_eq!(json.structured, Some(serde_json::json!({"a": 1})));
        let none = check(RunEnding::Exited(0), b"a", b"", (OutputForm::Json, false));
        assert_eq!((none.structured, none.notes.len()), (None, 1));
        let outcome = RunOutcome {
            ending: RunEnding::Exited(0),
            stdout: Output { bytes: b"abc".to_vec(), dropped: 7 },
            stderr: Output::default(),
            refused: Vec::new(),
            cleanup_problems: Vec::new(),
        };
        let reading = ResultFormat {
            output: OutputForm::Text,
            is_driven: false,
            is_terse: false,
            timeout: Duration::ZERO,
        };
        let notes = result("s", "t", &outcome, Some(Path::new("/w/sub")), reading).notes;
        let refused =
            (0..12).map(|number| PathBuf::from(format!("/w/sub/src/CLAUDE.md.refused-{number}"))).collect();
        let lost = RunOutcome {
            cleanup_problems: vec![CleanupProblem::NotSwept("/w/x".into())],
            refused,
            ..outcome
        };
        let told = result("s", "t", &lost, Some(Path::new("/w/sub")), reading);
        let error = told.error.unwrap();
        assert!(error.starts_with("files that it created") && error.ends_with("in `../x`"), "{error}");
        assert_eq!(told.text, "abc");
        let note = told.notes.iter().find(|note| note.contains("renamed to")).unwrap();
        assert!(note.contains("`src/CLAUDE.md.refused-9` and 2 more") && !note.contains("/w"), "{note}");
        let killed = RunOutcome { ending: RunEnding::Signalled(9), ..lost };
        let error = result("s", "t", &killed, None, reading).error.unwrap();
        assert!(
            error.starts_with("killed by signal 9; files that it created") && !error.contains("/w"),
            "{error}"
        );
        assert_eq!(notes, ["The output was cut after 3 bytes; 7 more were dropped."]);
    }
}
