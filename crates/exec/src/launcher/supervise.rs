//! The launcher's main: reads the plan, has the command started, watches over it, and ends everything.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, kill_process_group, wait};

use crate::launcher::confine::{self, StartedCommand};
use crate::launcher::plan::{Confinement, MAX_PLAN, Plan, Report};
use crate::limits::MAX_TIMEOUT;
use crate::{Ending, ExecErrorKind};

/// Time limit for ending all processes.
const END: Duration = Duration::from_secs(5);
/// Added to a signal's number by programs that stand between, as shells do.
const SIGNAL_STATUS: i32 = 128;

/// Does what the plan says; returns whether it came to an end that was told.
pub(crate) fn run() -> bool {
    let Ok(control) = io::stdin().as_fd().try_clone_to_owned() else { return false };
    let control = UnixStream::from(control);
    // Whoever types the argument at a terminal is no host.
    if control.peer_addr().is_err() {
        return false;
    }
    if !tell(&control, &Report::HELLO) {
        return false;
    }
    let Some((plan, input)) = read(&control) else {
        let detail = "the plan was not understood".to_owned();
        return tell(&control, &Report::Failed { kind: ExecErrorKind::Launcher, detail });
    };
    let start = Instant::now();
    prepare();
    let (started, stdin) = match confine::start(&plan) {
        Ok(started) => started,
        Err((kind, detail)) => {
            return tell(&control, &Report::Failed { kind, detail });
        }
    };
    if let (Some(stdin), Some(input)) = (stdin, input) {
        std::thread::spawn(move || feed(stdin, &input));
    }
    tell(
        &control,
        &Report::Started { process: started.process.as_raw_nonzero().get(), detail: started.detail.clone() },
    );
    let ending = watch(&control, &plan, &started, start + plan.limits.timeout.min(MAX_TIMEOUT));
    let is_all_gone = end_all(started.process);
    let report = match (&plan.confinement, ending) {
        (Confinement::Wrapper { .. }, Ending::Exited(status)) => wrapped(status, &started),
        (_, ending) => Report::Ended(ending),
    };
    let is_told = tell(&control, &report);
    if !is_told {
        // Nobody is left to do it.
        let _ = crate::scratch::remove(&plan.scratch);
    }
    // The host looks for what is left if this is not so.
    is_told && is_all_gone
}

/// Reads the plan and the input that follows it.
fn read(control: &UnixStream) -> Option<(Plan, Option<Vec<u8>>)> {
    let mut reader = BufReader::new(control);
    let mut line = Vec::new();
    reader.by_ref().take(MAX_PLAN as u64).read_until(b'\n', &mut line).ok()?;
    let plan = serde_json::from_slice::<Plan>(&line).ok()?;
    let Some(length) = plan.input else { return Some((plan, None)) };
    let mut input = Vec::new();
    reader.take(length).read_to_end(&mut input).ok()?;
    (input.len() as u64 == length).then_some((plan, Some(input)))
}

fn tell(mut control: &UnixStream, report: &Report) -> bool {
    control.write_all(report.to_line().as_bytes()).is_ok()
}

fn feed(stdin: OwnedFd, input: &[u8]) {
    // A command need not read what it is given.
    let _ = std::fs::File::from(stdin).write_all(input);
}

/// Leaves the host's terminal and takes responsibility for whatever loses its parent.
fn prepare() {
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        close_fds::set_fds_cloexec(3, &[]);
    }
}

/// Returns what the end of a program means that stood between: the herald inside tells how the command ended, or that it could not be started.
fn wrapped(status: i32, started: &StartedCommand) -> Report {
    if let Some(report) = started.told() {
        return report;
    }
    if !started.has_begun() {
        return Report::Failed { kind: ExecErrorKind::Unavailable, detail: String::new() };
    }
    // The command ended the herald as well, or there is none.
    let is_signal = status > SIGNAL_STATUS && status <= SIGNAL_STATUS + 64;
    Report::Ended(if is_signal { Ending::Signalled(status - SIGNAL_STATUS) } else { Ending::Exited(status) })
}

/// Waits until the command ends, takes too long, uses too much, or is no longer wanted.
fn watch(control: &UnixStream, plan: &Plan, started: &StartedCommand, deadline: Instant) -> Ending {
    let mut meter = confine::Meter::new(plan, started);
    loop {
        if let Some(ending) = reap(started.process) {
            return ending;
        }
        let now = Instant::now();
        if now >= deadline {
            return Ending::TimedOut;
        }
        if let Some(exceeded) = meter.look(now) {
            // It may have ended just now, within its limits as far as anybody knows.
            return reap(started.process).unwrap_or(Ending::Exceeded(exceeded));
        }
        let wait = deadline.min(meter.next()).saturating_duration_since(now);
        let mut fds = vec![PollFd::new(control, PollFlags::IN)];
        fds.extend(started.handle.as_ref().map(|handle| PollFd::new(handle, PollFlags::IN)));
        fds.extend(started.herald().map(|herald| PollFd::new(herald, PollFlags::IN)));
        let _ = poll(&mut fds, Timespec::try_from(wait).ok().as_ref());
        if started.listen() {
            // The command has begun, and its limits are not firm yet.
            meter.hurry();
        }
        // Whatever comes, be it the end of the host, means that the job is not wanted any more.
        if !fds[0].revents().is_empty() {
            return Ending::Cancelled;
        }
    }
}

/// Takes note of every process that ended; returns how the command did, if it did.
fn reap(process: Pid) -> Option<Ending> {
    let mut ending = None;
    while let Ok(Some((ended, status))) = wait(WaitOptions::NOHANG) {
        if ended == process {
            ending = Some(ending_of(status));
        }
    }
    ending
}

pub(super) fn ending_of(status: WaitStatus) -> Ending {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(status), _) => Ending::Exited(status),
        (_, signal) => Ending::Signalled(signal.unwrap_or_default()),
    }
}

/// Ends everything that came of the command; returns whether nothing is left.
///
/// Orphans become children of this process. So it is enough to end children repeatedly, which is faster than they can fork.
fn end_all(process: Pid) -> bool {
    let deadline = Instant::now() + END;
    let mut pause = Duration::from_micros(20);
    loop {
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        if matches!(wait(WaitOptions::NOHANG), Err(rustix::io::Errno::CHILD)) {
            return true;
        }
        if Instant::now() > deadline {
            return false;
        }
        if kill(process) == 0 {
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(5));
        }
    }
}

/// Ends the command's group and all children of this process; returns how many were alive.
fn kill(process: Pid) -> usize {
    let group = kill_process_group(process, Signal::KILL).is_ok();
    #[cfg(target_os = "linux")]
    {
        let _ = group;
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let children = crate::launcher::process_tree::children(own);
        let children =
            children.unwrap_or_else(|| crate::launcher::process_tree::descendants(own, usize::MAX));
        let children = children.into_iter().filter_map(Pid::from_raw);
        children.filter(|child| kill_process(*child, Signal::KILL).is_ok()).count()
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = kill_process(process, Signal::KILL);
        usize::from(group)
    }
}
