//! A repository of the command's own, which stands in for the real one.
//!
//! Git believes what lies in its directory: it runs hooks and what settings name, and writes through links and to whatever an index names. So no command ever writes
//! the real one. It gets a directory of git in its scratch directory, with the same refs, index and HEAD, and the objects of the real one to read.
//! Once nothing of the command is left, the host takes over what it made there ([`carry`]), each thing by what it has to be: objects by their names, refs, HEAD,
//! the index, what tells of a merge. It does so by git's own rules, under git's locks, and only if nobody else changed any of it meanwhile. Where it cannot, what
//! was committed or stashed is kept aside ([`aside`]).

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::FileType;

use crate::exec::allowance::Allowance;
use crate::exec::git;
use crate::exec::git_dir::GitDir;
use crate::exec::git_index;
use crate::exec::git_objects::{self, Kind, Objects};
use crate::exec::git_refs::{self, Refs, Value};
use crate::exec::git_stores;
use crate::exec::ref_name::RefName;
use crate::exec::repository::Repository;
use crate::exec::scratch::Scratch;
use crate::exec::{Cancel, ExecError, ExecErrorKind};

mod aside;
mod carry;
mod logs;

/// What belongs to one checkout and is carried over, and what it has to be. The index is last: whoever sees that sees the rest.
const CARRIED: &[(&str, Content)] = &[
    (HEAD, Content::Head),
    ("ORIG_HEAD", Content::Commits),
    ("COMMIT_EDITMSG", Content::Text),
    ("MERGE_HEAD", Content::Commits),
    ("MERGE_MODE", Content::Text),
    ("MERGE_MSG", Content::Text),
    ("AUTO_MERGE", Content::Tree),
    ("SQUASH_MSG", Content::Text),
    ("MERGE_AUTOSTASH", Content::Commits),
    ("CHERRY_PICK_HEAD", Content::Commits),
    ("REVERT_HEAD", Content::Commits),
    (INDEX, Content::Index),
];
const INDEX: &str = "index";
const HEAD: &str = "HEAD";
/// What of the command's own is for this run alone.
const SETTINGS_FILE: &str = "config";
/// Where the history of a repository ends that has not all of it.
const SHALLOW: &str = "shallow";
/// How long is looked at a repository before a command.
const MAKE_TIME: Duration = Duration::from_secs(20);
/// What is there to be read only, from the directory that all checkouts share.
const COPIED: &[&str] = &["info/exclude", "info/attributes"];
/// The same from that of the checkout alone.
const COPIED_OWN: &[&str] = &["info/sparse-checkout"];
/// Where an index in two parts has the other one.
const SHARED_INDEX: &str = "sharedindex.";
/// What is only looked at, where it is.
const SHOWN: &[&str] = &["hooks", "modules", "lfs"];
/// Where linked checkouts are kept (`git worktree`).
const LINKED: &str = "worktrees";
/// What has to be a directory where it is anything. Some keep theirs elsewhere, behind links, which nothing is ever written through.
const DIRECTORIES: &[&str] =
    &["objects", "objects/pack", "objects/info", "refs", "refs/heads", "refs/tags", "logs", "logs/refs"];
/// The largest file that is copied or carried over, in bytes.
const MAX_BYTES: u64 = 256 << 20;
/// The longest text, in bytes.
const MAX_TEXT: u64 = 1 << 20;
/// The longest file of names, in bytes.
const MAX_NAMES: u64 = 64 << 10;
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
    /// Names of commits, one in a line.
    Commits,
    /// The name of a tree.
    Tree,
    Text,
    Index,
}

impl Content {
    /// Returns how long it may be, in bytes.
    fn most(self) -> u64 {
        match self {
            Self::Head | Self::Commits | Self::Tree => MAX_NAMES,
            Self::Text => MAX_TEXT,
            Self::Index => MAX_BYTES,
        }
    }

