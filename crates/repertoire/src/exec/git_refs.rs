//! The refs of a repository: what they are, and how changes of them are taken over.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::exec::git_objects::Objects;
use crate::exec::listing::Budget;
use crate::exec::plain_file;

/// The file with the refs that have none of their own.
pub(crate) const PACKED: &str = "packed-refs";
/// The most refs that a repository may have here.
const MAX_REFS: usize = 200_000;
/// The most files and directories below `refs` of a repository.
pub(crate) const MAX_ENTRIES: usize = 1 << 19;
/// The most that a command may have made there.
pub(crate) const MAX_MADE: usize = 1 << 16;
/// The longest file of one ref, in bytes.
const MAX_REF: u64 = 4096;
/// The longest file of many refs, in bytes.
const MAX_PACKED: u64 = 64 << 20;
/// How deep a ref may lie.
const MAX_DEPTH: usize = 32;

/// The most changes at once.
pub(crate) const MAX_CHANGES: usize = 10_000;
/// Where things are kept that could not be carried over, and how many.
pub(crate) const ASIDE: &str = "refs/repertoire/left";
const MAX_ASIDE: usize = 100;

/// What a command may change. Git takes objects for others where `refs/replace` says so.
const OPEN: &[&str] = &["refs/heads/", "refs/tags/", "refs/remotes/", "refs/notes/"];
/// The one that is alone.
const STASH: &str = "refs/stash";

/// Names and what they stand for: the name of an object, or `ref: ` and another name.
pub(crate) type Refs = BTreeMap<String, String>;

/// What became of a ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) name: String,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

/// Returns the refs in a directory of git. No link is followed: a command may have made some.
pub(crate) fn read(directory: &Path, mut budget: Budget) -> io::Result<Refs> {
    let too_many = |text| Err(io::Error::new(io::ErrorKind::InvalidData, text));
    let mut refs = packed(directory)?;
    let mut pending = vec![("refs".to_owned(), 0)];
    while let Some((name, depth)) = pending.pop() {
        let path = directory.join(&name);
        if !fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir()) || depth > MAX_DEPTH {
            continue;
        }
        for entry in fs::read_dir(&path)? {
            if !budget.take() {
                return too_many("there is more below refs than can be looked through");
            }
            // What is not UTF-8 is nobody's business here.
            let Ok(own) = entry?.file_name().into_string() else { continue };
            let name = format!("{name}/{own}");
            let metadata = fs::symlink_metadata(directory.join(&name))?;
            if metadata.is_dir() {
                pending.push((name, depth + 1));
            } else if metadata.is_file()
                && !own.ends_with(".lock")
                && let Some(value) = value(directory, &name)?
            {
                refs.insert(name, value);
            }
            if refs.len() > MAX_REFS {
                return too_many("there are too many refs");
            }
        }
    }
    Ok(refs)
}

/// Returns what the file of a ref says, if it has one.
fn value(directory: &Path, name: &str) -> io::Result<Option<String>> {
    let text = plain_file::read(&directory.join(name), MAX_REF)?;
    Ok(text.map(|text| String::from_utf8_lossy(&text).trim_end().to_owned()))
}

/// Returns the refs that have no file of their own.
fn packed(directory: &Path) -> io::Result<Refs> {
    let text = plain_file::read(&directory.join(PACKED), MAX_PACKED)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().filter(|line| !line.starts_with(['#', '^']));
    let refs: Refs = lines
        .filter_map(|line| line.split_once(' '))
        .map(|(value, name)| (name.trim_end().to_owned(), value.to_owned()))
        .collect();
    Ok(refs)
}

/// Writes `refs` into an empty directory of git.
pub(crate) fn write(directory: &Path, refs: &Refs) -> io::Result<()> {
    fs::create_dir_all(directory.join("refs/heads"))?;
    let mut lines = String::new();
    for (name, value) in refs {
        if value.starts_with("ref: ") {
            let path = directory.join(name);
            fs::create_dir_all(path.parent().unwrap_or(directory))?;
            fs::write(path, format!("{value}\n"))?;
        } else {
            lines.push_str(&format!("{value} {name}\n"));
        }
    }
    fs::write(directory.join(PACKED), lines)
}

