//! The launcher's main function: reads the plan, starts the command, waits for it and kills its processes.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, kill_process_group, wait};

use crate::launcher::confine::{self, StartedCommand};
use crate::launcher::plan::{Confinement, LaunchPlan, LauncherMessage, MAX_PLAN};
use crate::limits::MAX_TIMEOUT;
use crate::{ExceededLimit, ExecErrorKind, RunEnding};

/// Time limit for killing all processes.
const KILL_TIME: Duration = Duration::from_secs(5);
/// Wrappers report a signal as this exit status plus its number, as shells do.
const SIGNAL_STATUS: i32 = 128;

/// Runs the plan from standard input; returns whether its end was reported and all processes are gone.
pub(crate) fn run() -> bool {
    let Ok(control) = io::stdin().as_fd().try_clone_to_owned() else { return false };
    let control = UnixStream::from(control);
    // A person who types the argument at a terminal has no socket as standard input.
    if control.peer_addr().is_err() {
        return false;
    }
    if !send(&control, &LauncherMessage::HELLO) {
        return false;
    }
    let Some((plan, input)) = read(&control) else {
        let detail = "invalid plan".to_owned();
        return send(&control, &LauncherMessage::Failed { kind: ExecErrorKind::Launcher, detail });
    };
    let start = Instant::now();
    prepare();
    let (started, stdin) = match confine::start(&plan) {
        Ok(started) => started,
        Err((kind, detail)) => {
            return send(&control, &LauncherMessage::Failed { kind, detail });
        }
    };
    if let (Some(stdin), Some(input)) = (stdin, input) {
        std::thread::spawn(move || write_input(stdin, &input));
    }
    send(
        &control,
        &LauncherMessage::Started {
            process: started.process.as_raw_nonzero().get(),
            detail: started.detail.clone(),
        },
    );
    let ending = watch(&control, &plan, &started, start + plan.limits.timeout.min(MAX_TIMEOUT));
    let is_all_gone = kill_all(started.process);
    let ending = match ending {
        // It may have written more since the last poll.
        RunEnding::Exited(_) | RunEnding::Signalled(_) if confine::has_filled_disk(&plan) => {
            RunEnding::Exceeded(ExceededLimit::Disk)
        }
        ending => ending,
    };
    let report = match (&plan.confinement, ending) {
        (Confinement::Wrapper { .. }, RunEnding::Exited(status)) => wrapper_report(status, &started),
        (_, ending) => LauncherMessage::Ended(ending),
    };
    let is_sent = send(&control, &report);
    if !is_sent {
        // The host is gone and cannot remove it.
        let _ = crate::scratch::remove(&plan.scratch);
    }
    // On failure the host searches for remaining processes.
    is_sent && is_all_gone
}

/// Reads the plan and the input that follows it.
fn read(control: &UnixStream) -> Option<(LaunchPlan, Option<Vec<u8>>)> {
    let mut reader = BufReader::new(control);
    let mut line = Vec::new();
    reader.by_ref().take(MAX_PLAN as u64).read_until(b'\n', &mut line).ok()?;
    let plan = serde_json::from_slice::<LaunchPlan>(&line).ok()?;
    let Some(length) = plan.input else { return Some((plan, None)) };
    let mut input = Vec::new();
    reader.take(length).read_to_end(&mut input).ok()?;
    (input.len() as u64 == length).then_some((plan, Some(input)))
}

fn send(mut control: &UnixStream, report: &LauncherMessage) -> bool {
    control.write_all(report.to_line().as_bytes()).is_ok()
}

fn write_input(stdin: OwnedFd, input: &[u8]) {
    // A command need not read its input.
    let _ = std::fs::File::from(stdin).write_all(input);
}

/// Leaves the host's terminal session, and adopts orphans of the command as a child subreaper.
fn prepare() {
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        close_fds::set_fds_cloexec(3, &[]);
    }
}

/// Returns the report for a wrapper that exited with `status`, preferring that of the init process inside.
fn wrapper_report(status: i32, started: &StartedCommand) -> LauncherMessage {
    if let Some(report) = started.final_report() {
        return report;
    }
    if !started.has_started() {
        return LauncherMessage::Failed { kind: ExecErrorKind::Unavailable, detail: String::new() };
    }
    // The init process was killed before its last report, or there is no such report.
    let is_signal = status > SIGNAL_STATUS && status <= SIGNAL_STATUS + 64;
    LauncherMessage::Ended(if is_signal {
        RunEnding::Signalled(status - SIGNAL_STATUS)
    } else {
        RunEnding::Exited(status)
    })
}

/// Waits until the command ends, times out, exceeds a limit, or is cancelled.
fn watch(control: &UnixStream, plan: &LaunchPlan, started: &StartedCommand, deadline: Instant) -> RunEnding {
    let mut meter = confine::Meter::new(plan, started);
    loop {
        if let Some(ending) = reap(started.process) {
            return ending;
        }
        let now = Instant::now();
        if now >= deadline {
            return RunEnding::TimedOut;
        }
        if let Some(exceeded) = meter.poll(now) {
            // If it has just ended by itself, that counts.
            return reap(started.process).unwrap_or(RunEnding::Exceeded(exceeded));
        }
        let wait = deadline.min(meter.next()).saturating_duration_since(now);
        let mut fds = vec![PollFd::new(control, PollFlags::IN)];
        fds.extend(started.handle.as_ref().map(|handle| PollFd::new(handle, PollFlags::IN)));
        fds.extend(started.reports().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        let _ = poll(&mut fds, Timespec::try_from(wait).ok().as_ref());
        if started.read_reports() {
            // The command has started and has no hard limits yet.
            meter.poll_now();
        }
        // Any byte cancels the job, and so does the end of the host.
        if !fds[0].revents().is_empty() {
            return RunEnding::Cancelled;
        }
    }
}

/// Reaps all processes that ended; returns how the command ended if it is among them.
fn reap(process: Pid) -> Option<RunEnding> {
    let mut ending = None;
    while let Ok(Some((ended, status))) = wait(WaitOptions::NOHANG) {
        if ended == process {
            ending = Some(ending_of(status));
        }
    }
    ending
}

pub(super) fn ending_of(status: WaitStatus) -> RunEnding {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(status), _) => RunEnding::Exited(status),
        (_, signal) => RunEnding::Signalled(signal.unwrap_or_default()),
    }
}

/// Kills all processes of the command; returns whether none is left.
///
/// Orphans become children of this process, so it kills children repeatedly, faster than they can fork.
fn kill_all(process: Pid) -> bool {
    let deadline = Instant::now() + KILL_TIME;
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

/// Kills the command's process group and all children of this process; returns how many were alive.
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
