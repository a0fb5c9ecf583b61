//! A scratch repository: the git directory that a command works in.
//!
//! Git trusts its git directory: it runs hooks and programs that settings name. So no command writes the real one. It gets a git
//! directory in its scratch directory, with the same branches, tags, HEAD and index, the real settings to read, and the real
//! objects as alternates. [`transfer`](super::transfer) moves its commits to the real repository afterwards.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};

use super::host_git::{GitInput, HostGit};
use super::{Repository, settings as git_settings};
use crate::scratch::Scratch;
use crate::verified_path::{self, VerifiedPath};
use crate::{ExecError, ExecErrorKind};

/// Time limit for reading the real repository.
const READ_TIME: Duration = Duration::from_secs(20);
/// Files of the checkout's own git directory that are copied.
const COPIED: &[&str] = &["index", "info/sparse-checkout"];
/// Files of the shared git directory that are copied.
const COPIED_SHARED: &[&str] = &["info/attributes", "info/exclude", "shallow"];
/// The name prefix of the shared file of a split index.
const SHARED_INDEX: &str = "sharedindex.";
/// The largest file that is copied, in bytes.
const MAX_COPY: u64 = 256 << 20;
/// Directories of the shared git directory that are linked, for reading.
const LINKED: &[&str] = &["hooks", "lfs", "modules"];
/// Files of an unfinished merge, rebase, cherry-pick or revert. They are not transferred, so no run starts while one exists.
pub(crate) const UNFINISHED: &[&str] =
    &["CHERRY_PICK_HEAD", "MERGE_HEAD", "REVERT_HEAD", "rebase-apply", "rebase-merge"];
/// Prefixes of refs that the command does not see: replacement objects, records of earlier runs, and the user's stash.
const HIDDEN: &[&str] = &["refs/replace/", "refs/repertoire/", "refs/stash"];
/// Settings of the command's git that override all others.
const SETTINGS: &[(&str, &str)] = &[("gc.auto", "0"), ("maintenance.auto", "false")];

const NO_GIT: &str = "git is not installed outside of the directories that commands of skills may write";
const BORROWED: &str = "the repository borrows objects from here (.git/objects/info/alternates), which the command may not read; run `git repack -a -d`, then remove that file";

/// A git directory in the scratch directory of one run.
#[derive(Debug)]
pub(crate) struct ScratchRepository {
    pub(super) directory: PathBuf,
    pub(super) repository: Repository,
    /// The real git directories, checked again after the run.
    pub(super) verified: [VerifiedPath; 2],
    pub(super) program: PathBuf,
    pub(super) head: Head,
    /// The refs of the real repository before the run, by name.
    pub(super) refs: BTreeMap<String, String>,
}

/// The HEAD of a checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Head {
    /// The full name of the current branch, which need not exist yet.
    Branch(String),
    /// The commit of a detached HEAD.
    Detached(String),
}

impl Head {
    pub(super) fn read(git: &HostGit) -> io::Result<Self> {
        if git.succeeds(&["symbolic-ref", "--quiet", "HEAD"])? {
            let name = git.text(&["symbolic-ref", "--quiet", "HEAD"], GitInput::Nothing)?;
            return Ok(Self::Branch(name.trim_end().to_owned()));
        }
        let commit = git.text(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], GitInput::Nothing)?;
        Ok(Self::Detached(commit.trim_end().to_owned()))
    }
}

impl ScratchRepository {
    /// Creates a scratch repository in `scratch` for a command that can read the directories `readable`. `program` is git
    /// on the host.
    pub(crate) fn make(
        repository: &Repository,
        scratch: &Scratch,
        readable: &[&Path],
        program: Option<&Path>,
    ) -> Result<Self, ExecError> {
        let refused = |text: &str| ExecError::new(ExecErrorKind::Repository).at(&repository.own).saying(text);
        let failed = |error: io::Error| refused(&error.to_string());
        let program = program.ok_or_else(|| refused(NO_GIT))?;
        let is_there = |name: &&&str| repository.own.join(name).symlink_metadata().is_ok();
        if let Some(name) = UNFINISHED.iter().find(is_there) {
            return Err(refused(&format!(
                "a merge, rebase, cherry-pick or revert is unfinished there ({name}); conclude or abort it first, in a shell"
            )));
        }
        let git = HostGit::new(program, &repository.own, READ_TIME);
        let stores = stores(repository, &git).map_err(failed)?;
        let is_hidden = |store: &&PathBuf| !readable.iter().any(|place| store.starts_with(place));
        if let Some(store) = stores.iter().find(is_hidden) {
            return Err(refused(BORROWED).at(store));
        }
        let head = Head::read(&git).map_err(failed)?;
        let refs = refs(&git).map_err(failed)?;
        let pin = |path: &Path| VerifiedPath::at(path);
        let verified = [pin(&repository.own).map_err(failed)?, pin(&repository.common).map_err(failed)?];
        let made = Self {
            directory: scratch.path().join("git"),
            repository: repository.clone(),
            verified,
            program: program.to_owned(),
            head,
            refs,
        };
        made.fill(&stores).map_err(failed)?;
        Ok(made)
    }

