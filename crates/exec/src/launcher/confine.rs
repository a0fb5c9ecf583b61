//! Takes on the limits, builds the confinement, and starts the command in it.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, setrlimit};

use crate::launcher::plan::{Confinement, Plan, Report};
use crate::scratch;
use crate::verified_path::VerifiedPath;
use crate::{Ending, Exceeded, ExecErrorKind};

/// Why a command was not started.
pub(super) type Fault = (ExecErrorKind, String);

/// A command that was started.
pub(super) struct StartedCommand {
    pub(super) process: Pid,
    /// Becomes readable when it ends.
    pub(super) handle: Option<OwnedFd>,
    /// A description of the confinement.
    pub(super) detail: String,
    /// The pipe from the herald, if one stands between launcher and command.
    between: Option<HeraldPipe>,
}

/// The pipe from the herald, which tells that the command began and how it ended.
struct HeraldPipe {
    herald: OwnedFd,
    /// The reports so far, and whether more may come.
    heard: RefCell<Vec<u8>>,
    is_talking: Cell<bool>,
}

impl StartedCommand {
    /// Returns where the herald is heard, as long as it may tell something.
    pub(super) fn herald(&self) -> Option<&OwnedFd> {
        self.between.as_ref().filter(|between| between.is_talking.get()).map(|between| &between.herald)
    }

    /// Reads what the herald tells; returns whether there was something.
    pub(super) fn listen(&self) -> bool {
        let Some(between) = self.between.as_ref().filter(|between| between.is_talking.get()) else {
            return false;
        };
        let mut text = [0; 4096];
        match rustix::io::read(&between.herald, &mut text) {
            Ok(count) if count > 0 && between.heard.borrow().len() <= text.len() => {
                between.heard.borrow_mut().extend(text.iter().take(count));
                true
            }
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => false,
            _ => {
                between.is_talking.set(false);
                false
            }
        }
    }

    /// Returns what the herald told of the end, once everybody is gone.
    pub(super) fn told(&self) -> Option<Report> {
        while self.listen() {}
        let heard = self.between.as_ref()?.heard.borrow();
        let line = heard.split(|byte| *byte == b'\n').rfind(|line| !line.is_empty())?;
        match Report::of_line(line)? {
            // Only these are its business.
            report @ (Report::Ended(Ending::Exited(_) | Ending::Signalled(_))
            | Report::Failed { kind: ExecErrorKind::CommandFailed, .. }) => Some(report),
            _ => None,
        }
    }

    /// Returns whether the command itself was started, as far as that can be told: the herald says so first of all.
    pub(super) fn has_begun(&self) -> bool {
        self.between.as_ref().is_none_or(|between| !between.heard.borrow().is_empty())
    }
}

/// Starts the command of a plan in its confinement; returns it with the end of a pipe that is its standard input.
pub(super) fn start(plan: &Plan) -> Result<(StartedCommand, Option<OwnedFd>), Fault> {
    match &plan.confinement {
        Confinement::None => {
            limit(plan)?;
            finish(plan, spawn(command(plan, &[]))?, String::new(), None)
        }
        Confinement::Landlock(rules) => landlocked(plan, rules),
        Confinement::Wrapper { arguments, pinned, takes_filter } => {
            wrapped(plan, arguments, pinned, *takes_filter)
        }
    }
}

fn finish(
    plan: &Plan,
    (process, stdin): (u32, Option<OwnedFd>),
    detail: String,
    between: Option<HeraldPipe>,
) -> Result<(StartedCommand, Option<OwnedFd>), Fault> {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    let process =
        process.ok_or_else(|| (ExecErrorKind::Launcher, "a process without a number".to_owned()))?;
    release(process, plan);
    Ok((StartedCommand { process, handle: handle(process), detail, between }, stdin))
}

