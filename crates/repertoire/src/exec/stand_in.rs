//! A repository of the command's own, which stands in for the real one.
//!
//! Git believes what lies in its directory: it runs hooks and what settings name, and writes through links and to whatever an index names. So no command ever writes
//! the real one. It gets a directory of git in its scratch directory, with the same refs, index and HEAD, and the objects of the real one to read.
//! Once nothing of the command is left, the host takes over what it made there, each thing by what it has to be: objects by their names, refs, HEAD, the index,
//! what tells of a merge. It does so by git's own rules, under git's locks, and only if nobody else changed any of it meanwhile.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::exec::git;
use crate::exec::git_index;
use crate::exec::git_objects::{self, Objects};
use crate::exec::git_refs::{self, Change, Locked, Refs};
use crate::exec::git_stores;
use crate::exec::listing::Budget;
use crate::exec::outcome::Aftermath;
use crate::exec::plain_file;
use crate::exec::repository::Repository;
use crate::exec::scratch::Scratch;
use crate::exec::{ExecError, ExecErrorKind};

/// What belongs to one checkout and is carried over, and what it has to be. The index is last: whoever sees that sees the rest.
const CARRIED: &[(&str, Content)] = &[
    ("HEAD", Content::Head),
    ("ORIG_HEAD", Content::Names),
    ("COMMIT_EDITMSG", Content::Text),
    ("MERGE_HEAD", Content::Names),
    ("MERGE_MODE", Content::Text),
    ("MERGE_MSG", Content::Text),
    ("AUTO_MERGE", Content::Names),
    ("SQUASH_MSG", Content::Text),
    ("MERGE_AUTOSTASH", Content::Names),
    ("CHERRY_PICK_HEAD", Content::Names),
    ("REVERT_HEAD", Content::Names),
    (INDEX, Content::Index),
];
const INDEX: &str = "index";
/// What of the command's own is for this run alone.
const SETTINGS_FILE: &str = "config";
/// Says that somebody looks for the commit that broke something.
const BISECTING: &str = "BISECT_LOG";
const HEAD: &str = "HEAD";
const STASH: &str = "refs/stash";
const BRANCHES: &str = "refs/heads/";
/// How long is looked at the refs of a repository before a command.
const MAKE_TIME: Duration = Duration::from_secs(20);
/// How long what a command made is looked at, and once more that long where nothing but its work is kept. Nobody can cancel that: work would be lost.
const CARRY_TIME: Duration = Duration::from_secs(60);
/// How often a lock is tried, and how long is waited in between.
const LOCK_ATTEMPTS: usize = 20;
const LOCK_INTERVAL: Duration = Duration::from_millis(100);
/// What is there to be read only, from the directory that all checkouts share.
const COPIED: &[&str] = &["shallow", "info/exclude", "info/attributes"];
/// The same from that of the checkout alone.
const COPIED_OWN: &[&str] = &["info/sparse-checkout"];
/// Where an index in two parts has the other one.
const SHARED_INDEX: &str = "sharedindex.";
/// What is only looked at, where it is.
const SHOWN: &[&str] = &["hooks", "modules", "lfs"];
/// Where linked checkouts are kept (`git worktree`).
const LINKED: &str = "worktrees";
/// What is under way here cannot be carried over.
const UNDER_WAY: &[&str] = &["rebase-merge", "rebase-apply", "sequencer"];
/// The largest file that is carried over, in bytes.
const MAX_BYTES: u64 = 256 << 20;
/// The longest text, in bytes.
const MAX_TEXT: usize = 1 << 20;
/// The most of all logs that is copied, in bytes.
const MAX_LOGS: u64 = 16 << 20;
/// How many names of refs are told, and how much of each.
const MAX_TOLD: usize = 100;
const MAX_TOLD_LETTERS: usize = 200;
/// What is said of a repository whose objects a command cannot read.
const BORROWED: &str = "the repository borrows objects from here (.git/objects/info/alternates), which the command may not read; `git repack -a -d` makes it whole, then that file can go";
/// What git is told beside its settings: nothing may be kept in a form that could not be looked into.
const SETTINGS: &[(&str, &str)] = &[
    ("core.splitIndex", "false"),
    ("gc.auto", "0"),
    ("branch.autoSetupMerge", "false"),
    ("maintenance.auto", "false"),
    ("fetch.unpackLimit", "1000000000"),
    ("transfer.unpackLimit", "1000000000"),
];

