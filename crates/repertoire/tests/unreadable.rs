//! Tests of a followed library whose directories and files cannot be read for a while.
//!
//! Every limit of time is below the interval at which a watched library is reloaded without events.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests change the files of skills themselves"
)]
#![cfg(unix)]

mod permissions;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use repertoire::registry::watch::FollowMethod;
use repertoire::{FsOptions, FsProvider, Lookup, Policy, Registry, ReloadOptions, Snapshot, Watcher};
use tempfile::TempDir;

use self::permissions::{CLOSED, OPEN, obey_permissions, set_mode};

const DEADLINE: Duration = Duration::from_secs(20);

/// Returns a directory with the skills `alpha` and `beta` in `skills`.
fn directory() -> TempDir {
    obey_permissions();
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("skills");
    ["alpha", "beta"].iter().for_each(|name| write(&root, name, "Does it"));
    directory
}

fn write(root: &Path, name: &str, description: &str) {
    fs::create_dir_all(root.join(name)).unwrap();
    let text = format!("---\nname: {name}\ndescription: {description}. Use when asked.\n---\n# It\n");
    fs::write(root.join(name).join("SKILL.md"), text).unwrap();
}

/// A library that is followed.
struct FollowedLibrary {
    root: PathBuf,
    registry: Registry,
    watcher: Watcher,
}

impl FollowedLibrary {
    fn new(directory: &TempDir) -> Self {
        let root = directory.path().join("skills");
        let provider = Arc::new(FsProvider::new(FsOptions::new("test", &root)));
        let registry = pollster::block_on(Registry::open(vec![provider], Policy::default())).unwrap();
        let mut options = ReloadOptions::default();
        options.poll = Duration::from_millis(100);
        let watcher = registry.watch(options).unwrap();
        assert!(watcher.wait_ready(DEADLINE));
        Self { root, registry, watcher }
    }

    /// Waits until `is_so`, and expects that the library is watched then.
    fn until(&self, is_so: impl Fn(&Snapshot) -> bool) {
        let deadline = Instant::now() + DEADLINE;
        while !is_so(&self.registry.snapshot()) {
            let snapshot = self.registry.snapshot();
            assert!(Instant::now() < deadline, "{:?} {:?}", names(&snapshot), snapshot.problems());
            std::thread::sleep(Duration::from_millis(5));
        }
        let state = self.watcher.state();
        assert!(matches!(state[0].following, FollowMethod::Watching(_)), "{state:?}");
    }

    fn until_names(&self, expect: &[&str]) {
        self.until(|snapshot| names(snapshot) == expect);
    }

    /// Waits until the library has `expect` and says that `path` cannot be read.
    fn until_closed(&self, path: &Path, expect: &[&str]) {
        let name = path.file_name().unwrap().to_str().unwrap();
        self.until(|snapshot| {
            let is_told = snapshot.problems().iter().any(|problem| problem.path.ends_with(name));
            names(snapshot) == expect && is_told
        });
    }

    /// Edits a skill and waits until that is seen.
    fn edit(&self, name: &str) {
        write(&self.root, name, "Does more");
        self.until(|snapshot| match snapshot.find(name) {
            Lookup::Found(entry) => entry.document.description.starts_with("Does more"),
            _ => false,
        });
    }
}

fn names(snapshot: &Snapshot) -> Vec<String> {
    snapshot.active().map(|entry| entry.name().to_string()).collect()
}

#[test]
fn a_skill_that_appears_unreadable_is_seen_when_it_is_opened() {
    let directory = directory();
    let library = FollowedLibrary::new(&directory);
    let (aside, gamma) = (directory.path().join("aside"), library.root.join("gamma"));
    write(&aside, "gamma", "Does it");
    set_mode(&aside.join("gamma"), CLOSED);
    fs::rename(aside.join("gamma"), &gamma).unwrap();
    library.until_closed(&gamma, &["alpha", "beta"]);
    // And under another name, while it is closed.
    let delta = library.root.join("delta");
    fs::rename(&gamma, &delta).unwrap();
    library.until_closed(&delta, &["alpha", "beta"]);
    set_mode(&delta, OPEN);
    library.until_names(&["alpha", "beta", "gamma"]);
    set_mode(&delta, CLOSED);
    library.until_names(&["alpha", "beta"]);
    set_mode(&delta, OPEN);
    library.until_names(&["alpha", "beta", "gamma"]);
}

#[test]
fn an_unreadable_skill_in_a_root_that_was_away_is_seen_when_it_is_opened() {
    let directory = directory();
    let library = FollowedLibrary::new(&directory);
    let (away, alpha) = (directory.path().join("away"), library.root.join("alpha"));
    set_mode(&alpha, CLOSED);
    fs::rename(&library.root, &away).unwrap();
    library.until_names(&[]);
    // Nothing is watched any more but the directory around the root.
    library.until(|_| library.watcher.watches() == 1);
    fs::rename(&away, &library.root).unwrap();
    library.until_closed(&alpha, &["beta"]);
    set_mode(&alpha, OPEN);
    library.until_names(&["alpha", "beta"]);
    library.edit("alpha");
}

#[test]
fn a_root_that_is_opened_is_seen() {
    // The directory around it may be the one that is closed.
    for closed in ["skills", ""] {
        let directory = directory();
        let closed = directory.path().join(closed);
        set_mode(&closed, CLOSED);
        let library = FollowedLibrary::new(&directory);
        library.until_closed(&library.root, &[]);
        set_mode(&closed, OPEN);
        library.until_names(&["alpha", "beta"]);
        library.edit("alpha");
    }
}

#[test]
fn a_link_into_a_directory_that_is_opened_is_seen() {
    // The directory that it leads to, or the one around that.
    for closed in ["gamma", ""] {
        let directory = directory();
        let library = FollowedLibrary::new(&directory);
        let elsewhere = directory.path().join("elsewhere");
        let closed = elsewhere.join(closed);
        write(&elsewhere, "gamma", "Does it");
        set_mode(&closed, CLOSED);
        let link = library.root.join("gamma");
        symlink(elsewhere.join("gamma"), &link).unwrap();
        library.until_closed(&link, &["alpha", "beta"]);
        set_mode(&closed, OPEN);
        library.until_names(&["alpha", "beta", "gamma"]);
    }
}

#[test]
fn a_manifest_that_is_opened_is_seen() {
    let directory = directory();
    let library = FollowedLibrary::new(&directory);
    let aside = directory.path().join("aside");
    write(&aside, "gamma", "Does it");
    set_mode(&aside.join("gamma/SKILL.md"), 0);
    fs::rename(aside.join("gamma"), library.root.join("gamma")).unwrap();
    library.until(|snapshot| matches!(snapshot.find("gamma"), Lookup::Quarantined(_)));
    set_mode(&library.root.join("gamma/SKILL.md"), 0o644);
    library.until_names(&["alpha", "beta", "gamma"]);
}
