//! A server of the skills, for `rep serve` and `rep dashboard`.

mod access_log;
mod address;
mod notices;
mod oidc;
mod open_files;
mod reload;
mod tokens;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use clap::Args;
use repertoire::discovery::repository_root;
use repertoire::event::{Event, jsonl};
use repertoire::serve::{Notices, ServedLibrary, Stop};
use repertoire::session::process_of;
use repertoire::store::EventQuery;
use repertoire::{Library, Registry, Runner, Watcher};
use repertoire_app::clients::names_read_from_files;
use repertoire_mcp::{McpOptions, OwnFiles};
use repertoire_model::answer::Render;
use repertoire_model::text::count;
use repertoire_web::dashboard::DashboardOptions;
use repertoire_web::http::{AddressRange, HttpOptions, Mount, PageSecret};
use repertoire_web::publish::PublishOptions;
use repertoire_web::{MetricsSink, Probe, ServerOptions};

use self::address::DEFAULT;
use self::notices::NoticeWriter;
use self::reload::{AccessReader, TokenSource};
use crate::complete::agent_names;
use crate::error::CliError;
use crate::exit::Exit;
use crate::interrupt::on_interrupt;
use crate::served::ServedArgs;
use crate::ui::{Ui, say};
use crate::wire::{ExecRequest, Workspace};

/// Serves the skills to MCP clients, over standard input and output or over HTTP
///
/// Clients that know the Skills extension get skills with digests; all others get tools to load skills and to
/// read their files, and a catalog in the server's instructions.
/// https://github.com/repertoire-rs/repertoire/blob/main/docs/guides/serving-mcp.md tells how to connect
/// clients.
#[derive(Debug, Default, Args)]
#[command(group = clap::ArgGroup::new("transport").required(true))]
pub(crate) struct ServeArgs {
    /// Serve standard input and output, as clients that start the server themselves expect
    #[arg(long, group = "transport")]
    stdio: bool,
    /// Serve HTTP at this address, MCP at /mcp; 127.0.0.1:7437 by default, port 0 for any free port
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = DEFAULT, group = "transport")]
    http: Option<String>,
    #[command(flatten)]
    pub(crate) served: ServedArgs,
    /// Serve only skills that this agent of the configuration may see
    #[arg(long, value_name = "NAME", add = agent_names())]
    agent: Option<String>,
    /// The format of tool results
    #[arg(long, value_name = "HOW", value_parser = Render::ALL.map(Render::as_str))]
    render: Option<String>,
    /// Offer no tools
    #[arg(long)]
    no_tools: bool,
    /// Let models call the tools of approved skills and run their scripts, as `exec.enabled` does
    #[arg(long, conflicts_with = "no_tools")]
    exec: bool,
    /// Do not offer the Skills extension
    #[arg(long)]
    no_extension: bool,
    /// Ask HTTP clients for the token in this file, which is needed at an address that others can reach, and
    /// at every address with --exec or --allow-write
    #[arg(long, value_name = "FILE", conflicts_with = "stdio", value_hint = clap::ValueHint::FilePath)]
    token_file: Option<PathBuf>,
    /// Ask every HTTP client for a token, also on a loopback address; tokens of `rep team token` count
    /// on every address
    #[arg(long, conflicts_with = "stdio")]
    require_token: bool,
    /// Let pages of this origin talk to the HTTP server, as in `https://app.example.com`
    #[arg(long, value_name = "ORIGIN", conflicts_with = "stdio")]
    allow_origin: Vec<String>,
    /// Accept HTTP requests for this host name, such as skills.example.com
    #[arg(long, value_name = "HOST", conflicts_with = "stdio")]
    allow_host: Vec<String>,
    /// The address that people reach the HTTP server at if a proxy is in front of it, such as
    /// https://skills.example.com
    #[arg(long, value_name = "URL", conflicts_with = "stdio")]
    public_url: Option<String>,
    /// Let people decide about proposals, restore versions and switch skills on the pages; then every address
    /// needs a token
    #[arg(long, conflicts_with = "stdio")]
    allow_write: bool,
    /// Serve no pages and no JSON API over HTTP
    #[arg(long, conflicts_with = "stdio")]
    no_dashboard: bool,
    /// The secret of a server for one person at this machine: nothing of a skill runs, also where
    /// `exec.enabled` is set, and nobody signs in.
    #[arg(skip)]
    page_secret: Option<PageSecret>,
}