/// What a file of git may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Head,
    /// Names of objects, one in a line.
    Names,
    Text,
    Index,
}

impl Content {
    /// Returns whether this leads to objects, line by line.
    fn leads(self) -> bool {
        matches!(self, Self::Head | Self::Names)
    }

    /// Returns what is carried over of this.
    fn carried(self, bytes: Vec<u8>, objects: Objects, until: Instant) -> io::Result<Vec<u8>> {
        let text = || str::from_utf8(&bytes);
        let is_sound = match self {
            Self::Head => text().is_ok_and(|text| git_refs::is_head(text.trim_end_matches('\n'), objects)),
            Self::Names => text().is_ok_and(|text| text.lines().all(|line| objects.is_name(line))),
            Self::Text => bytes.len() <= MAX_TEXT,
            Self::Index => return git_index::carried(&bytes, objects, until),
        };
        if is_sound { Ok(bytes) } else { Err(invalid("it is not what it has to be")) }
    }

    /// Returns whether two files say the same.
    fn is_same(self, one: Option<&[u8]>, other: Option<&[u8]>, objects: Objects, until: Instant) -> bool {
        match (one, other) {
            (Some(one), Some(other)) if self == Self::Index => git_index::is_same(one, other, objects, until),
            _ => one == other,
        }
    }
}

/// A repository of the command's own.
#[derive(Debug)]
pub(crate) struct StandIn {
    path: PathBuf,
    real: Repository,
    objects: Objects,
    /// Where the real one has its objects.
    stores: Vec<PathBuf>,
    refs: Refs,
    /// The branches that other checkouts of the repository are on.
    elsewhere: Vec<String>,
    /// What was there, in the order of [`CARRIED`].
    before: Vec<Option<Vec<u8>>>,
    /// The settings that it was made with.
    settings: String,
}

impl StandIn {
    /// Makes one in `scratch` for a command that may read what is in the directories `readable`.
    pub(crate) fn make(
        repository: &Repository,
        scratch: &Scratch,
        readable: &[&Path],
    ) -> Result<Self, ExecError> {
        let refused = |text: &str| ExecError::new(ExecErrorKind::Repository).at(&repository.own).saying(text);
        if fs::symlink_metadata(repository.common.join("reftable")).is_ok() {
            return Err(refused("its refs are kept as reftable, which cannot be carried over yet"));
        }
        // A file there says where, and anybody may have written that: nothing becomes readable by it.
        let stores = git_stores::of(&repository.common.join("objects"));
        if let Some(store) =
            stores.iter().find(|store| !readable.iter().any(|place| store.starts_with(place)))
        {
            return Err(refused(BORROWED).at(store));
        }
        let path = scratch.path().join("git");
        Self::try_make(repository, path, stores)
            .map_err(|error| ExecError::new(ExecErrorKind::Repository).at(&repository.own).because(error))
    }

