//! Starts the command where another program confines it, and tells how it ended.
//!
//! Such a program passes on a status and no more: a signal looks like a status of 128 and its number, and a command that could not be started like one that failed. So this program is
//! started once more, inside, to stand between the two. It is the first process there, which nobody inside can end, and nobody can look into. All the same it is confined as the command is, so what it tells
//! is believed no more than what the command itself could bring about.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rustix::process::{DumpableBehavior, Pid, WaitOptions, set_dumpable_behavior, wait};

use crate::launcher::plan::Report;
use crate::launcher::supervise::ending_of;
use crate::{Ending, ExecErrorKind};

/// The most that a process says of itself, in bytes.
const MAX_STATUS: u64 = 64 << 10;

/// Starts the command that `arguments` name behind the number of a pipe, and tells there how it ended.
pub(super) fn run(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let pipe = arguments.next().and_then(|number| number.to_str()?.parse().ok()).and_then(pipe);
    let (Some(mut pipe), Some(program)) = (pipe.filter(|_| is_confined()), arguments.next()) else {
        return ExitCode::FAILURE;
    };
    // Nothing of what is open here is for the command, nor is what is in memory.
    close_fds::set_fds_cloexec(3, &[]);
    if set_dumpable_behavior(DumpableBehavior::NotDumpable).is_err() {
        return ExitCode::FAILURE;
    }
    #[allow(clippy::disallowed_methods, reason = "this is where processes start")]
    let mut command = Command::new(&program);
    let report = match command.args(arguments).process_group(0).spawn() {
        Ok(child) => {
            // From now on the launcher can make its limits firm.
            let begun = Report::Started { process: 0, detail: String::new() };
            let _ = pipe.write_all(begun.to_line().as_bytes());
            Report::Ended(ending(child.id()))
        }
        Err(error) => Report::Failed { kind: ExecErrorKind::CommandFailed, detail: error.to_string() },
    };
    let _ = pipe.write_all(report.to_line().as_bytes());
    match report {
        Report::Ended(Ending::Exited(code)) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        _ => ExitCode::FAILURE,
    }
}

/// Waits for the command, and meanwhile for whoever lost a parent, and returns how the command ended.
fn ending(command: u32) -> Ending {
    let command = i32::try_from(command).ok().and_then(Pid::from_raw);
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((ended, status))) if Some(ended) == command => return ending_of(status),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return Ending::Exited(1),
        }
    }
}

/// Opens the pipe of this number anew; a number alone is nothing to write to.
fn pipe(number: u32) -> Option<File> {
    let file = File::options().write(true).open(format!("/proc/self/fd/{number}")).ok()?;
    file.metadata().ok()?.file_type().is_fifo().then_some(file)
}

/// Returns whether this is the first process of a place of its own, and confined. Whoever types the argument at a terminal is not, and gets nothing run by it.
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
