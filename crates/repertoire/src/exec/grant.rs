//! What a grant to write comes to, once what is protected is taken out of it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::exec::protected;
use crate::exec::{ExecError, ExecErrorKind};

/// The most entries of a directory that is granted. Each is looked at, before and after.
const MAX_ENTRIES: usize = 200_000;

/// What a file that came to be under a protected name is called from then on.
const REFUSED: &str = "refused";

/// Something that may be written, without what is protected in it.
#[derive(Debug)]
pub(crate) struct Writable {
    /// Where it is, links resolved.
    pub(crate) path: PathBuf,
    /// The directory that was granted for reading.
    root: PathBuf,
    skill: PathBuf,
    /// What is protected in it, with device and inode.
    pub(crate) protected: BTreeMap<PathBuf, (u64, u64)>,
}

/// Returns what may be written of `path`, which must lie in `root`.
pub(crate) fn writable(path: &Path, root: &Path, skill: &Path) -> Result<Writable, ExecError> {
    let refused = |text: &str| ExecError::new(ExecErrorKind::GrantRefused).at(path).saying(text);
    if !path.is_absolute() {
        return Err(ExecError::new(ExecErrorKind::InvalidJob).at(path).saying("the path is not absolute"));
    }
    let real = path.canonicalize();
    let real = real.map_err(|error| ExecError::new(ExecErrorKind::InvalidJob).at(path).because(error))?;
    let Ok(inner) = real.strip_prefix(root) else {
        return Err(refused("it is not in the granted directory"));
    };
    if protected::is_protected(inner) || real.starts_with(skill) || skills_above(&real, root) {
        return Err(refused("agents, shells, git or Repertoire itself obey what is there"));
    }
    let mut writable =
        Writable { path: real, root: root.to_owned(), skill: skill.to_owned(), protected: BTreeMap::new() };
    writable.protected = writable.look().map_err(|error| {
        let refused = ExecError::new(ExecErrorKind::GrantRefused).at(path);
        refused.saying("it cannot be looked at as a whole; grant a smaller directory").because(error)
    })?;
    Ok(writable)
}

/// Returns whether `path` lies in a directory of a skill within `root`.
fn skills_above(path: &Path, root: &Path) -> bool {
    path.ancestors().take_while(|ancestor| ancestor.starts_with(root)).any(is_skill)
}

fn is_skill(directory: &Path) -> bool {
    fs::symlink_metadata(directory.join("SKILL.md")).is_ok()
}

