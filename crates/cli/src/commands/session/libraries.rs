//! The libraries of the sessions of this process: one for each profile.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::{AbortHandle, abortable};
use pollster::block_on;
use repertoire::event::Surface;
use repertoire::history::Recorder;
use repertoire::registry::ReleaseFollower;
use repertoire::{Library, Runner, SessionOptions, SessionRequest, SkillDefinition, Watcher};
use repertoire_app::workspace::Reporter;
use repertoire_exec::Executor;
use repertoire_model::answer::Render;
use serde_json::Value;

use super::args::SessionArgs;
use super::hello::Hello;
use super::host::{Host, HostApprover};
use super::open_session::OpenSession;
use super::refusal::{ProtocolRefusal, Request, bad, list, text};
use crate::error::CliError;
use crate::interrupt::on_interrupt;
use crate::role::Role;
use crate::wire::{ExecRequest, Workspace, narrowed};

/// The session that is asked for.
pub(super) struct SessionWish<'a> {
    agent: Option<&'a str>,
    role: Option<&'a str>,
    profile: Option<&'a str>,
    render: Option<&'a str>,
    skills: Vec<String>,
}

impl<'a> SessionWish<'a> {
    /// Returns the wish of `request`; the options of the command line hold where it says nothing.
    pub(super) fn read(request: &'a Request, args: &'a SessionArgs) -> Result<Self, ProtocolRefusal> {
        let skills = match request.get("skills") {
            None | Some(Value::Null) => Some(args.skills.clone()),
            Some(_) => list(request, "skills")?.iter().map(|it| it.as_str().map(str::to_owned)).collect(),
        };
        let render = text(request, "render")?.or(args.render.as_deref());
        if render.is_some_and(|word| Render::parse(word).is_none()) {
            return Err(bad(format!("`render` is one of: {}", Render::ALL.map(Render::as_str).join(", "))));
        }
        Ok(Self {
            agent: text(request, "agent")?.or(args.agent.as_deref()),
            role: text(request, "role")?.or(args.role.as_deref()),
            profile: text(request, "profile")?,
            render,
            skills: skills.ok_or_else(|| bad("`skills` is a list of names"))?,
        })
    }
}

/// A library, and what follows it.
struct FollowedLibrary {
    workspace: Arc<Workspace>,
    library: Library,
    follower: AbortHandle,
    _watcher: Option<Watcher>,
    _releases: Option<ReleaseFollower>,
    _recorder: Option<Recorder>,
}

impl Drop for FollowedLibrary {
    fn drop(&mut self) {
        self.follower.abort();
    }
}

/// The libraries of the sessions of this process, each opened when a session needs it.
pub(super) struct Libraries<'a> {
    pub(super) args: &'a SessionArgs,
    pub(super) host: Arc<Host>,
    pub(super) main: Arc<Workspace>,
    hello: Hello,
    skills: Vec<SkillDefinition>,
    reporter: Arc<dyn Reporter>,
    opened: Mutex<BTreeMap<Option<String>, Arc<FollowedLibrary>>>,
    executors: Arc<Mutex<Vec<Arc<Executor>>>>,
}

impl<'a> Libraries<'a> {
    /// Returns the libraries of a host that greeted with `hello`, whose skills in code are `skills`.
    pub(super) fn new(
        args: &'a SessionArgs,
        host: Arc<Host>,
        main: Workspace,
        (hello, skills): (Hello, Vec<SkillDefinition>),
        reporter: Arc<dyn Reporter>,
    ) -> Self {
        let main = Arc::new(confined(main, &hello));
        let (opened, executors) = (Mutex::default(), Arc::default());
        Self { args, host, main, hello, skills, reporter, opened, executors }
    }

    /// Opens the session that `wish` is for.
    pub(super) async fn open(&self, wish: &SessionWish<'_>) -> Result<OpenSession, CliError> {
        let followed = self.followed(wish.profile)?;
        let workspace = &followed.workspace;
        let mut options = self.options(workspace, wish.render);
        // The catalog alone is to be that of the role's prompt.
        options.catalog.highlight = wish.role.map(str::to_owned);
        let library = followed.library.with_session_options(options)?;
        let mut request = SessionRequest::default();
        request.agent = wish.agent.map(str::to_owned);
        let agent = wish.agent.map(|name| workspace.agent(name)).transpose()?;
        if let Some(agent) = &agent {
            workspace.expect_enabled(&library.snapshot(), agent)?;
        }
        request.scopes.extend(narrowed(&library.snapshot(), &wish.skills)?);
        let session = library.open_session(&request).await?;
        let session = OpenSession::new(Arc::clone(workspace), session);
        if let Some(name) = wish.role {
            session.take(Role { name: name.to_owned(), agent, variables: BTreeMap::new() }).await?;
        }
        Ok(session)
    }