#[cfg(target_os = "linux")]
fn handle(process: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(process, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn handle(_process: Pid) -> Option<OwnedFd> {
    None
}

/// Returns the command of a plan, behind `before`.
fn command(plan: &Plan, before: &[std::ffi::OsString]) -> Command {
    let mut words = before.iter().chain(&plan.command);
    let program = words.next().cloned().unwrap_or_default();
    #[allow(clippy::disallowed_methods, reason = "this is where processes start")]
    let mut command = Command::new(program);
    command.args(words).env_clear().envs(plan.environment.iter().map(|(name, value)| (name, value)));
    command.current_dir(&plan.directory).process_group(0);
    command.stdin(if plan.input.is_some() { Stdio::piped() } else { Stdio::null() });
    command
}

/// Starts a command; whoever waits for any process waits for this one too.
fn spawn(mut command: Command) -> Result<(u32, Option<OwnedFd>), Fault> {
    let mut child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::ArgumentListTooLong => (ExecErrorKind::TooLong, "the system takes no more".to_owned()),
        _ => (ExecErrorKind::CommandFailed, error.to_string()),
    })?;
    Ok((child.id(), child.stdin.take().map(OwnedFd::from)))
}

/// Takes limits upon this process, which everything it starts has from it.
///
/// Those that it could run into itself are no firm limits to it: they are what the command begins with, and once it has begun [`release`] lifts them from this process and makes them firm for the command. What the
/// command could make of the moment between is bounded by the time it has, and by the meter.
fn limit(plan: &Plan) -> Result<(), Fault> {
    crate::launcher::run_tag::put_on(plan.mark);
    let limits = &plan.limits;
    let both = |resource, value| (resource, value, value);
    let mut all = vec![both(Resource::Fsize, limits.file_size), both(Resource::Core, 0)];
    all.extend(loose(plan));
    #[cfg(target_os = "linux")]
    all.extend(
        [(Resource::Memlock, 64 << 10), (Resource::Msgqueue, 0), (Resource::Sigpending, 1024)]
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

/// Returns the limits that the launcher could run into: what the command begins with, and what the launcher has itself.
fn loose(plan: &Plan) -> [(Resource, u64, u64); 3] {
    let limits = &plan.limits;
    let cpu = limits.cpu.as_secs().max(1);
    // However busy it is, it cannot use more than there is, in the time that it has.
    let own_cpu = limits.timeout.as_secs().saturating_add(60).saturating_mul(OWN_THREADS);
    let files = limits.open_files.max(LEAST_FILES).saturating_add(plan.descriptors());
    let memory = limits.memory.saturating_add(own_memory());
    [
        (Resource::Cpu, cpu, cpu.saturating_add(own_cpu)),
        (
            Resource::Nofile,
            limits.open_files.max(LEAST_FILES_TO_START).saturating_add(plan.descriptors()),
            files,
        ),
        (Resource::Data, memory, memory.saturating_add(OWN_MEMORY)),
    ]
}

/// Lifts from the launcher what is meant for the command, which has it now, and makes it firm there.
fn release(process: Pid, plan: &Plan) {
    for (resource, _, _) in loose(plan) {
        let maximum = rustix::process::getrlimit(resource).maximum;
        let _ = setrlimit(resource, Rlimit { current: maximum, maximum });
    }
    // The herald is as large as the launcher, and tells when the command has begun.
    #[cfg(target_os = "linux")]
    if has_herald(plan) {
        return;
    }
    limit_command(process, plan);
}

/// The most threads of a launcher.
const OWN_THREADS: u64 = 4;
/// Open files that it may need.
const LEAST_FILES: u64 = 256;
/// Open files that it needs to start anything.
const LEAST_FILES_TO_START: u64 = 16;
/// Memory that it may yet need, in bytes.
const OWN_MEMORY: u64 = 512 << 20;

/// Returns what the launcher itself had set aside at first, which is not to be counted against the command that is started from it.
#[cfg(target_os = "linux")]
fn own_memory() -> u64 {
    static OWN: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    let reserved =
        || crate::launcher::process_tree::reserved(rustix::process::getpid().as_raw_nonzero().get());
    OWN.get_or_init(reserved) + MARGIN
}

/// Returns whether a herald stands between.
#[cfg(target_os = "linux")]
fn has_herald(plan: &Plan) -> bool {
    matches!(plan.confinement, Confinement::Wrapper { takes_filter: true, .. })
}

#[cfg(not(target_os = "linux"))]
fn own_memory() -> u64 {
    1 << 30
}

/// Memory that it needs until the command has begun, in bytes.
#[cfg(target_os = "linux")]
const MARGIN: u64 = 16 << 20;

/// Makes the limits of the command firm, now that it is a process of its own. Addresses that it only sets aside, as some interpreters do by the gigabyte,
/// do not count as memory.
#[cfg(target_os = "linux")]
fn limit_command(process: Pid, plan: &Plan) {
    let limits = &plan.limits;
    let mut all = vec![(Resource::Data, limits.memory), (Resource::Cpu, limits.cpu.as_secs().max(1))];
    // Whoever stands between needs what it was handed until the command begins.
    if plan.descriptors() == 0 {
        all.push((Resource::Nofile, limits.open_files));
    }
    for (resource, value) in all {
        let limit = Rlimit { current: Some(value), maximum: Some(value) };
        // It may have ended already. What it started before this moment is found by the meter.
        let _ = rustix::process::prlimit(Some(process), resource, limit);
    }
}

#[cfg(not(target_os = "linux"))]
fn limit_command(_process: Pid, _plan: &Plan) {}

#[cfg(not(target_os = "linux"))]
fn landlocked(
    _plan: &Plan,
    _rules: &[crate::launcher::plan::Rule],
) -> Result<(StartedCommand, Option<OwnedFd>), Fault> {
    Err((ExecErrorKind::Unavailable, "Landlock is a part of Linux".to_owned()))
}

/// Starts the command from a thread that confined itself: what it starts is confined likewise, and the rest of the launcher is not.
#[cfg(target_os = "linux")]
fn landlocked(
    plan: &Plan,
    rules: &[crate::launcher::plan::Rule],
) -> Result<(StartedCommand, Option<OwnedFd>), Fault> {
    limit(plan)?;
    let started = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let detail = crate::sandbox::landlock::rules::confine(rules, plan.network)?;
            Ok((spawn(command(plan, &[]))?, detail))
        });
        thread.join().unwrap_or_else(|_| Err((ExecErrorKind::Launcher, "the thread failed".to_owned())))
    });
    let (child, detail) = started?;
    finish(plan, child, detail, None)
}

