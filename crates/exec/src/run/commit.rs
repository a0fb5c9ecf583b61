//! The arguments of `git commit`, which a person sees whole before it runs on the host.

use std::fmt;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

/// The longest message, in bytes.
const MAX_MESSAGE: usize = 8 * 1024;
/// The most paths of one call, and the most staged files that a person is shown.
const MAX_PATHS: usize = 100;
/// The longest path, in bytes.
const MAX_PATH_BYTES: usize = 1024;
/// The hooks that `git commit` runs.
const HOOKS: &[&str] = &[
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-index-change",
    "reference-transaction",
];

/// A commit as the model asks for it, with the state of the index and the hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Commit {
    pub(super) message: String,
    /// The paths to commit, relative to the top of the checkout; none for the index as it is.
    paths: Vec<String>,
    /// The staged files: what `git diff --cached --raw -z` prints.
    staged: String,
    /// The directory of hooks, and those in it that run.
    hooks: (PathBuf, Vec<&'static str>),
}

impl Commit {
    /// Returns the commit of `arguments`: `message`, and `paths` in `directory`, itself relative to the top.
    pub(super) fn of(arguments: &Map<String, Value>, directory: &Path) -> Result<Self, String> {
        let message = arguments.get("message").and_then(Value::as_str).unwrap_or_default();
        if message.trim().is_empty() || message.contains('\0') {
            return Err("`message` has to be the message of the commit".to_owned());
        }
        if message.len() > MAX_MESSAGE {
            return Err(format!("the message is longer than {MAX_MESSAGE} bytes"));
        }
        let paths = match arguments.get("paths") {
            None | Some(Value::Null) => Some(Vec::new()),
            // Without any path the whole index would be committed.
            Some(Value::Array(paths)) if (1..=MAX_PATHS).contains(&paths.len()) => {
                paths.iter().map(|path| path_below(directory, path.as_str()?)).collect()
            }
            Some(_) => None,
        };
        let paths = paths.ok_or_else(|| {
            format!("`paths` has to be a list of 1 to {MAX_PATHS} paths of at most {MAX_PATH_BYTES} bytes")
        })?;
        Ok(Self { message: message.to_owned(), paths, staged: String::new(), hooks: Default::default() })
    }

