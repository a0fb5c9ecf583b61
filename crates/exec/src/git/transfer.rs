//! Transfers the commits of a command from its scratch repository to the real one. Git does all of it.
//!
//! Only git in the sandbox reads the scratch repository: the list of refs and one pack of new objects. On the host git checks
//! the pack in a quarantine, stores it, records every new ref under `refs/repertoire/<run>/`, and then applies new branches, new
//! tags and a fast-forward of the current branch. Nothing else is transferred.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Seek as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::time::Duration;

use repertoire_model::text::shorten;
use rustix::fs::{Mode, OFlags};

use super::Repository;
use super::host_git::{GitInput, HostGit};
use super::obeyed_changes::first_obeyed_change;
use super::scratch_repository::{Head, ScratchRepository};
use crate::Aftermath;
use crate::GitUser;
use crate::scratch::Scratch;
use crate::verified_path;

/// Time limit of all calls of git on the host.
const HOST_TIME: Duration = Duration::from_secs(60);
/// The most refs that one run may change.
const MAX_CHANGES: usize = 1000;
/// The most names in a result.
const MAX_NAMES: usize = 100;
/// The name prefix of the pack in the scratch repository.
const PACK: &str = "transfer";
/// The most characters of a path in a reason.
const MAX_PATH_CHARS: usize = 200;
/// The reason not to apply a ref that could be taken for another.
const AMBIGUOUS: &str = "its name stands for something else as well";
/// The message in reflogs.
const LOG_MESSAGE: &str = "repertoire: commits of a sandboxed command";

/// Runs git in the sandbox, in the scratch repository: arguments and standard input to standard output.
pub(crate) type SandboxedGit<'a> = dyn FnMut(&[String], String) -> io::Result<Vec<u8>> + 'a;

/// A ref that the command created or changed.
struct ChangedRef {
    name: String,
    object: String,
    /// The reason why it is recorded but not applied.
    refusal: Option<Cow<'static, str>>,
}

/// Transfers new commits, and returns what was not applied. `run` is the name of the run under `refs/repertoire/`; the settings of `user`
/// may name files that git obeys.
pub(crate) fn transfer(
    scratch: &ScratchRepository,
    run: &str,
    user: &GitUser,
    sandboxed: &mut SandboxedGit<'_>,
) -> Vec<Aftermath> {
    match Transfer::new(scratch, run, user).and_then(|mut transfer| transfer.run(sandboxed)) {
        Ok(aftermath) => aftermath,
        Err(error) => vec![Aftermath::RepositoryNotWritten(error.to_string())],
    }
}

struct Transfer<'a> {
    scratch: &'a ScratchRepository,
    user: &'a GitUser,
    git: HostGit,
    /// The prefix of the recorded refs of this run, with a slash at the end.
    record: String,
}

impl<'a> Transfer<'a> {
    fn new(scratch: &'a ScratchRepository, run: &str, user: &'a GitUser) -> io::Result<Self> {
        // The directories must be the ones that were granted, not others of the same name.
        scratch.verified.iter().try_for_each(|directory| directory.open().map(drop))?;
        let is_same = Repository::at(&scratch.repository.top).is_ok_and(|now| now == scratch.repository);
        if !is_same {
            return Err(io::Error::other("the checkout has another git directory than before"));
        }
        let git = HostGit::new(&scratch.program, &scratch.repository.own, HOST_TIME);
        Ok(Self { scratch, user, git, record: format!("refs/repertoire/{run}/") })
    }

    fn run(&mut self, sandboxed: &mut SandboxedGit<'_>) -> io::Result<Vec<Aftermath>> {
        let listing = sandboxed(&words(&["show-ref", "--head"]), String::new())?;
        let after = parse_refs(&listing)?;
        let mut not_applied = self.deleted(&after);
        let mut changes = self.changes(&after);
        if changes.is_empty() && not_applied.is_empty() {
            return Ok(Vec::new());
        }
        if changes.len() > MAX_CHANGES {
            return Err(io::Error::other(format!("more than {MAX_CHANGES} branches and tags were changed")));
        }
        self.store(&changes, sandboxed)?;
        let record: String = changes
            .iter()
            .map(|change| format!("create {} {}\n", self.recorded(change), change.object))
            .collect();
        self.update_refs(record)?;
        let is_same_head = Head::read(&self.git).is_ok_and(|now| now == self.scratch.head);
        for change in changes.iter_mut().filter(|change| change.refusal.is_none()) {
            change.refusal = self.refusal(change, is_same_head)?;
        }
        let mut aftermath = Vec::new();
        if let Err(error) = self.apply(&changes) {
            let refused = changes.iter().map(|change| format!("{} ({error})", change.name));
            not_applied.extend(refused);
        } else {
            aftermath.extend(self.update_index(&changes));
            let refused = changes.iter().filter_map(|change| Some((change, change.refusal.as_deref()?)));
            not_applied.extend(refused.map(|(change, why)| format!("{} ({why})", change.name)));
        }
        if !not_applied.is_empty() {
            not_applied.truncate(MAX_NAMES);
            let record = self.record.trim_end_matches('/').to_owned();
            aftermath.push(Aftermath::RepositoryNotApplied { refs: not_applied, record });
        }
        Ok(aftermath)
    }