    /// Returns what is carried over of this.
    fn carried(self, bytes: Vec<u8>, objects: Objects, until: Instant) -> io::Result<Vec<u8>> {
        let is_sound = match self {
            Self::Head => Value::parse(&bytes, objects).is_some_and(|value| git_refs::is_head(&value)),
            Self::Commits | Self::Tree => {
                str::from_utf8(&bytes).is_ok_and(|text| text.lines().all(|line| objects.is_name(line)))
            }
            Self::Text => bytes.len() as u64 <= MAX_TEXT,
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

    /// Returns the objects that it leads to, and what they have to be. In a text a name is but a word.
    fn leads_to(self, bytes: &[u8], objects: Objects) -> Vec<(String, Kind)> {
        let kind = match self {
            Self::Head => {
                let value = Value::parse(bytes, objects);
                let name = value.as_ref().and_then(Value::object);
                return name.map(|name| (name.to_owned(), Kind::Commit)).into_iter().collect();
            }
            Self::Commits => Kind::Commit,
            Self::Tree => Kind::Tree,
            Self::Text | Self::Index => return Vec::new(),
        };
        String::from_utf8_lossy(bytes).lines().map(|line| (line.to_owned(), kind)).collect()
    }
}

/// A repository of the command's own.
#[derive(Debug)]
pub(crate) struct StandIn {
    own: GitDir,
    repository: Repository,
    /// What the real one has for this checkout alone, and what for all.
    checkout: GitDir,
    common: GitDir,
    objects: Objects,
    /// Where the real one has its objects.
    stores: Vec<PathBuf>,
    refs: Refs,
    /// What was there, in the order of [`CARRIED`].
    before: Vec<Option<Vec<u8>>>,
    shallow: Option<Vec<u8>>,
    /// The log of the stash, which is all that leads to what is stashed but the last.
    stash: Option<Vec<u8>>,
    /// How long the logs are that were copied, by their names.
    logs: HashMap<PathBuf, u64>,
    /// The settings that it was made with.
    settings: String,
}

impl StandIn {
    /// Makes one in `scratch` for a command that may read what is in the directories `readable`.
    pub(crate) fn make(
        repository: &Repository,
        scratch: &Scratch,
        readable: &[&Path],
        cancel: Option<&Cancel>,
    ) -> Result<Self, ExecError> {
        let refused = |text: &str| ExecError::new(ExecErrorKind::Repository).at(&repository.own).saying(text);
        let failed = |error: io::Error| refused(&error.to_string());
        let config = repository.common.join("config");
        let [checkout, common] =
            [&repository.own, &repository.common].map(|path| GitDir::open_to_write(path, &config));
        let (checkout, common) = (checkout.map_err(failed)?, common.map_err(failed)?);
        if common.kind("reftable").map_err(failed)?.is_some() {
            return Err(refused("its refs are kept as reftable, which cannot be carried over yet"));
        }
        // A file there says where, and anybody may have written that: nothing becomes readable by it.
        let stores = git_stores::of(&repository.common.join(git_objects::OBJECTS));
        if let Some(store) =
            stores.iter().find(|store| !readable.iter().any(|place| store.starts_with(place)))
        {
            return Err(refused(BORROWED).at(store));
        }
        expect_no_links(&checkout).and_then(|()| expect_no_links(&common)).map_err(failed)?;
        let own = GitDir::make(&scratch.path().join("git")).map_err(failed)?;
        let stand_in = Self {
            own,
            repository: repository.clone(),
            checkout,
            common,
            objects: git::objects_of(&repository.common),
            stores,
            refs: Refs::new(),
            before: Vec::new(),
            shallow: None,
            stash: None,
            logs: HashMap::new(),
            settings: settings(repository),
        };
        stand_in.filled(&mut Allowance::new(MAKE_TIME, cancel, git_refs::MAX_ENTRIES)).map_err(failed)
    }

    /// Fills it with what the real one has.
    fn filled(mut self, allowance: &mut Allowance) -> io::Result<Self> {
        let own = &self.own;
        for directory in ["objects/info", "info", "logs"] {
            own.make_directory(directory)?;
        }
        git_objects::shut_packs(own)?;
        // Git does not follow what the real one borrows from if that is said in another way than by a whole path.
        let stores: Vec<u8> = self.stores.iter().flat_map(|store| line(store)).collect();
        own.write_new("objects/info/alternates", &stores)?;
        own.write_new(SETTINGS_FILE, self.settings.as_bytes())?;
        // What a checkout is to leave out would be lost with the settings, and files be missing. Git says that it cannot lock it.
        own.write_new("info/sparse-checkout.lock", b"")?;
        // History that was cut off anew would be broken in the real one, or lost there.
        own.write_new("shallow.lock", b"")?;
        // A linked checkout would name this directory, which is gone afterwards.
        own.write_new(LINKED, b"")?;
        self.refs = git_refs::read(&self.common, self.objects, allowance)?.refs;
        git_refs::write(own, &self.refs)?;
        for (name, _) in CARRIED {
            let content = at(name, self.checkout.read(name, MAX_BYTES))?;
            if let Some(content) = &content {
                own.write_dated(name, content, self.checkout.time(name))?;
            }
            self.before.push(content);
        }
        self.shallow = at(SHALLOW, self.common.read(SHALLOW, MAX_BYTES))?;
        if let Some(shallow) = &self.shallow {
            own.write_new(SHALLOW, shallow)?;
        }
        self.copy_what_is_read()?;
        self.copy_logs(allowance)?;
        Ok(self)
    }

    fn copy_what_is_read(&self) -> io::Result<()> {
        let mut parts = self.checkout.names(".", || Ok(()))?;
        parts.retain(|name| name.to_str().is_some_and(|name| name.starts_with(SHARED_INDEX)));
        let shared = COPIED.iter().map(|name| (&self.common, Path::new(name)));
        let alone = COPIED_OWN.iter().map(Path::new).chain(parts.iter().map(Path::new));
        for (directory, name) in shared.chain(alone.map(|name| (&self.checkout, name))) {
            // What somebody keeps elsewhere, behind a link, is not needed that much.
            if let Some(content) = directory.read(name, MAX_BYTES).unwrap_or_default() {
                self.own.write_new(name, &content)?;
            }
        }
        for name in SHOWN {
            if matches!(self.common.kind(name)?, Some(FileType::Directory | FileType::Symlink)) {
                self.own.make_link(name, &self.common.path().join(name))?;
            }
        }
        Ok(())
    }

    /// Returns the variables by which git finds it.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        let mut variables = vec![
            ("GIT_DIR".to_owned(), shown(self.own.path())),
            ("GIT_WORK_TREE".to_owned(), shown(&self.repository.top)),
            ("GIT_CONFIG_COUNT".to_owned(), SETTINGS.len().to_string()),
        ];
        for (number, (name, value)) in SETTINGS.iter().enumerate() {
            variables.push((format!("GIT_CONFIG_KEY_{number}"), (*name).to_owned()));
            variables.push((format!("GIT_CONFIG_VALUE_{number}"), (*value).to_owned()));
        }
        variables
    }
}

/// Fails if something is a link that should be a directory.
fn expect_no_links(directory: &GitDir) -> io::Result<()> {
    for name in DIRECTORIES {
        if at(name, directory.kind(name))? == Some(FileType::Symlink) {
            return at(name, Err(invalid("it is a link, which nothing is written through")));
        }
    }
    Ok(())
}

/// Returns the branch that a HEAD names.
fn branch_of(head: &[u8], objects: Objects) -> Option<RefName> {
    match Value::parse(head, objects)? {
        Value::Ref(name) => Some(name),
        Value::Object(_) => None,
    }
}

/// Says what it was where something failed.
fn at<T>(name: &str, outcome: io::Result<T>) -> io::Result<T> {
    outcome.map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))
}

fn invalid(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

fn line(path: &Path) -> Vec<u8> {
    let mut line = path.as_os_str().as_encoded_bytes().to_vec();
    line.push(b'\n');
    line
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

#[cfg(test)]
mod tests;
