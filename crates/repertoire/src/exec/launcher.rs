//! The process that confines a command, starts it, and ends all that came of it.

use std::path::PathBuf;
use std::process::ExitCode;

/// Which program is the launcher: one whose `main` begins with [`run_if_asked`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launcher {
    /// The program that runs.
    CurrentExe,
    /// The program at this path, for example an installed `rep`.
    Path(PathBuf),
}

/// Does the launcher's work if this process was started as one; `main` returns the code then, and goes on otherwise.
///
/// Call it first thing in `main`: before threads, before reading anything, before printing.
///
/// ```no_run
/// # use std::process::ExitCode;
/// fn main() -> ExitCode {
///     if let Some(code) = repertoire::exec::launcher::run_if_asked() {
///         return code;
///     }
///     // What the program is for.
///     ExitCode::SUCCESS
/// }
/// ```
pub fn run_if_asked() -> Option<ExitCode> {
    None
}
