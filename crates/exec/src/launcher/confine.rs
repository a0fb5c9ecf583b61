//! Sets resource limits, builds the confinement, and starts the command in it.

use std::cell::{Cell, RefCell};
#[cfg(target_os = "linux")]
use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, setrlimit};

use crate::launcher::plan::{Confinement, LaunchPlan, LauncherMessage};
use crate::scratch::{self, UnreadableSize};
use crate::verified_path::VerifiedPath;
use crate::{ExceededLimit, ExecErrorKind, RunEnding};

/// The reason why a command was not started.
pub(super) type StartError = (ExecErrorKind, String);

pub(super) struct StartedCommand {
    pub(super) process: Pid,
    /// The pidfd of the process, which becomes readable when it ends.
    pub(super) handle: Option<OwnedFd>,
    /// A description of the confinement.
    pub(super) detail: String,
    /// The pipe from the init process, if the sandbox has one.
    init_pipe: Option<InitPipe>,
}

/// The pipe from the init process, which reports that the command was started and how it ended.
struct InitPipe {
    reader: OwnedFd,
    /// The bytes read so far.
    reports: RefCell<Vec<u8>>,
    is_open: Cell<bool>,
}

impl StartedCommand {
    /// Returns the pipe from the init process while it is open.
    pub(super) fn reports(&self) -> Option<&OwnedFd> {
        self.init_pipe.as_ref().filter(|pipe| pipe.is_open.get()).map(|pipe| &pipe.reader)
    }

    /// Reads from the init process; returns whether there was anything to read.
    pub(super) fn read_reports(&self) -> bool {
        let Some(pipe) = self.init_pipe.as_ref().filter(|pipe| pipe.is_open.get()) else {
            return false;
        };
        let mut text = [0; 4096];
        match rustix::io::read(&pipe.reader, &mut text) {
            Ok(count) if count > 0 && pipe.reports.borrow().len() <= text.len() => {
                pipe.reports.borrow_mut().extend(text.iter().take(count));
                true
            }
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => false,
            _ => {
                pipe.is_open.set(false);
                false
            }
        }
    }

    /// Returns the last report of the init process, once all processes are gone.
    pub(super) fn final_report(&self) -> Option<LauncherMessage> {
        while self.read_reports() {}
        let reports = self.init_pipe.as_ref()?.reports.borrow();
        let line = reports.split(|byte| *byte == b'\n').rfind(|line| !line.is_empty())?;
        match LauncherMessage::of_line(line)? {
            // An init process may send no other reports.
            report @ (LauncherMessage::Ended(RunEnding::Exited(_) | RunEnding::Signalled(_))
            | LauncherMessage::Failed { kind: ExecErrorKind::CommandFailed, .. }) => Some(report),
            _ => None,
        }
    }

    /// Returns whether the command was started. An init process reports it first; without one it is assumed.
    pub(super) fn has_started(&self) -> bool {
        self.init_pipe.as_ref().is_none_or(|pipe| !pipe.reports.borrow().is_empty())
    }
}

/// Starts the command of a plan in its confinement; returns it with the pipe to its standard input.
pub(super) fn start(plan: &LaunchPlan) -> Result<(StartedCommand, Option<OwnedFd>), StartError> {
    match &plan.confinement {
        Confinement::None => {
            limit(plan)?;
            finish(plan, spawn(command(plan, &[]))?, String::new(), None)
        }
        Confinement::Landlock(rules) => start_landlocked(plan, rules),
        Confinement::Wrapper { arguments, pinned, takes_filter } => {
            start_wrapped(plan, arguments, pinned, *takes_filter)
        }
    }
}

fn finish(
    plan: &LaunchPlan,
    (process, stdin): (u32, Option<OwnedFd>),
    detail: String,
    init_pipe: Option<InitPipe>,
) -> Result<(StartedCommand, Option<OwnedFd>), StartError> {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    let process = process.ok_or_else(|| (ExecErrorKind::Launcher, "invalid process ID".to_owned()))?;
    limit_started(process, plan);
    Ok((StartedCommand { process, handle: handle(process), detail, init_pipe }, stdin))
}

