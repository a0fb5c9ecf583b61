//! The entry point of the launcher, and the choice of its program.

use std::path::PathBuf;
use std::process::ExitCode;

#[cfg(target_os = "linux")]
use super::arguments::INIT_ARGUMENT;
use super::arguments::LAUNCHER_ARGUMENT;
#[cfg(target_os = "linux")]
use super::init;
#[cfg(unix)]
use super::supervise;

/// The program that is the launcher: one whose `main` begins with [`run_if_asked`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launcher {
    /// The running program.
    CurrentExe,
    /// The program at this path, for example an installed `rep`.
    Path(PathBuf),
}

impl Launcher {
    #[cfg(unix)]
    pub(crate) fn program(&self) -> std::io::Result<PathBuf> {
        // Otherwise a program whose `main` does not call `run_if_asked` would start itself forever.
        if is_asked() {
            return Err(std::io::Error::other("main does not call run_if_asked, or not first"));
        }
        match self {
            Self::Path(path) => Ok(path.clone()),
            // The running program, even if its file was replaced meanwhile.
            #[cfg(target_os = "linux")]
            Self::CurrentExe => Ok("/proc/self/exe".into()),
            #[cfg(not(target_os = "linux"))]
            Self::CurrentExe => std::env::current_exe(),
        }
    }
}

/// Runs the launcher and returns its exit code if this process was started as one; returns `None` otherwise.
///
/// Call it first thing in `main`: before threads, before reading anything, before printing.
///
/// ```no_run
/// # use std::process::ExitCode;
/// fn main() -> ExitCode {
///     if let Some(code) = repertoire_exec::launcher::run_if_asked() {
///         return code;
///     }
///     // The program's own work.
///     ExitCode::SUCCESS
/// }
/// ```
pub fn run_if_asked() -> Option<ExitCode> {
    #[cfg(target_os = "linux")]
    if std::env::args_os().nth(1).is_some_and(|argument| argument == INIT_ARGUMENT) {
        return Some(init::run(std::env::args_os().skip(2)));
    }
    if !is_asked() {
        return None;
    }
    #[cfg(unix)]
    let is_done = supervise::run();
    #[cfg(not(unix))]
    let is_done = false;
    Some(if is_done { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns whether this process was started as a launcher.
fn is_asked() -> bool {
    let mut arguments = std::env::args_os().skip(1);
    arguments.next().is_some_and(|argument| argument == LAUNCHER_ARGUMENT) && arguments.next().is_none()
}
