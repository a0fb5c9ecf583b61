//! The MCP methods, as rmcp calls them.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use http::request::Parts;
use repertoire::serve::{AgentView, ListVersions, Principal, RequestLimits};
use repertoire::tool::Definition;
use repertoire::{Entry, Session, SkillName};
use rmcp::model::{
    CallToolRequestMethod, CallToolRequestParams, CallToolResponse, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, ConstString as _, ContentBlock, CustomRequest, CustomResult,
    DiscoverResult, ErrorCode, GetPromptRequestParams, GetPromptResponse, Implementation,
    InitializeRequestParams, InitializeResult, ListPromptsResult, ListResourceTemplatesRequestMethod,
    ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult, ListToolsRequestMethod,
    ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestMethod,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, SetLevelRequestMethod,
    SubscribeRequestMethod, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestMethod,
    UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::notify::{self, ChangeReceiver};
use super::protocol::{ProtocolFamily, SUPPORTED_VERSIONS};
use super::tools::Disconnection;
use super::{prompts, resources, roots, skills, tools};
use crate::McpOptions;
use crate::instructions::{ClientCatalog, has_load};

/// The usual name of the tool that reads files, to which it answers under any other name too.
const READ_FILE: &str = "read_skill_file";

/// The number of conversations so far.
static CONVERSATIONS: AtomicU64 = AtomicU64::new(1);

/// Methods that rmcp 3.8 takes for unknown ones if their parameters are invalid.
const KNOWN_METHODS: &[&str] = &[
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "subscriptions/listen",
];

/// Returns the methods that are served, those of the Skills extension last.
pub fn methods() -> impl Iterator<Item = &'static str> {
    KNOWN_METHODS.iter().copied().chain(skills::METHODS)
}

/// Answers the requests of one connection, of one HTTP session, or one stateless HTTP request.
pub(crate) struct Handler {
    view: Arc<AgentView>,
    options: Arc<McpOptions>,
    /// Versions of the lists when the last subscription was accepted.
    accepted: Mutex<ListVersions>,
    /// Counts changes of the tools of this session alone.
    own_tools: watch::Sender<u64>,
    /// True if the client is notified of changes already; it may send `notifications/initialized` twice.
    is_notified: AtomicBool,
    /// Cancelled when the handler is dropped, which ends its notification tasks.
    ended: CancellationToken,
    _end: DropGuard,
    /// Cancels calls that still run when it is too late to answer.
    abandoned: CancellationToken,
    principal: Principal,
    /// The id of the conversation with this client.
    conversation: Arc<str>,
    /// The session of this client alone, once it needs one.
    own: Mutex<Option<Arc<Session>>>,
    /// Counts changes of the client's roots.
    root_changes: AtomicU64,
    /// The numbers of the snapshot and of root changes at which skills for files were last looked for.
    looked_for_files: tokio::sync::Mutex<Option<(u64, u64)>>,
    /// Notes about skills for files that no result had yet.
    notes_for_files: Arc<Mutex<Vec<String>>>,
    /// The catalog of the client, settled by its first request so that prompt caches keep matching.
    catalog: OnceLock<ClientCatalog>,
}

impl Handler {
    /// Returns a handler whose subscriptions end with `closing`, and whose calls end with `abandoned`.
    pub(crate) fn new(
        view: Arc<AgentView>,
        options: Arc<McpOptions>,
        closing: &CancellationToken,
        abandoned: CancellationToken,
    ) -> Self {
        let ended = closing.child_token();
        let number = CONVERSATIONS.fetch_add(1, Ordering::Relaxed);
        let conversation = format!("{}.{number:x}", view.session.id()).into();
        Self {
            view,
            options,
            accepted: Mutex::default(),
            own_tools: watch::Sender::new(0),
            is_notified: AtomicBool::new(false),
            ended: ended.clone(),
            _end: ended.drop_guard(),
            abandoned,
            principal: Principal::default(),
            conversation,
            own: Mutex::default(),
            root_changes: AtomicU64::new(0),
            looked_for_files: tokio::sync::Mutex::default(),
            notes_for_files: Arc::default(),
            catalog: OnceLock::new(),
        }
    }

    pub(crate) fn with_principal(self, principal: Principal) -> Self {
        Self { principal, ..self }
    }

    /// Returns whom a request is recorded for. Every client over HTTP has a conversation of its own, unless
    /// its requests are not part of one.
    fn origin_of(&self, context: &RequestContext<RoleServer>) -> Principal {
        let is_http = context.extensions.get::<Parts>().is_some();
        let has_conversation = is_http && !is_stateless_http(context);
        let conversation = has_conversation.then(|| Arc::clone(&self.conversation));
        Principal { conversation, ..self.principal.clone() }
    }

