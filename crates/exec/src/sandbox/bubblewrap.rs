//! The sandbox with bubblewrap: new namespaces that contain only granted files, and a seccomp filter.

use std::collections::BTreeSet;
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
use crate::{ExecError, ExecErrorKind, Job, Launcher, RunOutcome, Sandbox};

/// Paths of `bwrap`. `PATH` is not searched, because a project or a skill may influence it.
const PLACES: &[&str] =
    &["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap"];

/// The size of each tmpfs, in bytes.
const MEMORY_DIRECTORY: &str = "67108864";

/// The most paths that are mounted by file descriptor; each is open until the command starts.
const MAX_PINNED: usize = 2000;
const TOO_MANY: &str = "it contains too many protected files; grant smaller directories";

#[derive(Debug)]
pub(crate) struct Bubblewrap {
    launcher: Launcher,
    program: PathBuf,
}

impl Bubblewrap {
    /// Returns the sandbox, or `None` if `bwrap` is not installed.
    pub(crate) fn find(launcher: Launcher) -> Option<Self> {
        let program = PLACES.iter().map(PathBuf::from).find(|path| path.is_file())?;
        Some(Self { launcher, program })
    }
}

impl Sandbox for Bubblewrap {
    fn name(&self) -> &'static str {
        "bubblewrap"
    }

    fn run(&self, job: &Job) -> Result<RunOutcome, ExecError> {
        let confine = |grants: &ResolvedGrants, _: &Scratch| {
            let Arguments { words, pinned } = arguments(&self.program, grants);
            if pinned.len() > MAX_PINNED {
                let refused = ExecError::new(ExecErrorKind::GrantRefused);
                return Err(refused.saying(TOO_MANY));
            }
            Ok(Confinement::Wrapper { arguments: words, pinned, takes_filter: true })
        };
        host::run(&self.launcher, job, ProtectionMeans::ExceptFiles, confine).map(|(outcome, _)| outcome)
    }
}

/// The arguments of `bwrap` before the command.
#[derive(Default)]
struct Arguments {
    words: Vec<OsString>,
    /// The indexes of arguments that become file descriptors, with the paths to open.
    pinned: Vec<(usize, VerifiedPath)>,
}

impl Arguments {
    fn add(&mut self, words: &[&str]) {
        self.words.extend(words.iter().map(OsString::from));
    }

    /// Mounts `path` at the same path, with a mount option of `bwrap`.
    fn mount(&mut self, option: &str, path: &Path) {
        self.words.extend([option.into(), path.into(), path.into()]);
    }

    /// Mounts the verified file at `path`, by file descriptor.
    fn mount_pinned(&mut self, option: &str, pinned: &VerifiedPath, path: &Path) {
        self.pinned.push((self.words.len() + 1, pinned.clone()));
        self.words.extend([option.into(), OsString::new(), path.into()]);
    }
}

fn arguments(program: &Path, grants: &ResolvedGrants) -> Arguments {
    let mut arguments = Arguments { words: vec![program.into()], ..Arguments::default() };
    arguments.add(&["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]);
    if grants.network {
        arguments.add(&["--share-net"]);
    }
    for path in SYSTEM {
        // On most systems these are symbolic links into `/usr`.
        match fs::read_link(path) {
            Ok(target) => arguments.words.extend(["--symlink".into(), target.into(), path.into()]),
            Err(_) => arguments.mount("--ro-bind-try", Path::new(path)),
        }
    }
    grants.settings().for_each(|path| arguments.mount("--ro-bind", Path::new(path)));
    arguments.add(&["--proc", "/proc", "--dev", "/dev"]);
    writable_kernel_files().iter().for_each(|path| arguments.mount("--ro-bind", path));
    for directory in ["/dev/shm", "/tmp"] {
        arguments.add(&["--size", MEMORY_DIRECTORY, "--tmpfs", directory]);
    }
    arguments.add(&["--remount-ro", "/dev"]);
    let read = "--ro-bind-fd";
    grants.needs.iter().for_each(|(path, need)| arguments.mount_pinned(read, need, path));
    grants.directories.iter().for_each(|pinned| arguments.mount_pinned(read, pinned, &pinned.path));
    for writable in &grants.writable {
        arguments.mount_pinned("--bind-fd", &writable.pinned, &writable.pinned.path);
        // A symbolic link cannot be mounted over. Its target is protected, a replaced link is found by name.
        let protected = writable.protected.values().filter(|entry| !entry.is_link);
        // Mount points cannot be renamed, so directories around protected files are mounted over themselves.
        let around = protected.clone().flat_map(|entry| entry.pinned.path.ancestors().skip(1));
        let around =
            around.filter(|path| path.starts_with(&writable.pinned.path) && *path != writable.pinned.path);
        let around: BTreeSet<&Path> = around.collect();
        for pinned in around.into_iter().filter_map(|path| VerifiedPath::at(path).ok()) {
            arguments.mount_pinned("--bind-fd", &pinned, &pinned.path);
        }
        protected.for_each(|entry| arguments.mount_pinned(read, &entry.pinned, &entry.pinned.path));
    }
    arguments.mount_pinned(read, &grants.skill_pin, &grants.skill);
    arguments.mount_pinned("--bind-fd", &grants.scratch_pin, &grants.scratch_pin.path);
    arguments.add(&["--remount-ro", "/", "--chdir"]);
    arguments.words.push(grants.working.clone().into());
    arguments.add(&["--"]);
    arguments
}

/// Returns the directories and writable files in `/proc` that belong to the machine and not to a process.
///
/// Root owns them and may write them even without capabilities. For other users, who may not, it is empty.
fn writable_kernel_files() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    if !rustix::process::geteuid().is_root() {
        return Vec::new();
    }
    let is_process = |name: &str| name.starts_with(|c: char| c.is_ascii_digit());
    let is_writable = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let Ok(metadata) = entry.metadata() else { return false };
        let is_link = metadata.is_symlink();
        !is_link
            && !name.to_str().is_none_or(is_process)
            && (metadata.is_dir() || metadata.mode() & 0o222 != 0)
    };
    let mut paths: Vec<PathBuf> = entries.flatten().filter(is_writable).map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