    fn try_make(repository: &Repository, path: PathBuf, stores: Vec<PathBuf>) -> io::Result<Self> {
        let Repository { own, common, .. } = repository;
        for directory in ["objects/info", "info", "logs"] {
            fs::create_dir_all(path.join(directory))?;
        }
        git_objects::shut_packs(&path.join("objects"))?;
        // Git does not follow what the real one borrows from if that is said in another way than by a whole path.
        fs::write(
            path.join("objects/info/alternates"),
            stores.iter().flat_map(|store| line(store)).collect::<Vec<u8>>(),
        )?;
        let settings = settings(repository);
        fs::write(path.join(SETTINGS_FILE), &settings)?;
        // What a checkout is to leave out would be lost with the settings, and files be missing. Git says that it cannot lock it.
        fs::write(path.join("info/sparse-checkout.lock"), "")?;
        // A linked checkout would name this directory, which is gone afterwards.
        fs::write(path.join(LINKED), "")?;
        let refs = git_refs::read(common, Budget::new(git_refs::MAX_ENTRIES, Instant::now() + MAKE_TIME))?;
        git_refs::write(&path, &refs)?;
        let mut before = Vec::new();
        for (name, _) in CARRIED {
            let time = git_index::time(&own.join(name));
            let content = read(&own.join(name))?;
            if let Some(content) = &content {
                let mut copy = fs::File::create_new(path.join(name))?;
                copy.write_all(content)?;
                time.map_or(Ok(()), |time| copy.set_modified(time))?;
            }
            before.push(content);
        }
        let parts = fs::read_dir(own)?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let parts: Vec<String> = parts.filter(|name| name.starts_with(SHARED_INDEX)).collect();
        let copied = COPIED.iter().map(|name| (common, *name));
        let copied = copied.chain(
            COPIED_OWN.iter().copied().chain(parts.iter().map(String::as_str)).map(|name| (own, name)),
        );
        for (directory, name) in copied {
            // What somebody keeps elsewhere, behind a link, is not needed that much.
            if let Some(content) = read(&directory.join(name)).unwrap_or_default() {
                fs::write(path.join(name), content)?;
            }
        }
        for name in SHOWN.iter().filter(|name| common.join(name).is_dir()) {
            std::os::unix::fs::symlink(common.join(name), path.join(name))?;
        }
        let mut room = MAX_LOGS;
        for name in [HEAD, STASH].into_iter().chain(refs.keys().map(String::as_str)) {
            copy_log(&log(repository, name), &path.join("logs").join(name), &mut room)?;
        }
        let elsewhere = repository.other_branches();
        Ok(Self {
            objects: git::objects_of(common),
            stores,
            path,
            real: repository.clone(),
            refs,
            elsewhere,
            before,
            settings,
        })
    }

