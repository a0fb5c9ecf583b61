//! The grants of a job, from what its tool declares.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use repertoire_model::answer::FaultKind;
use repertoire_model::toolbox::Needs;

use super::executor::Executor;
use crate::protect::names;
use crate::verified_path::VerifiedPath;
use crate::{Grants, RepositoryGrant};
use repertoire::tool::quoted;

/// Returns what a job is granted, and what was made so that it can be.
pub(super) fn grants(executor: &Executor, needs: &Needs) -> Result<(Grants, CreatedPaths), FaultKind> {
    let mut made = CreatedPaths::default();
    let network = needs.network;
    if !needs.directory {
        return Ok((Grants { network, ..Grants::default() }, made));
    }
    let Some(directory) = executor.options.directory.clone() else {
        let reason = "it works in a directory, and it is given none here".to_owned();
        return Err(FaultKind::Failed { reason });
    };
    // What is made in it is removed again by paths without links.
    let directory = directory.canonicalize().unwrap_or(directory);
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

/// Use counts of paths that were made for calls; the last one removes what is still empty.
static NEEDED: Mutex<BTreeMap<PathBuf, SharedPath>> = Mutex::new(BTreeMap::new());

/// Something that was made, and how many calls need it.
#[derive(Debug)]
struct SharedPath {
    pinned: VerifiedPath,
    count: usize,
}

/// Files and directories that were made so that they can be granted. What is still empty goes again with this.
#[derive(Debug, Default)]
pub(super) struct CreatedPaths {
    paths: Vec<PathBuf>,
}

impl CreatedPaths {
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
        if names::is_protected(inner)
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
            self.add(&mut needed, VerifiedPath::make_directory(above).map_err(failed)?);
        }
        let make = if path.ends_with('/') { VerifiedPath::make_directory } else { VerifiedPath::make_file };
        self.add(&mut needed, make(&target).map_err(failed)?);
        Ok(target)
    }

    /// Notes that what others made of `target` and of what it lies in is needed here too.
    fn share(&mut self, needed: &mut BTreeMap<PathBuf, SharedPath>, directory: &Path, target: &Path) {
        let shared: Vec<&Path> = target.ancestors().take_while(|above| *above != directory).collect();
        for path in shared.into_iter().rev() {
            if let Some(shared) = needed.get_mut(path) {
                shared.count += 1;
                self.paths.push(path.to_owned());
            }
        }
    }

    fn add(&mut self, needed: &mut BTreeMap<PathBuf, SharedPath>, pinned: VerifiedPath) {
        self.paths.push(pinned.path.clone());
        // What went meanwhile may have been needed by others, who need this one then.
        let before = needed.remove(&pinned.path).map_or(0, |before| before.count);
        needed.insert(pinned.path.clone(), SharedPath { pinned, count: before + 1 });
    }
}

impl Drop for CreatedPaths {
    fn drop(&mut self) {
        let mut needed = NEEDED.lock().unwrap_or_else(PoisonError::into_inner);
        for path in self.paths.drain(..).rev() {
            let Some(made) = needed.get_mut(&path) else { continue };
            made.count -= 1;
            if made.count > 0 {
                continue;
            }
            if let Some(made) = needed.remove(&path) {
                // What is not empty stays, and so does what the command put in its place.
                let _ = made.pinned.remove_if_empty();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_slash_makes_a_directory_and_anything_else_a_file() {
        let work = tempfile::tempdir().unwrap();
        let directory = &work.path().canonicalize().unwrap();
        let mut made = CreatedPaths::default();
        assert!(made.place(directory, "out/").unwrap().is_dir());
        assert!(made.place(directory, "a.d/").unwrap().is_dir());
        assert!(made.place(directory, "deep/er/report.md").unwrap().is_file());
        assert!(made.place(directory, "plain").unwrap().is_file());
        assert_eq!(made.place(directory, ".").unwrap(), *directory);
        fs::write(directory.join("plain"), "text").unwrap();
        fs::write(directory.join("out/x"), "").unwrap();
        // Another call needs it too.
        let mut other = CreatedPaths::default();
        other.place(directory, "deep/er/report.md").unwrap();
        drop(made);
        let is_there = |path: &str| directory.join(path).symlink_metadata().is_ok();
        assert!(is_there("plain") && is_there("out/x") && is_there("deep/er/report.md") && !is_there("a.d"));
        drop(other);
        assert!(!is_there("deep"));
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_removed_by_way_of_a_link_that_a_command_put_there() {
        let (work, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let directory = work.path().canonicalize().unwrap();
        fs::write(other.path().join("__init__.py"), "").unwrap();
        fs::create_dir(other.path().join("empty")).unwrap();
        let mut made = CreatedPaths::default();
        for path in ["out/", "out/x/__init__.py", "out/x/empty/"] {
            made.place(&directory, path).unwrap();
        }
        fs::rename(directory.join("out/x"), directory.join("out/x2")).unwrap();
        std::os::unix::fs::symlink(other.path(), directory.join("out/x")).unwrap();
        drop(made);
        assert!(other.path().join("__init__.py").is_file() && other.path().join("empty").is_dir());
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_made_where_nothing_may_be_written_or_through_links() {
        let (work, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let directory = &work.path().canonicalize().unwrap();
        std::os::unix::fs::symlink(other.path(), directory.join("link")).unwrap();
        std::os::unix::fs::symlink(other.path().join("gone"), directory.join("dangling")).unwrap();
        fs::create_dir(directory.join("skill")).unwrap();
        fs::write(directory.join("skill/SKILL.md"), "").unwrap();
        let mut made = CreatedPaths::default();
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
