//! Git: the files that it obeys, repositories with their git directories, and runs of git on the host.

#[cfg(unix)]
pub(crate) mod committed_file;
#[cfg(unix)]
pub(crate) mod host_git;
#[cfg(unix)]
pub(crate) mod settings_paths;
#[cfg(unix)]
mod repository;
pub(crate) mod settings;
#[cfg(unix)]
mod user_git;

#[cfg(unix)]
pub(crate) use host_git::NO_SYSTEM_FILES;
#[cfg(unix)]
pub(crate) use repository::Repository;
#[cfg(unix)]
pub(crate) use user_git::{GitOutcome, UserGit};
