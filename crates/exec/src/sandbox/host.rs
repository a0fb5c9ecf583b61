//! The host's side of a run: starts a launcher, sends the plan, reads the command's output, and waits.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::git::NO_SYSTEM_FILES;
use crate::journal::{self, JobJournal};
use crate::launcher::plan::{Confinement, LaunchPlan, LauncherMessage, MAX_PLAN};
use crate::launcher::{LAUNCHER_ARGUMENT, Launcher};
use crate::launcher::{process_tree, run_tag};
use crate::limits::MAX_TIMEOUT;
use crate::protect::after::{self, RemovedLink};
use crate::protect::during::{Watch, WatchFindings};
use crate::protect::put_back::{RestoredFiles, put_back};
use crate::resolved_grants::ResolvedGrants;
use crate::scratch::{self, Scratch};
use crate::{Cancel, CleanupProblem, ExecError, ExecErrorKind, Job, Output, RunEnding, RunOutcome};

/// Grace period of a launcher beyond the command's timeout, to start, to kill all processes and to clean up.
const GRACE: Duration = Duration::from_secs(10);
/// Time limit for reading remaining output after the launcher is gone.
const FINAL_READ_TIME: Duration = Duration::from_millis(200);
/// Poll interval of the cancel flag.
const CANCEL_INTERVAL: Duration = Duration::from_millis(10);
const PLAN_TOO_LARGE: &str = "the arguments, variables and granted paths are too long for one job; grant smaller directories, or pass less";
/// Timeout of the launcher's `Hello` report.
const HELLO_TIME: Duration = Duration::from_secs(10);
/// The message if the program that was started is not a launcher.
const NO_LAUNCHER: &str = "the program is not a launcher of this version; its main has to begin with `repertoire_exec::launcher::run_if_asked`";
/// Size of the read buffer, in bytes.
const CHUNK: usize = 64 << 10;
/// The longest report, in bytes.
const MAX_REPORT: usize = 64 << 10;

/// The outcome of a run, with the launcher's description of the confinement.
pub(crate) type ReportedOutcome = (RunOutcome, String);

/// The way a sandbox protects files in a writable directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProtectionMeans {
    /// It excepts the files from the grant.
    ExceptFiles,
    /// It grants the other entries of the directory one by one; none can be created or removed then.
    SplitDirectories,
    /// It does not protect files, and none are renamed after the run.
    None,
}

