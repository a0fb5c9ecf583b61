//! The paths that a job can reach: the policy and its grants, resolved and checked.

use std::fs;
use std::path::{Path, PathBuf};

use crate::git::Repository;
use crate::interpreter::{self, DEFAULT_PATH, Program};
use crate::protect::entry::ExcludedPaths;
use crate::protect::writable::{self, WritableGrant};
use crate::scratch::Scratch;
use crate::verified_path::VerifiedPath;
use crate::workplace::{holds_home, search_outside, workplaces};
use crate::{ExecError, ExecErrorKind, Job};

/// Directories of the system's programs and libraries, which every command can read.
pub(crate) const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];

/// Settings of the system that programs need. None of them is secret.
pub(crate) const SETTINGS: &[&str] = &[
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/debian_version",
    "/etc/fonts",
    "/etc/group",
    "/etc/host.conf",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki/ca-trust/extracted",
    "/etc/pki/tls/certs",
    "/etc/protocols",
    "/etc/services",
    "/etc/ssl/cert.pem",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
];

/// Further settings that programs need for the network.
pub(crate) const NETWORK_SETTINGS: &[&str] = &["/etc/gai.conf", "/etc/hosts", "/etc/resolv.conf"];

/// Prefixes of variables that control the dynamic loader and the allocator; none is passed on.
const LOADER_PREFIXES: &[&str] = &["LD_", "DYLD_", "GLIBC_TUNABLES", "MALLOC_"];

/// The refusal of a grant to write a whole home directory.
const WHOLE_HOME: &str = "a whole home directory cannot be writable; work in a directory of it";

/// The grants of a job, with resolved and checked paths.
#[derive(Debug)]
pub(crate) struct ResolvedGrants {
    pub(crate) program: Program,
    /// Files that the program needs outside the system's directories: the path it uses, and the resolved one.
    pub(crate) needs: Vec<(PathBuf, VerifiedPath)>,
    /// The skill's directory, symbolic links resolved.
    pub(crate) skill: PathBuf,
    pub(crate) skill_pin: VerifiedPath,
    /// The granted directories, symbolic links resolved: the working directory, or the repository around it.
    pub(crate) directories: Vec<VerifiedPath>,
    /// Git on the host, after a command that may write has ended.
    pub(crate) git: Option<Program>,
    pub(crate) scratch_pin: VerifiedPath,
    /// The paths in granted directories that the command may write.
    pub(crate) writable: Vec<WritableGrant>,
    pub(crate) working: PathBuf,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) network: bool,
}

