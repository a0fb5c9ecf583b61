//! Fetches a commit with the user's own git: credentials, SSH and proxies are those of the user.
//!
//! Nothing is checked out: hooks, filters and submodules play no part, and the files have the bytes that the
//! repository has. Only the files of skills are fetched, where the server can leave the others out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use crate::marketplace::MARKETPLACE_FILE;
use crate::source::{GitSource, is_loopback};
use crate::tree::{LIMITS, TreeWriter};
use crate::{Error, ErrorKind};

/// Settings that override those of the user: no other program runs, and nothing but the repository is read.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "safe.bareRepository=explicit",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    // A server that sends nothing for a minute.
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=60",
];

/// The protocols that git may use; no setting of the user adds others, such as `ext`, which runs programs.
const PROTOCOLS: &str = "https:ssh:file";

/// The protocols that git may use to this machine.
const LOOPBACK_PROTOCOLS: &str = "https:ssh:file:http:git";

/// Variables that would lead git to another repository.
const REMOVED_VARIABLES: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_CONFIG_PARAMETERS",
    "GIT_TEMPLATE_DIR",
];

/// The most bytes of the list of files of a commit.
const MAX_LISTING: u64 = 64 * 1024 * 1024;
/// The largest file that is read.
const MAX_FILE: u64 = 16 * 1024 * 1024;
/// The most bytes of an error message of git.
pub(crate) const MAX_MESSAGE: u64 = 16 * 1024;
/// The most directories that are named to git one by one.
const MAX_NAMED_DIRECTORIES: usize = 200;

/// The way in which git may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitPrompt {
    /// git may ask for a name and a password on the terminal.
    Allowed,
    /// git fails instead of asking.
    Never,
}

/// A commit whose files were written to a directory.
#[derive(Debug)]
pub(crate) struct GitTree {
    pub(crate) commit: String,
    /// The branch, tag or commit that was asked for, once it is known from the repository.
    pub(crate) reference: Option<String>,
    /// The directory in the repository that was asked for.
    pub(crate) path: Option<String>,
    /// The files that were left out, with the reason.
    pub(crate) left_out: Vec<String>,
}

/// A file of a commit.
#[derive(Debug)]
struct GitFile {
    path: String,
    object: String,
    is_executable: bool,
}

/// Fetches the newest commit of `source`, and writes the files of its skills to `directory`, which has room
/// for a repository in `scratch`.
pub(crate) fn fetch(
    source: &GitSource,
    scratch: &Path,
    directory: &Path,
    prompt: GitPrompt,
) -> Result<GitTree, Error> {
    let git = Git { directory: scratch.join("repository"), url: source.url.clone(), prompt };
    let (reference, path) = match &source.tree {
        Some(tree) => git.split(tree)?,
        None => (source.reference.clone(), source.path.clone()),
    };
    let first = git.tree(reference.as_deref(), path.as_deref(), directory, Filter::Blobs);
    let (commit, left_out) = match first {
        // A server may take the filter, and then refuse to send single files.
        Err(error) if error.kind() == ErrorKind::Git && git.has_commit() => {
            let _ = fs::remove_dir_all(directory);
            git.tree(reference.as_deref(), path.as_deref(), directory, Filter::None)?
        }
        outcome => outcome?,
    };
    Ok(GitTree { commit, reference, path, left_out })
}

/// Returns the commit that `reference` of the repository names now, without fetching it.
pub(crate) fn newest_commit(
    url: &str,
    reference: Option<&str>,
    scratch: &Path,
    prompt: GitPrompt,
) -> Result<Option<String>, Error> {
    let git = Git { directory: scratch.to_owned(), url: url.to_owned(), prompt };
    let name = reference.unwrap_or("HEAD");
    let listing = git.list_remote()?;
    let find = |wanted: &str| listing.get(wanted).cloned();
    // A tag with a message names the commit behind it.
    let names = [
        name.to_owned(),
        format!("refs/tags/{name}^{{}}"),
        format!("refs/tags/{name}"),
        format!("refs/heads/{name}"),
    ];
    Ok(names.iter().find_map(|name| find(name)))
}

/// The objects that a fetch leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Filter {
    /// The contents of files, which are fetched when they are read.
    Blobs,
    /// Nothing.
    None,
}