    /// Returns the client's own session if there is one, otherwise the one it shares with others.
    fn current_session(&self) -> Arc<Session> {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(own.as_ref().unwrap_or(&self.view.session))
    }

    /// Lets the model read a skill that a person invoked, although models are not offered it, for this
    /// session. Stateless HTTP requests share the session of their agent, so there it holds for the agent.
    async fn invoke(&self, name: &SkillName, context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
        if !is_stateless_http(context) {
            self.own_session().await?;
        }
        self.current_session().lookup().invoke(name);
        Ok(())
    }

    /// Returns the session for a request. If it remembers what is loaded, each client has its own: skills
    /// that one client loaded must not change the tools of another.
    async fn session(&self, context: &RequestContext<RoleServer>) -> Result<Arc<Session>, ErrorData> {
        let needs_own = self.has_own_session() || self.view.session.skill_tools().remembers_loads();
        if !needs_own || is_stateless_http(context) {
            return Ok(self.current_session());
        }
        self.own_session().await
    }

    fn has_own_session(&self) -> bool {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Returns the client's own session, opening it first if necessary.
    async fn own_session(&self) -> Result<Arc<Session>, ErrorData> {
        if !self.has_own_session() {
            let session = self.view.open_session().await;
            let session = session.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            if let Some(names) = self.view.session.lookup().left_to_client() {
                session.lookup().leave_to_client(names.clone());
            }
            self.own.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(session);
        }
        let session = self.current_session();
        if session.snapshot_number() < self.view.session.snapshot_number() {
            session.renew().await;
        }
        Ok(session)
    }

    /// Notifies the clients that share the session of a request if its tools differ from `before`.
    fn notify_tools(
        &self,
        before: Option<Arc<[Definition]>>,
        session: &Session,
        context: &RequestContext<RoleServer>,
    ) {
        if before.is_none_or(|before| before == session.tools()) {
            return;
        }
        if is_stateless_http(context) {
            self.view.tools_changed();
        } else {
            self.own_tools.send_modify(|count| *count += 1);
        }
    }

    /// Looks for skills for the files that the client works on, once for each change of the library and of
    /// its roots, and leaves the note about them in `notes_for_files`.
    ///
    /// The directories of a client over HTTP may be those of another machine, so it gets none.
    async fn look_for_files(&self, session: &Arc<Session>, context: &RequestContext<RoleServer>) {
        if context.extensions.get::<Parts>().is_some() {
            return;
        }
        // One call at a time looks; the others do not wait for it.
        let Ok(mut looked) = self.looked_for_files.try_lock() else { return };
        let snapshot = self.view.shared.registry.snapshot();
        let now = (snapshot.number(), self.root_changes.load(Ordering::Relaxed));
        if *looked == Some(now) {
            return;
        }
        let has_globs = |entry: &Entry| !entry.document.manifest.paths.is_empty();
        if !self.view.offered(&snapshot).any(has_globs) {
            *looked = Some(now);
            return;
        }
        let is_asked = ProtocolFamily::of(context) == ProtocolFamily::Handshake;
        let options = &self.options;
        let peer = is_asked.then_some(&context.peer);
        let files = roots::files(peer, options.project.clone(), options.home.clone()).await;
        *looked = Some(now);
        let (session, notes) = (Arc::clone(session), Arc::clone(&self.notes_for_files));
        // It goes on if the call is cancelled, and the next result has the note.
        let _ = tokio::task::spawn_blocking(move || {
            let note = session.focus(&files).text;
            if !note.is_empty() {
                notes.lock().unwrap_or_else(PoisonError::into_inner).push(note);
            }
        })
        .await;
    }

    fn changes(&self) -> ChangeReceiver {
        ChangeReceiver {
            lists: self.view.list_versions(),
            own_tools: self.own_tools.subscribe(),
            republished: self.view.shared.published.changes(),
            has_tools: self.has_tools(),
            has_resources: self.has_extension(),
        }
    }

    fn server_info(&self) -> Implementation {
        let options = &self.options;
        Implementation::new(options.name.clone(), options.version.clone())
    }

    /// Leaves the skills that `client` reads from files by itself out of what it is offered.
    fn leave_to_client(&self, client: Option<&str>) {
        let lookup = self.view.session.lookup();
        if let (Some(own_files), Some(client), None) =
            (&self.options.own_files, client, lookup.left_to_client())
        {
            lookup.leave_to_client(own_files.of(client));
        }
    }

    /// Returns the catalog for `client`, settled by the first request at which there are skills.
    fn catalog(&self, client: Option<&str>) -> ClientCatalog {
        self.leave_to_client(client);
        if let Some(catalog) = self.catalog.get() {
            return catalog.clone();
        }
        let catalog = ClientCatalog::of(&self.view, client, &self.options);
        if has_load(&self.view.session) { self.catalog.get_or_init(|| catalog).clone() } else { catalog }
    }

    /// Returns the instructions for `client`, or none if they are empty.
    fn instructions(&self, client: Option<&str>) -> Option<String> {
        let text = self.catalog(client).instructions(&self.view.session.options().tools.names.load);
        Some(text).filter(|text| !text.is_empty())
    }

    fn has_tools(&self) -> bool {
        self.options.tools
    }

    fn has_extension(&self) -> bool {
        self.options.extension
    }

    fn capabilities(&self) -> ServerCapabilities {
        let mut capabilities =
            ServerCapabilities::builder().enable_prompts().enable_prompts_list_changed().build();
        if self.has_tools() {
            capabilities.tools =
                ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build().tools;
        }
        if self.has_extension() {
            let with_resources =
                ServerCapabilities::builder().enable_resources().enable_resources_list_changed();
            capabilities.resources = with_resources.build().resources;
            capabilities.extensions = Some(skills::capability());
        }
        capabilities
    }
}

/// Returns whether a request came over HTTP without a session.
fn is_stateless_http(context: &RequestContext<RoleServer>) -> bool {
    ProtocolFamily::of(context) == ProtocolFamily::Stateless && context.extensions.get::<Parts>().is_some()
}

/// Fails if a request over HTTP would get a response of `bytes` while too many responses wait to be read.
fn expect_room(context: &RequestContext<RoleServer>, bytes: u64) -> Result<(), ErrorData> {
    let parts = context.extensions.get::<Parts>();
    let limits = parts.and_then(|parts| parts.extensions.get::<RequestLimits>());
    let room = limits.map_or(Ok(()), |limits| (limits.room)(bytes));
    room.map_err(|reason| ErrorData::internal_error(reason, None))
}

/// Returns the error for an unknown method or one that is switched off.
fn method_not_found(method: &str) -> ErrorData {
    let method = repertoire_model::text::shorten(method, 100);
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("method not found: {method}"), None)
}

