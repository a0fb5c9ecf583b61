//! Confined by bubblewrap: namespaces of its own, in which nothing else is there, and a filter of system calls.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::launcher::plan::Confinement;
use crate::resolved_grants::{ResolvedGrants, SYSTEM};
use crate::sandbox::host;
use crate::sandbox::host::ProtectionMeans;
use crate::scratch::Scratch;
use crate::verified_path::VerifiedPath;
use crate::{ExecError, ExecErrorKind, Job, Launcher, Outcome, Sandbox};

/// Paths of the program. `PATH` is not searched: a project or a skill may have a say in it.
const PLACES: &[&str] =
    &["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap"];

/// Size of each of the two directories in memory, in bytes.
const MEMORY_DIRECTORY: &str = "67108864";

/// The most paths that can be mounted by descriptor; each is open until the command begins.
const MAX_PINNED: usize = 2000;
const TOO_MANY: &str = "too much in it is protected; grant smaller directories";

/// Namespaces by way of `bwrap`, with a filter of system calls.
#[derive(Debug)]
pub(crate) struct Bubblewrap {
    launcher: Launcher,
    program: PathBuf,
}

impl Bubblewrap {
    /// Returns it where the program is installed.
    pub(crate) fn find(launcher: Launcher) -> Option<Self> {
        let program = PLACES.iter().map(PathBuf::from).find(|path| path.is_file())?;
        Some(Self { launcher, program })
    }
}

impl Sandbox for Bubblewrap {
    fn name(&self) -> &'static str {
        "bubblewrap"
    }

    fn run(&self, job: &Job) -> Result<Outcome, ExecError> {
        let confine = |grants: &ResolvedGrants, _: &Scratch| {
            let Arguments { words, pinned } = arguments(&self.program, grants);
            if pinned.len() > MAX_PINNED {
                let refused = ExecError::new(ExecErrorKind::GrantRefused);
                return Err(refused.saying(TOO_MANY));
            }
            Ok(Confinement::Wrapper { arguments: words, pinned, takes_filter: true })
        };
        host::run(&self.launcher, job, ProtectionMeans::Out, confine).map(|(outcome, _)| outcome)
    }
}

/// The arguments before the command.
#[derive(Default)]
struct Arguments {
    words: Vec<OsString>,
    /// Places among them for descriptors, and of what.
    pinned: Vec<(usize, VerifiedPath)>,
}

impl Arguments {
    fn add(&mut self, words: &[&str]) {
        self.words.extend(words.iter().map(OsString::from));
    }

    /// Shows a path where it is, in this way.
    fn show(&mut self, how: &str, path: &Path) {
        self.words.extend([how.into(), path.into(), path.into()]);
    }

    /// Shows what was looked at at `path`, and nothing that came to be there since.
    fn show_pinned(&mut self, how: &str, pinned: &VerifiedPath, path: &Path) {
        self.pinned.push((self.words.len() + 1, pinned.clone()));
        self.words.extend([how.into(), OsString::new(), path.into()]);
    }
}

fn arguments(program: &Path, grants: &ResolvedGrants) -> Arguments {
    let mut arguments = Arguments { words: vec![program.into()], ..Arguments::default() };
    arguments.add(&["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]);
    if grants.network {
        arguments.add(&["--share-net"]);
    }
    for path in SYSTEM {
        // On most systems these are links into `/usr` today.
        match fs::read_link(path) {
            Ok(target) => arguments.words.extend(["--symlink".into(), target.into(), path.into()]),
            Err(_) => arguments.show("--ro-bind-try", Path::new(path)),
        }
    }
    grants.settings().for_each(|path| arguments.show("--ro-bind", Path::new(path)));
    arguments.add(&["--proc", "/proc", "--dev", "/dev"]);
    settings_of_the_kernel().iter().for_each(|path| arguments.show("--ro-bind", path));
    for directory in ["/dev/shm", "/tmp"] {
        arguments.add(&["--size", MEMORY_DIRECTORY, "--tmpfs", directory]);
    }
    arguments.add(&["--remount-ro", "/dev"]);
    let read = "--ro-bind-fd";
    grants.needs.iter().for_each(|(path, need)| arguments.show_pinned(read, need, path));
    grants.directories.iter().for_each(|pinned| arguments.show_pinned(read, pinned, &pinned.path));
    for writable in &grants.writable {
        arguments.show_pinned("--bind-fd", &writable.pinned, &writable.pinned.path);
        // Nothing can be shown in the place of a link. Where it leads is protected, and another link is seen afterwards.
        let protected = writable.protected.values().filter(|entry| !entry.is_link);
        protected.for_each(|entry| arguments.show_pinned(read, &entry.pinned, &entry.pinned.path));
    }
    arguments.show_pinned(read, &grants.skill_pin, &grants.skill);
    arguments.show_pinned("--bind-fd", &grants.scratch_pin, &grants.scratch_pin.path);
    arguments.add(&["--remount-ro", "/", "--chdir"]);
    arguments.words.push(grants.working.clone().into());
    arguments.add(&["--"]);
    arguments
}

/// Returns what of `/proc` is about the whole machine and could be written.
///
/// To the kernel a superuser without any rights is still the owner of its settings. Nobody else gets to write them, so nobody else needs this.
fn settings_of_the_kernel() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    if !rustix::process::geteuid().is_root() {
        return Vec::new();
    }
    let is_process = |name: &str| name.starts_with(|c: char| c.is_ascii_digit());
    let could_be_written = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let Ok(metadata) = entry.metadata() else { return false };
        let is_link = metadata.is_symlink();
        !is_link
            && !name.to_str().is_none_or(is_process)
            && (metadata.is_dir() || metadata.mode() & 0o222 != 0)
    };
    let mut paths: Vec<PathBuf> =
        entries.flatten().filter(could_be_written).map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