    /// Returns the variables by which git finds it.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        let mut variables = vec![
            ("GIT_DIR".to_owned(), shown(&self.path)),
            ("GIT_WORK_TREE".to_owned(), shown(&self.real.top)),
            ("GIT_CONFIG_COUNT".to_owned(), SETTINGS.len().to_string()),
        ];
        for (number, (name, value)) in SETTINGS.iter().enumerate() {
            variables.push((format!("GIT_CONFIG_KEY_{number}"), (*name).to_owned()));
            variables.push((format!("GIT_CONFIG_VALUE_{number}"), (*value).to_owned()));
        }
        variables
    }

    /// Carries over what the command left, once nothing of it runs any more.
    pub(crate) fn carry_over(&self) -> Option<Aftermath> {
        self.carry_over_within(CARRY_TIME)
    }

    fn carry_over_within(&self, time: Duration) -> Option<Aftermath> {
        let directory = || self.real.own.clone();
        let carried = self.try_carry_over(Instant::now() + time);
        match carried {
            Ok(Carried::All) => return None,
            Ok(Carried::But(what)) => return Some(Aftermath::RepositoryLeftOut(directory(), what)),
            Ok(Carried::Nothing) | Err(_) => {}
        }
        // What is committed or stashed there is nowhere else any more.
        self.keep_aside(Instant::now() + time);
        Some(match carried {
            Ok(_) => Aftermath::RepositoryChanged(directory()),
            Err(error) => Aftermath::RepositoryNotWritten(directory(), error.to_string()),
        })
    }

    /// Keeps what the refs stand for, and what was stashed away by the way, under names that are nobody's.
    fn keep_aside(&self, until: Instant) {
        let Ok(refs) = self.refs_made(until) else { return };
        let (changes, _) = git_refs::changes(&self.refs, &refs, self.objects);
        let stashed = ["MERGE_AUTOSTASH", "rebase-merge/autostash", "rebase-apply/autostash"];
        let stashed = stashed.iter().filter_map(|name| read_below(&self.path, name).ok().flatten());
        let stashed: Vec<String> =
            stashed.map(|text| String::from_utf8_lossy(&text).trim_end().to_owned()).collect();
        let changed =
            changes.iter().filter_map(|change| Some((change.name.as_str(), change.after.as_deref()?)));
        let stashed = stashed.iter().map(|name| ("autostash", name.as_str()));
        let values: Vec<(&str, &str)> =
            changed.chain(stashed).filter(|(_, value)| self.objects.is_name(value)).collect();
        // Without their objects they would be of no use.
        if values.is_empty() || self.take_objects(until).is_err() {
            return;
        }
        let Ok(missing) = self.missing(values.iter().map(|(_, value)| *value), until) else { return };
        let values: Vec<(&str, &str)> =
            values.into_iter().filter(|(_, value)| !missing.contains(*value)).collect();
        git_refs::keep_aside(&self.real.common, &values);
    }

    fn take_objects(&self, until: Instant) -> io::Result<()> {
        let (from, into) = (self.path.join("objects"), self.real.common.join("objects"));
        git_objects::take_over(&from, &into, self.objects, until)
    }

    /// Returns which of these objects the real repository does not have.
    fn missing<'a>(
        &self,
        names: impl Iterator<Item = &'a str>,
        until: Instant,
    ) -> io::Result<HashSet<String>> {
        let known: HashSet<&str> = self.refs.values().map(String::as_str).collect();
        let names = names.filter(|name| !known.contains(name));
        git_stores::missing(&self.stores, names, self.objects, until)
    }

    /// Takes out of `changes` the refs to what is not there, which would break the repository, and returns their names.
    fn take_out_missing(&self, changes: &mut Vec<Change>, until: Instant) -> io::Result<Vec<String>> {
        let missing = self.missing(changes.iter().filter_map(|change| change.after.as_deref()), until)?;
        let is_missing =
            |change: &mut Change| change.after.as_ref().is_some_and(|after| missing.contains(after));
        Ok(changes.extract_if(.., is_missing).map(|change| change.name).collect())
    }

    /// Fails if a file names objects that are not there, or HEAD a branch that is among those `without` one.
    fn expect_there(&self, files: &[Made], without: &[String], until: Instant) -> io::Result<()> {
        // In a text a name is but a word.
        let leads = |name: &str| CARRIED.iter().any(|(own, content)| *own == name && content.leads());
        for (name, after) in files.iter().filter(|(name, _)| leads(name)) {
            let Some(text) = after.as_deref().and_then(|after| str::from_utf8(after).ok()) else { continue };
            let is_lost = branch_of(text.as_bytes()).is_some_and(|branch| without.contains(&branch));
            // What is no name of an object is nothing to look for.
            if is_lost || !self.missing(text.lines(), until)?.is_empty() {
                return Err(invalid(&format!("{name} leads to an object that is not there")));
            }
        }
        Ok(())
    }

    /// Returns the refs as the command left them.
    fn refs_made(&self, until: Instant) -> io::Result<Refs> {
        git_refs::read(&self.path, Budget::new(git_refs::MAX_MADE, until))
    }

    fn try_carry_over(&self, until: Instant) -> io::Result<Carried> {
        // Nothing else is on the way to it that the command could have put there.
        if !is_directory(&self.path) || !is_directory(&self.path.join("logs")) {
            return Err(invalid("its repository is none any more"));
        }
        // Half of it would leave the checkout in a state that nothing leads out of.
        if let Some(name) = UNDER_WAY.iter().find(|name| fs::symlink_metadata(self.path.join(name)).is_ok()) {
            return Err(invalid(&format!("something is under way there: {name}")));
        }
        let files = self.files_made(until)?;
        let (mut changes, mut left_out) =
            git_refs::changes(&self.refs, &self.refs_made(until)?, self.objects);
        left_out.extend(is_directory(&self.path.join(LINKED)).then(|| LINKED.to_owned()));
        left_out.extend(self.states_left_out());
        self.expect_allowed(&files, &changes)?;
        let stash = read_below(&self.path.join("logs"), STASH)?;
        let has_stashed = stash != read(&log(&self.real, STASH))?;
        if !files.is_empty() || !changes.is_empty() || has_stashed {
            self.take_objects(until)?;
            let without = self.take_out_missing(&mut changes, until)?;
            self.expect_there(&files, &without, until)?;
            left_out.extend(without);
            if !self.write(&files, &changes, until)? {
                return Ok(Carried::Nothing);
            }
            self.carry_logs(&changes, until);
        }
        Ok(if left_out.is_empty() { Carried::All } else { Carried::But(told(&left_out)) })
    }

    /// Returns what the command made that is for this run alone. Without it the checkout is still whole: one that looks for a commit has one out, and no branch.
    fn states_left_out(&self) -> Vec<String> {
        let settings = read(&self.path.join(SETTINGS_FILE)).ok().flatten();
        let is_set = settings.as_deref() != Some(self.settings.as_bytes());
        let is_bisecting = fs::symlink_metadata(self.path.join(BISECTING)).is_ok();
        let states = [(is_set, SETTINGS_FILE), (is_bisecting, BISECTING)];
        states.into_iter().filter(|(is_so, _)| *is_so).map(|(_, name)| name.to_owned()).collect()
    }

    /// Returns what the command made of the files of the checkout, each of which is what it has to be.
    fn files_made(&self, until: Instant) -> io::Result<Vec<Made>> {
        let mut files = Vec::new();
        for ((name, content), before) in CARRIED.iter().zip(&self.before) {
            let said = |error: io::Error| invalid(&format!("{name}: {error}"));
            let after = read(&self.path.join(name)).map_err(said)?;
            if content.is_same(after.as_deref(), before.as_deref(), self.objects, until) {
                continue;
            }
            let after = after.map(|after| content.carried(after, self.objects, until)).transpose();
            let after = after.map_err(said)?;
            if after.is_none() && *name == HEAD {
                return Err(invalid("there is no HEAD any more"));
            }
            files.push((*name, after));
        }
        Ok(files)
    }

    /// Fails if these changes are not for a command to make.
    fn expect_allowed(&self, files: &[Made], changes: &[Change]) -> io::Result<()> {
        let is_elsewhere = |name: &str| self.elsewhere.iter().any(|other| other == name);
        let head = files.iter().find(|(name, _)| *name == HEAD).and_then(|(_, after)| after.as_deref());
        let head = head.and_then(branch_of);
        if changes.len() > git_refs::MAX_CHANGES {
            return Err(invalid("too many refs were changed"));
        }
        if git_refs::has_clash(changes, &self.refs) {
            return Err(invalid("a ref would lie where a directory of refs is"));
        }
        if changes.iter().any(|change| is_elsewhere(&change.name))
            || head.is_some_and(|branch| is_elsewhere(&branch))
        {
            return Err(invalid("another checkout is on one of the branches"));
        }
        Ok(())
    }

    /// Writes files and refs under git's locks; returns whether nobody else had changed any meanwhile.
    fn write(&self, files: &[Made], changes: &[Change], until: Instant) -> io::Result<bool> {
        let Repository { own, common, .. } = &self.real;
        let Some(index) = patiently(|| Lock::take(&own.join(INDEX)))? else { return Ok(false) };
        let mut locks = Vec::new();
        for (name, after) in files.iter().filter(|(name, _)| *name != INDEX) {
            let Some(lock) = patiently(|| Lock::take(&own.join(name)))? else { return Ok(false) };
            locks.push((lock, after));
        }
        let is_of_checkout =
            !files.is_empty() || changes.iter().any(|change| change.name.starts_with(BRANCHES));
        for ((name, content), before) in CARRIED.iter().zip(&self.before).filter(|_| is_of_checkout) {
            let now = read(&own.join(name))?;
            if !content.is_same(now.as_deref(), before.as_deref(), self.objects, until) {
                return Ok(false);
            }
        }
        let Some(refs) = patiently(|| Locked::lock(common, changes))? else { return Ok(false) };
        refs.commit()?;
        for (lock, after) in locks {
            lock.commit(after.as_deref())?;
        }
        if let Some((_, after)) = files.iter().find(|(name, _)| *name == INDEX) {
            index.dated(git_index::time(&self.path.join(INDEX))).commit(after.as_deref())?;
        }
        Ok(true)
    }

    /// Returns whether what a log leads to is all there.
    fn has_all_of(&self, log: &[u8], until: Instant) -> bool {
        let digits = 2 * self.objects.length();
        let lines = log.split(|byte| *byte == b'\n');
        let names = lines.filter_map(|line| str::from_utf8(line.get(digits + 1..2 * digits + 1)?).ok());
        self.missing(names, until).is_ok_and(|missing| missing.is_empty())
    }

    /// Adds to the logs what the command added. Everything is there without them.
    fn carry_logs(&self, changes: &[Change], until: Instant) {
        let gone = changes.iter().filter(|change| change.after.is_none());
        let gone: HashSet<&str> = gone.map(|change| change.name.as_str()).collect();
        let others = changes.iter().map(|change| change.name.as_str()).filter(|name| *name != STASH);
        let names = [HEAD, STASH].into_iter().chain(others);
        for name in names {
            let real = log(&self.real, name);
            if gone.contains(name) {
                let _ = fs::remove_file(&real);
                continue;
            }
            // Where the log of `a/b` was, a directory may have stayed behind.
            git_refs::remove_empty(&real);
            let (Ok(made), Ok(before)) = (read_below(&self.path.join("logs"), name), read(&real)) else {
                continue;
            };
            let (Some(made), before) = (made, before.unwrap_or_default()) else { continue };
            if !made.split_inclusive(|byte| *byte == b'\n').all(|line| is_log_line(line, self.objects)) {
                continue;
            }
            // What is stashed is in the log alone, but for the last.
            if name == STASH && !self.has_all_of(&made, until) {
                continue;
            }
            // Of the stash things are taken out again, in the middle too.
            let _ = match made.strip_prefix(before.as_slice()) {
                Some([]) => Ok(()),
                Some(added) => append(&real, added),
                None if name == STASH => replace(&real, &made),
                None => Ok(()),
            };
        }
    }
}

