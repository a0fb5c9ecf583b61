//! The host's side of Landlock, which works where namespaces are not allowed, such as in most containers.

use crate::launcher::plan::{Access, AccessRule, Confinement, RulePath};
use crate::resolved_grants::{ResolvedGrants, SYSTEM};
use crate::sandbox::Sandbox;
use crate::sandbox::host::{self, ProtectionMeans};
use crate::verified_path::VerifiedPath;
use crate::{ExecError, Job, Launcher, RunOutcome};

/// Devices that can be read and written.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full"];
/// Devices that can be read.
const READABLE_DEVICES: &[&str] = &["/dev/random", "/dev/urandom"];
/// Files about the machine that programs read. None contains data of a process.
const MACHINE_FILES: &[&str] = &[
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

/// The sandbox with Landlock and a seccomp filter.
#[derive(Debug)]
pub(in crate::sandbox) struct Landlock {
    launcher: Launcher,
}

impl Landlock {
    pub(in crate::sandbox) fn new(launcher: Launcher) -> Self {
        Self { launcher }
    }

    pub(in crate::sandbox) fn run_reported(&self, job: &Job) -> Result<host::ReportedOutcome, ExecError> {
        host::run(&self.launcher, job, ProtectionMeans::SplitDirectories, |grants, _| {
            Ok(Confinement::Landlock(rules(grants)))
        })
    }
}

impl Sandbox for Landlock {
    fn name(&self) -> &'static str {
        "landlock"
    }

    fn run(&self, job: &Job) -> Result<RunOutcome, ExecError> {
        self.run_reported(job).map(|(outcome, _)| outcome)
    }
}

/// Returns the rules for grants. Paths without a rule cannot be opened.
fn rules(grants: &ResolvedGrants) -> Vec<AccessRule> {
    let mut rules = Vec::new();
    let mut add = |place, access| rules.push(AccessRule { place, access });
    let system = |path: &&str| RulePath::Path(path.into());
    for path in SYSTEM.iter().chain(READABLE_DEVICES).chain(MACHINE_FILES) {
        add(system(path), Access::Read);
    }
    grants.settings().for_each(|path| add(system(&path), Access::Read));
    DEVICES.iter().for_each(|path| add(system(path), Access::Modify));
    let pin = |pinned: &VerifiedPath| RulePath::VerifiedPath(pinned.clone());
    grants.needs.iter().for_each(|(_, need)| add(pin(need), Access::Read));
    add(pin(&grants.skill_pin), Access::Read);
    grants.directories.iter().for_each(|directory| add(pin(directory), Access::Read));
    for writable in &grants.writable {
        let (whole, files) = writable.parts();
        whole.iter().for_each(|part| add(pin(part), Access::Write));
        files.iter().for_each(|part| add(pin(part), Access::Modify));
    }
    add(pin(&grants.scratch_pin), Access::Write);
    rules
}
