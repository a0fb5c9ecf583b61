//! The refs of a repository: what they are, and how changes of them are taken over.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use crate::exec::allowance::Allowance;
use crate::exec::git_dir::{GitDir, lock_of};
use crate::exec::git_objects::Objects;
use crate::exec::left_out::LeftOut;
use crate::exec::ref_name::RefName;

/// The file with the refs that have none of their own.
pub(crate) const PACKED: &str = "packed-refs";
/// The most refs that a repository may have here.
const MAX_REFS: usize = 200_000;
/// The most files and directories below `refs` of a repository.
pub(crate) const MAX_ENTRIES: usize = 1 << 19;
/// The longest file of one ref, in bytes.
const MAX_REF: u64 = 4096;
/// The longest file of many refs, in bytes.
const MAX_PACKED: u64 = 64 << 20;

/// The most changes at once.
pub(crate) const MAX_CHANGES: usize = 10_000;

/// Where branches are.
pub(crate) const BRANCHES: &str = "refs/heads/";
/// What a command may change. Git takes objects for others where `refs/replace` says so.
const OPEN: &[&str] = &[BRANCHES, "refs/tags/", "refs/remotes/", "refs/notes/"];
/// What would be taken for HEAD.
const LIKE_HEAD: &[&[u8]] = &[b"refs/heads/HEAD", b"refs/tags/HEAD"];

/// What a ref stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// An object, by its name.
    Object(String),
    /// What another one stands for.
    Ref(RefName),
}

impl Value {
    /// Reads what is in the file of a ref.
    pub(crate) fn parse(text: &[u8], objects: Objects) -> Option<Self> {
        if let Some(name) = text.strip_prefix(b"ref:") {
            return RefName::parse(name.trim_ascii()).map(Self::Ref);
        }
        let name = text.split(u8::is_ascii_whitespace).next()?;
        let name = str::from_utf8(name).ok().filter(|name| objects.is_name(name))?;
        Some(Self::Object(name.to_owned()))
    }

    /// Returns what is in the file of a ref that stands for this.
    pub(crate) fn line(&self) -> Vec<u8> {
        match self {
            Self::Object(name) => format!("{name}\n").into_bytes(),
            Self::Ref(name) => [b"ref: ", name.bytes(), b"\n"].concat(),
        }
    }

    /// Returns the object, if it is one.
    pub(crate) fn object(&self) -> Option<&str> {
        match self {
            Self::Object(name) => Some(name),
            Self::Ref(_) => None,
        }
    }
}

/// Names and what they stand for.
pub(crate) type Refs = BTreeMap<RefName, Value>;

/// The refs in a directory of git.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) refs: Refs,
    /// Those that stand for nothing that could be made out.
    pub(crate) broken: BTreeSet<RefName>,
    /// How many others there are that have no name that git would give.
    pub(crate) nameless: usize,
}

/// What became of a ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) name: RefName,
    pub(crate) before: Option<Value>,
    pub(crate) after: Option<Value>,
}

/// Returns the refs in a directory of git. One that is broken is no reason to lose the others.
pub(crate) fn read(directory: &GitDir, objects: Objects, allowance: &mut Allowance) -> io::Result<Found> {
    let mut found = packed(directory, objects, Some(allowance))?;
    let mut pending = vec![PathBuf::from("refs")];
    while let Some(above) = pending.pop() {
        directory.list(&above, |own, kind| {
            allowance.take_entry()?;
            let path = above.join(own);
            let is_lock = path.as_os_str().as_bytes().ends_with(b".lock");
            match (RefName::parse(path.as_os_str().as_bytes()), kind) {
                (Some(_), FileType::Directory) => pending.push(path),
                (Some(name), _) => found.note(directory, name, objects),
                // What git had not finished.
                (None, _) if is_lock => {}
                (None, _) => found.nameless += 1,
            }
            if found.count() > MAX_REFS { Err(too_many()) } else { Ok(()) }
        })?;
    }
    Ok(found)
}

impl Found {
    fn count(&self) -> usize {
        self.refs.len() + self.broken.len() + self.nameless
    }

    /// Notes the ref that has a file of its own.
    fn note(&mut self, directory: &GitDir, name: RefName, objects: Objects) {
        match value(directory, &name, objects) {
            Ok(Some(value)) => drop(self.refs.insert(name, value)),
            Ok(None) => {}
            Err(_) => {
                self.refs.remove(&name);
                self.broken.insert(name);
            }
        }
    }
}

