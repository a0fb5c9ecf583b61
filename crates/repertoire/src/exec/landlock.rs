//! Confined by Landlock and a filter of system calls, which works where namespaces are not allowed, as in most containers.

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath,
    Ruleset, RulesetAttr, RulesetCreatedAttr, Scope,
};
use rustix::fs::{FileType, Mode, OFlags};

use crate::exec::host::Taking;
use crate::exec::pinned::Pinned;
use crate::exec::plan::{Access, Confinement, Place, Rule};
use crate::exec::reach::{Reach, SYSTEM};
use crate::exec::seccomp::{self, Purpose};
use crate::exec::{ExecError, ExecErrorKind, Job, Launcher, Outcome, Sandbox, host};

/// The version of Landlock without which files could be emptied that may not be written.
const LEAST: ABI = ABI::V3;
/// The latest version whose rights this was written for.
const LATEST: ABI = ABI::V7;

/// Devices that can be read and written.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full"];
/// Devices that can be read.
const SOURCES: &[&str] = &["/dev/random", "/dev/urandom"];
/// What programs ask about the machine. Nothing here is about a process.
const MACHINE: &[&str] = &[
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys/kernel/cap_last_cap",
    "/proc/sys/kernel/ngroups_max",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/ostype",
    "/proc/sys/kernel/pid_max",
    "/proc/sys/kernel/random/uuid",
    "/proc/sys/vm/overcommit_memory",
    "/proc/uptime",
    "/proc/version",
    "/sys/devices/system/cpu",
    "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
];

/// Landlock with a filter of system calls.
#[derive(Debug)]
pub(crate) struct Landlock {
    launcher: Launcher,
}

impl Landlock {
    pub(crate) fn new(launcher: Launcher) -> Self {
        Self { launcher }
    }

    pub(crate) fn run_told(&self, job: &Job) -> Result<host::Ran, ExecError> {
        host::run(&self.launcher, job, Taking::Apart, |reach, _| Ok(Confinement::Landlock(rules(reach))))
    }
}

impl Sandbox for Landlock {
    fn name(&self) -> &'static str {
        "landlock"
    }

    fn run(&self, job: &Job) -> Result<Outcome, ExecError> {
        self.run_told(job).map(|(outcome, _)| outcome)
    }
}

/// Returns what may be done where. Whatever is not named cannot be opened at all.
fn rules(reach: &Reach) -> Vec<Rule> {
    let mut rules = Vec::new();
    let mut add = |place, access| rules.push(Rule { place, access });
    let system = |path: &&str| Place::Path(path.into());
    for path in SYSTEM.iter().chain(SOURCES).chain(MACHINE) {
        add(system(path), Access::Read);
    }
    reach.settings().for_each(|path| add(system(&path), Access::Read));
    DEVICES.iter().for_each(|path| add(system(path), Access::Modify));
    let pin = |pinned: &Pinned| Place::Pinned(pinned.clone());
    reach.needs.iter().for_each(|(_, need)| add(pin(need), Access::Read));
    add(pin(&reach.skill_pin), Access::Read);
    reach.directories.iter().for_each(|directory| add(pin(directory), Access::Read));
    for writable in &reach.writable {
        let (whole, files) = writable.parts();
        whole.iter().for_each(|part| add(pin(part), Access::Write));
        files.iter().for_each(|part| add(pin(part), Access::Modify));
    }
    add(pin(&reach.scratch_pin), Access::Write);
    rules
}

/// Confines the calling thread and whatever it starts, for good. Returns what that is made of.
pub(crate) fn confine(rules: &[Rule], network: bool) -> Result<String, (ExecErrorKind, String)> {
    let failed = |error: &dyn std::fmt::Display| (ExecErrorKind::Unavailable, format!("Landlock: {error}"));
    let read = AccessFs::Execute | AccessFs::ReadFile | AccessFs::ReadDir;
    let modify = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate;
    let never = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::MakeSock | AccessFs::IoctlDev;
    let write = AccessFs::from_all(LATEST) & !never;
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(LEAST))
        .map_err(|error| failed(&error))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(LATEST))
        .map_err(|error| failed(&error))?
        .scope(Scope::from_all(LATEST))
        .map_err(|error| failed(&error))?;
    if !network {
        ruleset = ruleset.handle_access(AccessNet::from_all(LATEST)).map_err(|error| failed(&error))?;
    }
    let mut ruleset = ruleset.create().map_err(|error| failed(&error))?;
    for rule in rules {
        let file = match &rule.place {
            // What is not there needs no rule.
            Place::Path(path) => {
                match rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
                    Ok(file) => file,
                    Err(_) => continue,
                }
            }
            Place::Pinned(pinned) => pinned.open().map_err(|error| {
                (ExecErrorKind::GrantRefused, format!("{}: {error}", pinned.path.display()))
            })?,
        };
        let rights: BitFlags<AccessFs> = match rule.access {
            Access::Read => read,
            Access::Modify => modify,
            Access::Write => write,
        };
        let mode = rustix::fs::fstat(&file).map_err(|error| failed(&error))?.st_mode;
        let is_directory = FileType::from_raw_mode(mode) == FileType::Directory;
        let rights = if is_directory { rights } else { rights & AccessFs::from_file(LATEST) };
        ruleset = ruleset.add_rule(PathBeneath::new(file, rights)).map_err(|error| failed(&error))?;
    }
    let status = ruleset.restrict_self().map_err(|error| failed(&error))?;
    let LandlockStatus::Available { effective_abi, .. } = status.landlock else {
        return Err(failed(&"not a part of this kernel, or turned off"));
    };
    if effective_abi < LEAST || !status.no_new_privs {
        return Err(failed(&format!("version {} is too old", effective_abi as i32)));
    }
    drop_capabilities()?;
    let purpose = Purpose { network, has_namespaces: false, has_signal_scope: effective_abi >= ABI::V6 };
    let filter = seccomp::program(purpose);
    seccompiler::apply_filter(&filter).map_err(|error| (ExecErrorKind::Unavailable, error.to_string()))?;
    Ok(describe(effective_abi))
}

/// Gives up what the superuser may do beyond others. With `no_new_privs` nothing brings it back.
fn drop_capabilities() -> Result<(), (ExecErrorKind, String)> {
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    let _ = rustix::thread::clear_ambient_capability_set();
    set_capabilities(None, none)
        .map_err(|error| (ExecErrorKind::Unavailable, format!("capabilities: {error}")))
}

/// Returns the version, and what an old one lacks.
fn describe(abi: ABI) -> String {
    let mut text = format!("ABI {}, seccomp", abi as i32);
    let lacks: Vec<&str> = [
        (ABI::V4, "TCP is refused by seccomp alone"),
        (ABI::V5, "device files are not guarded against ioctl"),
        (ABI::V6, "signals reach the command's own group only"),
    ]
    .into_iter()
    .filter(|(since, _)| abi < *since)
    .map(|(_, lack)| lack)
    .collect();
    if !lacks.is_empty() {
        text = format!("{text}; {}", lacks.join("; "));
    }
    text
}