    /// Writes the git directory, before the command runs.
    fn fill(&self, stores: &[PathBuf]) -> io::Result<()> {
        let own = &self.directory;
        for directory in ["info", "objects/info", "objects/pack", "refs/heads", "refs/tags"] {
            fs::create_dir_all(own.join(directory))?;
        }
        let stores: Vec<u8> = stores.iter().flat_map(|store| line(store)).collect();
        fs::write(own.join("objects/info/alternates"), stores)?;
        let head = match &self.head {
            Head::Branch(name) => format!("ref: {name}\n"),
            Head::Detached(commit) => format!("{commit}\n"),
        };
        fs::write(own.join("HEAD"), head)?;
        let refs: String = self.refs.iter().map(|(name, object)| format!("{object} {name}\n")).collect();
        fs::write(own.join("packed-refs"), refs)?;
        fs::write(own.join("config"), settings(&self.repository))?;
        // With a file of this name git refuses to add linked worktrees, which would point to this temporary directory.
        fs::write(own.join("worktrees"), "")?;
        let parts = fs::read_dir(&self.repository.own)?.flatten().map(|entry| entry.file_name());
        let parts = parts.filter_map(|name| name.into_string().ok());
        let parts: Vec<String> = parts.filter(|name| name.starts_with(SHARED_INDEX)).collect();
        let mut alone = COPIED.iter().copied().chain(parts.iter().map(String::as_str));
        alone.try_for_each(|name| self.copy(&self.repository.own, name))?;
        COPIED_SHARED.iter().try_for_each(|name| self.copy(&self.repository.common, name))?;
        for name in LINKED {
            let real = self.repository.common.join(name);
            if real.is_dir() {
                symlink(real, own.join(name))?;
            }
        }
        Ok(())
    }

    /// Copies the file `name` of `directory` if it exists. Symbolic links are not followed: they could lead to any file
    /// of the user.
    fn copy(&self, directory: &Path, name: &str) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let open = verified_path::open(directory)?;
        let Ok(file) = verified_path::open_below(open.as_fd(), Path::new(name), flags, Mode::empty()) else {
            return Ok(());
        };
        let file = File::from(file);
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(());
        }
        let target = self.directory.join(name);
        io::copy(&mut file.take(MAX_COPY), &mut File::create_new(&target)?)?;
        // Git compares the modification time of the index with those of files.
        File::options().append(true).open(&target)?.set_modified(metadata.modified()?)
    }

    /// Returns the environment variables that make git use it.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        let mut variables = vec![
            ("GIT_DIR".to_owned(), shown(&self.directory)),
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

/// Returns the object directories of a repository: its own and its alternates.
fn stores(repository: &Repository, git: &HostGit) -> io::Result<Vec<PathBuf>> {
    let text = git.text(&["count-objects", "-v"], GitInput::Nothing)?;
    let borrowed = text.lines().filter_map(|line| line.strip_prefix("alternate: ")).map(PathBuf::from);
    let stores = [repository.common.join("objects")].into_iter().chain(borrowed);
    Ok(stores.map(|store| store.canonicalize().unwrap_or(store)).collect())
}

/// Returns the refs of a repository by name, without hidden ones.
fn refs(git: &HostGit) -> io::Result<BTreeMap<String, String>> {
    let text = git.text(&["for-each-ref", "--format=%(objectname) %(refname)"], GitInput::Nothing)?;
    let refs = text.lines().filter_map(|line| line.split_once(' '));
    let refs = refs.filter(|(_, name)| !HIDDEN.iter().any(|hidden| name.starts_with(hidden)));
    Ok(refs.map(|(object, name)| (name.to_owned(), object.to_owned())).collect())
}

fn line(path: &Path) -> Vec<u8> {
    let mut line = path.as_os_str().as_encoded_bytes().to_vec();
    line.push(b'\n');
    line
}

/// Returns settings with the format of the repository, which include the real settings for everything else.
fn settings(repository: &Repository) -> String {
    let config = repository.common.join("config");
    let version =
        git_settings::value(&config, "core", "repositoryformatversion").unwrap_or_else(|| "0".to_owned());
    let mut text = format!("[core]\n\trepositoryformatversion = {version}\n\tbare = false\n");
    let mut files = vec![config.clone()];
    for extension in
        git_settings::read_file(&config).into_iter().filter(|setting| setting.section == "extensions")
    {
        match extension.name.as_str() {
            // The scratch repository has only one checkout, so an include is enough.
            "worktreeconfig" => files.push(repository.own.join("config.worktree")),
            // The scratch repository stores refs as files, whatever the real one does.
            "refstorage" => {}
            name => text.push_str(&format!("[extensions]\n\t{name} = {}\n", quoted(&extension.value))),
        }
    }
    for file in files {
        text.push_str(&format!("[include]\n\tpath = {}\n", quoted(&file.to_string_lossy())));
    }
    text
}

/// Quotes a value for a settings file.
fn quoted(value: &str) -> String {
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{escaped}\"")
}
