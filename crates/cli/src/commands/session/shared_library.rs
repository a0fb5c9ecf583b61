//! The libraries of a host's sessions: one for each profile.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{AbortHandle, abortable};
use pollster::block_on;
use repertoire::event::Surface;
use repertoire::history::Recorder;
use repertoire::registry::ReleaseFollower;
use repertoire::{Library, Runner, SessionOptions, SessionRequest, SkillDefinition, Watcher};
use repertoire_app::workspace::Reporter;
use repertoire_exec::Executor;
use repertoire_exec::approval::Approver;
use repertoire_model::answer::Render;
use serde_json::Value;

use super::args::SessionArgs;
use super::hello::Hello;
use super::host::{Host, HostApprover};
use super::open_session::{OpenSession, not_started};
use super::refusal::{ProtocolRefusal, Request, bad, failed, list, text, unready};
use crate::error::CliError;
use crate::interrupt::on_interrupt;
use crate::role::Role;
use crate::wire::{ExecRequest, Workspace, narrowed};

/// A library, and what follows it.
struct SharedLibrary {
    workspace: Arc<Workspace>,
    library: Library,
    follower: AbortHandle,
    _watcher: Option<Watcher>,
    _releases: Option<ReleaseFollower>,
    _recorder: Option<Recorder>,
}

impl Drop for SharedLibrary {
    fn drop(&mut self) {
        self.follower.abort();
    }
}

/// The executors of all libraries of this process.
type Executors = Arc<Mutex<Vec<Arc<Executor>>>>;

/// The libraries of a host's sessions, each opened when a session needs it.
pub(super) struct Libraries<'a> {
    args: &'a SessionArgs,
    hello: Hello,
    skills: Vec<SkillDefinition>,
    host: Arc<Host>,
    main: Arc<Workspace>,
    reporter: Arc<dyn Reporter>,
    opened: Mutex<BTreeMap<Option<String>, Arc<SharedLibrary>>>,
    executors: Executors,
}

impl<'a> Libraries<'a> {
    /// Returns the libraries of a host that greeted with `hello` and defines `skills`.
    pub(super) fn new(
        args: &'a SessionArgs,
        hello: Hello,
        skills: Vec<SkillDefinition>,
        host: Arc<Host>,
        main: Workspace,
        reporter: Arc<dyn Reporter>,
    ) -> Self {
        let main = Arc::new(confined(main, hello.directories));
        let (opened, executors) = (Mutex::default(), Executors::default());
        Self { args, hello, skills, host, main, reporter, opened, executors }
    }

    /// Opens the session that `request` asks for; the options of the command line hold where it names none.
    pub(super) async fn open(&self, request: &Request) -> Result<OpenSession, ProtocolRefusal> {
        let shared = self.shared(text(request, "profile")?)?;
        let workspace = &shared.workspace;
        let agent = text(request, "agent")?.or(self.args.agent.as_deref());
        let role = text(request, "role")?.or(self.args.role.as_deref());
        let render = text(request, "render")?.or(self.args.render.as_deref());
        if let Some(word) = render.filter(|word| Render::parse(word).is_none()) {
            let words = Render::ALL.map(Render::as_str).join(", ");
            return Err(bad(format!("`render` is one of: {words}; `{word}` is not")));
        }
        let mut options = options(workspace, self.args, render);
        options.catalog.highlight = role.map(str::to_owned);
        let library = shared.library.with_session_options(options).map_err(failed)?;
        let mut session = match agent {
            None => SessionRequest::default(),
            Some(name) => {
                let agent = workspace.agent(name).map_err(|error| unready(&error))?;
                workspace.expect_enabled(&library.snapshot(), &agent).map_err(|error| unready(&error))?;
                SessionRequest::of(name)
            }
        };
        let skills = match request.get("skills") {
            None | Some(Value::Null) => self.args.skills.clone(),
            Some(_) => {
                let names = list(request, "skills")?.iter().map(|name| name.as_str().map(str::to_owned));
                names.collect::<Option<_>>().ok_or_else(|| bad("`skills` is a list of names"))?
            }
        };
        let scope = narrowed(&library.snapshot(), &skills).map_err(|error| unready(&error))?;
        session.scopes.extend(scope);
        let opened = library.open_session(&session).await;
        let opened = opened.map_err(|error| not_started(workspace, agent, error))?;
        let opened = OpenSession::new(Arc::clone(workspace), opened);
        if let Some(role) = role {
            let agent = agent.map(|name| workspace.agent(name)).transpose();
            let agent = agent.map_err(|error| unready(&error))?;
            let role = Role { name: role.to_owned(), agent, variables: BTreeMap::new() };
            opened.take(role).await.map_err(failed)?;
        }
        Ok(opened)
    }

