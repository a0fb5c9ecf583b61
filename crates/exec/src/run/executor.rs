//! The executor: runs tools and scripts of skills for the sessions of a library.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use repertoire_model::Digest;
use repertoire_model::toolbox::MAX_TIMEOUT_SECONDS;

use super::jobs::Jobs;
use crate::approval::{Approvals, Approver, TrustLevels};
use crate::sandbox::{Sandbox, probe};
use crate::workplace::{search_outside, workplaces};
use crate::{ExecError, ExecErrorKind, GitUser, JobLimits, Launcher};

/// Options of an executor.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ExecutorOptions {
    /// The state directory, absolute: approvals, and copies of skills that run.
    pub state: PathBuf,
    /// The trust in each source.
    pub trust: TrustLevels,
    /// The approver that asks a person, if there is one.
    pub approver: Option<Arc<dyn Approver>>,
    /// The working directory, absolute, for tools that ask for one. Without it such tools fail.
    pub directory: Option<PathBuf>,
    /// The top of the checkout that the working directory lies in, absolute, for tools that ask for its
    /// repository. Without it they only get the working directory.
    pub repository: Option<PathBuf>,
    /// Grants of scripts, which cannot declare any.
    pub scripts: ScriptGrants,
    /// The host's environment variables. Tools get the harmless ones, and others that they ask for by name.
    pub variables: Vec<(String, String)>,
    /// Paths that no grant makes writable, absolute: the host's settings and caches, and the directories of
    /// its skills. The state directory is always protected.
    pub protected: Vec<PathBuf>,
    /// Resource limits of tools and scripts. A tool may declare its own timeout, and scripts have the default
    /// one; neither may be longer than the timeout here.
    pub limits: JobLimits,
}

impl ExecutorOptions {
    /// Returns the default options with the state directory `state`.
    pub fn new(state: impl Into<PathBuf>) -> Self {
        Self {
            state: state.into(),
            trust: TrustLevels::default(),
            approver: None,
            directory: None,
            repository: None,
            scripts: ScriptGrants::default(),
            variables: Vec::new(),
            protected: Vec::new(),
            limits: JobLimits { timeout: Duration::from_secs(MAX_TIMEOUT_SECONDS), ..JobLimits::default() },
        }
    }
}

/// Grants of scripts beyond their skill and a scratch directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScriptGrants {
    /// `true` if scripts may read the working directory.
    pub directory: bool,
    /// Paths in the working directory that scripts may write.
    pub write: Vec<String>,
    /// `true` if scripts may use the network.
    pub network: bool,
}

/// Runs approved tools and scripts of skills in a sandbox: the [`Runner`](repertoire::Runner) of a library.
///
/// Before it exits, a program calls [`Runner::end`](repertoire::Runner::end) and waits for
/// [`Runner::settled`](repertoire::Runner::settled). When it starts, it calls
/// [`finish_interrupted_runs`](crate::finish_interrupted_runs), which cleans up if it was killed last time.
#[derive(Debug)]
pub struct Executor {
    pub(super) sandbox: Arc<dyn Sandbox>,
    pub(super) options: ExecutorOptions,
    pub(super) approvals: Approvals,
    /// The digests of copies that this process has verified.
    pub(super) verified: Mutex<HashSet<Digest>>,
    pub(super) jobs: Arc<Jobs>,
}

impl Executor {
    /// Returns an executor that runs commands in `sandbox`.
    pub fn new(sandbox: Arc<dyn Sandbox>, options: ExecutorOptions) -> Self {
        let approvals = Approvals::new(&options.state);
        Self { sandbox, options, approvals, verified: Mutex::default(), jobs: Arc::default() }
    }

    /// Returns an executor with the default options in the best sandbox that works on this machine. `state`
    /// is the state directory.
    ///
    /// Fails with [`ExecErrorKind::Unavailable`] if no sandbox works.
    pub fn detect(state: impl Into<PathBuf>) -> Result<Self, ExecError> {
        let probe = probe(&Launcher::CurrentExe);
        let Some(sandbox) = probe.best() else {
            let reasons: Vec<String> =
                probe.rows().iter().map(|row| format!("{}: {}", row.name, row.detail)).collect();
            return Err(ExecError::new(ExecErrorKind::Unavailable).saying(reasons.join("; ")));
        };
        Ok(Self::new(sandbox, ExecutorOptions::new(state)))
    }

    /// Returns the stored approvals.
    pub fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    /// Returns the directories that all writable grants lie in: the working directory and the checkout.
    pub(super) fn workplaces(&self) -> Vec<PathBuf> {
        self.options.directory.iter().chain(&self.options.repository).cloned().collect()
    }

    /// Returns the host's `PATH` without the directories in which tools write.
    pub(super) fn search_path(&self) -> Option<String> {
        let (_, path) = self.options.variables.iter().find(|(name, _)| name == "PATH")?;
        let home = GitUser::of(&self.options.variables).home;
        Some(search_outside(path, &workplaces(self.workplaces().iter(), home.as_deref())))
    }

    /// Returns the file that the host's `PATH` leads to for `program`, as a job finds it.
    pub(super) fn program(&self, program: &str) -> Option<PathBuf> {
        // Not `std::env::split_paths`: libraries do not use `std::env`.
        let search = self.search_path()?;
        let mut files = search.split(':').map(|directory| Path::new(directory).join(program));
        files.find(|file| file.is_file())
    }
}