    /// Returns the refs that the command created or changed, with refusals that do not depend on the commits.
    fn changes(&self, after: &BTreeMap<String, String>) -> Vec<ChangedRef> {
        let before = &self.scratch.refs;
        let mut changes: Vec<ChangedRef> = Vec::new();
        for (name, object) in after.iter().filter(|(name, object)| before.get(*name) != Some(*object)) {
            let refusal = match name.as_str() {
                // A commit on a branch is transferred with the branch.
                "HEAD" => {
                    let is_known = |(other, known): (&String, &String)| other != "HEAD" && known == object;
                    let old = matches!(&self.scratch.head, Head::Detached(commit) if commit == object);
                    if old || after.iter().any(is_known) || before.values().any(|known| known == object) {
                        continue;
                    }
                    Some("HEAD is not moved")
                }
                name if name.starts_with("refs/heads/") => match before.get(name) {
                    Some(_) if self.scratch.head != Head::Branch(name.to_owned()) => {
                        Some("it is not the current branch")
                    }
                    Some(_) => None,
                    None => is_ambiguous(name, [before, after]).then_some(AMBIGUOUS),
                },
                name if name.starts_with("refs/tags/") => match before.get(name) {
                    Some(_) => Some("the tag exists already"),
                    None => is_ambiguous(name, [before, after]).then_some(AMBIGUOUS),
                },
                _ => Some("only branches and tags are transferred"),
            };
            let refusal = refusal.map(Cow::Borrowed);
            changes.push(ChangedRef { name: name.clone(), object: object.clone(), refusal });
        }
        changes
    }

    /// Returns the refs that the command deleted, with the reason why they are still there.
    fn deleted(&self, after: &BTreeMap<String, String>) -> Vec<String> {
        let gone = self.scratch.refs.keys().filter(|name| !after.contains_key(*name));
        gone.map(|name| format!("{name} (deletions are not transferred)")).collect()
    }

    /// Moves new objects to the real repository: packed in the sandbox, checked in a quarantine, then stored.
    fn store(&self, changes: &[ChangedRef], sandboxed: &mut SandboxedGit<'_>) -> io::Result<()> {
        let tips: BTreeSet<&str> = changes.iter().map(|change| change.object.as_str()).collect();
        let known: BTreeSet<&str> = self.scratch.refs.values().map(String::as_str).collect();
        let mut revisions: String = tips.iter().map(|tip| format!("{tip}\n")).collect();
        revisions.extend(known.iter().map(|tip| format!("^{tip}\n")));
        let base = self.scratch.directory.join(PACK);
        let mut arguments = words(&["pack-objects", "--quiet", "--revs", "--non-empty"]);
        arguments.push(base.to_string_lossy().into_owned());
        let output = sandboxed(&arguments, revisions)?;
        let hash = String::from_utf8_lossy(&output).trim().to_owned();
        let quarantine = Scratch::create(
            self.scratch.directory.parent().and_then(Path::parent).unwrap_or(Path::new("/")),
        )?;
        let objects = quarantine.path().join("objects");
        fs::create_dir_all(objects.join("info"))?;
        let mut real = self.scratch.repository.common.join("objects").into_os_string().into_encoded_bytes();
        real.push(b'\n');
        fs::write(objects.join("info/alternates"), real)?;
        let quarantined = self.git.with_objects(&objects);
        let index_pack = ["index-pack", "--stdin", "--strict", "--fix-thin"];
        let mut pack = if is_object_name(&hash) { Some(self.open_pack(&hash)?) } else { None };
        if let Some(pack) = &mut pack {
            quarantined.text(&index_pack, GitInput::File(pack.try_clone()?))?;
            pack.rewind()?;
        }
        // All objects that the tips reach must be in the pack or in the repository.
        let tips: String = tips.iter().map(|tip| format!("{tip}\n")).collect();
        let connected = ["rev-list", "--objects", "--quiet", "--stdin", "--not", "--all"];
        quarantined.text(&connected, GitInput::Text(tips))?;
        if let Some(pack) = pack {
            self.git.text(&index_pack, GitInput::File(pack))?;
        }
        Ok(())
    }