fn too_many() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "there are too many refs")
}

/// Returns what the file of a ref says, if it has one.
fn value(directory: &GitDir, name: &RefName, objects: Objects) -> io::Result<Option<Value>> {
    // Where a branch `a/b` was, a directory may have stayed behind.
    if directory.has_directory(name.path()) {
        return Ok(None);
    }
    let broken = || io::Error::new(io::ErrorKind::InvalidData, "a ref is broken");
    let Some(text) = directory.read(name.path(), MAX_REF)? else { return Ok(None) };
    Value::parse(&text, objects).ok_or_else(broken).map(Some)
}

/// Returns the refs that have no file of their own.
fn packed(directory: &GitDir, objects: Objects, allowance: Option<&Allowance>) -> io::Result<Found> {
    let text = directory.read(PACKED, MAX_PACKED)?.unwrap_or_default();
    let mut found = Found::default();
    let lines = text.split(|byte| *byte == b'\n');
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with(b"#") && !line.starts_with(b"^")) {
        allowance.map_or(Ok(()), Allowance::go_on)?;
        match packed_name(line).zip(Value::parse(line, objects)) {
            Some((name, value @ Value::Object(_))) => drop(found.refs.insert(name, value)),
            _ => found.nameless += 1,
        }
        if found.count() > MAX_REFS {
            return Err(too_many());
        }
    }
    Ok(found)
}

/// Returns the name in a line of the file that many refs share.
fn packed_name(line: &[u8]) -> Option<RefName> {
    let space = line.iter().position(|byte| *byte == b' ')?;
    RefName::parse(line[space + 1..].trim_ascii_end())
}

/// Writes `refs` into an empty directory of git.
pub(crate) fn write(directory: &GitDir, refs: &Refs) -> io::Result<()> {
    directory.make_directory("refs/heads")?;
    let mut lines = Vec::new();
    for (name, value) in refs {
        match value {
            Value::Object(object) => {
                lines.extend_from_slice(object.as_bytes());
                lines.push(b' ');
                lines.extend_from_slice(name.bytes());
                lines.push(b'\n');
            }
            Value::Ref(_) => directory.write_new(name.path(), &value.line())?,
        }
    }
    directory.write_new(PACKED, &lines)
}

/// Returns what is different in `after`, and the names among that which nobody may change.
pub(crate) fn changes(before: &Refs, after: &Found) -> (Vec<Change>, LeftOut) {
    let names = before.keys().chain(after.refs.keys().filter(|name| !before.contains_key(*name)));
    let changed = names.filter(|name| before.get(*name) != after.refs.get(*name));
    let (mut changes, mut left_out) = (Vec::new(), LeftOut::default());
    // One that cannot be made out is not one that is gone.
    for name in changed.filter(|name| !after.broken.contains(*name)) {
        let (before, after) = (before.get(name).cloned(), after.refs.get(name).cloned());
        if is_open(name) && after.as_ref().is_none_or(|value| may_stand_for(name, value)) {
            changes.push(Change { name: name.clone(), before, after });
        } else {
            left_out.push(name);
        }
    }
    after.broken.iter().for_each(|name| left_out.push(name));
    if after.nameless > 0 {
        left_out.push(&format!("{} refs without a name that git would give", after.nameless));
    }
    (changes, left_out)
}

/// Returns whether after the changes a ref would be where a directory of others is. One that goes makes room.
pub(crate) fn has_clash(changes: &[Change], before: &Refs) -> bool {
    let new: HashSet<&[u8]> =
        changes.iter().filter(|change| change.before.is_none()).map(|change| change.name.bytes()).collect();
    let gone = gone(changes);
    let stays = |name: &[u8]| before.contains_key(name) && !gone.contains(name);
    let new_names = changes.iter().filter(|change| change.before.is_none()).map(|change| &change.name);
    new_names.clone().any(|name| is_below(name, |above| stays(above) || new.contains(above)))
        || before.keys().any(|name| stays(name.bytes()) && is_below(name, |above| new.contains(above)))
}

/// Returns the names of the refs that are to go.
fn gone(changes: &[Change]) -> HashSet<&[u8]> {
    changes.iter().filter(|change| change.after.is_none()).map(|change| change.name.bytes()).collect()
}

/// Returns whether a ref lies in what would be a directory by the name of one of the `others`.
fn is_below(name: &RefName, others: impl Fn(&[u8]) -> bool) -> bool {
    name.above().any(others)
}