#[cfg(target_os = "linux")]
fn handle(process: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(process, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn handle(_process: Pid) -> Option<OwnedFd> {
    None
}

fn command(plan: &LaunchPlan, before: &[std::ffi::OsString]) -> Command {
    let mut words = before.iter().chain(&plan.command);
    let program = words.next().cloned().unwrap_or_default();
    #[allow(clippy::disallowed_methods, reason = "this is where processes start")]
    let mut command = Command::new(program);
    command.args(words).env_clear().envs(plan.environment.iter().map(|(name, value)| (name, value)));
    command.current_dir(&plan.directory).process_group(0);
    command.stdin(if plan.input.is_some() { Stdio::piped() } else { Stdio::null() });
    command
}

/// Starts a command. Waiting for any child process waits for it too.
fn spawn(mut command: Command) -> Result<(u32, Option<OwnedFd>), StartError> {
    let mut child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::ArgumentListTooLong => {
            (ExecErrorKind::TooLong, "more than the system allows".to_owned())
        }
        _ => (ExecErrorKind::CommandFailed, error.to_string()),
    })?;
    Ok((child.id(), child.stdin.take().map(OwnedFd::from)))
}

/// Sets the resource limits of this process, which the command inherits.
///
/// Limits that the launcher itself could hit get a higher hard limit. Once the command runs,
/// [`limit_started`] raises the soft limits of the launcher again and lowers the hard limits of the command.
/// Until then the timeout and the [`Meter`] bound the command.
fn limit(plan: &LaunchPlan) -> Result<(), StartError> {
    crate::launcher::run_tag::tag_this_process(plan.tag);
    let limits = &plan.limits;
    let both = |resource, value| (resource, value, value);
    // On Linux 0 would not keep a core dump from the program of `core_pattern`, which runs outside; 1 does.
    let core = if cfg!(target_os = "linux") { 1 } else { 0 };
    let mut all = vec![both(Resource::Fsize, limits.file_size), both(Resource::Core, core)];
    all.extend(start_limits(plan));
    #[cfg(target_os = "linux")]
    all.extend(
        [
            (Resource::Memlock, 64 << 10),
            (Resource::Msgqueue, 0),
            (Resource::Sigpending, 1024),
            (Resource::Nice, 0),
            (Resource::Rtprio, 0),
        ]
        .map(|(resource, value)| both(resource, value)),
    );
    for (resource, current, maximum) in all {
        let now = rustix::process::getrlimit(resource).maximum;
        let least = |value: u64| Some(now.map_or(value, |now| now.min(value)));
        let limit = Rlimit { current: least(current.min(maximum)), maximum: least(maximum) };
        setrlimit(resource, limit)
            .map_err(|error| (ExecErrorKind::Launcher, format!("{resource:?}: {error}")))?;
    }
    Ok(())
}

/// Returns the limits that the launcher itself could hit: the soft limit that the command starts with, and
/// the launcher's hard limit.
fn start_limits(plan: &LaunchPlan) -> [(Resource, u64, u64); 3] {
    let limits = &plan.limits;
    let cpu = limits.cpu.as_secs().max(1);
    // The most that all threads of the launcher can use until the timeout.
    let launcher_cpu = limits.timeout.as_secs().saturating_add(60).saturating_mul(LAUNCHER_THREADS);
    let files = limits.open_files.max(MIN_FILES).saturating_add(plan.descriptors());
    let memory = limits.memory.saturating_add(launcher_memory());
    [
        (Resource::Cpu, cpu, cpu.saturating_add(launcher_cpu)),
        (
            Resource::Nofile,
            limits.open_files.max(MIN_FILES_TO_START).saturating_add(plan.descriptors()),
            files,
        ),
        (Resource::Data, memory, memory.saturating_add(LAUNCHER_HEADROOM)),
    ]
}

