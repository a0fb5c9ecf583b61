//! The init process of a bubblewrap sandbox: starts the command and reports how it ended.
//!
//! Bubblewrap only passes on an exit status: a signal becomes 128 plus its number, and a command that did not
//! start looks like one that failed. So this program runs once more, as process 1 of the sandbox, which
//! processes inside can neither kill nor trace. Confined like the command, it is trusted no more than that.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rustix::process::{DumpableBehavior, Pid, WaitOptions, set_dumpable_behavior, wait};

use crate::launcher::plan::LauncherMessage;
use crate::launcher::supervise::ending_of;
use crate::{ExecErrorKind, RunEnding};

/// The most that is read of `/proc/self/status`, in bytes.
const MAX_STATUS: u64 = 64 << 10;

/// Runs the command in `arguments`, behind the file descriptor of a pipe, and writes reports to that pipe.
pub(super) fn run(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let pipe = arguments.next().and_then(|number| number.to_str()?.parse().ok()).and_then(pipe);
    let (Some(mut pipe), Some(program)) = (pipe.filter(|_| is_confined()), arguments.next()) else {
        return ExitCode::FAILURE;
    };
    // The command gets neither the open files nor, by way of `/proc`, the memory of this process.
    close_fds::set_fds_cloexec(3, &[]);
    if set_dumpable_behavior(DumpableBehavior::NotDumpable).is_err() {
        return ExitCode::FAILURE;
    }
    #[allow(clippy::disallowed_methods, reason = "this is where processes start")]
    let mut command = Command::new(&program);
    let report = match command.args(arguments).process_group(0).spawn() {
        Ok(child) => {
            // From now on the launcher can set hard limits.
            let started = LauncherMessage::Started { process: 0, detail: String::new() };
            let _ = pipe.write_all(started.to_line().as_bytes());
            LauncherMessage::Ended(ending(child.id()))
        }
        Err(error) => {
            LauncherMessage::Failed { kind: ExecErrorKind::CommandFailed, detail: error.to_string() }
        }
    };
    let _ = pipe.write_all(report.to_line().as_bytes());
    match report {
        LauncherMessage::Ended(RunEnding::Exited(code)) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        _ => ExitCode::FAILURE,
    }
}

/// Waits for the command, reaping orphans meanwhile, and returns how it ended.
fn ending(command: u32) -> RunEnding {
    let command = i32::try_from(command).ok().and_then(Pid::from_raw);
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((ended, status))) if Some(ended) == command => return ending_of(status),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return RunEnding::Exited(1),
        }
    }
}

/// Opens the pipe with this file descriptor again; a bare number cannot be written to without `unsafe`.
fn pipe(number: u32) -> Option<File> {
    let file = File::options().write(true).open(format!("/proc/self/fd/{number}")).ok()?;
    file.metadata().ok()?.file_type().is_fifo().then_some(file)
}

/// Returns whether this is process 1 of a PID namespace and confined: a person may have typed the argument.
fn is_confined() -> bool {
    let mut status = String::new();
    let read =
        File::open("/proc/self/status").and_then(|file| file.take(MAX_STATUS).read_to_string(&mut status));
    if read.is_err() {
        return false;
    }
    let has = |line: &str| status.lines().any(|own| own == line);
    has("Pid:\t1") && has("PPid:\t0") && has("NoNewPrivs:\t1") && has("Seccomp:\t2")
}