/// Returns what is different in `after`, and the names among that which nobody may change.
pub(crate) fn changes(before: &Refs, after: &Refs, objects: Objects) -> (Vec<Change>, Vec<String>) {
    let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
    let changed = names.filter(|name| before.get(*name) != after.get(*name));
    let (mut changes, mut left_out) = (Vec::new(), Vec::new());
    for name in changed {
        let (before, after) = (before.get(name).cloned(), after.get(name).cloned());
        if is_open(name) && after.as_deref().is_none_or(|value| is_value(name, value, objects)) {
            changes.push(Change { name: name.clone(), before, after });
        } else {
            left_out.push(name.clone());
        }
    }
    (changes, left_out)
}

/// Returns whether a change makes a ref where a directory of others is, or the other way round. Git itself has to be asked for that.
pub(crate) fn has_clash(changes: &[Change], before: &Refs) -> bool {
    let new: BTreeSet<&str> =
        changes.iter().filter(|change| change.before.is_none()).map(|change| change.name.as_str()).collect();
    let is_below = |name: &str, others: &dyn Fn(&str) -> bool| {
        name.match_indices('/').any(|(end, _)| others(&name[..end]))
    };
    let is_known = |name: &str| before.contains_key(name) || new.contains(name);
    new.iter().any(|name| is_below(name, &is_known))
        || before.keys().any(|name| is_below(name, &|above: &str| new.contains(above)))
}

/// Keeps what could not be carried over under names of its own, so that no work is lost.
pub(crate) fn keep_aside(directory: &Path, values: &[(&str, &str)]) {
    for (name, value) in values.iter().take(MAX_ASIDE) {
        let path = directory.join(ASIDE).join(name.strip_prefix("refs/").unwrap_or(name));
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        // One that cannot be kept is no reason to lose the others.
        let _ = made.and_then(|()| fs::write(&path, format!("{value}\n")));
    }
}

/// Returns whether a command may change this ref; its name is one that git would give.
fn is_open(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && !part.starts_with(['.', '-']) && !part.ends_with('.') && !part.ends_with(".lock")
    };
    let is_letter = |letter: char| !letter.is_control() && !" ~^:?*[\\".contains(letter);
    (name == STASH || OPEN.iter().any(|start| name.starts_with(start)))
        && name.split('/').all(is_part)
        && name.split('/').count() <= MAX_DEPTH
        && name.chars().all(is_letter)
        && !name.contains("..")
        && !name.contains("@{")
}

/// Returns whether `value` is something that this ref may stand for.
fn is_value(name: &str, value: &str, objects: Objects) -> bool {
    let is_default_branch = name.starts_with("refs/remotes/") && name.ends_with("/HEAD");
    match value.strip_prefix("ref: ") {
        Some(other) => is_default_branch && other.starts_with("refs/remotes/") && is_open(other),
        None => objects.is_name(value),
    }
}

/// Returns whether `text` is a HEAD: a branch, or the name of an object.
pub(crate) fn is_head(text: &str, objects: Objects) -> bool {
    match text.strip_prefix("ref: ") {
        Some(name) => name.starts_with("refs/heads/") && is_open(name),
        None => objects.is_name(text),
    }
}

/// Changes of refs that are ready to be made, and locked against everybody else.
#[derive(Debug)]
pub(crate) struct Locked<'a> {
    directory: &'a Path,
    changes: &'a [Change],
    locks: BTreeSet<PathBuf>,
}

