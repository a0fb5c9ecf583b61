//! Requests in, results out: what rmcp calls.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::request::Parts;
use repertoire::{Session, SkillName};
use rmcp::model::{
    CallToolRequestMethod, CallToolRequestParams, CallToolResponse, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, ConstString as _, CustomRequest, CustomResult, DiscoverResult,
    ErrorCode, GetPromptRequestParams, GetPromptResponse, Implementation, InitializeRequestParams,
    InitializeResult, ListPromptsResult, ListResourceTemplatesRequestMethod, ListResourceTemplatesResult,
    ListResourcesRequestMethod, ListResourcesResult, ListToolsRequestMethod, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ReadResourceRequestMethod, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, SetLevelRequestMethod, SubscribeRequestMethod,
    SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestMethod, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::era::Era;
use super::notify::{Followed, Told};
use super::{notify, prompts, resources, skills, tools};
use crate::audience::Audience;

/// The methods that rmcp takes for unknown ones where their parameters are not as they should be.
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

/// Answers one connection, or one request where connections are not kept.
pub(crate) struct Handler {
    audience: Arc<Audience>,
    /// How often each list had changed when the last subscription was accepted.
    accepted: Mutex<Told>,
    /// How often the tools of this conversation alone changed.
    own_tools: watch::Sender<u64>,
    /// Whether somebody tells the connection of changes already; a client may say twice that it is ready.
    is_told: AtomicBool,
    /// Ends with the handler: those who tell a connection of changes have no other way to know that it is over.
    ended: CancellationToken,
    _end: DropGuard,
    /// Is cancelled when nobody is left to read the answers of calls that still run.
    abandoned: CancellationToken,
    /// The session of this conversation alone, once a person invoked a skill in it that is kept from models.
    own: Mutex<Option<Arc<Session>>>,
}

impl Handler {
    /// Returns a handler for `audience` that ends its streams with `closing`.
    pub(crate) fn new(audience: Arc<Audience>, closing: &CancellationToken) -> Self {
        let ended = closing.child_token();
        Self {
            audience,
            accepted: Mutex::default(),
            own_tools: watch::Sender::new(0),
            is_told: AtomicBool::new(false),
            ended: ended.clone(),
            _end: ended.drop_guard(),
            abandoned: CancellationToken::new(),
            own: Mutex::default(),
        }
    }

    /// Returns the handler, which ends the calls that still run with `abandoned`.
    pub(crate) fn until(self, abandoned: CancellationToken) -> Self {
        Self { abandoned, ..self }
    }

    /// Returns what answers calls.
    fn session(&self) -> Arc<Session> {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(own.as_ref().unwrap_or(&self.audience.session))
    }

    /// Lets the model read the files of a skill that a person invoked, though it is kept from models otherwise: for the rest
    /// of the conversation. Requests over HTTP that belong to none have nothing in common but whose they are, so there it
    /// holds for the audience.
    async fn invoked(&self, name: &SkillName, context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
        if !is_alone(context) {
            self.own_session().await?;
        }
        self.session().invoke(name);
        Ok(())
    }

    /// Returns what answers calls of this conversation: where skills bring tools along, what one client loaded is nothing to
    /// another. Requests over HTTP that belong to no conversation share the session of their audience.
    async fn conversation(&self, context: &RequestContext<RoleServer>) -> Result<Arc<Session>, ErrorData> {
        if !self.audience.session.offers_skill_tools() || is_alone(context) {
            return Ok(self.session());
        }
        self.own_session().await
    }

    /// Returns the session of this conversation alone.
    async fn own_session(&self) -> Result<Arc<Session>, ErrorData> {
        let has_own = self.own.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if !has_own {
            let session = self.audience.own_session().await;
            let session = session.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            self.own.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(session);
        }
        let session = self.session();
        // It is told of the same library as everybody.
        if session.snapshot_number() < self.audience.session.snapshot_number() {
            session.renew().await;
        }
        Ok(session)
    }

    /// Tells those whose tools are not what they were: this conversation, or whoever shares a session with a request that belongs to none.
    fn tools_changed(&self, context: &RequestContext<RoleServer>) {
        if is_alone(context) {
            self.audience.tools_changed();
        } else {
            self.own_tools.send_modify(|count| *count += 1);
        }
    }

    /// Returns what tells of changes.
    fn followed(&self) -> Followed {
        Followed { epochs: self.audience.epochs(), own_tools: self.own_tools.subscribe() }
    }

    fn server_info(&self) -> Implementation {
        let options = self.audience.options();
        Implementation::new(options.name.clone(), options.version.clone())
    }

    /// Returns the instructions for `client`; none where there is nothing to tell.
    fn instructions(&self, client: Option<&str>) -> Option<String> {
        let instructions = self.audience.instructions(client);
        (!instructions.is_empty()).then(|| instructions.to_string())
    }

    fn has_tools(&self) -> bool {
        self.audience.options().tools.is_on()
    }

    fn has_extension(&self) -> bool {
        self.audience.options().extension.is_on()
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

/// Returns whether the request belongs to no conversation.
fn is_alone(context: &RequestContext<RoleServer>) -> bool {
    Era::of(context) == Era::Modern && context.extensions.get::<Parts>().is_some()
}

/// Returns the error that there is no `method`, or none that is offered.
fn method_not_found(method: &str) -> ErrorData {
    let method = repertoire_model::text::shorten(method, 100);
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("method not found: {method}"), None)
}

/// Puts into a list what the peer's way to speak asks for.
macro_rules! stamped {
    ($self:ident, $era:expr, $result:expr) => {{
        let (era, mut result): (Era, _) = ($era, $result);
        result.meta = era.meta(&$self.server_info());
        result.ttl_ms = era.ttl_ms();
        result.cache_scope = era.cache_scope();
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
        Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS)
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
        // They always fit on one page.
        super::cursor::parse(request.as_ref().and_then(|request| request.cursor.as_deref()))?;
        let session = self.conversation(&context).await?;
        let result = ListToolsResult::with_all_items(tools::list(&session));
        Ok(stamped!(self, Era::of(&context), result))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !self.has_tools() {
            return Err(method_not_found(CallToolRequestMethod::VALUE));
        }
        let (era, session) = (Era::of(&context), self.conversation(&context).await?);
        let before = tools::may_change(&session).then(|| session.tools());
        // Nobody waits for the answer to a call that was cancelled.
        let mut result = tokio::select! {
            result = tools::call(&self.audience, &session, request) => result?,
            () = context.ct.cancelled() => return Err(ErrorData::internal_error("the call was cancelled", None)),
            () = self.abandoned.cancelled() => return Err(ErrorData::internal_error("the client is gone", None)),
        };
        if before.is_some_and(|before| before != session.tools()) {
            self.tools_changed(&context);
        }
        result.meta = era.meta(&self.server_info());
        Ok(result.into())
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let result = prompts::list(&self.audience, cursor.as_deref()).await?;
        Ok(stamped!(self, Era::of(&context), result))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let invoked = prompts::invoked(&self.audience, &request).await?;
        // Before it is loaded: from now on the model may.
        if !invoked.entry.is_offered() {
            self.invoked(invoked.entry.name(), &context).await?;
        }
        let session = self.conversation(&context).await?;
        let before = tools::may_change(&session).then(|| session.tools());
        let mut result = prompts::get(&self.audience, &session, &invoked).await?;
        if before.is_some_and(|before| before != session.tools()) {
            self.tools_changed(&context);
        }
        result.meta = Era::of(&context).meta(&self.server_info());
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
        let result = resources::list(&self.audience, cursor.as_deref()).await?;
        Ok(stamped!(self, Era::of(&context), result))
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
        Ok(stamped!(self, Era::of(&context), result))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if !self.has_extension() {
            return Err(method_not_found(ReadResourceRequestMethod::VALUE));
        }
        let result = resources::read(&self.audience, &self.session(), &request.uri).await?;
        Ok(stamped!(self, Era::of(&context), result).into())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(method_not_found(CompleteRequestMethod::VALUE))
    }

    #[expect(deprecated, reason = "clients of before may call it")]
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
        let era = Era::of(&context);
        let mut result = match method.as_str() {
            skills::LIST if self.has_extension() => skills::list(&self.audience, params).await?,
            skills::GET if self.has_extension() => {
                skills::get(&self.audience, &self.session(), params).await?
            }
            skills::READ_DIRECTORY if self.has_extension() => {
                resources::read_directory(&self.audience, &self.session(), params).await?
            }
            known if KNOWN_METHODS.contains(&known) => {
                return Err(ErrorData::invalid_params(format!("bad parameters for {known}"), None));
            }
            _ => {
                return Err(method_not_found(&method));
            }
        };
        era.complete(&mut result, &self.server_info());
        Ok(CustomResult::new(result.into()))
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut accepted = requested.clone();
        // A client that follows the lists learns of changed files by them.
        accepted.resource_subscriptions = None;
        // There are no lists of what is not offered.
        accepted.tools_list_changed = accepted.tools_list_changed.filter(|_| self.has_tools());
        accepted.resources_list_changed = accepted.resources_list_changed.filter(|_| self.has_extension());
        // Clients are told that they are listened to before `listen` begins; what changes between counts.
        *self.accepted.lock().unwrap_or_else(PoisonError::into_inner) = self.followed().now();
        Some(accepted)
    }

    async fn listen(&self, listener: SubscriptionContext) -> Result<(), ErrorData> {
        let told = *self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        notify::tell_listener(listener, told, self.followed(), self.ended.clone()).await;
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if self.is_told.swap(true, Ordering::Relaxed) {
            return;
        }
        let (mut followed, ended) = (self.followed(), self.ended.clone());
        // What changes before the task runs counts.
        let told = followed.now();
        tokio::spawn(notify::tell_peer(context.peer, told, followed, ended));
    }
}