#[cfg(not(target_os = "linux"))]
fn wrapped(
    plan: &Plan,
    arguments: &[std::ffi::OsString],
    _pinned: &[(usize, VerifiedPath)],
    _takes_filter: bool,
) -> Result<(StartedCommand, Option<OwnedFd>), Fault> {
    limit(plan)?;
    finish(plan, spawn(command(plan, arguments))?, String::new(), None)
}

/// Starts the command by way of a program that confines it, which is handed the filter and tells what it does over descriptors.
#[cfg(target_os = "linux")]
fn wrapped(
    plan: &Plan,
    arguments: &[std::ffi::OsString],
    pinned: &[(usize, VerifiedPath)],
    takes_filter: bool,
) -> Result<(StartedCommand, Option<OwnedFd>), Fault> {
    use std::os::fd::AsRawFd;

    use rustix::fs::{MemfdFlags, Mode, OFlags, SeekFrom, memfd_create, seek};
    use rustix::pipe::{PipeFlags, pipe_with};

    use crate::launcher::arguments::HERALD;

    let failed = |error: rustix::io::Errno| (ExecErrorKind::Launcher, error.to_string());
    limit(plan)?;
    if !takes_filter {
        return finish(plan, spawn(command(plan, arguments))?, String::new(), None);
    }
    let purpose = crate::launcher::seccomp::Purpose {
        network: plan.network,
        has_namespaces: true,
        has_signal_scope: true,
    };
    // It is to be inherited; the launcher starts nothing else.
    let filter = memfd_create("filter", MemfdFlags::empty()).map_err(failed)?;
    let bytes = crate::launcher::seccomp::bytes(&crate::launcher::seccomp::program(purpose));
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
    // By its descriptor, for inside there is no path that leads to it.
    let own = rustix::fs::open("/proc/self/exe", OFlags::PATH, Mode::empty()).map_err(failed)?;
    let (herald, theirs) = pipe_with(PipeFlags::NONBLOCK).map_err(failed)?;
    rustix::io::fcntl_setfd(&herald, rustix::io::FdFlags::CLOEXEC).map_err(failed)?;
    all.extend(["--seccomp".into(), filter.as_raw_fd().to_string().into()]);
    all.extend(rest.iter().cloned());
    all.push(format!("/proc/self/fd/{}", own.as_raw_fd()).into());
    all.extend([HERALD.into(), theirs.as_raw_fd().to_string().into()]);
    // Started from the main thread, with which it is to die.
    let child = spawn(command(plan, &all))?;
    drop((filter, handed, own, theirs));
    finish(
        plan,
        child,
        String::new(),
        Some(HeraldPipe { herald, heard: RefCell::default(), is_talking: Cell::new(true) }),
    )
}