    /// Returns the library for `profile`, which is opened only once.
    fn shared(&self, profile: Option<&str>) -> Result<Arc<SharedLibrary>, ProtocolRefusal> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let key = profile.map(str::to_owned);
        if let Some(shared) = opened.get(&key) {
            return Ok(Arc::clone(shared));
        }
        let shared = Arc::new(self.read(profile).map_err(|error| unready(&error))?);
        opened.insert(key, Arc::clone(&shared));
        Ok(shared)
    }

    fn read(&self, profile: Option<&str>) -> Result<SharedLibrary, CliError> {
        let workspace = match profile {
            None => Arc::clone(&self.main),
            Some(_) => {
                let mut options = self.main.options.clone();
                options.profile = profile.map(str::to_owned);
                let loaded = Workspace::load(self.main.env.clone(), options, Arc::clone(&self.reporter))?;
                let served =
                    loaded.serving(self.args.served.store.as_deref(), self.args.served.channels())?;
                Arc::new(confined(served, self.hello.directories))
            }
        };
        let approver = self.hello.approvals.then(|| Arc::new(HostApprover(Arc::clone(&self.host))) as Arc<_>);
        let runner = runner(&workspace, self.args, approver, &self.executors)?;
        let builder = workspace.library_builder(options(&workspace, self.args, None), &[], runner)?;
        let builder = self.hello.add(&self.host, &self.skills, builder).sink(Arc::clone(&self.host));
        let library = workspace.open_library(builder)?;
        let registry = library.registry();
        Ok(SharedLibrary {
            _watcher: workspace.follow(registry),
            _releases: workspace.follow_releases(registry),
            _recorder: workspace.recorder(registry),
            follower: self.follow(profile, &library),
            workspace,
            library,
        })
    }

    /// Tells the host of changes of `library` until the handle is aborted.
    fn follow(&self, profile: Option<&str>, library: &Library) -> AbortHandle {
        let (mut subscription, host) = (library.subscribe(), Arc::clone(&self.host));
        let profile = profile.map(str::to_owned);
        let (telling, follower) = abortable(async move {
            loop {
                let change = subscription.next().await;
                host.changed(profile.as_deref(), &change);
            }
        });
        std::thread::spawn(|| {
            let _: Result<std::convert::Infallible, _> = block_on(telling);
        });
        follower
    }

    /// Cancels everything that runs, and runs nothing more.
    pub(super) fn end(&self) {
        for executor in &*self.executors.lock().unwrap_or_else(PoisonError::into_inner) {
            executor.end();
        }
    }

    /// Waits until nothing is left of what ran, and stores what the next process can use.
    pub(super) fn finish(self) {
        for executor in &*self.executors.lock().unwrap_or_else(PoisonError::into_inner) {
            block_on(executor.settled());
        }
        for shared in self.opened.lock().unwrap_or_else(PoisonError::into_inner).values() {
            block_on(shared.library.save());
        }
    }
}

/// Returns the options of sessions of `workspace`.
pub(super) fn options(workspace: &Workspace, args: &SessionArgs, render: Option<&str>) -> SessionOptions {
    let mut options = workspace.session_options(render);
    options.surface = Surface::Session;
    options.running.host_runs_tools = args.own_handlers;
    options
}

/// Returns the runner of what skills bring along. Its runs are ended when this process is.
pub(super) fn runner(
    workspace: &Workspace,
    args: &SessionArgs,
    approver: Option<Arc<dyn Approver>>,
    executors: &Executors,
) -> Result<Option<Arc<dyn Runner>>, CliError> {
    if args.own_handlers {
        // They know the tools of each `tools.py` without a `schema.json`.
        return Ok(workspace.approvals().ok().map(|approvals| Arc::new(approvals) as Arc<_>));
    }
    let request = ExecRequest { approver, ..ExecRequest::default() };
    let Some(executor) = workspace.session_executor(args.exec, args.agent.as_deref(), request)? else {
        return Ok(None);
    };
    let mut known = executors.lock().unwrap_or_else(PoisonError::into_inner);
    known.push(Arc::clone(&executor));
    if known.len() == 1 {
        let executors = Arc::clone(executors);
        on_interrupt(move |interrupt| {
            let executors = executors.lock().unwrap_or_else(PoisonError::into_inner).clone();
            executors.iter().for_each(|executor| executor.end());
            executors.iter().for_each(|executor| block_on(executor.settled()));
            interrupt.end_now();
        })?;
    }
    Ok(Some(executor))
}

/// Returns `workspace`, without the skills in directories unless `directories` says so.
fn confined(mut workspace: Workspace, directories: bool) -> Workspace {
    if !directories {
        let settings = &mut workspace.settings;
        settings.discover_project = false;
        settings.discover_user = false;
        settings.discover_packages = false;
        settings.discover_role_packs = false;
        settings.roots.clear();
        settings.packs.clear();
    }
    workspace
}
