//! A probe, and its runs: first without a sandbox, then in each.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::world::{World, sandboxes, stderr, stdout};

/// Something that a command of a skill could try.
pub(crate) struct Probe {
    /// The description of the attempt.
    pub(crate) name: &'static str,
    /// An expression in Python that is true if it came through, and false or an exception if not.
    pub(crate) code: &'static str,
    /// True if it may need the superuser, or an existing home directory.
    pub(crate) needs_root: bool,
}

/// Returns a probe without special rights.
pub(crate) const fn probe(name: &'static str, code: &'static str) -> Probe {
    Probe { name, code, needs_root: false }
}

/// Returns a probe that may take the superuser to come through without a sandbox.
pub(crate) const fn root(name: &'static str, code: &'static str) -> Probe {
    Probe { name, code, needs_root: true }
}

/// The Python helpers of the probes.
const PREAMBLE: &str = include_str!("preamble.py");

/// The target of a probe: a directory, a process, and listeners.
pub(crate) struct Target {
    pub(crate) world: World,
    pub(crate) victim: Child,
    _tcp: TcpListener,
    _udp: UdpSocket,
    _sockets: (UnixListener, UnixDatagram, UnixListener, UnixDatagram),
    arguments: Vec<String>,
}

impl Target {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let world = World::new();
        let mut command = Command::new("sleep");
        command.arg("600").env("SECRET_TOKEN", "of another process").current_dir(world.path("home"));
        let victim = command.stdin(Stdio::null()).spawn().unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let name =
            format!("repertoire-probe-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let sockets = (
            UnixListener::bind(world.path("home/agent.sock")).unwrap(),
            UnixDatagram::bind(world.path("home/log.sock")).unwrap(),
            UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap(),
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(format!("{name}-log")).unwrap()).unwrap(),
        );
        let arguments = vec![
            world.path("").display().to_string().trim_end_matches('/').to_owned(),
            victim.id().to_string(),
            tcp.local_addr().unwrap().port().to_string(),
            udp.local_addr().unwrap().port().to_string(),
            name,
        ];
        world.scratches();
        Self { world, victim, _tcp: tcp, _udp: udp, _sockets: sockets, arguments }
    }

    /// Returns everything there is in the place but for scratch directories: type, mode, owner, time and
    /// content.
    fn state(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        let mut pending = vec![self.world.path("")];
        while let Some(directory) = pending.pop() {
            for entry in fs::read_dir(&directory).unwrap() {
                let path = entry.unwrap().path();
                if path == self.world.path("scratches") {
                    continue;
                }
                let metadata = fs::symlink_metadata(&path).unwrap();
                let content =
                    if metadata.is_file() { fs::read_to_string(&path).unwrap() } else { String::new() };
                let (mode, user, time) =
                    (metadata.mode(), metadata.uid(), (metadata.mtime(), metadata.mtime_nsec()));
                found.insert(path.clone(), format!("{mode:o} {user} {time:?} {content:?}"));
                if metadata.is_dir() {
                    pending.push(path);
                }
            }
        }
        found
    }

    fn is_victim_well(&mut self) -> bool {
        let state = fs::read_to_string(format!("/proc/{}/stat", self.victim.id())).unwrap_or_default();
        let is_stopped = state.contains(") T ") || state.contains(") t ");
        matches!(self.victim.try_wait(), Ok(None)) && !is_stopped
    }

    /// Runs a Python program without a sandbox, in the place of a scratch directory.
    pub(crate) fn bare(&self, program: &str) -> String {
        let working = self.world.path("scratches/bare/work");
        fs::create_dir_all(&working).unwrap();
        let mut command = Command::new("python3");
        command.arg("-c").arg(program).args(&self.arguments).current_dir(&working).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        child.wait().unwrap();
        said
    }

    pub(crate) fn job(&self, program: &str) -> repertoire_exec::Job {
        let mut job = self.world.python(program);
        job.command.extend(self.arguments.iter().map(Into::into));
        job.limits.timeout = Duration::from_secs(20);
        job
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

/// The results of a table of probes.
#[derive(Default)]
struct Tally {
    faults: Vec<String>,
    shown: usize,
    not_shown: Vec<String>,
}

/// Makes every probe of a table.
pub(crate) fn make(table: &[Probe]) {
    let tally = Mutex::new(Tally::default());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(probe) = table.get(next.fetch_add(1, Ordering::Relaxed)) {
                    make_one(probe, &tally);
                }
            });
        }
    });
    let tally = tally.into_inner().unwrap();
    println!("{} probes, {} of them shown to succeed without a sandbox", table.len(), tally.shown);
    for line in &tally.not_shown {
        println!("NOT SHOWN: {line}");
    }
    assert!(tally.faults.is_empty(), "{} faults:\n{}", tally.faults.len(), tally.faults.join("\n"));
}

fn make_one(probe: &Probe, tally: &Mutex<Tally>) {
    let program = format!("{PREAMBLE}\nrun(lambda: {})\n", probe.code);
    let said = Target::new().bare(&program);
    {
        let mut tally = tally.lock().unwrap();
        if said.contains("ESCAPED") {
            tally.shown += 1;
        } else {
            tally.not_shown.push(format!("{}: {}", probe.name, said.trim()));
            // In a container even the superuser may lack a right.
            let is_excused = probe.needs_root || is_missing(&said);
            if !is_excused {
                tally.faults.push(format!("without a sandbox: {}: {}", probe.name, said.trim()));
            }
        }
    }
    for sandbox in sandboxes() {
        let mut target = Target::new();
        let before = target.state();
        let result = sandbox.run(&target.job(&program));
        let fault = |text: String| {
            tally.lock().unwrap().faults.push(format!("{}: {}: {text}", sandbox.name(), probe.name));
        };
        match &result {
            Ok(outcome) => {
                let said = stdout(outcome);
                // A filter may kill the whole process.
                let is_killed = outcome.ending == repertoire_exec::RunEnding::Signalled(31);
                if said.contains("ESCAPED") || !(said.contains("DENIED") || is_killed) {
                    fault(format!("{:?} {said} {}", outcome.ending, stderr(outcome)));
                }
            }
            Err(error) => fault(error.to_string()),
        }
        if target.state() != before {
            fault("something outside changed".to_owned());
        }
        if !target.is_victim_well() {
            fault("another process was harmed".to_owned());
        }
        let left = fs::read_dir(target.world.scratches()).unwrap().count();
        if left > 0 {
            fault("the scratch directory is left".to_owned());
        }
    }
}

/// Returns `true` if this machine's kernel lacks the feature.
fn is_missing(said: &str) -> bool {
    const MISSING: &[&str] = &[
        "Function not implemented",
        "Address family not supported",
        "Protocol not supported",
        "Operation not supported",
        "Inappropriate ioctl",
        "No such file or directory: '/sys",
        "No such file or directory: '/proc",
        "No such file or directory: '/dev",
        "Exec format error",
        "nothing came of it",
    ];
    MISSING.iter().any(|text| said.contains(text))
}

/// Returns the processes that have this word among their arguments.
pub(crate) fn processes_with(word: &str) -> Vec<i32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let processes = processes.filter(|process| has_word(&process.path(), word));
    processes.filter_map(|process| process.file_name().to_str()?.parse().ok()).collect()
}

fn has_word(process: &Path, word: &str) -> bool {
    let arguments = fs::read(process.join("cmdline")).unwrap_or_default();
    arguments.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes())
}