    /// Returns the library for `profile`, which is opened only once.
    fn followed(&self, profile: Option<&str>) -> Result<Arc<FollowedLibrary>, CliError> {
        let (mut opened, key) = (locked(&self.opened), profile.map(str::to_owned));
        if let Some(followed) = opened.get(&key) {
            return Ok(Arc::clone(followed));
        }
        let mut workspace = Arc::clone(&self.main);
        if profile.is_some() {
            let mut options = self.main.options.clone();
            options.profile.clone_from(&key);
            let loaded = Workspace::load(self.main.env.clone(), options, Arc::clone(&self.reporter))?;
            let served = loaded.serving(self.args.served.store.as_deref(), self.args.served.channels())?;
            workspace = Arc::new(confined(served, &self.hello));
        }
        let runner = self.runner(&workspace)?;
        let builder = workspace.library_builder(self.options(&workspace, None), &[], runner)?;
        let builder = self.hello.add(&self.host, &self.skills, builder).sink(Arc::clone(&self.host));
        let library = workspace.open_library(builder)?;
        let registry = library.registry();
        let followed = Arc::new(FollowedLibrary {
            _watcher: workspace.follow(registry),
            _releases: workspace.follow_releases(registry),
            _recorder: workspace.recorder(registry),
            follower: self.follow(key.clone(), &library),
            workspace,
            library,
        });
        opened.insert(key, Arc::clone(&followed));
        Ok(followed)
    }

    fn options(&self, workspace: &Workspace, render: Option<&str>) -> SessionOptions {
        let mut options = workspace.session_options(render);
        options.surface = Surface::Session;
        options.running.host_runs_tools = self.args.own_handlers;
        options
    }

    /// Tells the host of changes of `library` until the handle is aborted.
    fn follow(&self, profile: Option<String>, library: &Library) -> AbortHandle {
        let (mut subscription, host) = (library.subscribe(), Arc::clone(&self.host));
        let (telling, follower) = abortable(async move {
            loop {
                let change = subscription.next().await;
                host.changed(profile.as_deref(), &change);
            }
        });
        std::thread::spawn(|| {
            let _: Result<(), _> = block_on(telling);
        });
        follower
    }

    /// Returns the runner of what skills bring along. What it runs is ended when this process is.
    fn runner(&self, workspace: &Workspace) -> Result<Option<Arc<dyn Runner>>, CliError> {
        if self.args.own_handlers {
            // They know the tools of each `tools.py` without a `schema.json`.
            return Ok(workspace.approvals().ok().map(|approvals| Arc::new(approvals) as Arc<_>));
        }
        let mut request = ExecRequest::default();
        if self.hello.approvals {
            request.approver = Some(Arc::new(HostApprover(Arc::clone(&self.host))));
        }
        let executor = workspace.session_executor(self.args.exec, self.args.agent.as_deref(), request)?;
        let Some(executor) = executor else { return Ok(None) };
        let mut executors = locked(&self.executors);
        executors.push(Arc::clone(&executor));
        if executors.len() == 1 {
            let executors = Arc::clone(&self.executors);
            on_interrupt(move |interrupt| {
                let executors = locked(&executors).clone();
                executors.iter().for_each(Runner::end);
                executors.iter().for_each(|executor| block_on(executor.settled()));
                interrupt.end_now();
            })?;
        }
        Ok(Some(executor))
    }

    /// Cancels everything that runs, and runs nothing more.
    pub(super) fn end(&self) {
        locked(&self.executors).iter().for_each(Runner::end);
    }

    /// Waits until nothing is left of what ran, and stores what the next process can use.
    pub(super) fn finish(&self) {
        locked(&self.executors).iter().for_each(|executor| block_on(executor.settled()));
        locked(&self.opened).values().for_each(|followed| block_on(followed.library.save()));
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns `workspace`, without the skills in directories if the host wants none.
fn confined(mut workspace: Workspace, hello: &Hello) -> Workspace {
    if !hello.directories {
        let settings = &mut workspace.settings;
        (settings.discover_project, settings.discover_user) = (false, false);
        (settings.discover_packages, settings.discover_role_packs) = (false, false);
        settings.roots.clear();
        settings.packs.clear();
    }
    workspace
}