/// Raises the launcher's soft limits again, and sets the hard limits of the command that was started.
fn limit_started(process: Pid, plan: &LaunchPlan) {
    for (resource, _, _) in start_limits(plan) {
        let maximum = rustix::process::getrlimit(resource).maximum;
        let _ = setrlimit(resource, Rlimit { current: maximum, maximum });
    }
    // The init process needs as much memory as the launcher; it reports when the command has started.
    #[cfg(target_os = "linux")]
    if has_init(plan) {
        return;
    }
    limit_command(process, plan);
}

const LAUNCHER_THREADS: u64 = 4;
/// Open files that the launcher may need.
const MIN_FILES: u64 = 256;
/// Open files that the launcher needs to start the command.
const MIN_FILES_TO_START: u64 = 16;
/// Further memory that the launcher may need, in bytes.
const LAUNCHER_HEADROOM: u64 = 512 << 20;

/// Returns the memory of the launcher at its start, in bytes. It does not count towards the limit of the
/// command, which is forked from it.
#[cfg(target_os = "linux")]
fn launcher_memory() -> u64 {
    static OWN: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    let reserved =
        || crate::launcher::process_tree::reserved(rustix::process::getpid().as_raw_nonzero().get());
    OWN.get_or_init(reserved) + START_MARGIN
}

/// Returns whether the sandbox has an init process.
#[cfg(target_os = "linux")]
fn has_init(plan: &LaunchPlan) -> bool {
    matches!(plan.confinement, Confinement::Wrapper { takes_filter: true, .. })
}

#[cfg(not(target_os = "linux"))]
fn launcher_memory() -> u64 {
    1 << 30
}

/// Memory that the launcher needs until the command has started, in bytes.
#[cfg(target_os = "linux")]
const START_MARGIN: u64 = 16 << 20;

/// Sets the hard limits of a process of the command. Reserved address space, of which some interpreters take
/// gigabytes, does not count as memory.
#[cfg(target_os = "linux")]
fn limit_command(process: Pid, plan: &LaunchPlan) {
    let limits = &plan.limits;
    let mut all = vec![(Resource::Data, limits.memory), (Resource::Cpu, limits.cpu.as_secs().max(1))];
    // A wrapper needs the descriptors it inherited until the command starts.
    if plan.descriptors() == 0 {
        all.push((Resource::Nofile, limits.open_files));
    }
    for (resource, value) in all {
        let limit = Rlimit { current: Some(value), maximum: Some(value) };
        // Fails if it has ended already. The meter limits processes that it started before.
        let _ = rustix::process::prlimit(Some(process), resource, limit);
    }
}

#[cfg(not(target_os = "linux"))]
fn limit_command(_process: Pid, _plan: &LaunchPlan) {}

#[cfg(not(target_os = "linux"))]
fn start_landlocked(
    _plan: &LaunchPlan,
    _rules: &[crate::launcher::plan::AccessRule],
) -> Result<(StartedCommand, Option<OwnedFd>), StartError> {
    Err((ExecErrorKind::Unavailable, "Landlock needs Linux".to_owned()))
}

/// Starts the command from a thread that confines itself: the command inherits the confinement, the rest of
/// the launcher stays unconfined.
#[cfg(target_os = "linux")]
fn start_landlocked(
    plan: &LaunchPlan,
    rules: &[crate::launcher::plan::AccessRule],
) -> Result<(StartedCommand, Option<OwnedFd>), StartError> {
    limit(plan)?;
    let started = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let detail = crate::sandbox::landlock::rules::confine(rules, plan.network)?;
            Ok((spawn(command(plan, &[]))?, detail))
        });
        thread
            .join()
            .unwrap_or_else(|_| Err((ExecErrorKind::Launcher, "the confined thread panicked".to_owned())))
    });
    let (child, detail) = started?;
    finish(plan, child, detail, None)
}

