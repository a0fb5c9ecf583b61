//! Stands in for discovery until it is merged.

use std::fs;
use std::path::{Path, PathBuf};

use crate::config::Settings;

pub struct Discovered {
    pub label: String,
    pub path: PathBuf,
    pub reason: &'static str,
}

pub fn discover(working: &Path, home: Option<PathBuf>, settings: &Settings) -> Vec<Discovered> {
    let mut all = Vec::new();
    for name in [".agents/skills", ".claude/skills"] {
        if settings.discover_project {
            let path = working.join(name);
            all.push(Discovered { label: format!("project:{name}"), path, reason: "project" });
        }
    }
    for name in [".agents/skills", ".claude/skills"] {
        if let Some(home) = home.as_ref().filter(|_| settings.discover_user) {
            let path = home.join(name);
            all.push(Discovered { label: format!("user:{name}"), path, reason: "user" });
        }
    }
    all
}

pub fn packs(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}