/// Adds the fields to a result that the protocol family of the request asks for.
macro_rules! stamped {
    ($self:ident, $context:ident, $result:expr) => {{
        let (family, mut result) = (ProtocolFamily::of(&$context), $result);
        result.meta = family.meta(&$self.server_info());
        result.ttl_ms = family.ttl_ms();
        result.cache_scope = family.cache_scope();
        result
    }};
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(self.capabilities());
        info.server_info = self.server_info();
        info
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let mut result = self.negotiate_initialize(&request)?;
        result.instructions = self.instructions(Some(&request.client_info.name));
        context.peer.set_peer_info(request);
        Ok(result)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(SUPPORTED_VERSIONS)
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let client = context.client_info().map(|client| client.name);
        let mut info = self.get_info();
        info.instructions = self.instructions(client.as_deref());
        Ok(DiscoverResult::from_server_info(versions, info))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if !self.has_tools() {
            return Err(method_not_found(ListToolsRequestMethod::VALUE));
        }
        // All tools fit on one page.
        super::cursor::parse(request.as_ref().and_then(|request| request.cursor.as_deref()))?;
        let catalog = self.catalog(context.client_info().map(|client| client.name).as_deref());
        let session = self.session(&context).await?;
        let result = ListToolsResult::with_all_items(tools::list(&session, &catalog));
        Ok(stamped!(self, context, result))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !self.has_tools() {
            return Err(method_not_found(CallToolRequestMethod::VALUE));
        }
        let (family, session) = (ProtocolFamily::of(&context), self.session(&context).await?);
        let before = tools::may_change(&session).then(|| session.tools());
        if [READ_FILE, session.options().tools.names.read_file.as_str()].contains(&&*request.name) {
            expect_room(&context, session.options().tools.read_bytes as u64)?;
        }
        let parts = context.extensions.get::<Parts>();
        let client =
            parts.and_then(|parts| parts.extensions.get::<Disconnection>()).cloned().unwrap_or_default();
        let origin = self.origin_of(&context);
        let mut result = tokio::select! {
            // A cancelled call must not start a run in the place that has just become free.
            biased;
            () = context.ct.cancelled() => return Err(ErrorData::internal_error("the call was cancelled", None)),
            () = self.abandoned.cancelled() => return Err(ErrorData::internal_error("the server is stopping", None)),
            result = tools::call(&self.view, &session, &origin, request, &client, self.options.result) => result?,
        };
        self.notify_tools(before, &session, &context);
        if result.is_error != Some(true) {
            tokio::select! {
                () = self.look_for_files(&session, &context) => {}
                () = self.abandoned.cancelled() => {}
                () = context.ct.cancelled() => {
                    return Err(ErrorData::internal_error("the call was cancelled", None));
                }
            }
            let mut notes = self.notes_for_files.lock().unwrap_or_else(PoisonError::into_inner);
            result.content.extend(notes.drain(..).map(ContentBlock::text));
        }
        result.meta = family.meta(&self.server_info());
        Ok(result.into())
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        self.leave_to_client(context.client_info().map(|client| client.name).as_deref());
        let result = prompts::list(&self.view, cursor.as_deref()).await?;
        Ok(stamped!(self, context, result))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let invocation =
            prompts::parse(&self.view, &self.current_session(), &self.origin_of(&context), &request).await?;
        if !invocation.entry.allows_models() {
            self.invoke(invocation.entry.name(), &context).await?;
        }
        let session = self.session(&context).await?;
        let before = tools::may_change(&session).then(|| session.tools());
        let mut result =
            prompts::get(&self.view, &session, &self.origin_of(&context), &invocation, self.options.tools)
                .await?;
        self.notify_tools(before, &session, &context);
        result.meta = ProtocolFamily::of(&context).meta(&self.server_info());
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        if !self.has_extension() {
            return Err(method_not_found(ListResourcesRequestMethod::VALUE));
        }
        let cursor = request.and_then(|request| request.cursor);
        let result = resources::list(&self.view, cursor.as_deref()).await?;
        Ok(stamped!(self, context, result))
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        if !self.has_extension() {
            return Err(method_not_found(ListResourceTemplatesRequestMethod::VALUE));
        }
        super::cursor::parse(request.as_ref().and_then(|request| request.cursor.as_deref()))?;
        let result = ListResourceTemplatesResult::with_all_items(vec![resources::template()]);
        Ok(stamped!(self, context, result))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if !self.has_extension() {
            return Err(method_not_found(ReadResourceRequestMethod::VALUE));
        }
        let (session, room) = (self.current_session(), |bytes| expect_room(&context, bytes));
        let result =
            resources::read(&self.view, &session, &self.origin_of(&context), &request.uri, &room).await?;
        Ok(stamped!(self, context, result).into())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(method_not_found(CompleteRequestMethod::VALUE))
    }

    #[expect(deprecated, reason = "older clients may call it")]
    async fn set_level(
        &self,
        _: rmcp::model::SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Err(method_not_found(SetLevelRequestMethod::VALUE))
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Err(method_not_found(SubscribeRequestMethod::VALUE))
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Err(method_not_found(UnsubscribeRequestMethod::VALUE))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let CustomRequest { method, params, .. } = request;
        let family = ProtocolFamily::of(&context);
        if !methods().any(|known| known == method)
            || (skills::METHODS.contains(&&*method) && !self.has_extension())
        {
            return Err(method_not_found(&method));
        }
        let mut result = match method.as_str() {
            skills::LIST => skills::list(&self.view, params).await?,
            skills::GET => {
                skills::get(&self.view, &self.current_session(), &self.origin_of(&context), params).await?
            }
            skills::READ_DIRECTORY => {
                resources::read_directory(
                    &self.view,
                    &self.current_session(),
                    &self.origin_of(&context),
                    params,
                )
                .await?
            }
            known => return Err(ErrorData::invalid_params(format!("bad parameters for {known}"), None)),
        };
        family.complete(&mut result, &self.server_info());
        Ok(CustomResult::new(result.into()))
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut accepted = requested.clone();
        // Changes of files are announced as changes of the list.
        accepted.resource_subscriptions = None;
        accepted.tools_list_changed = accepted.tools_list_changed.filter(|_| self.has_tools());
        accepted.resources_list_changed = accepted.resources_list_changed.filter(|_| self.has_extension());
        // rmcp acknowledges the subscription before it calls `listen`; changes in between must not be lost.
        *self.accepted.lock().unwrap_or_else(PoisonError::into_inner) = self.changes().versions();
        Some(accepted)
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let seen = *self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        notify::notify_subscription(subscription, seen, self.changes(), self.ended.clone()).await;
        Ok(())
    }

    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {
        self.root_changes.fetch_add(1, Ordering::Relaxed);
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if self.is_notified.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut changes = self.changes();
        // Changes before the task runs must not be lost.
        let seen = changes.versions();
        tokio::spawn(notify::notify_peer(context.peer, seen, changes, self.ended.clone()));
    }
}