#[cfg(not(target_os = "linux"))]
fn start_wrapped(
    plan: &LaunchPlan,
    arguments: &[std::ffi::OsString],
    _pinned: &[(usize, VerifiedPath)],
    _takes_filter: bool,
) -> Result<(StartedCommand, Option<OwnedFd>), StartError> {
    limit(plan)?;
    finish(plan, spawn(command(plan, arguments))?, String::new(), None)
}

/// Starts the command through a wrapper program that confines it. A wrapper that takes a filter, such as
/// bubblewrap, inherits it as a file descriptor.
#[cfg(target_os = "linux")]
fn start_wrapped(
    plan: &LaunchPlan,
    arguments: &[std::ffi::OsString],
    pinned: &[(usize, VerifiedPath)],
    takes_filter: bool,
) -> Result<(StartedCommand, Option<OwnedFd>), StartError> {
    use std::os::fd::AsRawFd;

    use rustix::fs::{MemfdFlags, Mode, OFlags, SeekFrom, memfd_create, seek};
    use rustix::pipe::{PipeFlags, pipe_with};

    use crate::launcher::arguments::INIT_ARGUMENT;

    let failed = |error: rustix::io::Errno| (ExecErrorKind::Launcher, error.to_string());
    limit(plan)?;
    if !takes_filter {
        return finish(plan, spawn(command(plan, arguments))?, String::new(), None);
    }
    let options = crate::launcher::seccomp::FilterOptions {
        network: plan.network,
        has_namespaces: true,
        has_signal_scope: true,
    };
    // Without `CLOEXEC`: the wrapper inherits it, and the launcher starts nothing else.
    let filter = memfd_create("filter", MemfdFlags::empty()).map_err(failed)?;
    let bytes = crate::launcher::seccomp::bytes(&crate::launcher::seccomp::program(options));
    if rustix::io::write(&filter, &bytes).map_err(failed)? != bytes.len() {
        return Err((ExecErrorKind::Launcher, "the filter could not be written".to_owned()));
    }
    seek(&filter, SeekFrom::Start(0)).map_err(failed)?;
    let mut arguments = arguments.to_vec();
    let mut handed = Vec::new();
    for (place, pinned) in pinned {
        let fault = |error: std::io::Error| {
            (ExecErrorKind::GrantRefused, format!("{}: {error}", pinned.path.display()))
        };
        let file = pinned.open().map_err(fault)?;
        rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).map_err(failed)?;
        if let Some(word) = arguments.get_mut(*place) {
            *word = file.as_raw_fd().to_string().into();
        }
        handed.push(file);
    }
    let (wrapper, rest) =
        arguments.split_first().ok_or((ExecErrorKind::Launcher, "no wrapper".to_owned()))?;
    let mut all = vec![wrapper.clone(), "--as-pid-1".into()];
    // By its file descriptor, because no path in the sandbox leads to it.
    let own = rustix::fs::open("/proc/self/exe", OFlags::PATH, Mode::empty()).map_err(failed)?;
    let (reader, writer) = pipe_with(PipeFlags::NONBLOCK).map_err(failed)?;
    rustix::io::fcntl_setfd(&reader, rustix::io::FdFlags::CLOEXEC).map_err(failed)?;
    all.extend(["--seccomp".into(), filter.as_raw_fd().to_string().into()]);
    all.extend(rest.iter().cloned());
    all.push(format!("/proc/self/fd/{}", own.as_raw_fd()).into());
    all.extend([INIT_ARGUMENT.into(), writer.as_raw_fd().to_string().into()]);
    // Started from the main thread: bubblewrap is killed when the thread that started it ends.
    let child = spawn(command(plan, &all))?;
    drop((filter, handed, own, writer));
    finish(
        plan,
        child,
        String::new(),
        Some(InitPipe { reader, reports: RefCell::default(), is_open: Cell::new(true) }),
    )
}

