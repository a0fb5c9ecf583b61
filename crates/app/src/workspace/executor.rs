//! The executor of tools and scripts of skills: the sandbox and its grants.

use std::path::PathBuf;
use std::sync::Arc;

use repertoire::Trust;
use repertoire::config::SandboxChoice;
use repertoire::discovery;
use repertoire::discovery::Tier;
use repertoire_exec::approval::{Approvals, Approver, TrustLevels};
use repertoire_exec::{Executor, ExecutorOptions, Launcher, Sandbox, ScriptGrants, UnconfinedSandbox, probe};

use super::handle::Workspace;
use crate::error::Error;

/// The options of an executor that a command sets; the configuration sets the rest.
#[derive(Default)]
pub struct ExecRequest {
    /// The sandbox.
    pub sandbox: Option<SandboxChoice>,
    /// The grants of scripts.
    pub scripts: ScriptGrants,
    /// The approver to ask.
    pub approver: Option<Arc<dyn Approver>>,
}

impl Workspace {
    /// Returns the executor; warns where it runs without a sandbox.
    pub fn executor(&self, request: ExecRequest) -> Result<Arc<Executor>, Error> {
        let sandbox = self.sandbox(request.sandbox.unwrap_or(self.settings.exec.sandbox))?;
        if sandbox.name() == "none" {
            self.reporter.warn("no sandbox: tools and scripts can do whatever you can");
        }
        let directory = self.env.working_directory();
        let mut options = ExecutorOptions::new(self.state()?);
        options.trust = self.trust_levels();
        options.approver = request.approver;
        options.directory = Some(directory.to_owned());
        options.repository = discovery::repository_root(directory, self.env.home().as_deref());
        options.scripts = request.scripts;
        options.scripts.directory |= self.settings.exec.scripts_read;
        options.variables = self.env.all();
        options.protected = self.own_places();
        Ok(Arc::new(Executor::new(sandbox, options)))
    }

    /// Returns the paths that tools and scripts never write: settings, state, cache and skill directories.
    fn own_places(&self) -> Vec<PathBuf> {
        let env = &self.env;
        let config = env.config_home().map(|home| home.join("repertoire"));
        let own = [config, env.state_directory(), env.cache_directory()].into_iter().flatten();
        let (places, _) = self.places(&self.settings.policy);
        // A project that is a source as a whole is still one; its skills are protected as such.
        let places = places.into_iter().map(|place| place.root.path);
        let places = places.filter(|path| !env.working_directory().starts_with(path));
        own.chain(places).map(|path| env.working_directory().join(path)).collect()
    }

    /// Returns the executor of sessions of `agent` if `flag` or the configuration lets models run tools.
    ///
    /// Fails if the flag does and `tools.offer` leaves models no tool for it; the narrower setting counts.
    pub fn session_executor(
        &self,
        flag: bool,
        agent: Option<&str>,
        request: ExecRequest,
    ) -> Result<Option<Arc<Executor>>, Error> {
        if !flag && !self.settings.exec.enabled {
            return Ok(None);
        }
        if !self.options_of_agent(agent).offers_running() {
            let message = "models can run nothing of skills: `tools.offer` has neither `call_skill_tool` nor `run_skill_script`";
            if flag {
                return Err(
                    Error::usage(message).hint("add one of them to `tools.offer`, or leave out --exec")
                );
            }
            self.reporter.warn(message);
        }
        self.executor(request).map(Some)
    }

    /// Returns the approvals.
    pub fn approvals(&self) -> Result<Approvals, Error> {
        Ok(Approvals::new(self.state()?))
    }

    /// Returns the directory in which conversations of `rep agent` are saved.
    pub fn conversations(&self) -> Result<PathBuf, Error> {
        Ok(self.state()?.join("conversations"))
    }

    fn state(&self) -> Result<PathBuf, Error> {
        let directory = self.env.state_directory();
        let directory = directory
            .ok_or_else(|| Error::usage("no state directory").hint("set REPERTOIRE_STATE_DIR, or HOME"))?;
        Ok(self.env.working_directory().join(directory))
    }

    /// Returns the trust in every source of the library.
    pub fn trust_levels(&self) -> TrustLevels {
        let exec = &self.settings.exec;
        let (places, _) = self.places(&self.settings.policy);
        let level = |tier: Tier| match tier {
            Tier::Project => exec.trust_project,
            Tier::User => exec.trust_user,
            Tier::Given | Tier::Configured | Tier::Pack | Tier::Plugin => exec.trust_configured,
        };
        let levels = TrustLevels::new(Trust::Never);
        places.into_iter().fold(levels, |levels, place| levels.with(place.root.label, level(place.root.tier)))
    }

    fn sandbox(&self, choice: SandboxChoice) -> Result<Arc<dyn Sandbox>, Error> {
        if choice == SandboxChoice::None {
            return Ok(Arc::new(UnconfinedSandbox::new(Launcher::CurrentExe)));
        }
        let found = probe(&Launcher::CurrentExe);
        let sandbox = match choice {
            SandboxChoice::Auto => found.best(),
            choice => found.named(choice.as_str()),
        };
        sandbox.ok_or_else(|| {
            let what = match choice {
                SandboxChoice::Auto => "no sandbox works here, so nothing is run".to_owned(),
                choice => format!("the sandbox `{}` does not work here, so nothing is run", choice.as_str()),
            };
            let rows = found.rows().iter();
            let error = rows.fold(Error::no(what), |error, row| {
                error.because(format!("{}: {}", row.name, row.detail))
            });
            error.hint("run `rep doctor --verbose` to see what is missing; `rep run --sandbox=none` runs without, at your own risk")
        })
    }
}