impl Writable {
    /// Returns everything in it that is protected. What is in that is not looked at.
    fn look(&self) -> io::Result<BTreeMap<PathBuf, (u64, u64)>> {
        let mut found = BTreeMap::new();
        let mut count = 0;
        let mut pending = vec![self.path.clone()];
        if !fs::symlink_metadata(&self.path)?.is_dir() {
            return Ok(found);
        }
        while let Some(directory) = pending.pop() {
            let entries = match fs::read_dir(&directory) {
                Ok(entries) => entries,
                // What even its owner cannot look at is not written either.
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) =>
                {
                    continue;
                }
                Err(error) => return Err(error),
            };
            for entry in entries {
                let path = entry?.path();
                count += 1;
                if count > MAX_ENTRIES {
                    return Err(io::Error::other("too many entries"));
                }
                let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
                if self.is_protected(&path, &metadata) {
                    found.insert(path, (metadata.dev(), metadata.ino()));
                } else if metadata.is_dir() {
                    pending.push(path);
                }
            }
        }
        Ok(found)
    }

    fn is_protected(&self, path: &Path, metadata: &fs::Metadata) -> bool {
        let inner = path.strip_prefix(&self.root).unwrap_or(path);
        // A `.git` that is a file points at a directory of git elsewhere.
        let is_pointer =
            !metadata.is_dir() && path.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git"));
        protected::is_protected(inner)
            || is_pointer
            || path == self.skill
            || metadata.is_dir() && is_skill(path)
    }

    /// Returns paths that may be written as a whole, and files that may be changed but not removed, for a sandbox that cannot take anything out of a directory.
    ///
    /// A directory with something protected in it is taken apart: what is in it is granted one by one, and nothing can be made or removed in it.
    pub(crate) fn parts(&self) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let (mut whole, mut files) = (Vec::new(), Vec::new());
        let mut pending = vec![self.path.clone()];
        while let Some(path) = pending.pop() {
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            if self.protected.contains_key(&path) || metadata.is_symlink() {
                continue;
            }
            if !metadata.is_dir() {
                files.push(path);
            } else if !self.protected.keys().any(|protected| protected.starts_with(&path)) {
                whole.push(path);
            } else if let Ok(entries) = fs::read_dir(&path) {
                pending.extend(entries.flatten().map(|entry| entry.path()));
            }
        }
        (whole, files)
    }

    /// Takes protected names from what the command made under them, and returns where these things are now.
    ///
    /// What was there before could not be changed. Nothing is deleted, because somebody else could have made it meanwhile.
    pub(crate) fn refuse_new(&self) -> Vec<PathBuf> {
        let mut refused = Vec::new();
        let known: Vec<&(u64, u64)> = self.protected.values().collect();
        let Ok(found) = self.look() else { return refused };
        for (path, identity) in found {
            if known.contains(&&identity) {
                continue;
            }
            // Of a skill that was made the file that makes it one is renamed.
            let inner = path.strip_prefix(&self.root).unwrap_or(&path);
            let path =
                if protected::is_protected(inner) || !is_skill(&path) { path } else { path.join("SKILL.md") };
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let free = (0..1000).map(|number| match number {
                0 => path.with_file_name(format!("{name}.{REFUSED}")),
                number => path.with_file_name(format!("{name}.{REFUSED}-{number}")),
            });
            let mut free = free.filter(|path| fs::symlink_metadata(path).is_err());
            if let Some(target) = free.next()
                && fs::rename(&path, &target).is_ok()
            {
                refused.push(target);
            }
        }
        refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn project() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for file in [
            "src/a.rs",
            "src/deep/b.rs",
            "docs/AGENTS.md",
            "docs/x.md",
            ".git/hooks/x",
            ".git/config",
            ".git/index",
            "skills/s/SKILL.md",
            "skills/s/run.sh",
        ] {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), "x").unwrap();
        }
        (directory, root)
    }

    #[track_caller]
    fn check_refused(root: &Path, path: &str) {
        let error = writable(&root.join(path), root, Path::new("/none")).unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::GrantRefused, "{path}");
    }

    #[test]
    fn protected_places_are_never_granted() {
        let (_directory, root) = project();
        for path in
            ["docs/AGENTS.md", ".git/hooks", ".git/config", "skills/s", "skills/s/run.sh", "/", "/etc"]
        {
            check_refused(&root, path);
        }
        symlink("/etc", root.join("out")).unwrap();
        check_refused(&root, "out");
        symlink(root.join(".git/hooks"), root.join("innocent")).unwrap();
        check_refused(&root, "innocent");
    }

    #[test]
    fn a_directory_is_granted_without_what_is_protected_in_it() {
        let (_directory, root) = project();
        let all = writable(&root, &root, Path::new("/none")).unwrap();
        let names: Vec<_> =
            all.protected.keys().map(|path| path.strip_prefix(&root).unwrap().to_owned()).collect();
        let expect = [".git/config", ".git/hooks", "docs/AGENTS.md", "skills/s"].map(PathBuf::from);
        assert_eq!(names, expect);
        let (whole, mut files) = all.parts();
        files.sort();
        assert_eq!(whole, [root.join("src")]);
        assert_eq!(files, [root.join(".git/index"), root.join("docs/x.md")]);
    }

    #[test]
    fn what_is_made_under_a_protected_name_loses_it() {
        let (_directory, root) = project();
        let all = writable(&root, &root, Path::new("/none")).unwrap();
        fs::write(root.join("CLAUDE.md"), "obey").unwrap();
        fs::create_dir(root.join("src/.vscode")).unwrap();
        fs::create_dir(root.join("src/new")).unwrap();
        fs::write(root.join("src/new/SKILL.md"), "x").unwrap();
        let mut refused = all.refuse_new();
        refused.sort();
        let expect = ["CLAUDE.md.refused", "src/.vscode.refused", "src/new/SKILL.md.refused"]
            .map(|path| root.join(path));
        assert_eq!(refused, expect);
        assert!(all.refuse_new().is_empty());
        assert!(root.join("docs/AGENTS.md").is_file());
    }
}