/// A file of the checkout that the command made or changed, and what is in it unless it removed it.
type Made = (&'static str, Option<Vec<u8>>);

/// What came of carrying over.
enum Carried {
    All,
    /// All but this.
    But(Vec<String>),
    /// Nothing, because somebody else had changed something.
    Nothing,
}

/// Returns settings that say what git has to know of its directory, and lead to the real ones for everything else.
fn settings(repository: &Repository) -> String {
    let mut text = format!(
        "[core]\n\trepositoryformatversion = {}\n\tbare = false\n",
        git::setting(&repository.common.join("config"), "core", "repositoryformatversion")
            .unwrap_or_else(|| "0".to_owned())
    );
    let config = repository.common.join("config");
    let mut files = vec![config.clone()];
    for extension in git::settings(&config).into_iter().filter(|setting| setting.section == "extensions") {
        // There is but one checkout of this one.
        if extension.name == "worktreeconfig" {
            files.push(repository.own.join("config.worktree"));
        } else {
            text.push_str(&format!("[extensions]\n\t{} = {}\n", extension.name, quoted(&extension.value)));
        }
    }
    for file in files {
        text.push_str(&format!("[include]\n\tpath = {}\n", quoted(&file.to_string_lossy())));
    }
    text
}

/// Returns a value as settings of git have it.
fn quoted(value: &str) -> String {
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{escaped}\"")
}

