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
use crate::{ExecError, ExecErrorKind, GitUser, Launcher, Limits};

/// Options of an executor.
#[derive(Debug, Clone)]
pub struct ExecutorOptions {
    /// The directory that the program keeps its state in, absolute: copies of what runs, and approvals.
    pub state: PathBuf,
    /// The trust in each source.
    pub trust: TrustLevels,
    /// The person to ask, where there is one.
    pub approver: Option<Arc<dyn Approver>>,
    /// The working directory, absolute, for tools that ask for one; without it they get none.
    pub directory: Option<PathBuf>,
    /// The top of the checkout that the working directory lies in, absolute, for tools that ask for its repository. Without it they get the working directory alone.
    pub repository: Option<PathBuf>,
    /// Grants of plain scripts, which cannot declare any.
    pub scripts: ScriptGrants,
    /// The host's variables. Tools get the harmless ones of them, and those that they ask for by name.
    pub variables: Vec<(String, String)>,
    /// Paths that no tool writes, with any grant, absolute: the host's settings and caches, and where its skills are. The state is among it anyway.
    pub protected: Vec<PathBuf>,
    /// Limits of a tool. Each may ask for a time of its own, up to the one given here; scripts have the usual one, up to it too.
    pub limits: Limits,
}

impl ExecutorOptions {
    /// Returns the usual choices, with the state in `state`.
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
            limits: Limits { timeout: Duration::from_secs(MAX_TIMEOUT_SECONDS), ..Limits::default() },
        }
    }
}

/// Grants of plain scripts beyond their skill and a scratch directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptGrants {
    /// `true` if they read the working directory.
    pub directory: bool,
    /// Paths that they write in it.
    pub write: Vec<String>,
    /// `true` if they use the network.
    pub network: bool,
}

/// Runs tools and scripts of skills in a sandbox, once they were approved: the [`Runner`](repertoire::Runner) of a library.
///
/// A program that ends calls [`Runner::end`](repertoire::Runner::end) and waits for
/// [`Runner::settled`](repertoire::Runner::settled) first. Nobody else looks at what a command made under
/// protected names.
#[derive(Debug)]
pub struct Executor {
    pub(super) sandbox: Arc<dyn Sandbox>,
    pub(super) options: ExecutorOptions,
    pub(super) approvals: Approvals,
    /// The copies that this process knows to be what they should be.
    pub(super) verified: Mutex<HashSet<Digest>>,
    /// Running jobs.
    pub(super) jobs: Arc<Jobs>,
}

impl Executor {
    /// Returns an executor that runs commands in `sandbox`.
    pub fn new(sandbox: Arc<dyn Sandbox>, options: ExecutorOptions) -> Self {
        let approvals = Approvals::new(&options.state);
        Self { sandbox, options, approvals, verified: Mutex::default(), jobs: Arc::default() }
    }

    /// Returns an executor with the usual options in the best sandbox that works here, with its state in `state`.
    ///
    /// Fails with [`ExecErrorKind::Unavailable`] if none works.
    pub fn detect(state: impl Into<PathBuf>) -> Result<Self, ExecError> {
        let probe = probe(&Launcher::CurrentExe);
        let Some(sandbox) = probe.best() else {
            let reasons: Vec<String> =
                probe.rows().iter().map(|row| format!("{}: {}", row.name, row.detail)).collect();
            return Err(ExecError::new(ExecErrorKind::Unavailable).saying(reasons.join("; ")));
        };
        Ok(Self::new(sandbox, ExecutorOptions::new(state)))
    }

    /// Returns the sandbox that commands run in.
    pub fn sandbox(&self) -> &Arc<dyn Sandbox> {
        &self.sandbox
    }

    /// Returns the host's choices.
    pub fn options(&self) -> &ExecutorOptions {
        &self.options
    }

    /// Returns what was approved.
    pub fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    /// Returns where tools work and may come to write: whatever one of them is granted, it lies in there.
    pub(super) fn workplaces(&self) -> Vec<PathBuf> {
        self.options.directory.iter().chain(&self.options.repository).cloned().collect()
    }

    /// Returns whether the host's `PATH` leads to `program`, as a job finds it.
    pub(super) fn has_program(&self, program: &str) -> bool {
        let path = self.options.variables.iter().find(|(name, _)| name == "PATH");
        let home = GitUser::of(&self.options.variables).home;
        let workplaces = workplaces(self.workplaces().iter(), home.as_deref());
        // Not `split_paths`: that belongs to the environment, and this is a value that was handed over.
        path.is_some_and(|(_, path)| {
            let search = search_outside(path, &workplaces);
            let directories = search.split(':').map(Path::new).filter(|directory| directory.is_absolute());
            directories.into_iter().any(|directory| directory.join(program).is_file())
        })
    }
}