/// Returns the files of the repository around `directory` that differ from the commit `base`, or from the
/// commit at which its branch left the present one, with the files that git does not follow and does not
/// ignore.
pub fn changed_files(directory: &Path, base: &str) -> Result<Vec<PathBuf>, Error> {
    let git = |directory: &Path, arguments: &[&str]| {
        let url = directory.display().to_string();
        let repository = Git { directory: directory.to_owned(), url, prompt: GitPrompt::Never };
        let mut command = repository.command(arguments);
        command.current_dir(directory).env("GIT_OPTIONAL_LOCKS", "0");
        let output = repository.run(command, MAX_LISTING).map_err(|error| {
            let hint = "name a commit that is here; a shallow clone may lack it (fetch-depth: 0)";
            let message = format!("git cannot tell what changed since {base}");
            Error::new(ErrorKind::Git, message).because(error).hint(hint)
        })?;
        Ok::<_, Error>(String::from_utf8_lossy(&output).into_owned())
    };
    let root = git(directory, &["rev-parse", "--show-toplevel"])?;
    let root = PathBuf::from(root.trim_end_matches(['\n', '\r']));
    let differing = "diff --name-only -z --no-renames --no-ext-diff --merge-base --end-of-options";
    let differing: Vec<&str> = differing.split(' ').chain([base, "--"]).collect();
    let unknown = ["ls-files", "--others", "--exclude-standard", "-z"];
    let lists = [git(&root, &differing)?, git(&root, &unknown)?];
    Ok(lists.iter().flat_map(|list| list.split_terminator('\0')).map(|file| root.join(file)).collect())
}

/// git in one repository.
#[derive(Debug)]
struct Git {
    directory: PathBuf,
    url: String,
    prompt: GitPrompt,
}

/// A command of git with the settings of the user alone.
pub(crate) struct UserGit(Command);

impl UserGit {
    /// Returns the command `arguments` for the repository at `url`.
    pub(crate) fn new(url: &str, prompt: GitPrompt, arguments: &[&str]) -> Self {
        let mut command = git_command(url, prompt);
        command.args(["-c", "submodule.recurse=false"]).args(arguments);
        Self(command)
    }

    /// Returns the command in the work tree `root`.
    pub(crate) fn inside(mut self, root: &Path) -> Self {
        self.0.current_dir(root).env("GIT_DIR", root.join(".git")).env("GIT_WORK_TREE", root);
        self
    }

    /// Runs the command, which prints at most `most` bytes; `None` if it prints more.
    pub(crate) fn run(self, most: u64) -> Result<Option<GitOutput>, Error> {
        run_git(self.0, most)
    }
}

/// Returns git for the repository at `url`.
fn git_command(url: &str, prompt: GitPrompt) -> Command {
    #[allow(clippy::disallowed_methods, reason = "this is the place of the crate that starts git")]
    let mut command = Command::new("git");
    for variable in REMOVED_VARIABLES {
        command.env_remove(variable);
    }
    let protocols = if is_loopback(url) { LOOPBACK_PROTOCOLS } else { PROTOCOLS };
    command.env("GIT_ALLOW_PROTOCOL", protocols);
    if prompt == GitPrompt::Never {
        command.env("GIT_TERMINAL_PROMPT", "0");
    }
    // A repository around the working directory would bring its own settings along.
    command.current_dir("/").env("GIT_CEILING_DIRECTORIES", "/");
    command.env("LC_ALL", "C").env("GIT_LITERAL_PATHSPECS", "1");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The end of a command of git.
pub(crate) struct GitOutput {
    /// The bytes that it printed.
    pub(crate) output: Vec<u8>,
    pub(crate) message: String,
    pub(crate) is_success: bool,
}

/// Runs `command`, which prints at most `most` bytes; `None` if it prints more.
fn run_git(mut command: Command, most: u64) -> Result<Option<GitOutput>, Error> {
    let mut child = command.spawn().map_err(not_started)?;
    let errors = message_of(&mut child);
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(most + 1).read_to_end(&mut output).map_err(not_read)?;
    }
    if output.len() as u64 > most {
        let _ = child.kill();
        let _ = child.wait();
        return Ok(None);
    }
    let is_success = child.wait().map_err(not_read)?.success();
    let message = errors.join().unwrap_or_default();
    Ok(Some(GitOutput { output, message, is_success }))
}