/// Returns where the real log of a ref is.
fn log(repository: &Repository, name: &str) -> PathBuf {
    let directory = if name == HEAD { &repository.own } else { &repository.common };
    directory.join("logs").join(name)
}

fn copy_log(real: &Path, copy: &Path, room: &mut u64) -> io::Result<()> {
    let Ok(metadata) = fs::symlink_metadata(real) else { return Ok(()) };
    let Some(left) = room.checked_sub(metadata.len()).filter(|_| metadata.is_file()) else { return Ok(()) };
    *room = left;
    fs::create_dir_all(copy.parent().unwrap_or(copy))?;
    fs::copy(real, copy).map(drop)
}

/// Returns whether this is a line of a log: two objects, who, when, and why.
fn is_log_line(line: &[u8], objects: Objects) -> bool {
    let digits = 2 * objects.length();
    let is_object = |bytes: Option<&[u8]>| bytes.is_some_and(|bytes| bytes.iter().all(u8::is_ascii_hexdigit));
    let text = line.strip_suffix(b"\n");
    is_object(line.get(..digits))
        && is_object(line.get(digits + 1..2 * digits + 1))
        && text.is_some_and(|text| text.iter().all(|byte| *byte == b'\t' || !byte.is_ascii_control()))
}

/// Returns whether there is a directory, and no link to one.
fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

