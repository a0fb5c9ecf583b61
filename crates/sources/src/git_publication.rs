//! Commits skills to a git repository and pushes them, with the user's own git: identity, signatures, hooks
//! and credentials are those of the user. Nothing is ever forced.

use std::path::{Path, PathBuf};

use crate::fetch_options::FetchOptions;
use crate::git::{MAX_MESSAGE, UserGit, is_reference, telling_line};
use crate::scratch::Scratch;
use crate::{Error, ErrorKind, GitPrompt};

/// The most bytes of the list of branches of a repository.
const MAX_LISTING: u64 = 64 * 1024 * 1024;

/// A clone of a repository that skills are published to. It is removed when this value is dropped.
#[derive(Debug)]
pub struct GitPublication {
    url: String,
    branch: String,
    /// True if the repository does not have the branch yet.
    is_new_branch: bool,
    prompt: GitPrompt,
    scratch: Scratch,
}

impl GitPublication {
    /// Clones the branch `branch` of the repository at `url`, or its default branch. A branch that is not
    /// there begins at the default one.
    pub fn clone(url: &str, branch: Option<&str>, options: &FetchOptions) -> Result<Self, Error> {
        if let Some(branch) = branch.filter(|branch| !is_reference(branch)) {
            return Err(Error::new(
                ErrorKind::InvalidSource,
                format!("`{branch}` is not a name of a branch"),
            ));
        }
        let scratch = Scratch::create(&options.scratch)?;
        let (url_text, prompt) = (url.to_owned(), options.prompt);
        let mut it = Self { url: url_text, branch: String::new(), is_new_branch: false, prompt, scratch };
        let root = it.root().to_string_lossy().into_owned();
        let listing = it.run(it.command(&["ls-remote", "--heads", "--", url]), MAX_LISTING, "read")?;
        let names = listing.lines().filter_map(|line| line.split_once("\trefs/heads/"));
        let is_there = branch.is_some_and(|branch| names.clone().any(|(_, name)| name == branch));
        let mut arguments = vec!["clone", "--quiet", "--depth=1", "--no-tags"];
        if let Some(branch) = branch.filter(|_| is_there) {
            arguments.extend(["--branch", branch]);
        }
        arguments.extend(["--", url, &root]);
        it.run(it.command(&arguments), MAX_MESSAGE, "clone")?;
        if let Some(branch) = branch.filter(|_| !is_there) {
            it.is_new_branch = true;
            it.run(it.inside(&["checkout", "--quiet", "-b", branch]), MAX_MESSAGE, "make a branch of")?;
        }
        let name = it.run(it.inside(&["symbolic-ref", "--short", "HEAD"]), MAX_MESSAGE, "read")?;
        name.trim().clone_into(&mut it.branch);
        Ok(it)
    }

    /// Returns the directory of the clone, in which skills are written.
    pub fn root(&self) -> PathBuf {
        self.scratch.path().join("clone")
    }

    /// Returns the branch.
    pub fn branch(&self) -> &str {
        &self.branch
    }

    /// Returns `true` if the repository does not have the branch yet.
    pub fn is_new_branch(&self) -> bool {
        self.is_new_branch
    }

    /// Commits the directories `paths` of the clone with `message`, and pushes the branch. Returns its
    /// commit, or `None` if neither the files nor the branch are new.
    pub fn publish(&self, paths: &[String], message: &str) -> Result<Option<String>, Error> {
        let mut add = vec!["add", "--force", "--all", "--"];
        add.extend(paths.iter().map(String::as_str));
        self.run(self.inside(&add), MAX_MESSAGE, "write to")?;
        let changed = self.inside(&["diff", "--cached", "--name-only", "-z"]);
        let is_changed = !self.run(changed, MAX_LISTING, "read")?.is_empty();
        if !is_changed && !self.is_new_branch {
            return Ok(None);
        }
        if is_changed {
            let commit = format!("--message={message}");
            self.run(self.inside(&["commit", "--quiet", &commit]), MAX_MESSAGE, "commit to")?;
        }
        let target = format!("HEAD:refs/heads/{}", self.branch);
        let push = self.inside(&["push", "--quiet", "--no-follow-tags", "origin", &target]);
        self.run(push, MAX_MESSAGE, "push to")?;
        let commit = self.run(self.inside(&["rev-parse", "HEAD"]), MAX_MESSAGE, "read")?;
        Ok(Some(commit.trim().to_owned()))
    }

    fn command(&self, arguments: &[&str]) -> UserGit {
        UserGit::new(&self.url, self.prompt, arguments)
    }

    /// Returns the command in the clone.
    fn inside(&self, arguments: &[&str]) -> UserGit {
        self.command(arguments).inside(&self.root())
    }

    fn run(&self, command: UserGit, most: u64, action: &str) -> Result<String, Error> {
        let failed = || Error::new(ErrorKind::Git, format!("git could not {action} {}", self.url));
        let Some(run) = command.run(most)? else { return Err(failed().because("it prints too much")) };
        if run.is_success {
            return Ok(String::from_utf8_lossy(&run.output).into_owned());
        }
        let error = failed().because(telling_line(&run.message));
        let says = |texts: &[&str]| texts.iter().any(|text| run.message.contains(text));
        Err(if says(&["tell me who you are", "empty ident name", "unable to auto-detect email"]) {
            error.hint("set user.name and user.email in the settings of git")
        } else if says(&["refusing to update checked out branch"]) {
            error.hint("that branch is checked out there; name another branch")
        } else if says(&["non-fast-forward", "fetch first", "[rejected]", "cannot lock ref"]) {
            error.hint("the branch was changed meanwhile; nothing was pushed, run it again")
        } else {
            error
        })
    }
}

/// Returns `true` if `path` is a directory of `root`, or can become one, without a link on the way.
pub fn is_real_directory(root: &Path, path: &str) -> bool {
    let parts = path.split('/').scan(root.to_owned(), |directory, part| {
        directory.push(part);
        Some(directory.clone())
    });
    let is_real = |directory: PathBuf| directory.symlink_metadata().map_or(true, |found| found.is_dir());
    parts.into_iter().all(is_real)
}