impl<'a> Locked<'a> {
    /// Locks what is to be changed, by git's own rules; nothing if it is no longer what it was.
    pub(crate) fn lock(directory: &'a Path, changes: &'a [Change]) -> io::Result<Option<Self>> {
        let mut locked = Self { directory, changes, locks: BTreeSet::new() };
        let is_unpacked = changes.iter().any(|change| change.after.is_none());
        let packed_lock = is_unpacked.then(|| directory.join(format!("{PACKED}.lock")));
        let own = changes.iter().map(|change| directory.join(format!("{}.lock", change.name)));
        for path in own.chain(packed_lock) {
            fs::create_dir_all(path.parent().unwrap_or(directory))?;
            match fs::OpenOptions::new().write(true).create_new(true).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
                lock => drop(lock?),
            }
            locked.locks.insert(path);
        }
        let packed = packed(directory)?;
        let is_same = |change: &Change| {
            let own = value(directory, &change.name).unwrap_or_default();
            own.or_else(|| packed.get(&change.name).cloned()) == change.before
        };
        Ok(changes.iter().all(is_same).then_some(locked))
    }

    /// Makes the changes.
    pub(crate) fn commit(mut self) -> io::Result<()> {
        let changes: &'a [Change] = self.changes;
        let gone = changes.iter().filter(|change| change.after.is_none());
        let gone: HashSet<&str> = gone.map(|change| change.name.as_str()).collect();
        if !gone.is_empty() {
            self.unpack(&gone)?;
        }
        for change in changes {
            let path = self.directory.join(&change.name);
            let lock = self.directory.join(format!("{}.lock", change.name));
            match &change.after {
                Some(value) => {
                    let mut file = fs::OpenOptions::new().write(true).open(&lock)?;
                    file.write_all(format!("{value}\n").as_bytes())?;
                    // Where a branch `a/b` was, a directory may have stayed behind.
                    remove_empty(&path);
                    fs::rename(&lock, &path)?;
                    self.locks.remove(&lock);
                }
                None => match fs::remove_file(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                },
            }
        }
        Ok(())
    }

    /// Takes refs out of the file that many share.
    fn unpack(&mut self, gone: &HashSet<&str>) -> io::Result<()> {
        let (path, lock) = (self.directory.join(PACKED), self.directory.join(format!("{PACKED}.lock")));
        let text = plain_file::read(&path, MAX_PACKED)?.unwrap_or_default();
        let (mut kept, mut is_kept) = (Vec::with_capacity(text.len()), true);
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            // What an annotated tag leads to stands in the line below it.
            if !line.starts_with(b"^") {
                let text = String::from_utf8_lossy(line);
                let name = text.trim_end().split_once(' ').map(|(_, name)| name);
                is_kept = line.starts_with(b"#") || !name.is_some_and(|name| gone.contains(name));
            }
            if is_kept {
                kept.extend_from_slice(line);
            }
        }
        if kept != text {
            fs::write(&lock, &kept)?;
            fs::rename(&lock, &path)?;
            self.locks.remove(&lock);
        }
        Ok(())
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        for lock in &self.locks {
            let _ = fs::remove_file(lock);
        }
    }
}