    /// Opens the pack that git wrote in the sandbox. Symbolic links are refused: the command could have created them.
    fn open_pack(&self, hash: &str) -> io::Result<File> {
        let parent = self.scratch.directory.parent().unwrap_or(Path::new("/"));
        let directory = verified_path::open(parent)?;
        let name = Path::new("git").join(format!("{PACK}-{hash}.pack"));
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let file = File::from(verified_path::open_below(directory.as_fd(), &name, flags, Mode::empty())?);
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("the pack is not a file")) }
    }

    /// Returns why a branch or tag is not applied, once its objects are stored.
    fn refusal(&self, change: &ChangedRef, is_same_head: bool) -> io::Result<Option<Cow<'static, str>>> {
        let Some(old) = self.scratch.refs.get(&change.name) else {
            let is_current = self.scratch.head == Head::Branch(change.name.clone());
            return if is_current { self.obeyed(None, &change.object) } else { Ok(None) };
        };
        if !is_same_head {
            return Ok(Some("the checkout was switched to another branch meanwhile".into()));
        }
        if !self.git.succeeds(&["merge-base", "--is-ancestor", old, &change.object])? {
            return Ok(Some("not a fast-forward".into()));
        }
        // If the index could not be updated, the user's next commit would revert those of the command.
        if !self.git.succeeds(&["read-tree", "-n", "-i", "-m", old, &change.object])? {
            return Ok(Some("files that it commits are staged differently".into()));
        }
        self.obeyed(Some(old), &change.object)
    }

    /// Returns why the current branch is not moved from `old` to `new` if that changes files that agents, shells or git obey, other than the
    /// user has them already.
    fn obeyed(&self, old: Option<&str>, new: &str) -> io::Result<Option<Cow<'static, str>>> {
        let changed = first_obeyed_change(&self.git, &self.scratch.repository.top, self.user, old, new)?;
        Ok(changed.map(|path| {
            let path = shorten(&path, MAX_PATH_CHARS);
            format!("it changes {path}, which agents, shells or git obey").into()
        }))
    }

    /// Applies all changes that are not refused in one transaction, and deletes their records.
    fn apply(&self, changes: &[ChangedRef]) -> io::Result<()> {
        let mut commands = String::new();
        for change in changes.iter().filter(|change| change.refusal.is_none()) {
            let (name, object) = (&change.name, &change.object);
            match self.scratch.refs.get(name) {
                Some(old) => commands.push_str(&format!("update {name} {object} {old}\n")),
                None => commands.push_str(&format!("create {name} {object}\n")),
            }
            commands.push_str(&format!("delete {} {object}\n", self.recorded(change)));
        }
        self.update_refs(commands)
    }

    fn update_refs(&self, commands: String) -> io::Result<()> {
        if commands.is_empty() {
            return Ok(());
        }
        self.git.text(&["update-ref", "-m", LOG_MESSAGE, "--stdin"], GitInput::Text(commands)).map(drop)
    }

    /// Updates the index from the old commit of the current branch to the new one. Files and other staged changes stay as they
    /// are. If a file was changed both ways git refuses, and a person decides.
    fn update_index(&self, changes: &[ChangedRef]) -> Option<Aftermath> {
        let Head::Branch(current) = &self.scratch.head else { return None };
        let change = changes.iter().find(|change| change.name == *current && change.refusal.is_none())?;
        let old = match self.scratch.refs.get(current) {
            Some(old) => Ok(old.clone()),
            // The empty tree.
            None => self.git.text(&["hash-object", "-t", "tree", "--stdin"], GitInput::Nothing),
        };
        let read = old.and_then(|old| {
            self.git.text(&["read-tree", "-i", "-m", old.trim(), &change.object], GitInput::Nothing)
        });
        read.err().map(|error| Aftermath::IndexNotUpdated(error.to_string()))
    }

    /// Returns the name that a ref is recorded under.
    fn recorded(&self, change: &ChangedRef) -> String {
        format!("{}{}", self.record, change.name.strip_prefix("refs/").unwrap_or(&change.name))
    }
}

/// Returns whether the short name of `name`, a new branch or tag, stands for something else as well, so that `git merge` or `git reset` would take
/// one for the other. `known` has the refs before and after the run.
fn is_ambiguous(name: &str, known: [&BTreeMap<String, String>; 2]) -> bool {
    let Some((_, short)) = name.strip_prefix("refs/").and_then(|name| name.split_once('/')) else {
        return true;
    };
    let first = short.split('/').next().unwrap_or_default();
    let remote = format!("refs/remotes/{first}/");
    let is_known = |other: &str| other != name && known.iter().any(|refs| refs.contains_key(other));
    let is_kind = short != first && ["refs", "heads", "tags", "remotes"].contains(&first);
    let is_of_remote = known[0].keys().any(|other| other.starts_with(&remote));
    let is_special = short.ends_with("HEAD") || short == "@";
    is_kind
        || is_of_remote
        || is_special
        || ["refs/", "refs/heads/", "refs/tags/", "refs/remotes/"]
            .iter()
            .any(|kind| is_known(&format!("{kind}{short}")))
}

fn words(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|word| (*word).to_owned()).collect()
}

/// Parses the output of `git show-ref`, which the command could have forged.
fn parse_refs(listing: &[u8]) -> io::Result<BTreeMap<String, String>> {
    let invalid = || io::Error::other("the list of its refs is invalid");
    let text = std::str::from_utf8(listing).map_err(|_| invalid())?;
    let mut refs = BTreeMap::new();
    for line in text.lines() {
        let (object, name) = line.split_once(' ').ok_or_else(invalid)?;
        let is_name = name == "HEAD" || name.starts_with("refs/");
        if !is_object_name(object) || !is_name || name.contains(char::is_whitespace) {
            return Err(invalid());
        }
        refs.insert(name.to_owned(), object.to_owned());
    }
    Ok(refs)
}

/// Returns whether `text` is a full object name, of SHA-1 or SHA-256.
fn is_object_name(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests;
