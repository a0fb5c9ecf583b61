//! A job: a command with its grants and limits.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use repertoire_model::toolbox::RepositoryUse;

use crate::Limits;

/// One command of a skill.
///
/// ```
/// use repertoire_exec::Job;
///
/// let job = Job::new(["python3", "scripts/report.py"], "/srv/skills/report");
/// assert!(!job.grants.network);
/// ```
#[derive(Debug, Clone)]
pub struct Job {
    /// The program and its arguments. A program without a slash is looked for in `PATH`; a relative one with a slash is taken from the skill's directory.
    pub command: Vec<OsString>,
    /// The skill's directory, absolute. It can be read and never written.
    pub skill: PathBuf,
    /// Standard input; empty unless given.
    pub input: Option<Vec<u8>>,
    /// All variables it gets beside `HOME`, `TMPDIR` and their kin, which lie in the scratch directory. Nothing is inherited; [`environment::allowed`] picks from the
    /// host's what is harmless. `PATH` is where the program is looked for; what cannot be seen from inside is left out of it.
    ///
    /// [`environment::allowed`]: crate::environment::allowed
    pub environment: Vec<(String, String)>,
    /// Its grants beyond the policy.
    pub grants: Grants,
    /// Its limits.
    pub limits: Limits,
    /// Paths that no grant makes writable beyond [`protected`](crate::protect::names), absolute: the host's own settings and state, and where its skills are.
    pub protected: Vec<PathBuf>,
    /// The user's settings of git, which may name files and directories that a grant has in it.
    pub git: GitUser,
    /// Directories that commands of skills may write, absolute: no program is looked for there, whatever `PATH` says, or one command would decide what the next one runs. What is
    /// granted here counts anyway.
    pub workplaces: Vec<PathBuf>,
    /// Lets another thread end it.
    pub cancel: Option<Cancel>,
    /// The parent of the scratch directory, absolute; the system's temporary directory unless given.
    pub scratch: Option<PathBuf>,
}

impl Job {
    /// Returns a job without input, variables and grants, within the usual limits.
    pub fn new<S: Into<OsString>>(command: impl IntoIterator<Item = S>, skill: impl Into<PathBuf>) -> Self {
        Self {
            command: command.into_iter().map(Into::into).collect(),
            skill: skill.into(),
            input: None,
            environment: Vec::new(),
            grants: Grants::default(),
            limits: Limits::default(),
            protected: Vec::new(),
            git: GitUser::default(),
            workplaces: Vec::new(),
            cancel: None,
            scratch: None,
        }
    }
}

/// Grants of a job beyond the policy; none by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    /// Access to the network: TCP and UDP, not the sockets of this machine's own programs.
    pub network: bool,
    /// A directory it may read and is run in, absolute: the project. Without it the command runs in its scratch directory.
    pub directory: Option<PathBuf>,
    /// Paths that it may write within that directory, absolute. Files that configure or instruct agents, shells and git stay as they are all the same.
    pub write: Vec<PathBuf>,
    /// The git repository it may use, whose checkout the directory lies in.
    pub repository: Option<RepositoryGrant>,
}

/// A git repository that a job may use: its checkout, and what git keeps of it wherever that is, as for a linked worktree.
///
/// With [`RepositoryUse::Write`] commits can be made, in a repository of the command's own to which the variables `GIT_DIR` and `GIT_WORK_TREE` lead; what is let through of that is carried over
/// afterwards. What git, agents and shells obey stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryGrant {
    /// The top of the checkout, absolute.
    pub top: PathBuf,
    /// The kind of use.
    pub how: RepositoryUse,
}

/// The user's settings of git, for all repositories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitUser {
    /// The home directory, absolute, which `~` stands for. As a whole it is nothing to write to; unless given, that is so for what looks like one.
    pub home: Option<PathBuf>,
    /// The files of settings, absolute; the system's unless given.
    pub settings: Vec<PathBuf>,
    /// Settings that are in no file (`GIT_CONFIG_COUNT`): their names, as `core.hooksPath`, and values.
    pub given: Vec<(String, String)>,
}

impl Default for GitUser {
    fn default() -> Self {
        let settings = SYSTEM_SETTINGS.iter().map(PathBuf::from).collect();
        Self { home: None, settings, given: Vec::new() }
    }
}

/// Files of settings of git for all users.
const SYSTEM_SETTINGS: &[&str] =
    &["/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig"];

/// The most settings that are taken from variables.
const MAX_GIVEN: usize = 1000;

impl GitUser {
    /// Returns what these variables of the host say, by git's own rules.
    ///
    /// ```
    /// use repertoire_exec::GitUser;
    ///
    /// let user = GitUser::of(&[("HOME".to_owned(), "/home/ada".to_owned())]);
    /// assert!(user.settings.contains(&"/home/ada/.gitconfig".into()));
    /// ```
    pub fn of(variables: &[(String, String)]) -> Self {
        let text = |name: &str| {
            variables.iter().rev().find_map(|(own, value)| (own == name).then_some(value.as_str()))
        };
        let path = |name: &str| text(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = path("HOME");
        let config = path("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
        let usual = [
            config.map(|config| config.join("git/config")),
            home.as_ref().map(|home| home.join(".gitconfig")),
        ];
        let own: Vec<PathBuf> = match path("GIT_CONFIG_GLOBAL") {
            Some(own) => vec![own],
            None => usual.into_iter().flatten().collect(),
        };
        let system =
            path("GIT_CONFIG_SYSTEM").map_or_else(|| Self::default().settings, |system| vec![system]);
        let count = text("GIT_CONFIG_COUNT").and_then(|count| count.trim().parse().ok()).unwrap_or(0usize);
        let given = (0..count.min(MAX_GIVEN)).filter_map(|number| {
            let name = text(&format!("GIT_CONFIG_KEY_{number}"))?;
            Some((name.to_owned(), text(&format!("GIT_CONFIG_VALUE_{number}"))?.to_owned()))
        });
        Self { home, settings: system.into_iter().chain(own).collect(), given: given.collect() }
    }
}

/// A flag by which a thread ends what another one runs.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Returns a flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the flag for good.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Returns whether it is set.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_in_variables_are_taken_as_far_as_they_are_counted() {
        let variables = [
            ("GIT_CONFIG_COUNT", "3"),
            ("GIT_CONFIG_KEY_0", "core.hooksPath"),
            ("GIT_CONFIG_VALUE_0", "hooks"),
            ("GIT_CONFIG_KEY_1", "a.b"),
            ("GIT_CONFIG_KEY_2", "include.path"),
            ("GIT_CONFIG_VALUE_2", "/x"),
            ("GIT_CONFIG_KEY_3", "core.attributesFile"),
            ("GIT_CONFIG_VALUE_3", "y"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let expect = [("core.hooksPath", "hooks"), ("include.path", "/x")];
        let expect = expect.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(GitUser::of(&variables).given, expect);
        assert!(GitUser::of(&variables[1..]).given.is_empty());
    }
}
