//! A state directory that its user cannot read, such as one made by `sudo -E rep`. Skills are served anyway.

use std::path::{Path, PathBuf};

use repertoire::record::RecordKind;

use super::disabled::shell_word;
use super::environment::{Env, STATE_DIR};

/// The name of the SQLite file in the state directory.
pub(super) const STORE_FILE: &str = "repertoire.db";

/// Parts of the state directory that `sudo rep` can make unreadable, in the order in which commands read.
const PARTS: [&str; 10] = [
    RecordKind::Kits.file_name(),
    STORE_FILE,
    RecordKind::Approvals.file_name(),
    RecordKind::Links.file_name(),
    RecordKind::Adopted.file_name(),
    RecordKind::Disabled.file_name(),
    "changes",
    "conversations",
    "run",
    "running",
];

/// A state directory that cannot be read, or a part of it.
pub struct UnreadableState {
    directory: PathBuf,
    /// The directory, or the part.
    path: PathBuf,
    home: Option<PathBuf>,
}

impl UnreadableState {
    /// Returns the state directory if it, or a part of it, is there and cannot be read by this user.
    pub fn find(env: &Env) -> Option<Self> {
        let directory = env.working_directory().join(env.state_directory()?);
        let parts = PARTS.iter().map(|name| directory.join(name));
        let path = [directory.clone()].into_iter().chain(parts).find(|path| is_denied(path))?;
        Some(Self { directory, path, home: env.home() })
    }

    /// Returns one line that says what this means.
    pub fn message(&self) -> String {
        let served = if self.hides(RecordKind::Kits.file_name()) {
            "all skills are served, whatever `rep kit use` chose"
        } else {
            "skills are served all the same"
        };
        let recorded = if self.hides(STORE_FILE) { ", and nothing is recorded there" } else { "" };
        format!("{} cannot be read: permission denied; {served}{recorded}", self.path.display())
    }

    /// Returns whether the file `name` of the directory cannot be read.
    pub fn hides(&self, name: &str) -> bool {
        self.path == self.directory || is_denied(&self.directory.join(name))
    }

    /// Returns what mends it.
    pub fn remedy(&self) -> String {
        // The directory itself may be hidden by one above it.
        let found = self.directory.ancestors().find_map(|path| Some((path, path.metadata().ok()?)));
        let is_own = |path: &Path| {
            let is_in_home = |home: &PathBuf| path != home && path.starts_with(home);
            path == self.directory || self.home.as_ref().is_some_and(is_in_home)
        };
        let Some((path, metadata)) = found.filter(|(path, _)| is_own(path)) else {
            return format!("set {STATE_DIR} to a directory of yours");
        };
        let belongs_to_user = [Some(metadata), self.path.metadata().ok()].iter().flatten().all(is_users);
        let word = shell_word(&path.display().to_string());
        if belongs_to_user {
            format!("`chmod -R u+rwX {word}` mends it")
        } else {
            format!("`sudo chown -R {} {word}` mends it", user())
        }
    }
}

#[cfg(unix)]
fn is_denied(path: &Path) -> bool {
    use rustix::fs::Access;

    let needed = if path.is_dir() { Access::READ_OK | Access::EXEC_OK } else { Access::READ_OK };
    rustix::fs::access(path, needed) == Err(rustix::io::Errno::ACCESS)
}

#[cfg(unix)]
fn is_users(metadata: &std::fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(metadata) == user()
}

#[cfg(unix)]
fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

// Elsewhere files have no owner in this sense.
#[cfg(not(unix))]
fn is_denied(_: &Path) -> bool {
    false
}

#[cfg(not(unix))]
fn is_users(_: &std::fs::Metadata) -> bool {
    true
}

#[cfg(not(unix))]
fn user() -> u32 {
    0
}
