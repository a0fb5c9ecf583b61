//! A job: a command with its grants and limits.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::JobLimits;

/// One command of a skill.
///
/// ```
/// use repertoire_exec::Job;
///
/// let job = Job::new(["python3", "scripts/report.py"], "/srv/skills/report");
/// assert!(!job.grants.network);
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Job {
    /// The program and its arguments. A program without a slash is searched in `PATH`; a relative path with a
    /// slash is relative to the skill's directory.
    pub command: Vec<OsString>,
    /// The skill's directory, absolute. It can be read and never written.
    pub skill: PathBuf,
    /// Standard input; empty unless given.
    pub input: Option<Vec<u8>>,
    /// The environment variables, beside `HOME`, `TMPDIR` and others that point into the scratch directory.
    /// None is inherited; [`environment::allowed`] selects harmless ones of the host. The program is searched
    /// in `PATH`; the command gets it without directories that are invisible in the sandbox.
    ///
    /// [`environment::allowed`]: crate::environment::allowed
    pub environment: Vec<(String, String)>,
    /// The grants beyond the policy.
    pub grants: Grants,
    /// The resource limits.
    pub limits: JobLimits,
    /// Further paths that no grant makes writable, beside the [protected names](crate::protect::names),
    /// absolute: the host's settings and state, and the directories of its skills.
    pub protected: Vec<PathBuf>,
    /// The user's git settings. Files and directories that they name are protected in a granted directory.
    pub git: GitUser,
    /// Directories that commands of skills may write, absolute, beside those granted to this job. No program
    /// is searched there even if in `PATH`: else one command could decide which program the next one runs.
    pub workplaces: Vec<PathBuf>,
    /// A flag that cancels the job from another thread.
    pub cancel: Option<Cancel>,
    /// The parent of the scratch directory, absolute; the system's temporary directory unless given.
    pub scratch: Option<PathBuf>,
    /// The state directory of the program, absolute. The job is recorded there while it runs, so that
    /// [`finish_interrupted_runs`](crate::finish_interrupted_runs) can clean up after a crash.
    pub state: Option<PathBuf>,
}

impl Job {
    /// Returns a job without input, variables and grants, with the default limits.
    pub fn new<S: Into<OsString>>(command: impl IntoIterator<Item = S>, skill: impl Into<PathBuf>) -> Self {
        let command = command.into_iter().map(Into::into).collect();
        Self { command, skill: skill.into(), ..Self::default() }
    }
}

/// Grants of a job beyond the policy; none by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grants {
    /// Access to the network by TCP and UDP. Unix sockets are not included.
    pub network: bool,
    /// The working directory of the command, which it may read, absolute: the project. Without it the command
    /// runs in its scratch directory.
    pub directory: Option<PathBuf>,
    /// Paths in that directory that the command may write, absolute. Files that configure or instruct agents,
    /// shells and git stay protected.
    pub write: Vec<PathBuf>,
    /// The top of the checkout that the command may read with its git directory, which may lie elsewhere, as
    /// for a linked worktree; absolute. The working directory lies in it.
    pub repository: Option<PathBuf>,
}

/// The user's git settings for all repositories.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GitUser {
    /// The home directory, absolute, which `~` stands for. No grant makes a whole home directory writable;
    /// without this one, any directory that looks like a home directory counts as one.
    pub home: Option<PathBuf>,
    /// The settings files, absolute; by default those of the system.
    pub settings: Vec<PathBuf>,
    /// Settings from variables (`GIT_CONFIG_COUNT`): names such as `core.hooksPath`, and values.
    pub given: Vec<(String, String)>,
}

impl Default for GitUser {
    fn default() -> Self {
        let settings = SYSTEM_SETTINGS.iter().map(PathBuf::from).collect();
        Self { home: None, settings, given: Vec::new() }
    }
}

/// The settings files of git for all users.
const SYSTEM_SETTINGS: &[&str] =
    &["/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig"];

/// The most settings that are read from variables.
const MAX_GIVEN: usize = 1000;

impl GitUser {
    /// Returns the git settings that these variables of the host select, by git's rules.
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

/// A flag that cancels a job from another thread.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Returns a flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the flag. It cannot be reset.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Returns whether the flag is set.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_config_count_limits_the_settings_from_variables() {
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
