//! Git in the sandbox: a scratch repository for the command, and the transfer of its commits by git itself.

#[cfg(unix)]
pub(crate) mod committed_file;
#[cfg(unix)]
pub(crate) mod host_git;
#[cfg(unix)]
pub(crate) mod obeyed;
#[cfg(unix)]
mod obeyed_changes;
#[cfg(unix)]
mod repository;
#[cfg(unix)]
mod scratch_repository;
pub mod settings;
#[cfg(unix)]
mod transfer;
#[cfg(unix)]
mod user_git;

#[cfg(unix)]
pub(crate) use host_git::NO_SYSTEM_FILES;
#[cfg(unix)]
pub(crate) use repository::Repository;
#[cfg(unix)]
pub(crate) use scratch_repository::{ScratchRepository, UNFINISHED};
#[cfg(unix)]
pub(crate) use transfer::transfer;
#[cfg(unix)]
pub(crate) use user_git::{GitOutcome, UserGit};
