//! Prints errors of the application and maps their kinds to exit codes.

use std::io;

use repertoire::config::FaultyFile;
use repertoire_app::ErrorKind;
use repertoire_model::Severity;
use serde_json::{Map, Value};

use crate::exit::Exit;
use crate::ui::{Consent, Note, Style, Ui, render_note};

pub(crate) use repertoire_app::Error as CliError;

/// The most errors of a file that are shown.
const MAX_FAULTS_SHOWN: usize = 50;

/// Returns the error about changes that were not written without consent.
pub(crate) fn not_written(consent: Consent, changes: String) -> CliError {
    let error = CliError::no(format!("nothing was changed; {changes}"));
    if consent == Consent::Unasked { error.hint("`--yes` does it without asking") } else { error }
}

/// Fails unless there is consent, saying what was left undone; `hint` is for programs that cannot be asked.
pub(crate) fn expect_consent(consent: Consent, undone: &str, hint: &str) -> Result<(), CliError> {
    match consent {
        Consent::Given => Ok(()),
        Consent::Refused => Err(CliError::no(undone)),
        Consent::Unasked => Err(CliError::no(format!("{undone}: there is no terminal to ask on")).hint(hint)),
    }
}

/// Returns `error` as the keys that every JSON document of a failed command has.
pub(crate) fn json(error: &CliError) -> Map<String, Value> {
    let keys = [
        ("error", Value::from(error.message())),
        ("causes", Value::from(error.causes())),
        ("hints", Value::from(error.hints())),
    ];
    keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Prints `error`, as JSON too where that is wanted, and returns the exit code that goes with it.
pub(crate) fn report(error: &CliError, ui: &mut Ui) -> Exit {
    if ui.is_json() && error.kind() != ErrorKind::BrokenPipe {
        // A document that cannot be written fails again when it is flushed.
        let _ = ui.write_json_error(json(error));
    }
    report_to_person(error, ui)
}

/// Prints `error` to standard error and returns the exit code that goes with it.
pub(crate) fn report_to_person(error: &CliError, ui: &mut Ui) -> Exit {
    // Output that was printed before the error stands before it.
    let flushed = ui.flush();
    let is_closed = |error: io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    if error.kind() == ErrorKind::BrokenPipe || flushed.is_err_and(is_closed) {
        return Exit::Success;
    }
    // Nothing can be reported when stderr is closed too.
    let _ = write(error, ui);
    let _ = ui.flush();
    match error.kind() {
        ErrorKind::No => Exit::No,
        ErrorKind::Usage => Exit::Usage,
        ErrorKind::Failure => Exit::Failure,
        ErrorKind::BrokenPipe => Exit::Success,
    }
}

fn write(error: &CliError, ui: &mut Ui) -> io::Result<()> {
    if let Some(file) = error.file() {
        let text = render(file, &ui.shown(&file.path.display().to_string()), ui.is_err_coloured());
        ui.err().write_all(text.as_bytes())?;
    } else {
        ui.message(Style::Error, "error:", error.message())?;
        error.causes().iter().try_for_each(|cause| ui.message(Style::Error, "  because:", cause))?;
    }
    error.hints().iter().try_for_each(|hint| ui.message(Style::Hint, "hint:", hint))
}

/// Returns the errors of `file`, which is shown as `path`, with the lines they are about.
fn render(file: &FaultyFile, path: &str, is_coloured: bool) -> String {
    let notes = file.faults.iter().take(MAX_FAULTS_SHOWN).map(|fault| Note {
        severity: Severity::Error,
        rule: None,
        message: &fault.message,
        help: fault.help.as_deref(),
        path,
        place: Some((&file.text, fault.range.clone())),
        line: None,
    });
    let mut rendered: Vec<String> = notes.map(|note| render_note(&note, usize::MAX, is_coloured)).collect();
    let more = file.faults.len().saturating_sub(MAX_FAULTS_SHOWN);
    if more > 0 {
        rendered.push(format!("and {more} more\n"));
    }
    rendered.join("\n")
}