/// Returns whether a command may change this ref.
fn is_open(name: &RefName) -> bool {
    let short = OPEN.iter().find_map(|start| name.bytes().strip_prefix(start.as_bytes()));
    // Git would take it for an option.
    let is_option = |short: &[u8]| short.starts_with(b"-");
    (*name == RefName::stash() || short.is_some_and(|short| !is_option(short)))
        && !LIKE_HEAD.contains(&name.bytes())
}

/// Returns whether this ref may stand for that.
fn may_stand_for(name: &RefName, value: &Value) -> bool {
    let is_default_branch = name.starts_with("refs/remotes/") && name.bytes().ends_with(b"/HEAD");
    match value {
        Value::Object(_) => true,
        Value::Ref(other) => is_default_branch && other.starts_with("refs/remotes/") && is_open(other),
    }
}

/// Returns whether this may be what HEAD says: a branch, or an object.
pub(crate) fn is_head(value: &Value) -> bool {
    match value {
        Value::Object(_) => true,
        Value::Ref(name) => name.starts_with(BRANCHES) && is_open(name),
    }
}

/// Changes of refs that are ready to be made, and locked against everybody else.
#[derive(Debug)]
pub(crate) struct Locked<'a> {
    directory: &'a GitDir,
    changes: &'a [Change],
    locks: BTreeSet<PathBuf>,
    /// The refs that are to go.
    gone: HashSet<&'a [u8]>,
    /// Whether the file that many share is to be replaced.
    is_unpacked: bool,
}

impl<'a> Locked<'a> {
    /// Locks what is to be changed, and what else is `held`, by git's own rules; nothing if it is no longer what it was.
    ///
    /// What is to be written is in the locks then, as far as there is room for them.
    pub(crate) fn lock(
        directory: &'a GitDir,
        changes: &'a [Change],
        held: Option<&RefName>,
        objects: Objects,
    ) -> io::Result<Option<Self>> {
        let going = gone(changes);
        let gone = going.clone();
        let mut locked = Self { directory, changes, locks: BTreeSet::new(), gone, is_unpacked: false };
        // There is no room yet for the lock of one that takes the place of another; the other's is held instead.
        for change in changes.iter().filter(|change| !is_below(&change.name, |above| going.contains(above))) {
            let line = change.after.as_ref().map(Value::line).unwrap_or_default();
            if !locked.take(change.name.path(), &line)? {
                return Ok(None);
            }
        }
        let is_changed = |name: &&RefName| changes.iter().any(|change| change.name == **name);
        if let Some(held) = held.filter(|held| !is_changed(held))
            && !locked.take(held.path(), &[])?
        {
            return Ok(None);
        }
        if !locked.gone.is_empty() && !locked.unpack()? {
            return Ok(None);
        }
        let packed = packed(directory, objects, None)?.refs;
        let new = changes.iter().filter(|change| change.before.is_none());
        if new.map(|change| &change.name).any(|name| locked.has_others_around(name, &packed)) {
            return Ok(None);
        }
        let is_same = |change: &Change| match value(directory, &change.name, objects) {
            Ok(own) => own.or_else(|| packed.get(&change.name).cloned()) == change.before,
            Err(_) => false,
        };
        Ok(changes.iter().all(is_same).then_some(locked))
    }