impl ServeArgs {
    /// Returns the arguments of a server of pages for the one person that has the secret.
    pub(crate) fn of_dashboard(address: &str, allow_write: bool, secret: PageSecret) -> Self {
        Self { http: Some(address.to_owned()), allow_write, page_secret: Some(secret), ..Self::default() }
    }

    /// Returns the source of the tokens that the server asks for, unless it is for one person.
    fn tokens(&self) -> Option<TokenSource> {
        let tokens = TokenSource { file: self.token_file.clone(), agent: self.agent.clone() };
        self.page_secret.is_none().then_some(tokens)
    }
}

/// Skills from which a server for one client prepares search at once: it is slow, and no catalog replaces it.
const MANY_SKILLS: usize = 2_000;

/// Serves until the program is interrupted, and calls `on_bound` once the address of an HTTP server is known.
pub(crate) fn run(
    ui: &mut Ui,
    workspace: Workspace,
    args: &ServeArgs,
    on_bound: &dyn Fn(&mut Ui, SocketAddr) -> Result<(), CliError>,
) -> Result<Exit, CliError> {
    ui.flush()?;
    let shared = Arc::new(workspace);
    let workspace = &*shared;
    // Errors of the command line come before anything is read.
    let http = args.http.as_deref().map(|address| http_options(workspace, args, address)).transpose()?;
    let mut mcp_options = mcp_options(workspace, args);
    let mut options = options(workspace);
    options.dashboard = dashboard(&shared, args);
    let notices = NoticeWriter::new(mcp_options.tools);
    let library = open(workspace, args, &mcp_options, http.as_ref())?;
    notices::tell_of_skills(library.registry());
    workspace.disabled_by_project(&library.snapshot()).iter().for_each(|notice| say(notice));
    workspace.disabled_by_kits(&library.snapshot()).iter().for_each(|notice| say(notice));
    // Answers need not wait until everything is watched.
    let watcher = follow(workspace, library.registry());
    options.dashboard.watcher = watcher.as_ref().map(Arc::downgrade);
    let _releases = workspace.follow_releases(library.registry());
    let _recorder = workspace.recorder(library.registry());
    let metrics = Arc::new(MetricsSink::default());
    let library = library.with_sink(metrics.clone());
    let served = ServedLibrary::new(library, Notices::new(move |notice| notices.tell(notice)));
    let library = &served.library;
    if args.stdio {
        let (workspace, registry) = (Arc::clone(&shared), library.registry().clone());
        mcp_options.own_files =
            Some(OwnFiles::new(move |client| names_read_from_files(&workspace, &registry, client)));
    }
    let mcp = repertoire_mcp::Server::new(Arc::clone(&served), mcp_options);
    let stop = Stop::new();
    let interrupted = stop.clone();
    let runner = library.runner().cloned();
    // A server of HTTP cancels running tools itself, once it has drained.
    let ending = runner.clone().filter(|_| args.http.is_none());
    let reload: Arc<OnceLock<Sender<()>>> = Arc::default();
    let (asked, is_interactive) = (Arc::clone(&reload), ui.is_interactive());
    on_interrupt(move |interrupt| {
        // A program without a terminal is asked to read its configuration again.
        if let Some(reload) = asked.get().filter(|_| interrupt.is_hangup() && !is_interactive) {
            let _ = reload.send(());
            return;
        }
        interrupted.stop();
        if let Some(runner) = &ending {
            runner.end();
        }
    })?;
    if args.http.is_some() || library.snapshot().entries().len() > MANY_SKILLS {
        // The thread is not waited for, not even at the end of the program.
        let library = library.clone();
        std::thread::spawn(move || pollster::block_on(library.warm_up_search()));
    }
    let served = match http {
        None => mcp.serve_stdio_blocking(args.agent.as_deref(), &stop).map_err(CliError::from),
        Some(http) => {
            open_files::make_room(http.limits.connections);
            options.mcp = mount(mcp);
            let server = repertoire_web::Server::new(Arc::clone(&served), metrics, options);
            let bound = server.bind_http(http)?;
            let reader = AccessReader::new(&shared, args.served.clone(), args.tokens());
            let _ = reload.set(reader.start(bound.control()));
            let skills = count(library.snapshot().active().count(), "skill");
            match args.page_secret {
                Some(_) => writeln!(ui.err(), "rep: showing {skills} until this command ends")?,
                None => writeln!(ui.err(), "rep: serving {skills} at http://{}/mcp", bound.address())?,
            }
            on_bound(ui, bound.address())?;
            ui.flush()?;
            bound.serve_blocking(&stop).map_err(CliError::from)
        }
    };
    // Running tools are ended, because nothing would check their output once this program is gone.
    if let Some(runner) = runner {
        runner.end();
        pollster::block_on(runner.settled());
    }
    served?;
    pollster::block_on(library.save());
    Ok(Exit::Success)
}

