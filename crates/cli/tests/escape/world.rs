//! A place with a home, secrets, skills and a project, and the sandboxes that this machine has.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use repertoire_exec::{Job, RunOutcome, Sandbox, UnconfinedSandbox};
use tempfile::TempDir;

use crate::machine::{launcher, probed};

/// Returns every sandbox that works here.
pub(crate) fn sandboxes() -> Vec<Arc<dyn Sandbox>> {
    probed().rows().iter().filter_map(|row| row.sandbox.clone()).collect()
}

/// Returns the one that confines nothing.
pub(crate) fn unconfined() -> Arc<dyn Sandbox> {
    Arc::new(UnconfinedSandbox::new(launcher()))
}

/// Returns every sandbox that works here, and the one that confines nothing.
pub(crate) fn everyone() -> Vec<Arc<dyn Sandbox>> {
    sandboxes().into_iter().chain([unconfined()]).collect()
}

/// A home with secrets, two skills and a project.
pub(crate) struct World {
    directory: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let world = Self { directory: TempDir::new_in("/var/tmp").unwrap() };
        for (path, text) in [
            ("home/.ssh/id_ed25519", "SECRET-KEY"),
            ("home/.aws/credentials", "SECRET-CLOUD"),
            ("home/.bashrc", "# rc"),
            ("home/notes.txt", "SECRET-NOTES"),
            ("skill/SKILL.md", "---\nname: skill\n---\n"),
            ("skill/data.txt", "of the skill"),
            ("other/SKILL.md", "SECRET-SKILL"),
            ("project/src/main.rs", "fn main() {}"),
            ("project/AGENTS.md", "instructions"),
            ("project/.git/config", "[core]"),
            ("project/.git/hooks/pre-commit.sample", "#!/bin/sh"),
            ("project/.git/index", "index"),
            ("project/out/old.txt", "old"),
            ("project/.env", "SECRET-ENV"),
        ] {
            world.write(path, text);
        }
        // Not every file system has attributes.
        let (secret, flags) = (world.path("home/.ssh/id_ed25519"), rustix::fs::XattrFlags::empty());
        let _ = rustix::fs::setxattr(secret, "user.note", b"SECRET-NOTE", flags);
        world
    }

    pub(crate) fn path(&self, inner: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(inner)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Writes an executable file into the skill.
    pub(crate) fn script(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        self.write(&format!("skill/{name}"), text);
        fs::set_permissions(self.path(&format!("skill/{name}")), fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn job<const N: usize>(&self, command: [&str; N]) -> Job {
        let mut job = Job::new(command, self.path("skill"));
        job.environment = vec![("PATH".to_owned(), std::env::var("PATH").unwrap())];
        job.scratch = Some(self.scratches());
        job
    }

    pub(crate) fn sh(&self, text: &str) -> Job {
        self.job(["sh", "-c", text])
    }

    pub(crate) fn python(&self, text: &str) -> Job {
        self.job(["python3", "-c", text])
    }

    /// Returns the directory that scratch directories are made in.
    pub(crate) fn scratches(&self) -> PathBuf {
        let path = self.path("scratches");
        fs::create_dir_all(&path).unwrap();
        path
    }
}

pub(crate) fn stdout(outcome: &RunOutcome) -> String {
    String::from_utf8_lossy(&outcome.stdout.bytes).into_owned()
}

pub(crate) fn stderr(outcome: &RunOutcome) -> String {
    String::from_utf8_lossy(&outcome.stderr.bytes).into_owned()
}

/// Returns whether a directory has nothing in it.
pub(crate) fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).unwrap().next().is_none()
}