    /// Takes the lock of a file and writes into it; returns whether nobody else has it.
    fn take(&mut self, name: &Path, content: &[u8]) -> io::Result<bool> {
        let lock = lock_of(name);
        let mut file = match self.directory.create(&lock) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            file => file?,
        };
        self.locks.insert(lock);
        io::Write::write_all(&mut file, content)?;
        Ok(true)
    }

    /// Puts the lock of a file in its place.
    fn put(&mut self, name: &Path) -> io::Result<()> {
        let lock = lock_of(name);
        self.directory.rename(&lock, name)?;
        self.locks.remove(&lock);
        Ok(())
    }

    /// Returns whether a ref lies below one that goes (`a/b` instead of `a`).
    fn takes_place(&self, name: &RefName) -> bool {
        is_below(name, |above| self.gone.contains(above))
    }

    /// Returns whether there is something above or below a name but what goes.
    fn has_others_around(&self, name: &RefName, packed: &Refs) -> bool {
        let stays = |name: &[u8]| !self.gone.contains(name);
        if is_below(name, |above| packed.contains_key(above) && stays(above)) {
            return true;
        }
        let start = [name.bytes(), b"/"].concat();
        let from: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Included(&start), Bound::Unbounded);
        let below = packed.range::<[u8], _>(from).map(|(name, _)| name.bytes());
        if below.take_while(|name| name.starts_with(&start)).any(stays) {
            return true;
        }
        let is_ours =
            |path: &Path| self.locks.contains(path) || self.gone.contains(path.as_os_str().as_bytes());
        self.directory.has_others(name.path(), &is_ours)
    }

    /// Makes the changes: first what goes, so that there is room for what comes.
    pub(crate) fn commit(mut self) -> io::Result<()> {
        let changes: &'a [Change] = self.changes;
        if self.is_unpacked {
            self.put(Path::new(PACKED))?;
        }
        let new: HashSet<&[u8]> = changes
            .iter()
            .filter(|change| change.after.is_some())
            .map(|change| change.name.bytes())
            .collect();
        for change in changes.iter().filter(|change| change.after.is_none()) {
            if !self.directory.has_directory(change.name.path()) {
                self.directory.remove(change.name.path())?;
            }
            // Its lock would keep the directory in which the other one is to be.
            if is_below(&change.name, |above| new.contains(above)) {
                let lock = lock_of(change.name.path());
                self.directory.remove(&lock)?;
                self.locks.remove(&lock);
            }
        }
        for change in changes {
            let Some(value) = &change.after else { continue };
            let path = change.name.path();
            if self.takes_place(&change.name) && !self.take(path, &value.line())? {
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, "somebody else made the same ref"));
            }
            // Where a branch `a/b` was, a directory may have stayed behind.
            self.directory.remove_empty(path);
            self.put(path)?;
        }
        Ok(())
    }

    /// Locks the file that many refs share, and writes it without those that go; returns whether nobody else has the lock.
    fn unpack(&mut self) -> io::Result<bool> {
        // Nobody else may write it from here on.
        if !self.take(Path::new(PACKED), &[])? {
            return Ok(false);
        }
        let text = self.directory.read(PACKED, MAX_PACKED)?.unwrap_or_default();
        let (mut kept, mut is_kept) = (Vec::with_capacity(text.len()), true);
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            // What an annotated tag leads to stands in the line below it.
            if !line.starts_with(b"^") {
                let name = packed_name(line);
                is_kept =
                    line.starts_with(b"#") || !name.is_some_and(|name| self.gone.contains(name.bytes()));
            }
            if is_kept {
                kept.extend_from_slice(line);
            }
        }
        if kept != text {
            self.directory.append(lock_of(Path::new(PACKED)), &kept)?;
            self.is_unpacked = true;
        }
        Ok(true)
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        for lock in &self.locks {
            let _ = self.directory.remove(lock);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "what came of it is looked at plainly")]

    use std::fs;
    use std::time::Duration;

    use super::*;

    const ONE: &str = "1111111111111111111111111111111111111111";
    const TWO: &str = "2222222222222222222222222222222222222222";

    fn allowance(entries: usize) -> Allowance {
        Allowance::new(Duration::from_secs(600), None, entries)
    }

    fn directory() -> (tempfile::TempDir, GitDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let git = GitDir::open(&root).unwrap();
        (directory, git, root)
    }

    fn read(directory: &GitDir) -> Refs {
        super::read(directory, Objects::Sha1, &mut allowance(1000)).unwrap().refs
    }

    fn lock<'a>(directory: &'a GitDir, changes: &'a [Change]) -> Option<Locked<'a>> {
        Locked::lock(directory, changes, None, Objects::Sha1).unwrap()
    }

    fn name(name: &str) -> RefName {
        RefName::parse(name.as_bytes()).unwrap()
    }

    fn value(text: &str) -> Value {
        Value::parse(text.as_bytes(), Objects::Sha1).unwrap()
    }

    fn refs(of: &[(&str, &str)]) -> Refs {
        of.iter().map(|(own, text)| (name(own), value(text))).collect()
    }

    fn change(own: &str, before: Option<&str>, after: Option<&str>) -> Change {
        Change { name: name(own), before: before.map(value), after: after.map(value) }
    }

    #[test]
    fn what_is_written_is_read() {
        let (_directory, git, root) = directory();
        let refs = refs(&[
            ("refs/heads/a/b", ONE),
            ("refs/remotes/o/HEAD", "ref: refs/remotes/o/main"),
            ("refs/tags/v1", TWO),
        ]);
        write(&git, &refs).unwrap();
        assert_eq!(read(&git), refs);
        // A file of its own counts more, and links count nothing.
        fs::create_dir_all(root.join("refs/heads/a")).unwrap();
        fs::write(root.join("refs/heads/a/b"), format!("{TWO}\n")).unwrap();
        fs::write(root.join("refs/heads/a/c.lock"), TWO).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", root.join("refs/heads/evil")).unwrap();
        std::os::unix::fs::symlink("/etc", root.join("refs/heads/etc")).unwrap();
        let found = super::read(&git, Objects::Sha1, &mut allowance(100)).unwrap();
        assert_eq!(found.refs.len(), 3);
        assert_eq!(found.refs[&name("refs/heads/a/b")], value(TWO));
        assert_eq!(found.broken, [name("refs/heads/etc"), name("refs/heads/evil")].into());
    }

    #[test]
    fn only_names_that_git_would_give_are_read() {
        let (_directory, git, root) = directory();
        let odd = ["refs/../../../../tmp/x/.bashrc", "../x", "/etc/passwd", "refs/heads/../../hooks/x", "x"];
        let lines: String = odd.iter().map(|name| format!("{ONE} {name}\n")).collect();
        fs::write(root.join(PACKED), format!("{lines}{ONE} refs/heads/main\nnonsense refs/heads/x\n"))
            .unwrap();
        fs::create_dir_all(root.join("refs/heads/.x")).unwrap();
        fs::write(root.join("refs/heads/.x/y"), ONE).unwrap();
        fs::write(root.join("refs/heads/a b"), ONE).unwrap();
        let found = super::read(&git, Objects::Sha1, &mut allowance(100)).unwrap();
        assert_eq!(found.refs, refs(&[("refs/heads/main", ONE)]));
        assert_eq!(found.nameless, 8);
        let (changes, left_out) = changes(&found.refs, &found);
        assert!(changes.is_empty());
        assert_eq!(left_out.told(), ["8 refs without a name that git would give"]);
    }

    #[test]
    fn there_are_not_more_refs_than_can_be_kept() {
        let (_directory, git, root) = directory();
        for start in ["refs/tags/", ""] {
            let lines: String = (0..=MAX_REFS).map(|number| format!("{ONE} {start}{number}\n")).collect();
            fs::write(root.join(PACKED), lines).unwrap();
            let error = super::read(&git, Objects::Sha1, &mut allowance(100)).unwrap_err();
            assert_eq!(error.to_string(), "there are too many refs");
        }
    }

    #[test]
    fn one_that_is_broken_is_neither_gone_nor_a_reason_to_lose_others() {
        let (_directory, git, root) = directory();
        let before = refs(&[("refs/heads/main", ONE), ("refs/heads/other", ONE), ("refs/heads/long", ONE)]);
        write(&git, &before).unwrap();
        fs::write(root.join("refs/heads/main"), "nonsense").unwrap();
        fs::write(root.join("refs/heads/long"), [b' '; 5000]).unwrap();
        fs::write(root.join("refs/heads/other"), TWO).unwrap();
        let found = super::read(&git, Objects::Sha1, &mut allowance(100)).unwrap();
        let (changes, left_out) = changes(&before, &found);
        assert_eq!(changes, [change("refs/heads/other", Some(ONE), Some(TWO))]);
        assert_eq!(left_out.told(), ["refs/heads/long", "refs/heads/main"]);
    }

    #[test]
    fn directories_without_end_are_not_looked_through() {
        let (_directory, git, root) = directory();
        for number in 0..99 {
            fs::create_dir_all(root.join(format!("refs/{number}"))).unwrap();
        }
        assert!(read(&git).is_empty());
        fs::create_dir_all(root.join("refs/5/a/b")).unwrap();
        let error = super::read(&git, Objects::Sha1, &mut allowance(100)).unwrap_err();
        assert!(error.to_string().contains("looked through"));
        let mut late = Allowance::new(Duration::ZERO, None, 1 << 20);
        super::read(&git, Objects::Sha1, &mut late).unwrap_err();
    }

    #[test]
    fn only_what_may_change_changes() {
        let before = refs(&[("refs/heads/main", ONE), ("refs/replace/x", ONE), ("refs/tags/old", ONE)]);
        let after = refs(&[
            ("refs/heads/main", TWO),
            ("refs/heads/-x", TWO),
            ("refs/heads/HEAD", TWO),
            ("refs/heads/symbolic", "ref: refs/heads/main"),
            ("refs/remotes/o/HEAD", "ref: refs/remotes/o/main"),
            ("refs/stash", ONE),
        ]);
        let (changes, left_out) = changes(&before, &Found { refs: after, ..Found::default() });
        let expect = [
            change("refs/heads/main", Some(ONE), Some(TWO)),
            change("refs/tags/old", Some(ONE), None),
            change("refs/remotes/o/HEAD", None, Some("ref: refs/remotes/o/main")),
            change("refs/stash", None, Some(ONE)),
        ];
        assert_eq!(changes, expect);
        assert_eq!(
            left_out.told(),
            ["refs/replace/x", "refs/heads/-x", "refs/heads/HEAD", "refs/heads/symbolic"]
        );
    }

    #[test]
    fn no_lock_is_taken_by_way_of_a_link() {
        let (directory, git, root) = directory();
        let outside = directory.path().join("outside");
        fs::create_dir_all(root.join("refs")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, root.join("refs/heads")).unwrap();
        for changes in [[change("refs/heads/x", None, Some(ONE))], [change("refs/heads/x", Some(ONE), None)]]
        {
            Locked::lock(&git, &changes, None, Objects::Sha1).unwrap_err();
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }

    #[test]
    fn a_ref_may_take_the_place_of_a_directory_and_the_other_way_round() {
        let (up, down) = (
            [change("refs/heads/a/b", Some(ONE), None), change("refs/heads/a", None, Some(ONE))],
            [change("refs/heads/a", Some(ONE), None), change("refs/heads/a/b", None, Some(ONE))],
        );
        for (is_packed, is_up) in [(false, false), (false, true), (true, false), (true, true)] {
            let (_kept, git, directory) = directory();
            let changes = if is_up { &up } else { &down };
            let old = directory.join(changes[0].name.path());
            if is_packed {
                fs::write(directory.join(PACKED), format!("{ONE} {}\n", changes[0].name)).unwrap();
            } else {
                fs::create_dir_all(old.parent().unwrap()).unwrap();
                fs::write(&old, ONE).unwrap();
            }
            let before = read(&git);
            assert!(!has_clash(changes, &before) && has_clash(&changes[1..], &before), "{is_packed} {is_up}");
            if is_up {
                // Somebody else made another there.
                fs::create_dir_all(directory.join("refs/heads/a")).unwrap();
                fs::write(directory.join("refs/heads/a/c"), TWO).unwrap();
                assert!(lock(&git, changes).is_none());
                fs::remove_file(directory.join("refs/heads/a/c")).unwrap();
                fs::create_dir_all(directory.join("refs/heads/a/empty")).unwrap();
            }
            lock(&git, changes).unwrap();
            assert_eq!(read(&git), before);
            lock(&git, changes).unwrap().commit().unwrap();
            assert_eq!(read(&git), refs(&[(&changes[1].name.to_string(), ONE)]), "{is_packed} {is_up}");
            let left = fs::read_dir(directory.join("refs/heads")).unwrap();
            assert_eq!(left.count(), 1, "no lock stays");
        }
    }

    #[test]
    fn changes_are_made_where_nobody_else_made_some() {
        let (_kept, git, directory) = directory();
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
        lock(&git, &changes).unwrap().commit().unwrap();
        let now = read(&git);
        let expect = refs(&[("refs/heads/main", TWO), ("refs/heads/new", ONE), ("refs/tags/kept", ONE)]);
        assert_eq!(now, expect);
        assert_eq!(
            fs::read_to_string(directory.join(PACKED)).unwrap(),
            packed.replace(&format!("{ONE} refs/tags/gone\n^{TWO}\n"), "")
        );
        // Somebody else was faster.
        assert!(lock(&git, &changes).is_none());
        let next = [change("refs/heads/main", Some(TWO), Some(ONE))];
        fs::write(directory.join("refs/heads/main.lock"), "").unwrap();
        assert!(lock(&git, &next).is_none());
        assert!(directory.join("refs/heads/main.lock").is_file(), "the lock is another's");
        fs::remove_file(directory.join("refs/heads/main.lock")).unwrap();
        lock(&git, &next).unwrap();
        assert!(!directory.join("refs/heads/main.lock").exists());
    }
}
