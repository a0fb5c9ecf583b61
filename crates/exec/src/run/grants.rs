//! The grants of a job, from the declaration of its tool.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use repertoire_model::answer::FaultKind;
use repertoire_model::toolbox::Needs;

use super::executor::Executor;
use crate::Grants;
use crate::protect::names;
use crate::verified_path::VerifiedPath;
use repertoire::tool::quoted;

/// Returns the grants of a job, and the paths that were created for them.
pub(super) fn grants(executor: &Executor, needs: &Needs) -> Result<(Grants, CreatedPaths), FaultKind> {
    let mut made = CreatedPaths::default();
    let network = needs.network;
    if !needs.directory {
        return Ok((Grants { network, ..Grants::default() }, made));
    }
    let Some(directory) = executor.options.directory.clone() else {
        let reason = "it needs a working directory, and there is not one here".to_owned();
        return Err(FaultKind::Failed { reason });
    };
    // Created paths are removed again by paths without symbolic links.
    let directory = directory.canonicalize().unwrap_or(directory);
    let mut write = Vec::new();
    for path in &needs.write {
        write.push(made.place(&directory, path).map_err(|why| FaultKind::Failed {
            reason: format!("it writes `{}`, and {why}", quoted(path)),
        })?);
    }
    let top = executor.options.repository.clone().filter(|top| lies_in(&directory, top));
    let repository = top.filter(|_| needs.repository);
    Ok((Grants { network, directory: Some(directory), write, repository }, made))
}

fn lies_in(directory: &Path, top: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(directory).starts_with(real(top))
}

/// Reference counts of paths that were created for calls. The last call removes a path that is still empty.
static CREATED: Mutex<BTreeMap<PathBuf, SharedPath>> = Mutex::new(BTreeMap::new());

/// A created path, and the number of calls that need it.
#[derive(Debug)]
struct SharedPath {
    pinned: VerifiedPath,
    count: usize,
}

/// Files and directories that were created to be granted. Dropping this removes what is still empty.
#[derive(Debug, Default)]
pub(super) struct CreatedPaths {
    paths: Vec<PathBuf>,
}

impl CreatedPaths {
    /// Returns the absolute path of `path` in `directory`, and creates it if it is missing: a directory if
    /// `path` ends with a slash, else an empty file.
    ///
    /// Nothing is created at protected paths or through symbolic links.
    fn place(&mut self, directory: &Path, path: &str) -> Result<PathBuf, String> {
        let inner = Path::new(path);
        let is_within =
            inner.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        let target: PathBuf = directory.join(inner).components().collect();
        if !is_within || target == directory {
            // The sandbox refuses paths outside of the directory.
            return Ok(target);
        }
        let mut created = CREATED.lock().unwrap_or_else(PoisonError::into_inner);
        if target.symlink_metadata().is_ok() {
            self.share(&mut created, directory, &target);
            return Ok(target);
        }
        let inner = target.strip_prefix(directory).unwrap_or(inner);
        let above = target.ancestors().skip(1).take_while(|above| above.starts_with(directory));
        if names::is_protected(inner)
            || above.clone().any(|above| above.join("SKILL.md").symlink_metadata().is_ok())
        {
            return Err("that path is protected".to_owned());
        }
        let mut missing: Vec<&Path> = Vec::new();
        for above in above.take_while(|above| *above != directory) {
            match above.symlink_metadata() {
                Ok(found) if found.is_dir() => {}
                Ok(_) => return Err("its parent is not a directory".to_owned()),
                Err(_) => missing.push(above),
            }
        }
        self.share(&mut created, directory, &target);
        let failed = |error: io::Error| format!("that cannot be created: {}", error.kind());
        for above in missing.into_iter().rev() {
            self.add(&mut created, VerifiedPath::make_directory(above).map_err(failed)?);
        }
        let make = if path.ends_with('/') { VerifiedPath::make_directory } else { VerifiedPath::make_file };
        self.add(&mut created, make(&target).map_err(failed)?);
        Ok(target)
    }

    /// Increments the counts of `target` and its parents as far as other calls created them.
    fn share(&mut self, created: &mut BTreeMap<PathBuf, SharedPath>, directory: &Path, target: &Path) {
        let shared: Vec<&Path> = target.ancestors().take_while(|above| *above != directory).collect();
        for path in shared.into_iter().rev() {
            if let Some(shared) = created.get_mut(path) {
                shared.count += 1;
                self.paths.push(path.to_owned());
            }
        }
    }

    fn add(&mut self, created: &mut BTreeMap<PathBuf, SharedPath>, pinned: VerifiedPath) {
        self.paths.push(pinned.path.clone());
        // Calls that used a path that was removed meanwhile now use the new one.
        let before = created.remove(&pinned.path).map_or(0, |before| before.count);
        created.insert(pinned.path.clone(), SharedPath { pinned, count: before + 1 });
    }
}

impl Drop for CreatedPaths {
    fn drop(&mut self) {
        let mut created = CREATED.lock().unwrap_or_else(PoisonError::into_inner);
        for path in self.paths.drain(..).rev() {
            let Some(made) = created.get_mut(&path) else { continue };
            made.count -= 1;
            if made.count > 0 {
                continue;
            }
            if let Some(made) = created.remove(&path) {
                // A path that is not empty or was replaced by the command stays.
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
    fn a_trailing_slash_creates_a_directory_and_other_paths_a_file() {
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
        // Another call needs one of the paths too.
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
    fn nothing_is_removed_through_a_new_symbolic_link() {
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
    fn nothing_is_created_at_protected_paths_or_through_links() {
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
        // A dangling link exists; the sandbox refuses it.
        made.place(directory, "dangling").unwrap();
        made.place(directory, "../elsewhere").unwrap();
        assert!(fs::read_dir(other.path()).unwrap().next().is_none());
        let names: Vec<_> =
            fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 3, "{names:?}");
        assert!(directory.parent().unwrap().join("elsewhere").symlink_metadata().is_err());
    }
}
