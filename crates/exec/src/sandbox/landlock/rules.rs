//! The launcher's side of Landlock: confines a thread and the processes that it starts.

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath,
    Ruleset, RulesetAttr, RulesetCreatedAttr, Scope,
};
use rustix::fs::{FileType, Mode, OFlags};

use crate::ExecErrorKind;
use crate::launcher::plan::{Access, AccessRule, RulePath};
use crate::launcher::seccomp::{self, FilterOptions};

/// The oldest supported version of Landlock. Before it, read-only files could be truncated.
const OLDEST: ABI = ABI::V3;
/// The latest supported version of Landlock.
const LATEST: ABI = ABI::V7;

/// Confines the calling thread and the processes that it starts. Returns a description of the confinement.
pub(crate) fn confine(rules: &[AccessRule], network: bool) -> Result<String, (ExecErrorKind, String)> {
    let failed = |error: &dyn std::fmt::Display| (ExecErrorKind::Unavailable, format!("Landlock: {error}"));
    let read = AccessFs::Execute | AccessFs::ReadFile | AccessFs::ReadDir;
    let modify = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate;
    let never = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::MakeSock | AccessFs::IoctlDev;
    let write = AccessFs::from_all(LATEST) & !never;
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(OLDEST))
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
            // A path that does not exist needs no rule.
            RulePath::Path(path) => {
                match rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
                    Ok(file) => file,
                    Err(_) => continue,
                }
            }
            RulePath::VerifiedPath(pinned) => pinned.open().map_err(|error| {
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
        return Err(failed(&"not supported by this kernel, or disabled"));
    };
    if effective_abi < OLDEST || !status.no_new_privs {
        return Err(failed(&format!("version {} is too old", effective_abi as i32)));
    }
    drop_capabilities()?;
    let options =
        FilterOptions { network, has_namespaces: false, has_signal_scope: effective_abi >= ABI::V6 };
    let filter = seccomp::program(options);
    seccompiler::apply_filter(&filter).map_err(|error| (ExecErrorKind::Unavailable, error.to_string()))?;
    Ok(describe(effective_abi))
}

/// Drops all capabilities. With `no_new_privs` they cannot be regained.
fn drop_capabilities() -> Result<(), (ExecErrorKind, String)> {
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    let _ = rustix::thread::clear_ambient_capability_set();
    set_capabilities(None, none)
        .map_err(|error| (ExecErrorKind::Unavailable, format!("capabilities: {error}")))
}

/// Describes the version of Landlock, with the features that an old one lacks.
fn describe(abi: ABI) -> String {
    let mut text = format!("ABI {}, seccomp", abi as i32);
    let lacks: Vec<&str> = [
        (ABI::V4, "TCP is refused by seccomp alone"),
        (ABI::V5, "ioctl on device files is not restricted"),
        (ABI::V6, "signals reach the command's own process group only"),
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