    /// Returns this commit with the state of the repository at `top`, unless it must not be made.
    pub(super) fn resolved(
        &self,
        ask: impl Fn(&[&str]) -> Result<Option<String>, String>,
        top: &Path,
    ) -> Result<Self, String> {
        if ask(&["ls-files", "--unmerged"])?.is_some() {
            return Err("files are unmerged; the user has to resolve the conflicts".to_owned());
        }
        let staged = ["diff", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", "--no-ext-diff"];
        let staged = ask(&staged)?.unwrap_or_default();
        if staged.is_empty() && self.paths.is_empty() {
            return Err("nothing is staged; give `paths`".to_owned());
        }
        let directory = top.join(ask(&["rev-parse", "--git-path", "hooks"])?.unwrap_or_default());
        let runs = |name: &&&str| {
            let metadata = directory.join(name).metadata();
            metadata.is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
        };
        let hooks = HOOKS.iter().filter(runs).copied().collect();
        Ok(Self { staged, hooks: (directory, hooks), ..self.clone() })
    }

    /// Returns the command that stages the paths, new files among them, if there are any.
    pub(super) fn staging(&self) -> Option<Vec<String>> {
        (!self.paths.is_empty()).then(|| self.with_paths(&["add", "--all"]))
    }

    pub(super) fn arguments(&self) -> Vec<String> {
        self.with_paths(&["commit", "--file=-"])
    }

    /// Returns `words` with the paths. Each is a literal one, however it begins, and hooks are not told of
    /// that, as they would be by `--literal-pathspecs`.
    fn with_paths(&self, words: &[&str]) -> Vec<String> {
        let paths = self.paths.iter().map(|path| format!(":(literal){path}"));
        words.iter().copied().chain(["--"]).map(str::to_owned).chain(paths).collect()
    }

    /// Returns the paths that a person is shown: the paths of the call, or all staged ones.
    fn shown_paths(&self) -> Vec<&str> {
        if self.paths.is_empty() {
            // Fields and paths take turns.
            return self.staged.split('\0').skip(1).step_by(2).collect();
        }
        self.paths.iter().map(String::as_str).collect()
    }
}

/// Returns `path`, which is relative to `directory`, unless it cannot name a file or is too long.
fn path_below(directory: &Path, path: &str) -> Option<String> {
    if path.is_empty() || path.contains('\0') || path.len() > MAX_PATH_BYTES {
        return None;
    }
    directory.join(path).to_str().map(str::to_owned)
}

/// The message, each line indented so that none can pass for what follows it, the paths, and the hooks.
impl fmt::Display for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "message:")?;
        self.message.trim_end().split('\n').try_for_each(|line| writeln!(f, "    {line}"))?;
        writeln!(f, "{}:", if self.paths.is_empty() { "staged files" } else { "paths" })?;
        let paths = self.shown_paths();
        for path in paths.iter().take(MAX_PATHS) {
            // A line end in a path would look like another path.
            if path.chars().any(char::is_control) {
                writeln!(f, "    {path:?}")?;
            } else {
                writeln!(f, "    {path}")?;
            }
        }
        if paths.len() > MAX_PATHS {
            writeln!(f, "    and {} more", paths.len() - MAX_PATHS)?;
        }
        let (directory, hooks) = &self.hooks;
        let hooks = if hooks.is_empty() { "none".to_owned() } else { hooks.join(", ") };
        write!(f, "hooks in {}, which run outside of the sandbox too: {hooks}", directory.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn commit(arguments: Value) -> Result<Commit, String> {
        Commit::of(arguments.as_object().unwrap(), Path::new("src"))
    }

    #[test]
    fn paths_are_literal_and_relative_to_the_working_directory() {
        let commit =
            commit(json!({"message": "feat: x", "paths": ["-a", ":(glob)**", "../b", "/etc/passwd"]}))
                .unwrap();
        let paths = [
            "--",
            ":(literal)src/-a",
            ":(literal)src/:(glob)**",
            ":(literal)src/../b",
            ":(literal)/etc/passwd",
        ];
        assert_eq!(commit.arguments(), [&["commit", "--file=-"], &paths[..]].concat());
        assert_eq!(commit.staging().unwrap(), [&["add", "--all"], &paths[..]].concat());
    }

    #[test]
    fn messages_and_paths_are_bounded() {
        for arguments in [
            json!({}),
            json!({"message": " \n"}),
            json!({"message": "a\u{0}b"}),
            json!({"message": "x".repeat(MAX_MESSAGE + 1)}),
            json!({"message": "x", "paths": []}),
            json!({"message": "x", "paths": "a"}),
            json!({"message": "x", "paths": [""]}),
            json!({"message": "x", "paths": ["a\u{0}"]}),
            json!({"message": "x", "paths": ["x".repeat(MAX_PATH_BYTES + 1)]}),
            json!({"message": "x", "paths": vec!["a"; MAX_PATHS + 1]}),
        ] {
            commit(arguments.clone()).unwrap_err();
        }
        assert_eq!(commit(json!({"message": "x"})).unwrap().staging(), None);
    }

    #[test]
    fn no_line_of_a_message_or_path_passes_for_another_part() {
        let mut commit =
            commit(json!({"message": "feat: x\n\npaths:\nhooks: none\n", "paths": ["a\nb", "c"]})).unwrap();
        commit.hooks = ("/top/.git/hooks".into(), vec!["pre-commit", "commit-msg"]);
        let expect = "message:\n    feat: x\n    \n    paths:\n    hooks: none\npaths:\n    \"src/a\\nb\"\n    src/c\n\
            hooks in /top/.git/hooks, which run outside of the sandbox too: pre-commit, commit-msg";
        assert_eq!(commit.to_string(), expect);
        commit.paths.clear();
        commit.staged = (0..102).map(|number| format!(":100644 100644 aa bb M\0{number}\0")).collect();
        let shown = commit.to_string();
        assert!(
            shown.contains("staged files:\n    0\n") && shown.contains("    99\n    and 2 more\n"),
            "{shown}"
        );
    }
}