fn dashboard(workspace: &Arc<Workspace>, args: &ServeArgs) -> DashboardOptions {
    let mut options = DashboardOptions::default();
    options.is_served = args.http.is_some() && !args.no_dashboard;
    options.allows_writes = args.allow_write;
    options.store = workspace.store_location().map(|_| workspace.lazy_store());
    options.person = workspace.person();
    options.workspace = Some(Arc::clone(workspace));
    options.title = workspace.library_title();
    options
}

/// Follows the library, and reports if that is not possible as configured.
fn follow(workspace: &Workspace, registry: &Registry) -> Option<Arc<Watcher>> {
    match registry.watch(workspace.settings.reload) {
        Ok(watcher) => {
            let watcher = Arc::new(watcher);
            notices::tell_of_limits(&watcher);
            Some(watcher)
        }
        Err(error) => {
            say(&format!("the library is not followed, skills are looked for on use: {error}"));
            None
        }
    }
}

fn open(
    workspace: &Workspace,
    args: &ServeArgs,
    options: &McpOptions,
    http: Option<&HttpOptions>,
) -> Result<Library, CliError> {
    let tokens = http.into_iter().flat_map(|http| &http.access.tokens);
    let mut needed: Vec<&str> = tokens.filter_map(|token| token.agent.as_deref()).collect();
    needed.extend(args.agent.as_deref());
    let executor = if args.page_secret.is_some() {
        None
    } else {
        workspace.session_executor(args.exec, args.agent.as_deref(), ExecRequest::default())?
    };
    let runner = executor.map(|executor| executor as Arc<dyn Runner>);
    workspace.library(options.session_options(workspace.session_options(None)), &needed, runner)
}

fn mount(mcp: repertoire_mcp::Server) -> Mount {
    Mount::new(move |caller, stopping, closed| {
        let endpoint = Arc::new(mcp.endpoint(caller, stopping, closed));
        Box::new(move |request, limits| {
            let endpoint = Arc::clone(&endpoint);
            Box::pin(async move { endpoint.answer(request, limits).await })
        })
    })
}

/// Returns the options of MCP, from the flags and the configuration.
fn mcp_options(workspace: &Workspace, args: &ServeArgs) -> McpOptions {
    let settings = &workspace.settings;
    let mut options = McpOptions::default();
    options.tools = settings.mcp_tools && !args.no_tools;
    options.extension = settings.mcp_extension && !args.no_extension;
    options.result = args.render.as_deref().and_then(Render::parse).unwrap_or(settings.mcp_result);
    let (here, home) = (workspace.env.working_directory(), workspace.env.home());
    // Some applications start servers in the home directory, which is not a project.
    let is_home = home.as_ref().is_some_and(|home| home.canonicalize().ok() == here.canonicalize().ok());
    let is_project = !is_home && repository_root(here, home.as_deref()).is_some();
    options.project = is_project.then(|| here.to_owned());
    options.home = home;
    options
}

/// The most events that are read from the journal at once.
const PAGE: usize = 1_000;

