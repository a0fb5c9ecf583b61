//! Measures the crate agent-skills, which parses and validates one directory at a time.
//!
//! The crate neither walks a library nor uses threads; this program gives it both, so that it is compared at
//! the same number of threads as everyone else.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use agent_skills::SkillDirectory;
use rayon::prelude::*;
use stopwatch::Task;

fn main() {
    let task = Task::from_args();
    let threads = rayon::current_num_threads();
    task.measure("index", || {
        let directories = directories(&task.library).expect("the library can be read");
        let skills: Vec<SkillDirectory> = if threads == 1 {
            directories.iter().filter_map(|directory| SkillDirectory::load(directory).ok()).collect()
        } else {
            directories.par_iter().filter_map(|directory| SkillDirectory::load(directory).ok()).collect()
        };
        (skills.len(), skills)
    });
}

fn directories(library: &Path) -> io::Result<Vec<PathBuf>> {
    let mut directories = Vec::new();
    for entry in fs::read_dir(library)? {
        directories.push(entry?.path());
    }
    directories.sort_unstable();
    Ok(directories)
}
