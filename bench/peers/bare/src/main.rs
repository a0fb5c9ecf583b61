//! The least that any index has to do: walk the library and read every SKILL.md.
//!
//! It opens, stats and reads each file whole, cuts `name` and `description` out of the first lines without
//! any parsing, and checks nothing. No index can be faster by more than what it leaves unread.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use memchr::memmem;
use rayon::prelude::*;
use stopwatch::Task;

/// Enough for almost any SKILL.md.
const BUFFER_BYTES: usize = 64 * 1024;

/// The index entry of a skill.
struct Skill {
    directory: PathBuf,
    name: String,
    description: String,
    _size: u64,
    _modified: Option<SystemTime>,
}

fn main() {
    let task = Task::from_args();
    let threads = rayon::current_num_threads();
    let index = || if threads == 1 { index_alone(&task.library) } else { index_together(&task.library) };
    task.measure("index", || {
        let skills = index().expect("the library can be read");
        (skills.len(), skills)
    });
    // Started as a process to be measured from the outside, it only walks and reads.
    if task.repeat > 1 {
        let skills = index().expect("the library can be read");
        task.measure("catalog", || (skills.len(), catalog(&skills)));
    }
}

fn index_alone(library: &Path) -> io::Result<Vec<Skill>> {
    let mut buffer = Vec::with_capacity(BUFFER_BYTES);
    let read = |directory| read(directory, &mut buffer);
    Ok(directories(library)?.into_iter().map(read).filter_map(Result::ok).collect())
}

fn index_together(library: &Path) -> io::Result<Vec<Skill>> {
    // A directory without a readable `SKILL.md` is no skill.
    Ok(directories(library)?
        .into_par_iter()
        .map_init(|| Vec::with_capacity(BUFFER_BYTES), |buffer, directory| read(directory, buffer))
        .filter_map(Result::ok)
        .collect())
}

fn directories(library: &Path) -> io::Result<Vec<PathBuf>> {
    let mut directories = Vec::new();
    for entry in fs::read_dir(library)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            directories.push(entry.path());
        }
    }
    directories.sort_unstable();
    Ok(directories)
}

fn read(directory: PathBuf, buffer: &mut Vec<u8>) -> io::Result<Skill> {
    let mut file = File::open(directory.join("SKILL.md"))?;
    let metadata = file.metadata()?;
    buffer.clear();
    file.read_to_end(buffer)?;
    let text = String::from_utf8_lossy(buffer);
    let end = memmem::find(text.as_bytes(), b"\n---\n").unwrap_or(text.len());
    let field = |key| text[..end].lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default().trim();
    Ok(Skill {
        name: field("name:").to_owned(),
        description: field("description:").to_owned(),
        directory,
        _size: metadata.len(),
        _modified: metadata.modified().ok(),
    })
}

/// Renders what an agent would be given, without escaping.
fn catalog(skills: &[Skill]) -> String {
    let mut text = String::with_capacity(skills.len() * 400);
    text.push_str("<available_skills>\n");
    for Skill { directory, name, description, .. } in skills {
        let _ = writeln!(
            text,
            "<skill>\n<name>{name}</name>\n<description>{description}</description>\n<location>{}/SKILL.md</location>\n</skill>",
            directory.display()
        );
    }
    text.push_str("</available_skills>");
    text
}