/// Runs a job in the confinement that `confine` returns for its grants.
pub(crate) fn run(
    launcher: &Launcher,
    job: &Job,
    means: ProtectionMeans,
    confine: impl Fn(&ResolvedGrants, &Scratch) -> Result<Confinement, ExecError>,
) -> Result<ReportedOutcome, ExecError> {
    let parent = job.scratch.as_deref().unwrap_or(Path::new(scratch::PARENT));
    let scratch = Scratch::create(parent).map_err(|error| io_error(parent, error))?;
    let mut grants = ResolvedGrants::of(job, &scratch)?;
    if means != ProtectionMeans::None {
        grants.environment.retain(|(name, _)| !NO_SYSTEM_FILES.iter().any(|(own, _)| own == name));
        let no_system_files =
            NO_SYSTEM_FILES.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        grants.environment.extend(no_system_files);
    }
    let tag = run_tag::fresh();
    let granted = if means == ProtectionMeans::None { &[][..] } else { &grants.writable };
    let journal = job.state.as_ref().map(|state| {
        let time = job.limits.timeout.min(MAX_TIMEOUT) + 2 * GRACE;
        let git = grants.git.as_ref().map(|git| git.path.as_path());
        JobJournal::write(&journal::directory(state), tag, time, scratch.path(), granted, git)
            .map_err(|error| io_error(state, error))
    });
    let journal = journal.transpose()?;
    // A file that was replaced on the host has lost its read-only mount.
    let has_mounts = cfg!(target_os = "linux") && means == ProtectionMeans::ExceptFiles;
    let links = after::links(granted);
    let watch = Watch::start(granted, has_mounts);
    let began = SystemTime::now();
    let mut finished = execute(launcher, job, &grants, &scratch, &confine, watch, tag)?;
    // This comes first, so that no protected file is left whatever fails or takes long afterwards.
    let renames = after::sweep(granted);
    let is_refused = finished.findings.is_alarm() || !renames.refused.is_empty();
    let mut refused = std::mem::take(&mut finished.findings.renames.refused);
    refused.extend(renames.refused);
    let git = grants.git.as_ref().map(|git| git.path.as_path());
    let RestoredFiles { refused, restored } = put_back(git, began, &refused);
    let mut cleanup_problems: Vec<CleanupProblem> =
        renames.left.into_iter().map(CleanupProblem::NotSwept).collect();
    let removed = after::restore(links).into_iter();
    cleanup_problems.extend(
        removed.map(|RemovedLink { path, is_restored }| CleanupProblem::ProtectedLinkRemoved {
            path,
            is_restored,
        }),
    );
    cleanup_problems.extend(restored.into_iter().map(CleanupProblem::CheckedOut));
    cleanup_problems
        .extend(finished.findings.replaced.iter().cloned().map(CleanupProblem::ProtectedFileReplaced));
    let LauncherResult { report, stdout, stderr, detail, .. } = finished;
    drop(scratch);
    drop(journal);
    let outcome = |ending, stdout, stderr| RunOutcome {
        // It makes no difference if it was killed in time or had just ended.
        ending: if is_refused { RunEnding::ProtectedName } else { ending },
        stdout,
        stderr,
        refused,
        cleanup_problems: cleanup_problems.clone(),
    };
    let failed = match report {
        Some(LauncherMessage::Ended(ending)) => return Ok((outcome(ending, stdout, stderr), detail)),
        Some(LauncherMessage::Failed { kind, detail }) => {
            let detail = if detail.is_empty() {
                String::from_utf8_lossy(&stderr.bytes).trim().to_owned()
            } else {
                detail
            };
            ExecError::new(kind).saying(detail)
        }
        _ if job.cancel.as_ref().is_some_and(Cancel::is_cancelled) => {
            return Ok((outcome(RunEnding::Cancelled, stdout, stderr), detail));
        }
        _ => ExecError::new(ExecErrorKind::Launcher).saying("it ended without a report"),
    };
    // A problem after the run is reported before the failure: a protected file may be left.
    match cleanup_problems.first() {
        Some(left) => Err(ExecError::new(ExecErrorKind::Io).saying(format!("{left} ({failed})"))),
        None => Err(failed),
    }
}

/// The last report of a launcher, and the output of the command.
struct LauncherResult {
    report: Option<LauncherMessage>,
    stdout: Output,
    stderr: Output,
    detail: String,
    findings: WatchFindings,
}

/// Runs the command of a job with a launcher, and waits until all its processes are gone.
fn execute(
    launcher: &Launcher,
    job: &Job,
    grants: &ResolvedGrants,
    scratch: &Scratch,
    confine: &impl Fn(&ResolvedGrants, &Scratch) -> Result<Confinement, ExecError>,
    watch: Option<Watch<'_>>,
    tag: u64,
) -> Result<LauncherResult, ExecError> {
    let mut command = vec![grants.program.path.clone().into_os_string()];
    command.extend(job.command.iter().skip(1).cloned());
    let plan = LaunchPlan {
        command,
        environment: grants.environment.clone(),
        directory: grants.working.clone(),
        scratch: scratch.path().to_owned(),
        input: job.input.as_ref().map(|input| input.len() as u64),
        network: grants.network,
        tag,
        confinement: confine(grants, scratch)?,
        limits: job.limits.clone(),
    };
    let mut connection = LauncherConnection::open(launcher, &plan, job)?;
    let deadline = Instant::now() + job.limits.timeout.min(MAX_TIMEOUT) + GRACE;
    let (report, findings) = match watch {
        Some(watch) => connection.wait_watched(job, deadline, watch),
        None => (connection.wait_for_end(job, deadline), WatchFindings::default()),
    };
    let (stdout, stderr, detail) = connection.end();
    Ok(LauncherResult { report, stdout, stderr, detail, findings })
}

fn io_error(path: &Path, error: io::Error) -> ExecError {
    ExecError::new(ExecErrorKind::Io).at(path).because(error)
}

/// A running launcher and the pipes to it.
struct LauncherConnection {
    child: Child,
    control: UnixStream,
    stdout: OutputReader,
    stderr: OutputReader,
    received: Vec<u8>,
    process: Option<i32>,
    tag: u64,
    detail: String,
}