/// Returns new events of other processes in this machine's store; a remote one may have other machines'.
fn other_events(workspace: &Workspace) -> Probe<Vec<Event>> {
    if workspace.journal().is_none() || workspace.settings.store_url.starts_with("postgres") {
        return Probe::default();
    }
    let store = workspace.lazy_store();
    let page = move |after: Option<u64>| {
        let mut query = EventQuery::default();
        (query.after, query.limit) = (after, if after.is_some() { PAGE } else { 1 });
        store.get().ok()?.events(&query).ok()
    };
    // While the store is away nothing is counted, and later only what follows.
    let last = Mutex::new(page(None).map(|lines| lines.last().map_or(0, |line| line.id)));
    Probe::new(move || {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        let mut events = Vec::new();
        while let Some(lines) = page(*last) {
            let is_first = last.is_none();
            *last = Some(lines.last().map_or(last.unwrap_or_default(), |line| line.id));
            let counted = lines.iter().filter(|_| !is_first).filter_map(|line| jsonl::counted(&line.json));
            events.extend(
                counted.filter(|event| process_of(&event.session).is_some_and(|id| id != std::process::id())),
            );
            if lines.len() < PAGE {
                break;
            }
        }
        events
    })
}

/// Returns the options of the server behind HTTP, from the configuration.
fn options(workspace: &Workspace) -> ServerOptions {
    let mut options = ServerOptions::default();
    let (journal, traces) = (workspace.journal(), workspace.traces());
    if journal.is_some() || traces.is_some() {
        options.dropped_events = Probe::new(move || {
            let journal = journal.as_ref().map_or(0, |sink| sink.dropped());
            journal + traces.as_ref().map_or(0, |sink| sink.dropped())
        });
    }
    options.other_events = other_events(workspace);
    options.publish = publishing(workspace);
    if !workspace.settings.store_url.is_empty() {
        let store = workspace.lazy_store();
        options.store = Probe::new(move || Workspace::is_store_ready(&store));
    }
    options
}

/// Returns the options of publishing over HTTP, if the skills of a store are served.
fn publishing(workspace: &Workspace) -> Option<PublishOptions> {
    let scratch = workspace.env.state_directory()?.join("publishing");
    let proposer = workspace.proposer().ok()?;
    let unpack = move |bytes: &[u8]| {
        repertoire_sources::unpack_skill(bytes, &scratch).map_err(|error| error.to_string())
    };
    let channels = workspace.served_channels().to_vec();
    (!channels.is_empty()).then(|| PublishOptions::new(proposer, channels, unpack))
}

/// Returns the options of HTTP, from the flags, the configuration and the environment.
fn http_options(workspace: &Workspace, args: &ServeArgs, address: &str) -> Result<HttpOptions, CliError> {
    let settings = &workspace.settings;
    let both = |flags: &[String], settings: &[String]| [flags, settings].concat();
    let mut options = HttpOptions::default();
    options.address = address::parse(address)?;
    options.allowed_hosts = both(&args.allow_host, &settings.http_hosts);
    options.allowed_origins = both(&args.allow_origin, &settings.http_origins);
    options.agent = args.agent.clone();
    options.access = reload::access(workspace, args.tokens().as_ref())?;
    options.page_secret = args.page_secret.clone();
    let public_url = args.public_url.clone().unwrap_or_else(|| settings.http_public_url.clone());
    options.public_url = Some(public_url).filter(|url| !url.is_empty());
    // A server that others reach, runs tools or lets people write may start with the tokens of its store.
    let needs_one =
        !options.address.ip().is_loopback() || args.exec || settings.exec.enabled || args.allow_write;
    let has_one = |workspace: &Workspace| {
        let tokens = || workspace.lazy_store().get().and_then(|store| store.active_tokens(SystemTime::now()));
        workspace.has_store() && !tokens().is_ok_and(|tokens| tokens.is_empty())
    };
    if args.page_secret.is_none() {
        options.needs_token = args.require_token || needs_one && has_one(workspace);
        options.store = workspace.store_location().is_some().then(|| workspace.lazy_store());
    }
    options.limits.drain = Duration::from_secs(settings.http_drain as u64);
    options.principal_limits.requests = settings.http_requests as u64;
    options.principal_limits.bytes = settings.http_kilobytes as u64 * 1_024;
    options.principal_limits.runs = settings.http_runs;
    options.access_log = access_log::open(workspace)?;
    for text in &settings.http_proxies {
        let range = AddressRange::parse(text).ok_or_else(|| {
            CliError::usage(format!("http.trusted_proxies: `{text}` is not an address"))
                .hint("write 10.0.0.7, 10.0.0.0/8 or fd00::/8")
        })?;
        options.trusted_proxies.push(range);
    }
    Ok(options)
}
