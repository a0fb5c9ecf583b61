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

/// Returns whether after the changes a ref would be where a directory of others is. One that goes makes room.
pub(crate) fn has_clash(changes: &[Change], before: &Refs) -> bool {
    let new: BTreeSet<&str> =
        changes.iter().filter(|change| change.before.is_none()).map(|change| change.name.as_str()).collect();
    let gone = gone(changes);
    let stays = |name: &str| before.contains_key(name) && !gone.contains(name);
    new.iter().any(|name| is_below(name, |above| stays(above) || new.contains(above)))
        || before.keys().any(|name| stays(name) && is_below(name, |above| new.contains(above)))
}

/// Returns the names of the refs that are to go.
fn gone(changes: &[Change]) -> HashSet<&str> {
    changes.iter().filter(|change| change.after.is_none()).map(|change| change.name.as_str()).collect()
}

/// Returns whether a ref lies in what would be a directory by the name of one of the `others`.
fn is_below(name: &str, others: impl Fn(&str) -> bool) -> bool {
    name.match_indices('/').any(|(end, _)| others(&name[..end]))
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
    /// The refs that are to go.
    gone: HashSet<&'a str>,
}

impl<'a> Locked<'a> {
    /// Locks what is to be changed, by git's own rules; nothing if it is no longer what it was.
    pub(crate) fn lock(directory: &'a Path, changes: &'a [Change]) -> io::Result<Option<Self>> {
        let mut locked = Self { directory, changes, locks: BTreeSet::new(), gone: gone(changes) };
        // There is no room yet for the lock of one that takes the place of another; the other's is held instead.
        let own = changes.iter().filter(|change| !locked.takes_place(&change.name));
        let mut paths: Vec<PathBuf> = own.map(|change| locked.lock_of(&change.name)).collect();
        paths.extend((!locked.gone.is_empty()).then(|| locked.lock_of(PACKED)));
        for path in paths {
            if !locked.take(path)? {
                return Ok(None);
            }
        }
        let packed = packed(directory)?;
        let new = changes.iter().filter(|change| change.before.is_none());
        if new.map(|change| change.name.as_str()).any(|name| locked.has_others_around(name, &packed)) {
            return Ok(None);
        }
        let is_same = |change: &Change| {
            let own = value(directory, &change.name).unwrap_or_default();
            own.or_else(|| packed.get(&change.name).cloned()) == change.before
        };
        Ok(changes.iter().all(is_same).then_some(locked))
    }

    fn lock_of(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.lock"))
    }