impl Git {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = git_command(&self.url, self.prompt);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.args(arguments);
        command
    }

    /// Returns the command in the repository.
    fn inside(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(arguments);
        command.current_dir(&self.directory).env("GIT_DIR", &self.directory);
        command
    }

    /// Runs `command` and returns what it prints, at most `most` bytes.
    fn run(&self, command: Command, most: u64) -> Result<Vec<u8>, Error> {
        let Some(run) = run_git(command, most)? else {
            let message = format!("git lists more than {} MiB of names in {}", most >> 20, self.url);
            return Err(Error::new(ErrorKind::Refused, message));
        };
        if run.is_success { Ok(run.output) } else { Err(self.failure(&run.message)) }
    }

    /// Returns the error of a command that failed with this message.
    fn failure(&self, message: &str) -> Error {
        let url = &self.url;
        let lower = message.to_lowercase();
        let says = |texts: &[&str]| texts.iter().any(|text| lower.contains(text));
        let cause = telling_line(message);
        if says(&["couldn't find remote ref", "not our ref", "unadvertised object"]) {
            let words = message.split(|c: char| !c.is_ascii_hexdigit());
            let is_full = words.map(str::len).any(|length| length >= 40);
            let error = Error::new(ErrorKind::NotFound, format!("{url} has no such branch, tag or commit"))
                .because(cause);
            return if is_full { error } else { error.hint("a commit has to be written in full") };
        }
        if says(&[
            "repository not found",
            "does not exist",
            "does not appear to be a git repository",
            "not found",
        ]) {
            return Error::new(ErrorKind::NotFound, format!("there is no repository at {url}"))
                .because(cause)
                .hint("if it is private, check that `git ls-remote` can read it");
        }
        if says(&[
            "could not read username",
            "authentication failed",
            "permission denied",
            "terminal prompts disabled",
        ]) {
            return Error::new(
                ErrorKind::NotFound,
                format!("{url} does not exist, or git has no right to read it"),
            )
            .because(cause)
            .hint("check that `git ls-remote` can read it");
        }
        Error::new(ErrorKind::Git, format!("git could not fetch {url}")).because(cause)
    }

    /// Returns the names of the repository with what they stand for.
    fn list_remote(&self) -> Result<BTreeMap<String, String>, Error> {
        let output = self.run(self.command(&["ls-remote", "--", &self.url]), MAX_LISTING)?;
        let text = String::from_utf8_lossy(&output);
        let line = |line: &str| line.split_once('\t').map(|(id, name)| (name.to_owned(), id.to_owned()));
        Ok(text.lines().filter_map(line).collect())
    }

    /// Divides `tree` into a branch or tag, which may contain slashes, and a directory.
    fn split(&self, tree: &str) -> Result<(Option<String>, Option<String>), Error> {
        let names = self.list_remote()?;
        let ends = tree.match_indices('/').map(|(end, _)| end).chain([tree.len()]);
        let is_name = |end: &usize| {
            let name = &tree[..*end];
            names.contains_key(&format!("refs/heads/{name}"))
                || names.contains_key(&format!("refs/tags/{name}"))
        };
        // The longest name wins. Anything else may be a commit.
        let end = ends.filter(is_name).max();
        let end = end.unwrap_or_else(|| tree.find('/').unwrap_or(tree.len()));
        let path = tree[end..].trim_start_matches('/');
        Ok((Some(tree[..end].to_owned()), Some(path.to_owned()).filter(|path| !path.is_empty())))
    }

    fn has_commit(&self) -> bool {
        self.directory.join("FETCH_HEAD").is_file()
    }

    /// Fetches `reference`, and writes the files of skills below `path` to `directory`.
    fn tree(
        &self,
        reference: Option<&str>,
        path: Option<&str>,
        directory: &Path,
        filter: Filter,
    ) -> Result<(String, Vec<String>), Error> {
        if let Some(reference) = reference.filter(|reference| !is_reference(reference)) {
            let message = format!("`{reference}` is not a name of a branch, a tag or a commit");
            return Err(Error::new(ErrorKind::InvalidSource, message));
        }
        let _ = fs::remove_dir_all(&self.directory);
        let repository = self.directory.to_string_lossy().into_owned();
        self.run(
            self.command(&["init", "--quiet", "--bare", "--template=", "--", &repository]),
            MAX_MESSAGE,
        )?;
        self.run(self.inside(&["config", "remote.origin.url", &self.url]), MAX_MESSAGE)?;
        let mut fetch = vec!["fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules"];
        if filter == Filter::Blobs {
            fetch.push("--filter=blob:none");
        }
        fetch.extend(["--end-of-options", "origin", reference.unwrap_or("HEAD")]);
        self.run(self.inside(&fetch), MAX_MESSAGE)?;
        let commit = self.run(self.inside(&["rev-parse", "--verify", "FETCH_HEAD^{commit}"]), MAX_MESSAGE)?;
        let commit = String::from_utf8_lossy(&commit).trim().to_owned();
        let (files, mut left_out) = self.files(&commit, path)?;
        if let (Some(path), true) = (path, files.is_empty() && left_out.is_empty()) {
            return Err(Error::new(ErrorKind::NotFound, format!("{} has no skills below {path}", self.url)));
        }
        if filter == Filter::Blobs {
            self.prefetch(&commit, &files);
        }
        let mut tree = TreeWriter::create(directory, LIMITS)?;
        left_out.extend(self.write(&files, &mut tree)?);
        Ok((commit, left_out))
    }

    /// Returns the files of the skills of `commit`, and the links and submodules in them that are left out.
    fn files(&self, commit: &str, path: Option<&str>) -> Result<(Vec<GitFile>, Vec<String>), Error> {
        let mut arguments = vec!["ls-tree", "-r", "-z", "--full-tree", commit];
        arguments.extend(path.into_iter().flat_map(|path| ["--", path]));
        let output = self.run(self.inside(&arguments), MAX_LISTING)?;
        let text = String::from_utf8_lossy(&output);
        let mut rows = Vec::new();
        let mut skills = BTreeSet::new();
        for row in text.split_terminator('\0') {
            let Some((meta, path)) = row.split_once('\t') else { continue };
            let mut words = meta.split(' ');
            let (Some(mode), Some(_), Some(object)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
            if name.eq_ignore_ascii_case("SKILL.md") {
                skills.insert(parent.to_owned());
            }
            rows.push((mode, object, path));
        }
        let is_of_skill = |path: &str| {
            if path == MARKETPLACE_FILE {
                return true;
            }
            let ends = path.match_indices('/').map(|(end, _)| &path[..end]);
            skills.contains("") || ends.into_iter().any(|directory| skills.contains(directory))
        };
        let (mut files, mut left_out) = (Vec::new(), Vec::new());
        for (mode, object, path) in rows.into_iter().filter(|(_, _, path)| is_of_skill(path)) {
            match mode {
                "100644" | "100755" => files.push(GitFile {
                    path: path.to_owned(),
                    object: object.to_owned(),
                    is_executable: mode == "100755",
                }),
                "120000" => left_out.push(format!("`{path}` is a symbolic link")),
                _ => left_out.push(format!("`{path}` is a submodule")),
            }
        }
        Ok((files, left_out))
    }

    /// Fetches the contents of `files` in one request. Files missing afterwards are fetched one by one.
    fn prefetch(&self, commit: &str, files: &[GitFile]) {
        let empty = self.run(self.inside(&["hash-object", "-t", "tree", "--stdin"]), MAX_MESSAGE);
        let Ok(empty) = empty else { return };
        let empty = String::from_utf8_lossy(&empty).trim().to_owned();
        let directory =
            |file: &GitFile| file.path.rsplit_once('/').map(|(directory, _)| directory.to_owned());
        let directories: Option<BTreeSet<String>> = files.iter().map(directory).collect();
        // Comparing contents makes git fetch all of them at once.
        let mut arguments = vec!["diff", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv"];
        arguments.extend([empty.as_str(), commit, "--"]);
        let directories = directories.unwrap_or_default();
        if directories.len() <= MAX_NAMED_DIRECTORIES {
            arguments.extend(directories.iter().map(String::as_str));
        }
        let mut command = self.inside(&arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let _ = command.status();
    }

    /// Writes `files` to `tree`, and returns the ones that are left out.
    fn write(&self, files: &[GitFile], tree: &mut TreeWriter) -> Result<Vec<String>, Error> {
        let mut command = self.inside(&["cat-file", "--batch", "--buffer"]);
        let mut child = command.stdin(Stdio::piped()).spawn().map_err(not_started)?;
        let errors = message_of(&mut child);
        let requests: String = files.iter().flat_map(|file| [file.object.as_str(), "\n"]).collect();
        let stdin = child.stdin.take();
        let writer = thread::spawn(move || {
            if let Some(mut stdin) = stdin {
                // git says why it ended.
                let _ = stdin.write_all(requests.as_bytes());
            }
        });
        let outcome = match child.stdout.take() {
            Some(stdout) => self.read_batch(files, BufReader::new(stdout), tree),
            None => Ok(Vec::new()),
        };
        if outcome.is_err() {
            let _ = child.kill();
        }
        let status = child.wait().map_err(not_read)?;
        let _ = writer.join();
        let message = errors.join().unwrap_or_default();
        match outcome {
            Err(error) if error.kind() == ErrorKind::Git && !message.is_empty() => {
                Err(Error::new(ErrorKind::Git, error.to_string()).because(telling_line(&message)))
            }
            Ok(_) if !status.success() => Err(self.failure(&message)),
            outcome => outcome,
        }
    }

    fn read_batch(
        &self,
        files: &[GitFile],
        mut output: impl io::BufRead,
        tree: &mut TreeWriter,
    ) -> Result<Vec<String>, Error> {
        let mut left_out = Vec::new();
        for file in files {
            let mut header = String::new();
            output.by_ref().take(MAX_MESSAGE).read_line(&mut header).map_err(not_read)?;
            let size = header.trim_end().rsplit(' ').next().and_then(|size| size.parse::<u64>().ok());
            let Some(size) = size.filter(|_| header.contains(" blob ")) else {
                let message = format!("git could not read {} of {}", file.path, self.url);
                return Err(Error::new(ErrorKind::Git, message));
            };
            if size > MAX_FILE || size > tree.room() {
                let message = format!("{} of {} is too large ({} MiB)", file.path, self.url, size >> 20);
                return Err(Error::new(ErrorKind::Refused, message));
            }
            let mut bytes = Vec::new();
            output.by_ref().take(size).read_to_end(&mut bytes).map_err(not_read)?;
            let mut end = [0];
            output.read_exact(&mut end).map_err(not_read)?;
            match tree.add(&file.path, file.is_executable, &bytes) {
                Ok(()) => {}
                Err(fault) if fault.is_about_one_path() => left_out.push(fault.to_string()),
                Err(fault) => {
                    let hint = format!("add a directory of it: {}//PATH", self.url);
                    return Err(Error::from(fault).hint(hint));
                }
            }
        }
        Ok(left_out)
    }
}

/// Reads the error messages of `child` in a thread.
fn message_of(child: &mut Child) -> thread::JoinHandle<String> {
    let stderr = child.stderr.take();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stderr) = stderr {
            let _ = stderr.by_ref().take(MAX_MESSAGE).read_to_end(&mut bytes);
            let _ = io::copy(&mut stderr, &mut io::sink());
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Returns the line of a message that says most: the first that is fatal or an error, or else the last.
pub(crate) fn telling_line(message: &str) -> String {
    let has_label =
        |line: &&str| ["fatal:", "error:", "ERROR:", "remote:"].iter().any(|word| line.starts_with(word));
    let line = message.lines().find(has_label);
    let line = line.or_else(|| message.lines().rev().find(|line| !line.trim().is_empty()));
    line.unwrap_or("git gives no reason").chars().filter(|c| !c.is_control()).take(300).collect()
}

fn not_started(error: io::Error) -> Error {
    let is_missing = error.kind() == io::ErrorKind::NotFound;
    let error = Error::new(ErrorKind::Git, "git cannot be started").because(error);
    if is_missing {
        error.hint("install git, or fetch the repository yourself and add its directory")
    } else {
        error
    }
}

fn not_read(error: io::Error) -> Error {
    Error::new(ErrorKind::Git, "cannot read what git prints").because(error)
}

/// Returns `true` if `text` can be the name of a branch or a tag, or a commit. Git would take others for
/// options or for several references.
pub(crate) fn is_reference(text: &str) -> bool {
    let is_allowed = |letter: char| !letter.is_control() && !" ~^:?*[\\".contains(letter);
    !text.is_empty() && !text.starts_with(['-', '+']) && !text.contains("..") && text.chars().all(is_allowed)
}

#[cfg(test)]
pub(crate) mod tests;