/// Returns the free bytes and inodes of the file system of `path`.
#[cfg(target_os = "linux")]
fn free(path: &std::path::Path) -> (u64, u64) {
    rustix::fs::statvfs(path).map_or((0, 0), |all| (all.f_bfree.saturating_mul(all.f_frsize), all.f_ffree))
}

/// Returns whether a command that has ended left more in the scratch directory than it may.
pub(super) fn has_filled_disk(plan: &LaunchPlan) -> bool {
    let (limit, mut sizes) = (plan.limits.disk, scratch::FileSizes::default());
    scratch::size(&plan.scratch, limit, UnreadableSize::Zero, &mut sizes) > limit
}

/// Polls the resource usage of a command.
pub(super) struct Meter<'a> {
    plan: &'a LaunchPlan,
    #[cfg(target_os = "linux")]
    started: &'a StartedCommand,
    next: Instant,
    next_disk: Instant,
    device: u64,
    sizes: scratch::FileSizes,
    /// Free bytes and inodes of its file system at the last poll of the disk.
    #[cfg(target_os = "linux")]
    free: (u64, u64),
    /// Bytes that were left of the limit then.
    #[cfg(target_os = "linux")]
    disk_left: u64,
    /// The earliest time of the next poll of the disk.
    #[cfg(target_os = "linux")]
    earliest_disk: Instant,
    /// `true` if a process hid its open files at the last poll of the disk.
    #[cfg(target_os = "linux")]
    was_hidden: bool,
    /// The memory of sockets at the last poll of the disk, in bytes.
    #[cfg(target_os = "linux")]
    sockets: u64,
    /// Processes whose hard limits are set.
    #[cfg(target_os = "linux")]
    with_hard_limits: HashSet<i32>,
    #[cfg(target_os = "linux")]
    shared: crate::launcher::process_tree::SharedSizes,
}

/// Poll interval of processes and memory.
const INTERVAL: Duration = Duration::from_millis(20);
/// Shortest poll interval of the scratch directory.
const DISK_INTERVAL: Duration = Duration::from_millis(50);
/// The pause between two polls, as a multiple of the time that one takes.
const PAUSE_FACTOR: u32 = 10;

impl<'a> Meter<'a> {
    pub(super) fn new(plan: &'a LaunchPlan, started: &'a StartedCommand) -> Self {
        #[cfg(not(target_os = "linux"))]
        let _ = started;
        let now = Instant::now();
        let device = std::fs::metadata(&plan.scratch).map_or(0, |metadata| metadata.dev());
        Self {
            plan,
            #[cfg(target_os = "linux")]
            started,
            next: now + INTERVAL / 2,
            next_disk: now + DISK_INTERVAL,
            device,
            sizes: scratch::FileSizes::default(),
            #[cfg(target_os = "linux")]
            free: free(&plan.scratch),
            #[cfg(target_os = "linux")]
            disk_left: plan.limits.disk,
            #[cfg(target_os = "linux")]
            earliest_disk: now,
            #[cfg(target_os = "linux")]
            was_hidden: false,
            #[cfg(target_os = "linux")]
            sockets: 0,
            #[cfg(target_os = "linux")]
            with_hard_limits: HashSet::new(),
            #[cfg(target_os = "linux")]
            shared: Default::default(),
        }
    }

    /// Makes the next poll due now.
    pub(super) fn poll_now(&mut self) {
        self.next = Instant::now();
    }

