//! From what a tool asks for to what its job is granted.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use repertoire_model::answer::FaultKind;
use repertoire_model::toolbox::Needs;

use super::executor::Executor;
use crate::exec::{Grants, RepositoryGrant, protected};
use crate::tool::quoted;

/// Returns what a job is granted, and what was made so that it can be.
pub(super) fn grants(executor: &Executor, needs: &Needs) -> Result<(Grants, Made), FaultKind> {
    let mut made = Made::default();
    let network = needs.network;
    if !needs.directory {
        return Ok((Grants { network, ..Grants::default() }, made));
    }
    let Some(directory) = executor.options.directory.clone() else {
        let reason = "it works in a directory, and it is given none here".to_owned();
        return Err(FaultKind::Failed { reason });
    };
    let mut write = Vec::new();
    for path in &needs.write {
        write.push(made.place(&directory, path).map_err(|why| FaultKind::Failed {
            reason: format!("it writes `{}`, and {why}", quoted(path)),
        })?);
    }
    let top = executor.options.repository.clone().filter(|top| lies_in(&directory, top));
    let repository = needs.repository.zip(top).map(|(how, top)| RepositoryGrant { top, how });
    Ok((Grants { network, directory: Some(directory), write, repository }, made))
}

/// Returns whether `directory` lies in the checkout at `top`.
fn lies_in(directory: &Path, top: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(directory).starts_with(real(top))
}

/// How many calls need what was made for them, by path; whoever is last takes away what is still empty.
static NEEDED: Mutex<BTreeMap<PathBuf, usize>> = Mutex::new(BTreeMap::new());

/// Files and directories that were made so that they can be granted. What is still empty goes again with this.
#[derive(Debug, Default)]
pub(super) struct Made {
    paths: Vec<PathBuf>,
}

impl Made {
    /// Returns where `path` of `directory` is. What is not there is made: a directory where `path` ends with a slash, else an empty
    /// file.
    ///
    /// Nothing is guessed, nothing is made where nothing may be written, and no link is followed for it.
    fn place(&mut self, directory: &Path, path: &str) -> Result<PathBuf, String> {
        let inner = Path::new(path);
        let is_within =
            inner.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        let target: PathBuf = directory.join(inner).components().collect();
        if !is_within || target == directory {
            // What lies elsewhere is for the sandbox to refuse.
            return Ok(target);
        }
        let mut needed = NEEDED.lock().unwrap_or_else(PoisonError::into_inner);
        if target.symlink_metadata().is_ok() {
            self.share(&mut needed, directory, &target);
            return Ok(target);
        }
        let inner = target.strip_prefix(directory).unwrap_or(inner);
        let above = target.ancestors().skip(1).take_while(|above| above.starts_with(directory));
        if protected::is_protected(inner)
            || above.clone().any(|above| above.join("SKILL.md").symlink_metadata().is_ok())
        {
            return Err("nothing may write that".to_owned());
        }
        let mut missing: Vec<&Path> = Vec::new();
        for above in above.take_while(|above| *above != directory) {
            match above.symlink_metadata() {
                Ok(found) if found.is_dir() => {}
                Ok(_) => return Err("what it lies in is no directory".to_owned()),
                Err(_) => missing.push(above),
            }
        }
        self.share(&mut needed, directory, &target);
        let failed = |error: io::Error| format!("that cannot be made: {}", error.kind());
        for above in missing.into_iter().rev() {
            fs::create_dir(above).map_err(failed)?;
            self.note(&mut needed, above);
        }
        if path.ends_with('/') {
            fs::create_dir(&target).map_err(failed)?;
        } else {
            File::options().write(true).create_new(true).open(&target).map_err(failed)?;
        }
        self.note(&mut needed, &target);
        Ok(target)
    }

    /// Notes that what others made of `target` and of what it lies in is needed here too.
    fn share(&mut self, needed: &mut BTreeMap<PathBuf, usize>, directory: &Path, target: &Path) {
        let mut shared: Vec<&Path> = target.ancestors().take_while(|above| *above != directory).collect();
        shared.retain(|path| needed.contains_key(*path));
        shared.reverse();
        shared.into_iter().for_each(|path| self.note(needed, path));
    }

    fn note(&mut self, needed: &mut BTreeMap<PathBuf, usize>, path: &Path) {
        *needed.entry(path.to_owned()).or_default() += 1;
        self.paths.push(path.to_owned());
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let mut needed = NEEDED.lock().unwrap_or_else(PoisonError::into_inner);
        for path in self.paths.drain(..).rev() {
            let left = needed.get(&path).map_or(0, |count| count - 1);
            if left > 0 {
                needed.insert(path, left);
                continue;
            }
            needed.remove(&path);
            match path.symlink_metadata() {
                // A directory that is not empty stays by itself.
                Ok(found) if found.is_dir() => drop(fs::remove_dir(&path)),
                Ok(found) if found.is_file() && found.len() == 0 => drop(fs::remove_file(&path)),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_makes_a_directory_and_anything_else_a_file() {
        let work = tempfile::tempdir().unwrap();
        let directory = work.path();
        let mut made = Made::default();
        assert!(made.place(directory, "out/").unwrap().is_dir());
        assert!(made.place(directory, "a.d/").unwrap().is_dir());
        assert!(made.place(directory, "deep/er/report.md").unwrap().is_file());
        assert!(made.place(directory, "plain").unwrap().is_file());
        assert_eq!(made.place(directory, ".").unwrap(), directory);
        fs::write(directory.join("plain"), "text").unwrap();
        fs::write(directory.join("out/x"), "").unwrap();
        // Another call needs it too.
        let mut other = Made::default();
        other.place(directory, "deep/er/report.md").unwrap();
        drop(made);
        let is_there = |path: &str| directory.join(path).symlink_metadata().is_ok();
        assert!(is_there("plain") && is_there("out/x") && is_there("deep/er/report.md") && !is_there("a.d"));
        drop(other);
        assert!(!is_there("deep"));
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_made_where_nothing_may_be_written_or_through_links() {
        let (work, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let directory = work.path();
        std::os::unix::fs::symlink(other.path(), directory.join("link")).unwrap();
        std::os::unix::fs::symlink(other.path().join("gone"), directory.join("dangling")).unwrap();
        fs::create_dir(directory.join("skill")).unwrap();
        fs::write(directory.join("skill/SKILL.md"), "").unwrap();
        let mut made = Made::default();
        for path in
            ["link/a", "link/b/", "dangling/x", ".git/hooks/post-commit", "AGENTS.md", ".vscode/", "skill/x"]
        {
            assert!(made.place(directory, path).is_err(), "{path}");
        }
        // A link that leads nowhere is there, and for the sandbox to refuse.
        made.place(directory, "dangling").unwrap();
        made.place(directory, "../elsewhere").unwrap();
        assert!(fs::read_dir(other.path()).unwrap().next().is_none());
        let names: Vec<_> =
            fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 3, "{names:?}");
        assert!(directory.parent().unwrap().join("elsewhere").symlink_metadata().is_err());
    }
}