impl ResolvedGrants {
    pub(crate) fn of(job: &Job, scratch: &Scratch) -> Result<Self, ExecError> {
        let skill = directory(&job.skill)?;
        let granted = job.grants.directory.as_deref().map(directory).transpose()?;
        if let Some(granted) = &granted
            && granted.parent().is_none()
        {
            let refused = ExecError::new(ExecErrorKind::GrantRefused).at(granted);
            return Err(refused.saying("the root directory cannot be the working directory"));
        }
        // A path that does not exist yet is protected too.
        let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        let own: Vec<PathBuf> = [skill.clone()].into_iter().chain(job.protected.iter().map(real)).collect();
        let never = ExcludedPaths { own: &own, git: &job.git };
        let repository = job.grants.repository.as_deref();
        let repository = repository.map(|top| repository_at(top, granted.as_deref())).transpose()?;
        let mut writable = Vec::new();
        for path in &job.grants.write {
            let Some(granted) = &granted else {
                let invalid = ExecError::new(ExecErrorKind::InvalidJob).at(path);
                return Err(invalid.saying("a path to write must lie in a granted directory"));
            };
            if holds_home(&real(path), job.git.home.as_deref()) {
                return Err(ExecError::new(ExecErrorKind::GrantRefused).at(path).saying(WHOLE_HOME));
            }
            writable.push(writable::writable(path, granted, never)?);
        }
        let Some(name) = job.command.first().filter(|name| !name.is_empty()) else {
            return Err(ExecError::new(ExecErrorKind::InvalidJob).saying("the command is empty"));
        };
        let given = job.environment.iter().rev().find(|(name, _)| name == "PATH");
        let search = given.map_or(DEFAULT_PATH, |(_, search)| search.as_str());
        let granted_places = job.grants.directory.iter().chain(&job.grants.repository);
        let workplaces = workplaces(job.workplaces.iter().chain(granted_places), job.git.home.as_deref());
        let search = search_outside(search, &workplaces);
        let system: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
        let program = interpreter::find(name, &skill, &search, &system, &workplaces)?;
        let git = (!writable.is_empty())
            .then(|| interpreter::find("git".as_ref(), &skill, &search, &system, &workplaces));
        let is_visible = |path: &Path| {
            let roots = system.iter().chain([&skill]).chain(&granted).chain(&program.directories);
            path.is_absolute() && roots.into_iter().any(|root| path.starts_with(root))
        };
        let own = program.directories.iter().map(|directory| directory.to_string_lossy().into_owned());
        let given = search.split(':').filter(|directory| is_visible(Path::new(directory))).map(str::to_owned);
        let mut search: Vec<String> = Vec::new();
        for directory in own.chain(given).chain(DEFAULT_PATH.split(':').map(str::to_owned)) {
            if !search.contains(&directory) {
                search.push(directory);
            }
        }
        let pin = |path: &Path| {
            VerifiedPath::at(path).map_err(|error| ExecError::new(ExecErrorKind::Io).at(path).because(error))
        };
        let needs = pinned_needs(&program);
        let mut places: Vec<&Path> = repository.iter().flat_map(Repository::places).collect();
        if let Some(granted) =
            granted.as_deref().filter(|own| !places.iter().any(|place| own.starts_with(place)))
        {
            places.push(granted);
        }
        Ok(Self {
            needs,
            skill_pin: pin(&skill)?,
            directories: places.into_iter().map(pin).collect::<Result<_, _>>()?,
            scratch_pin: pin(scratch.path())?,
            skill,
            working: granted.unwrap_or_else(|| scratch.work()),
            writable,
            environment: environment(job, scratch, &search.join(":")),
            network: job.grants.network,
            program,
            git: git.and_then(Result::ok),
        })
    }

    /// Returns the settings of the system that can be read.
    pub(crate) fn settings(&self) -> impl Iterator<Item = &'static str> {
        let more = if self.network { NETWORK_SETTINGS } else { &[] };
        SETTINGS.iter().chain(more).copied().filter(|path| fs::metadata(path).is_ok())
    }
}

/// Returns the files that a program needs outside of the system's directories.
fn pinned_needs(program: &Program) -> Vec<(PathBuf, VerifiedPath)> {
    let needs = program.needs.iter().filter_map(|path| {
        let real = path.canonicalize().ok()?;
        Some((path.clone(), VerifiedPath::at(&real).ok()?))
    });
    needs.collect()
}

/// Returns the repository whose checkout, at `top`, contains the granted directory.
fn repository_at(top: &Path, granted: Option<&Path>) -> Result<Repository, ExecError> {
    let repository = Repository::at(top)?;
    if !granted.is_some_and(|granted| granted.starts_with(&repository.top)) {
        let invalid = ExecError::new(ExecErrorKind::InvalidJob).at(top);
        return Err(invalid.saying("the granted directory must lie in the checkout"));
    }
    Ok(repository)
}

fn directory(path: &Path) -> Result<PathBuf, ExecError> {
    let invalid = || ExecError::new(ExecErrorKind::InvalidJob).at(path);
    if !path.is_absolute() {
        return Err(invalid().saying("the path is not absolute"));
    }
    let real = path.canonicalize().map_err(|error| invalid().because(error))?;
    if !real.is_dir() {
        return Err(invalid().saying("not a directory"));
    }
    Ok(real)
}

/// Returns the environment of a command: that of the job, overridden by the scratch directory's and `PATH`.
fn environment(job: &Job, scratch: &Scratch, search: &str) -> Vec<(String, String)> {
    let own = scratch.variables().into_iter().chain([("PATH".to_owned(), search.to_owned())]);
    let own: Vec<(String, String)> = own.collect();
    let is_ours = |name: &str| own.iter().any(|(own, _)| own == name);
    let is_sound = |name: &str, value: &str| {
        !name.is_empty()
            && !name.contains(['=', '\0'])
            && !value.contains('\0')
            && !LOADER_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    };
    let given = job.environment.iter().filter(|(name, value)| is_sound(name, value) && !is_ours(name));
    given.cloned().chain(own.iter().cloned()).collect()
}