impl LauncherConnection {
    fn open(launcher: &Launcher, plan: &LaunchPlan, job: &Job) -> Result<Self, ExecError> {
        let failed = |error| ExecError::new(ExecErrorKind::Launcher).because(error);
        let mut line = serde_json::to_string(plan).map_err(|error| failed(error.into()))?;
        line.push('\n');
        if line.len() > MAX_PLAN {
            return Err(ExecError::new(ExecErrorKind::GrantRefused).saying(PLAN_TOO_LARGE));
        }
        let program = launcher.program().map_err(failed)?;
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        #[allow(clippy::disallowed_methods, reason = "this is where processes start")]
        let mut command = Command::new(&program);
        command.arg0(LAUNCHER_ARGUMENT).arg(LAUNCHER_ARGUMENT).env_clear().current_dir("/");
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| failed(error).at(&program))?;
        let shown = program;
        // Closes the launcher's end of the socket here, so that its exit closes the connection.
        drop(command);
        let stdout = child.stdout.take().map(OwnedFd::from);
        let stderr = child.stderr.take().map(OwnedFd::from);
        let mut connection = Self {
            child,
            control: ours,
            stdout: OutputReader::new(stdout, job.limits.output),
            stderr: OutputReader::new(stderr, job.limits.output),
            received: Vec::new(),
            process: None,
            tag: plan.tag,
            detail: String::new(),
        };
        if !connection.wait_for_hello() {
            let _ = connection.child.kill();
            let _ = connection.child.wait();
            return Err(ExecError::new(ExecErrorKind::Launcher).at(shown).saying(NO_LAUNCHER));
        }
        let sent = connection
            .send(line.as_bytes())
            .and_then(|()| connection.send(job.input.as_deref().unwrap_or_default()));
        // Sending fails if the launcher has exited; its last report says why.
        drop(sent);
        Ok(connection)
    }

    /// Waits for the launcher's `Hello`. Returns `false` if the child exits, prints output or is too late.
    fn wait_for_hello(&mut self) -> bool {
        let deadline = Instant::now() + HELLO_TIME;
        if self.control.set_nonblocking(true).is_err() {
            return false;
        }
        let mut has_output = false;
        loop {
            let is_open = self.receive();
            if let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                return LauncherMessage::of_line(&line) == Some(LauncherMessage::HELLO)
                    && self.control.set_nonblocking(false).is_ok();
            }
            let wait = deadline.saturating_duration_since(Instant::now());
            if !is_open || wait.is_zero() || has_output {
                return false;
            }
            self.wait(true, wait);
            self.stdout.drain();
            has_output = !self.stdout.output.bytes.is_empty() || self.stdout.output.dropped > 0;
        }
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        self.control.set_write_timeout(Some(GRACE))?;
        (&self.control).write_all(bytes)
    }

    /// Reads reports and output until the launcher is done, and returns its last report.
    fn wait_for_end(&mut self, job: &Job, deadline: Instant) -> Option<LauncherMessage> {
        let mut last = None;
        let mut is_cancelled = false;
        let mut until = deadline;
        let mut is_open = self.control.set_nonblocking(true).is_ok();
        while is_open || !self.stdout.is_done() || !self.stderr.is_done() {
            let now = Instant::now();
            if now >= until {
                break;
            }
            let mut wait = until - now;
            if let Some(cancel) = job.cancel.as_ref().filter(|_| !is_cancelled) {
                if cancel.is_cancelled() {
                    is_cancelled = true;
                    until = until.min(now + GRACE);
                    // The launcher kills all processes then, and reports it.
                    drop(self.send(b"c"));
                    continue;
                }
                wait = wait.min(CANCEL_INTERVAL);
            }
            self.wait(is_open, wait);
            self.stdout.drain();
            self.stderr.drain();
            if is_open {
                is_open = self.receive();
                while let Some(report) = self.next_report() {
                    last = Some(report);
                }
                if !is_open {
                    until = until.min(Instant::now() + FINAL_READ_TIME);
                }
            }
        }
        last.or(self.process.map(|process| LauncherMessage::Started { process, detail: String::new() }))
    }

    /// Waits for the end, and cancels the job at the alarm of a watch.
    fn wait_watched(
        &mut self,
        job: &Job,
        deadline: Instant,
        watch: Watch<'_>,
    ) -> (Option<LauncherMessage>, WatchFindings) {
        let (Ok((end, ended)), Ok(control)) = (UnixStream::pair(), self.control.try_clone()) else {
            return (self.wait_for_end(job, deadline), WatchFindings::default());
        };
        std::thread::scope(|scope| {
            let watching = scope.spawn(move || {
                watch.run(ended.as_fd(), || {
                    // The launcher kills all processes then.
                    let _ = (&control).write_all(b"c");
                })
            });
            let report = self.wait_for_end(job, deadline);
            drop(end);
            (report, watching.join().unwrap_or_default())
        })
    }

    fn wait(&self, is_open: bool, wait: Duration) {
        let mut fds = Vec::with_capacity(3);
        if is_open {
            fds.push(PollFd::new(&self.control, PollFlags::IN));
        }
        let outputs = [&self.stdout, &self.stderr];
        fds.extend(
            outputs
                .into_iter()
                .filter_map(OutputReader::fd)
                .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)),
        );
        let wait = Timespec::try_from(wait).ok();
        // An interrupted wait only ends early.
        let _ = poll(&mut fds, wait.as_ref());
    }

    /// Reads from the launcher; returns whether the connection is still open.
    fn receive(&mut self) -> bool {
        let mut chunk = [0; 4096];
        loop {
            match self.control.read(&mut chunk) {
                Ok(0) => return false,
                Ok(count) if self.received.len() < MAX_REPORT => self.received.extend(&chunk[..count]),
                Ok(_) => return false,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
    }

    /// Returns the next received report about the end. A `Started` report is stored in `self`.
    fn next_report(&mut self) -> Option<LauncherMessage> {
        loop {
            let end = self.received.iter().position(|byte| *byte == b'\n')?;
            let line: Vec<u8> = self.received.drain(..=end).collect();
            match LauncherMessage::of_line(&line) {
                Some(LauncherMessage::Hello(_)) => {}
                Some(LauncherMessage::Started { process, detail }) => {
                    self.process = Some(process);
                    self.detail = detail;
                }
                Some(report) => return Some(report),
                None => {}
            }
        }
    }

    /// Makes sure that the launcher and all processes of the command are gone, and returns the output.
    fn end(mut self) -> (Output, Output, String) {
        drop(self.control);
        let launcher = self.child.id();
        if !wait_for(&mut self.child, GRACE) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        let ended_well = self.child.wait().is_ok_and(|status| status.success());
        if !ended_well {
            process_tree::kill_session(launcher, self.process);
            run_tag::kill_tagged(self.tag);
        }
        (self.stdout.output, self.stderr.output, self.detail)
    }
}

fn wait_for(child: &mut Child, at_most: Duration) -> bool {
    let deadline = Instant::now() + at_most;
    let mut pause = Duration::from_micros(50);
    while Instant::now() < deadline {
        if !matches!(child.try_wait(), Ok(None)) {
            return true;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_micros(250));
    }
    false
}

/// Reads standard output or standard error to its end, and keeps it up to a limit.
struct OutputReader {
    file: Option<std::fs::File>,
    output: Output,
    limit: usize,
}

impl OutputReader {
    fn new(fd: Option<OwnedFd>, limit: usize) -> Self {
        let file = fd.filter(|fd| rustix::io::ioctl_fionbio(fd, true).is_ok()).map(std::fs::File::from);
        Self { file, output: Output::default(), limit }
    }

    fn fd(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        self.file.as_ref().map(|file| file.as_fd())
    }

    fn is_done(&self) -> bool {
        self.file.is_none()
    }

    fn drain(&mut self) {
        let Some(file) = &mut self.file else { return };
        let mut chunk = [0; CHUNK];
        // Bounded, so that a flood of output does not delay the timeout.
        for _ in 0..16 {
            match file.read(&mut chunk) {
                Ok(0) => {
                    self.file = None;
                    return;
                }
                Ok(count) => {
                    let kept = count.min(self.limit - self.output.bytes.len());
                    self.output.bytes.extend(&chunk[..kept]);
                    self.output.dropped += (count - kept) as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    self.file = None;
                    return;
                }
            }
        }
    }
}