/// Looks now and then at what the command uses.
pub(super) struct Meter<'a> {
    plan: &'a Plan,
    next: Instant,
    next_disk: Instant,
    device: u64,
    /// The process that was started: the command, or whoever stands between.
    #[cfg(target_os = "linux")]
    process: i32,
    /// Processes whose limits are firm.
    #[cfg(target_os = "linux")]
    limited: HashSet<i32>,
}

/// Poll interval of processes and memory.
const INTERVAL: Duration = Duration::from_millis(20);
/// Shortest poll interval of the scratch directory.
const DISK_INTERVAL: Duration = Duration::from_millis(50);
/// The pause between two polls, as a multiple of the time that one takes.
const REST: u32 = 10;

impl<'a> Meter<'a> {
    pub(super) fn new(plan: &'a Plan, started: &StartedCommand) -> Self {
        #[cfg(not(target_os = "linux"))]
        let _ = started;
        let now = Instant::now();
        let device = std::fs::metadata(&plan.scratch).map_or(0, |metadata| metadata.dev());
        Self {
            plan,
            next: now + INTERVAL / 2,
            next_disk: now + DISK_INTERVAL,
            device,
            #[cfg(target_os = "linux")]
            process: started.process.as_raw_nonzero().get(),
            #[cfg(target_os = "linux")]
            limited: HashSet::new(),
        }
    }

    /// Has it look at once.
    pub(super) fn hurry(&mut self) {
        self.next = Instant::now();
    }

    /// Returns when to look next.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Returns what is used more than may be, if it is time to look.
    #[cfg(target_os = "linux")]
    pub(super) fn look(&mut self, now: Instant) -> Option<Exceeded> {
        use crate::launcher::process_tree;

        if now < self.next {
            return None;
        }
        let limits = &self.plan.limits;
        let enough = usize::try_from(limits.processes).unwrap_or(usize::MAX);
        let processes = process_tree::descendants(rustix::process::getpid().as_raw_nonzero().get(), enough);
        if processes.len() > enough {
            return Some(Exceeded::Processes);
        }
        // What stood between has started the command by itself.
        let processes_of_command = self.of_the_command(&processes);
        for process in &processes_of_command {
            if self.limited.insert(*process)
                && let Some(process) = Pid::from_raw(*process)
            {
                limit_command(process, self.plan);
            }
        }
        let used = process_tree::usage(&processes_of_command);
        if used.processes > limits.processes {
            return Some(Exceeded::Processes);
        }
        if used.memory > limits.memory {
            return Some(Exceeded::Memory);
        }
        // Looking for long at files is no reason to look away from processes.
        let spent = now.elapsed();
        if now >= self.next_disk {
            let start = Instant::now();
            let mut counted = HashSet::new();
            let total = scratch::size(&self.plan.scratch, limits.disk, &mut counted);
            let total = total.saturating_add(process_tree::open_files(&processes, self.device, &mut counted));
            if total > limits.disk {
                return Some(Exceeded::Disk);
            }
            let after = Instant::now();
            self.next_disk = after + DISK_INTERVAL.max((after - start) * REST);
        }
        self.next = Instant::now() + INTERVAL.max(spent * REST);
        None
    }

    /// Returns those of `processes` that do not merely stand between. Whoever loses a parent inside becomes a child of the herald, so that of what is outside there is only the herald.
    #[cfg(target_os = "linux")]
    fn of_the_command(&self, processes: &[i32]) -> Vec<i32> {
        if !has_herald(self.plan) {
            return processes.to_vec();
        }
        let heralds = crate::launcher::process_tree::children(self.process).unwrap_or_default();
        let is_between = |process: &i32| *process == self.process || heralds.contains(process);
        processes.iter().copied().filter(|process| !is_between(process)).collect()
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn look(&mut self, now: Instant) -> Option<Exceeded> {
        if now < self.next {
            return None;
        }
        let total = scratch::size(&self.plan.scratch, self.plan.limits.disk, &mut HashSet::new());
        let after = Instant::now();
        // Without a handle this is also how often the end is looked for.
        self.next = after + (INTERVAL / 4).max((after - now) * REST);
        (total > self.plan.limits.disk).then_some(Exceeded::Disk)
    }
}