fn line(path: &Path) -> Vec<u8> {
    let mut line = path.as_os_str().as_encoded_bytes().to_vec();
    line.push(b'\n');
    line
}

/// Returns names that a command made up, as far as anybody wants to read them.
fn told(names: &[String]) -> Vec<String> {
    let letter = |letter: char| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter };
    let short = |name: &String| name.chars().take(MAX_TOLD_LETTERS).map(letter).collect();
    let mut told: Vec<String> = names.iter().take(MAX_TOLD).map(short).collect();
    let more = names.len() - told.len();
    told.extend((more > 0).then(|| format!("{more} more")));
    told
}

fn invalid(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// Returns the branch that a HEAD names.
fn branch_of(head: &[u8]) -> Option<String> {
    Some(str::from_utf8(head).ok()?.strip_prefix("ref: ")?.trim_end().to_owned())
}

/// Tries again for a while where somebody else has a lock: most are held for a moment.
fn patiently<T>(mut attempt: impl FnMut() -> io::Result<Option<T>>) -> io::Result<Option<T>> {
    for _ in 1..LOCK_ATTEMPTS {
        if let Some(done) = attempt()? {
            return Ok(Some(done));
        }
        std::thread::sleep(LOCK_INTERVAL);
    }
    attempt()
}

/// A lock of a file of git, given back in any case.
struct Lock {
    path: PathBuf,
    target: PathBuf,
    file: fs::File,
    time: Option<SystemTime>,
    is_held: bool,
}

impl Lock {
    /// Takes that of `target`, unless somebody else has it.
    fn take(target: &Path) -> io::Result<Option<Self>> {
        let mut path = target.as_os_str().to_owned();
        path.push(".lock");
        let path = PathBuf::from(path);
        match fs::OpenOptions::new().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            file => {
                Ok(Some(Self { path, target: target.to_owned(), file: file?, time: None, is_held: true }))
            }
        }
    }

    /// Says what time what is there will have, if not the one at which it came there.
    fn dated(mut self, time: Option<SystemTime>) -> Self {
        self.time = time;
        self
    }

    /// Makes `content` what is there, as git does, or removes that.
    fn commit(mut self, content: Option<&[u8]>) -> io::Result<()> {
        let Some(content) = content else { return fs::remove_file(&self.target) };
        self.file.write_all(content)?;
        self.time.map_or(Ok(()), |time| self.file.set_modified(time))?;
        fs::rename(&self.path, &self.target)?;
        self.is_held = false;
        Ok(())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.is_held {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Reads a file below `directory`, if there is one, along a way on which there may be no link.
fn read_below(directory: &Path, name: &str) -> io::Result<Option<Vec<u8>>> {
    let mut path = directory.to_owned();
    for part in name.split('/') {
        if !fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir()) {
            return Ok(None);
        }
        path.push(part);
    }
    read(&path)
}

/// Reads a plain file, if there is one. The command may have made a link that leads where only the host can read.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    plain_file::read(path, MAX_BYTES)
}

fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    match Lock::take(path)? {
        Some(lock) => lock.commit(Some(content)),
        None => Ok(()),
    }
}

fn append(path: &Path, added: &[u8]) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::OpenOptions::new().append(true).create(true).open(path)?.write_all(added)
}

#[cfg(test)]
mod tests;