    /// Returns the time of the next poll.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Returns the limit that is exceeded, if a poll is due.
    #[cfg(target_os = "linux")]
    pub(super) fn poll(&mut self, now: Instant) -> Option<ExceededLimit> {
        use crate::launcher::process_tree;

        if now < self.next {
            return None;
        }
        let limits = &self.plan.limits;
        let enough = usize::try_from(limits.processes).unwrap_or(usize::MAX);
        let processes = process_tree::descendants(rustix::process::getpid().as_raw_nonzero().get(), enough);
        if processes.len() > enough {
            return Some(ExceededLimit::Processes);
        }
        // A wrapper starts the command itself, so the hard limits are set here.
        let own = self.processes_of_command(&processes);
        for process in &own {
            if self.with_hard_limits.insert(*process)
                && let Some(process) = Pid::from_raw(*process)
            {
                limit_command(process, self.plan);
            }
        }
        let used = process_tree::usage(&own, &mut self.shared);
        if used.processes > limits.processes {
            return Some(ExceededLimit::Processes);
        }
        if used.memory.saturating_add(self.sockets) > limits.memory {
            return Some(ExceededLimit::Memory);
        }
        // A slow disk poll does not delay the next poll of processes.
        let spent = now.elapsed();
        if now >= self.next_disk || self.is_disk_filling(now) {
            let start = Instant::now();
            self.sizes.begin();
            let total =
                scratch::size(&self.plan.scratch, limits.disk, UnreadableSize::AboveLimit, &mut self.sizes);
            let open = process_tree::open_files(&own, self.device, &mut self.sizes, limits.file_size);
            // Until it runs the command, the child of the init process hides its open files, as the init
            // process does, and a busy machine takes its time. No process of the command may.
            let is_hidden = open.is_hidden && self.started.has_started();
            let is_hidden = std::mem::replace(&mut self.was_hidden, is_hidden) && is_hidden;
            let total = total.saturating_add(open.disk);
            if is_hidden || total > limits.disk {
                return Some(ExceededLimit::Disk);
            }
            self.sockets = open.sockets;
            self.free = free(&self.plan.scratch);
            let after = Instant::now();
            self.disk_left = limits.disk.saturating_sub(total);
            self.earliest_disk = after + (after - start);
            self.next_disk = after + DISK_INTERVAL.max((after - start) * PAUSE_FACTOR);
        }
        self.next = Instant::now() + INTERVAL.max(spent * PAUSE_FACTOR);
        None
    }

    /// Returns whether the scratch directory's file system lost so much free space since the last poll, by
    /// any program, that the limit may be near. A poll of many files takes long, so the next would be late.
    #[cfg(target_os = "linux")]
    fn is_disk_filling(&self, now: Instant) -> bool {
        let (blocks, inodes) = free(&self.plan.scratch);
        let lost = self.free.0.saturating_sub(blocks);
        let lost = lost.max(self.free.1.saturating_sub(inodes).saturating_mul(scratch::MIN_ENTRY));
        lost > self.disk_left || (now >= self.earliest_disk && lost > self.disk_left / 2)
    }

    /// Returns `processes` without the wrapper and the init process. Orphans in the sandbox become children
    /// of the init process, so it is the wrapper's only child.
    #[cfg(target_os = "linux")]
    fn processes_of_command(&self, processes: &[i32]) -> Vec<i32> {
        if !has_init(self.plan) {
            return processes.to_vec();
        }
        let process = self.started.process.as_raw_nonzero().get();
        let inits = crate::launcher::process_tree::children(process).unwrap_or_default();
        let is_wrapper = |child: &i32| *child == process || inits.contains(child);
        processes.iter().copied().filter(|process| !is_wrapper(process)).collect()
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn poll(&mut self, now: Instant) -> Option<ExceededLimit> {
        if now < self.next {
            return None;
        }
        self.sizes.begin();
        let total = scratch::size(
            &self.plan.scratch,
            self.plan.limits.disk,
            UnreadableSize::AboveLimit,
            &mut self.sizes,
        );
        let after = Instant::now();
        // Without a pidfd this is also the poll interval for the end of the command.
        self.next = after + (INTERVAL / 4).max((after - now) * PAUSE_FACTOR);
        (total > self.plan.limits.disk).then_some(ExceededLimit::Disk)
    }
}