/// Removes a directory in which there are but empty ones.
fn remove_empty(path: &Path) {
    if !fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
        return;
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        remove_empty(&entry.path());
    }
    let _ = fs::remove_dir(path);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "what came of it is looked at plainly")]

    use std::time::{Duration, Instant};

    use super::*;

    const ONE: &str = "1111111111111111111111111111111111111111";
    const TWO: &str = "2222222222222222222222222222222222222222";

    fn read(directory: &Path) -> io::Result<Refs> {
        super::read(directory, Budget::new(100, Instant::now() + Duration::from_secs(600)))
    }

    fn refs(of: &[(&str, &str)]) -> Refs {
        of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn change(name: &str, before: Option<&str>, after: Option<&str>) -> Change {
        Change { name: name.to_owned(), before: before.map(str::to_owned), after: after.map(str::to_owned) }
    }

    #[test]
    fn what_is_written_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let refs = refs(&[
            ("refs/heads/a/b", ONE),
            ("refs/remotes/o/HEAD", "ref: refs/remotes/o/main"),
            ("refs/tags/v1", TWO),
        ]);
        write(directory.path(), &refs).unwrap();
        assert_eq!(read(directory.path()).unwrap(), refs);
        // A file of its own counts more, and links count nothing.
        fs::create_dir_all(directory.path().join("refs/heads/a")).unwrap();
        fs::write(directory.path().join("refs/heads/a/b"), format!("{TWO}\n")).unwrap();
        fs::write(directory.path().join("refs/heads/a/c.lock"), TWO).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", directory.path().join("refs/heads/evil")).unwrap();
        let found = read(directory.path()).unwrap();
        assert_eq!(found.len(), 3);
        assert_eq!(found["refs/heads/a/b"], TWO);
    }

    #[test]
    fn directories_without_end_are_not_looked_through() {
        let directory = tempfile::tempdir().unwrap();
        for number in 0..99 {
            fs::create_dir_all(directory.path().join(format!("refs/{number}"))).unwrap();
        }
        assert!(read(directory.path()).unwrap().is_empty());
        fs::create_dir_all(directory.path().join("refs/5/a/b")).unwrap();
        assert!(read(directory.path()).unwrap_err().to_string().contains("below refs"));
        let late = Budget::new(1 << 20, Instant::now());
        fs::write(directory.path().join("refs/x"), ONE).unwrap();
        super::read(directory.path(), late).unwrap_err();
    }

    #[test]
    fn only_what_may_change_changes() {
        let before = refs(&[("refs/heads/main", ONE), ("refs/replace/x", ONE), ("refs/tags/old", ONE)]);
        let after = refs(&[
            ("refs/heads/main", TWO),
            ("refs/heads/../../hooks/x", TWO),
            ("refs/heads/-x", TWO),
            ("refs/heads/a.lock", TWO),
            ("refs/heads/odd", "not an object"),
            ("refs/heads/symbolic", "ref: refs/heads/main"),
            ("refs/remotes/o/HEAD", "ref: refs/remotes/o/main"),
            ("refs/stash", ONE),
        ]);
        let (changes, left_out) = changes(&before, &after, Objects::Sha1);
        let expect = [
            change("refs/heads/main", Some(ONE), Some(TWO)),
            change("refs/tags/old", Some(ONE), None),
            change("refs/remotes/o/HEAD", None, Some("ref: refs/remotes/o/main")),
            change("refs/stash", None, Some(ONE)),
        ];
        assert_eq!(changes, expect);
        assert_eq!(
            left_out,
            [
                "refs/replace/x",
                "refs/heads/-x",
                "refs/heads/../../hooks/x",
                "refs/heads/a.lock",
                "refs/heads/odd",
                "refs/heads/symbolic"
            ]
        );
    }

    #[test]
    fn changes_are_made_where_nobody_else_made_some() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let packed = format!(
            "# pack-refs with: peeled \n{ONE} refs/heads/main\n{ONE} refs/tags/gone\n^{TWO}\n{ONE} refs/tags/kept\n^{TWO}\n"
        );
        fs::write(directory.join(PACKED), &packed).unwrap();
        fs::create_dir_all(directory.join("refs/heads/new/empty")).unwrap();
        let changes = [
            change("refs/heads/main", Some(ONE), Some(TWO)),
            change("refs/heads/new", None, Some(ONE)),
            change("refs/tags/gone", Some(ONE), None),
        ];
        Locked::lock(directory, &changes).unwrap().unwrap().commit().unwrap();
        let now = read(directory).unwrap();
        let expect = refs(&[("refs/heads/main", TWO), ("refs/heads/new", ONE), ("refs/tags/kept", ONE)]);
        assert_eq!(now, expect);
        assert_eq!(
            fs::read_to_string(directory.join(PACKED)).unwrap(),
            packed.replace(&format!("{ONE} refs/tags/gone\n^{TWO}\n"), "")
        );
        // Somebody else was faster.
        assert!(Locked::lock(directory, &changes).unwrap().is_none());
        let next = [change("refs/heads/main", Some(TWO), Some(ONE))];
        fs::write(directory.join("refs/heads/main.lock"), "").unwrap();
        assert!(Locked::lock(directory, &next).unwrap().is_none());
        assert!(directory.join("refs/heads/main.lock").is_file(), "the lock is another's");
        fs::remove_file(directory.join("refs/heads/main.lock")).unwrap();
        Locked::lock(directory, &next).unwrap().unwrap();
        assert!(!directory.join("refs/heads/main.lock").exists());
    }
}