    /// Takes a lock; returns whether nobody else has it.
    fn take(&mut self, path: PathBuf) -> io::Result<bool> {
        fs::create_dir_all(path.parent().unwrap_or(self.directory))?;
        match fs::OpenOptions::new().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            lock => drop(lock?),
        }
        self.locks.insert(path);
        Ok(true)
    }

    /// Returns whether a ref lies below one that goes (`a/b` instead of `a`).
    fn takes_place(&self, name: &str) -> bool {
        is_below(name, |above| self.gone.contains(above))
    }

    /// Returns whether there is something above or below a name but what goes.
    fn has_others_around(&self, name: &str, packed: &Refs) -> bool {
        let stays = |name: &str| !self.gone.contains(name);
        if is_below(name, |above| packed.contains_key(above) && stays(above)) {
            return true;
        }
        let start = format!("{name}/");
        let mut below = packed.range(start.clone()..).map(|(name, _)| name.as_str());
        if below.by_ref().take_while(|name| name.starts_with(&start)).any(stays) {
            return true;
        }
        let is_ours = |path: &Path| {
            let name = path.strip_prefix(self.directory).ok().and_then(Path::to_str);
            self.locks.contains(path) || name.is_some_and(|name| self.gone.contains(name))
        };
        has_other_files(&self.directory.join(name), &is_ours)
    }

    /// Makes the changes: first what goes, so that there is room for what comes.
    pub(crate) fn commit(mut self) -> io::Result<()> {
        let changes: &'a [Change] = self.changes;
        if !self.gone.is_empty() {
            self.unpack()?;
        }
        let new: BTreeSet<&str> = changes
            .iter()
            .filter(|change| change.after.is_some())
            .map(|change| change.name.as_str())
            .collect();
        for change in changes.iter().filter(|change| change.after.is_none()) {
            let path = self.directory.join(&change.name);
            if fs::symlink_metadata(&path).is_ok_and(|metadata| !metadata.is_dir()) {
                fs::remove_file(&path)?;
            }
            // Its lock would keep the directory in which the other one is to be.
            if is_below(&change.name, |above| new.contains(above)) {
                let lock = self.lock_of(&change.name);
                fs::remove_file(&lock)?;
                self.locks.remove(&lock);
            }
        }
        for change in changes {
            let Some(value) = &change.after else { continue };
            let (path, lock) = (self.directory.join(&change.name), self.lock_of(&change.name));
            if self.takes_place(&change.name) && !self.take(lock.clone())? {
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, "somebody else made the same ref"));
            }
            let mut file = fs::OpenOptions::new().write(true).open(&lock)?;
            file.write_all(format!("{value}\n").as_bytes())?;
            // Where a branch `a/b` was, a directory may have stayed behind.
            remove_empty(&path);
            fs::rename(&lock, &path)?;
            self.locks.remove(&lock);
        }
        Ok(())
    }

    /// Takes refs out of the file that many share.
    fn unpack(&mut self) -> io::Result<()> {
        let (path, lock) = (self.directory.join(PACKED), self.lock_of(PACKED));
        let text = plain_file::read(&path, MAX_PACKED)?.unwrap_or_default();
        let (mut kept, mut is_kept) = (Vec::with_capacity(text.len()), true);
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            // What an annotated tag leads to stands in the line below it.
            if !line.starts_with(b"^") {
                let text = String::from_utf8_lossy(line);
                let name = text.trim_end().split_once(' ').map(|(_, name)| name);
                is_kept = line.starts_with(b"#") || !name.is_some_and(|name| self.gone.contains(name));
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

/// Returns whether there are files in a directory that are not ours.
fn has_other_files(path: &Path, is_ours: &impl Fn(&Path) -> bool) -> bool {
    let is_directory = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
    let mut paths = fs::read_dir(path).into_iter().filter(|_| is_directory).flatten().flatten();
    paths.any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => has_other_files(&entry.path(), is_ours),
        _ => !is_ours(&entry.path()),
    })
}

/// Removes a directory in which there are but empty ones.
pub(crate) fn remove_empty(path: &Path) {
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
    fn a_ref_may_take_the_place_of_a_directory_and_the_other_way_round() {
        let (up, down) = (
            [change("refs/heads/a/b", Some(ONE), None), change("refs/heads/a", None, Some(ONE))],
            [change("refs/heads/a", Some(ONE), None), change("refs/heads/a/b", None, Some(ONE))],
        );
        for (is_packed, is_up) in [(false, false), (false, true), (true, false), (true, true)] {
            let directory = tempfile::tempdir().unwrap();
            let directory = directory.path();
            let changes = if is_up { &up } else { &down };
            let old = directory.join(&changes[0].name);
            if is_packed {
                fs::write(directory.join(PACKED), format!("{ONE} {}\n", changes[0].name)).unwrap();
            } else {
                fs::create_dir_all(old.parent().unwrap()).unwrap();
                fs::write(&old, ONE).unwrap();
            }
            let before = read(directory).unwrap();
            assert!(!has_clash(changes, &before) && has_clash(&changes[1..], &before), "{is_packed} {is_up}");
            if is_up {
                // Somebody else made another there.
                fs::create_dir_all(directory.join("refs/heads/a")).unwrap();
                fs::write(directory.join("refs/heads/a/c"), TWO).unwrap();
                assert!(Locked::lock(directory, changes).unwrap().is_none());
                fs::remove_file(directory.join("refs/heads/a/c")).unwrap();
                fs::create_dir_all(directory.join("refs/heads/a/empty")).unwrap();
            }
            Locked::lock(directory, changes).unwrap().unwrap();
            assert_eq!(read(directory).unwrap(), before);
            Locked::lock(directory, changes).unwrap().unwrap().commit().unwrap();
            assert_eq!(read(directory).unwrap(), refs(&[(&changes[1].name, ONE)]), "{is_packed} {is_up}");
            let left = fs::read_dir(directory.join("refs/heads")).unwrap();
            assert_eq!(left.count(), 1, "no lock stays");
        }
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
