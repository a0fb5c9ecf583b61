//! The people and programs that a server knows by their tokens, and the endpoint of each.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Instant;

use repertoire::serve::{AgentView, Caller, Principal, RunLimit, ViewLimits};
use repertoire::store::{LazyStore, Role, TOKEN_PREFIX, TokenRecord};
use repertoire::tool::{OfferedTools, ToolNames, reserved_names};
use repertoire::{Agent, Library};
use repertoire_model::Digest;
use repertoire_model::scope::{Pattern, Scope};
use tokio_util::sync::CancellationToken;

use super::access::{Token, duplicate, find};
use super::mount::Endpoint;
use super::options::HttpAccess;
use super::quota::PrincipalLimits;
use super::stored_tokens::StoredTokens;
use super::url_token::UrlToken;
use crate::oidc::{OidcFault, Provider, is_jwt};
use crate::{Error, ErrorKind, Server};

/// Maximum endpoints of tokens of the store. One more closes the least recently used one, with its sessions.
const MAX_OPEN: usize = 2_048;

/// The reason that a request has no endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AccessFault {
    /// It has no token.
    MissingToken,
    /// Its token is not valid.
    InvalidToken,
    /// The store of tokens does not answer.
    StoreAway,
    /// The agent of its token does not exist, or cannot be used.
    Agent,
    /// The provider that issued its token does not answer.
    ProviderAway,
    /// The provider vouches for its sender, who has no access here.
    NoAccess,
    /// Its token is in the URL, and has more rights than one there may have.
    UrlToken,
}

/// The endpoints of the tokens that were given with the options, and what those of the store are made with.
struct ConfiguredAccess {
    /// Grows with each replacement.
    generation: u64,
    library: Library,
    kits: BTreeMap<String, Vec<Pattern>>,
    tokens: Vec<Token>,
    /// One for each token.
    endpoints: Vec<Arc<Endpoint>>,
    /// The endpoint of requests without a token, if they are accepted.
    anonymous: Option<Arc<Endpoint>>,
    /// The provider that people sign in at.
    provider: Option<Arc<Provider>>,
}

/// An endpoint of a token of the store.
struct OpenEndpoint {
    record: Arc<TokenRecord>,
    key: ViewKey,
    generation: u64,
    endpoint: Arc<Endpoint>,
    used: Instant,
}

/// Everything that decides what a view has.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ViewKey {
    agent: Option<Agent>,
    limits: ViewLimits,
}

/// The people and programs that a server knows.
pub(super) struct Principals {
    server: Server,
    options: PrincipalsOptions,
    configured: RwLock<Arc<ConfiguredAccess>>,
    stored: Option<StoredTokens>,
    open: Mutex<HashMap<Digest, OpenEndpoint>>,
    /// The views that are in use; several tokens share one.
    views: Mutex<Vec<(ViewKey, Weak<AgentView>)>>,
}

/// The options of [`Principals`] that stay for as long as the server runs.
pub(super) struct PrincipalsOptions {
    pub(super) stopping: CancellationToken,
    pub(super) closed: CancellationToken,
    /// The agent of requests without a token.
    pub(super) agent: Option<String>,
    /// True if every request needs a token.
    pub(super) needs_token: bool,
    pub(super) store: Option<LazyStore>,
    pub(super) principal_limits: PrincipalLimits,
}

impl Principals {
    pub(super) async fn open(
        server: Server,
        options: PrincipalsOptions,
        access: HttpAccess,
    ) -> Result<Self, Error> {
        let empty = ConfiguredAccess {
            generation: 0,
            library: server.library().clone(),
            kits: BTreeMap::new(),
            tokens: Vec::new(),
            endpoints: Vec::new(),
            anonymous: None,
            provider: None,
        };
        let principals = Self {
            server,
            stored: options.store.clone().map(StoredTokens::new),
            options,
            configured: RwLock::new(Arc::new(empty)),
            open: Mutex::default(),
            views: Mutex::default(),
        };
        principals.replace(access).await?;
        Ok(principals)
    }

    /// Replaces the tokens, agents and kits. Endpoints that stay the same keep their sessions. After an
    /// error, everything is as before.
    pub(super) async fn replace(&self, access: HttpAccess) -> Result<(), Error> {
        let HttpAccess { tokens, agents, kits, oidc } = access;
        expect_distinct(&tokens)?;
        let before = self.configured();
        // A provider that stays the same keeps its keys.
        let provider = match (oidc, &before.provider) {
            (Some(options), Some(known)) if *known.options() == options => Some(Arc::clone(known)),
            (options, _) => options.map(Provider::new).transpose()?.map(Arc::new),
        };
        let library = match agents {
            Some(agents) => self.server.library().with_agents(agents),
            None => self.server.library().clone(),
        };
        let mut endpoints = Vec::with_capacity(tokens.len());
        for token in &tokens {
            let key = self.key(&library, token.agent.as_deref(), ViewLimits::default())?;
            let role = match &key.agent {
                None => Role::Admin,
                Some(agent) if agent.reviews => Role::Reviewer,
                Some(_) => Role::Author,
            };
            let principal = self.principal(&token.name, role);
            let view = self.view(&library, &key).await?;
            let known = before.tokens.iter().position(|other| other == token);
            let known = known.map(|index| &before.endpoints[index]);
            endpoints.push(match known.filter(|known| Arc::ptr_eq(&known.caller.view, &view)) {
                Some(known) => Arc::clone(known),
                None => self.endpoint_of(view, principal),
            });
        }
        let is_open = tokens.is_empty() && provider.is_none() && !self.options.needs_token;
        let anonymous = if is_open {
            let key = self.key(&library, self.options.agent.as_deref(), ViewLimits::default())?;
            let view = self.view(&library, &key).await?;
            let known = before.anonymous.clone().filter(|known| Arc::ptr_eq(&known.caller.view, &view));
            Some(known.unwrap_or_else(|| self.endpoint_of(view, Principal::default())))
        } else {
            None
        };
        let generation = before.generation + 1;
        let replaced = ConfiguredAccess { generation, library, kits, tokens, endpoints, anonymous, provider };
        *self.configured.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(replaced);
        Ok(())
    }

    /// Returns `true` if requests without a token are accepted.
    pub(super) fn is_open(&self) -> bool {
        self.configured().anonymous.is_some()
    }

    /// Returns `false` if nobody can be let in: all tokens are of a store that was not read for too long.
    pub(super) async fn lets_in(&self) -> bool {
        let configured = self.configured();
        let has_others =
            configured.anonymous.is_some() || configured.provider.is_some() || !configured.tokens.is_empty();
        match &self.stored {
            Some(stored) if !has_others => stored.are_usable().await,
            _ => true,
        }
    }

    /// Returns the endpoint of a request with the bearer token `token`.
    pub(super) async fn endpoint(&self, token: Option<&[u8]>) -> Result<Arc<Endpoint>, AccessFault> {
        let configured = self.configured();
        let Some(token) = token else {
            return configured.anonymous.clone().ok_or(AccessFault::MissingToken);
        };
        let digest = Digest::of(token);
        if let Some(index) = find(&digest, &configured.tokens) {
            return Ok(Arc::clone(&configured.endpoints[index]));
        }
        if token.starts_with(TOKEN_PREFIX.as_bytes())
            && let Some(stored) = &self.stored
        {
            let found = stored.find(&digest).await.map_err(|_| AccessFault::StoreAway)?;
            return self.endpoint_of_record(&configured, found.ok_or(AccessFault::InvalidToken)?).await;
        }
        if let Some(provider) = &configured.provider
            && let Some(token) = jwt(token)
        {
            let record = provider.person_of_token(token).await.map_err(access_fault)?.record();
            return self.endpoint_of_record(&configured, Arc::new(record)).await;
        }
        // A token means nothing to a server that asks for none.
        configured.anonymous.clone().ok_or(AccessFault::InvalidToken)
    }

    /// Returns the provider that people sign in at, if there is one.
    pub(super) fn provider(&self) -> Option<Arc<Provider>> {
        self.configured().provider.clone()
    }

    pub(super) fn stored(&self) -> Option<&StoredTokens> {
        self.stored.as_ref()
    }

    /// Returns the endpoint of a request with a token in its URL, which must be a reader's that expires.
    pub(super) async fn endpoint_of_url(&self, token: &UrlToken) -> Result<Arc<Endpoint>, AccessFault> {
        let stored = self.stored.as_ref().ok_or(AccessFault::InvalidToken)?;
        let found = stored.find(&Digest::of(token.0.as_bytes())).await.map_err(|_| AccessFault::StoreAway)?;
        let record = found.ok_or(AccessFault::InvalidToken)?;
        if record.role != Role::Reader || record.expires.is_none() {
            return Err(AccessFault::UrlToken);
        }
        self.endpoint_of_record(&self.configured(), record).await
    }

    /// Returns the endpoint of a token of the store, or of a person that the provider vouches for.
    async fn endpoint_of_record(
        &self,
        configured: &ConfiguredAccess,
        record: Arc<TokenRecord>,
    ) -> Result<Arc<Endpoint>, AccessFault> {
        if let Some(open) = self.lock_open().get_mut(&record.digest)
            && open.generation == configured.generation
            && Arc::ptr_eq(&open.record, &record)
        {
            open.used = Instant::now();
            return Ok(Arc::clone(&open.endpoint));
        }
        let fault = |_: Error| AccessFault::Agent;
        let limits = ViewLimits { scopes: vec![scope(&record, &configured.kits)], tools: tools(record.role) };
        let key = self.key(&configured.library, record.agent.as_deref(), limits).map_err(fault)?;
        let same = |open: &OpenEndpoint| {
            open.key == key && (&open.record.name, open.record.role) == (&record.name, record.role)
        };
        let known =
            self.lock_open().get(&record.digest).filter(|open| same(open)).map(|it| it.endpoint.clone());
        let endpoint = match known {
            Some(endpoint) => endpoint,
            None => {
                let view = self.view(&configured.library, &key).await.map_err(fault)?;
                self.endpoint_of(view, self.principal(&record.name, record.role))
            }
        };
        let mut open = self.lock_open();
        // Another request may have been faster. Its endpoint has sessions, which end with it.
        let faster = open.get(&record.digest).filter(|open| same(open)).map(|it| it.endpoint.clone());
        let endpoint = faster.unwrap_or(endpoint);
        if open.len() >= MAX_OPEN
            && !open.contains_key(&record.digest)
            && let Some(oldest) = open.iter().min_by_key(|(_, open)| open.used).map(|(digest, _)| *digest)
        {
            open.remove(&oldest);
        }
        let (digest, generation, used) = (record.digest, configured.generation, Instant::now());
        open.insert(digest, OpenEndpoint { record, key, generation, endpoint: Arc::clone(&endpoint), used });
        Ok(endpoint)
    }

    fn principal(&self, name: &str, role: Role) -> Principal {
        let runs = RunLimit::new(self.options.principal_limits.runs);
        Principal { name: Some(name.into()), role, runs, ..Principal::default() }
    }

    fn endpoint_of(&self, view: Arc<AgentView>, principal: Principal) -> Arc<Endpoint> {
        let caller = Arc::new(Caller::new(view, principal));
        Arc::new(Endpoint::new(
            caller,
            &self.server.options().mcp,
            &self.options.stopping,
            &self.options.closed,
        ))
    }

    fn key(&self, library: &Library, agent: Option<&str>, limits: ViewLimits) -> Result<ViewKey, Error> {
        let agent = agent.map(|name| library.agent(name).cloned()).transpose()?;
        Ok(ViewKey { agent, limits })
    }

    /// Returns the view with `key`, which follows the library for as long as it is used.
    async fn view(&self, library: &Library, key: &ViewKey) -> Result<Arc<AgentView>, Error> {
        let find = |views: &[(ViewKey, Weak<AgentView>)]| {
            views.iter().find(|(other, _)| other == key).and_then(|(_, view)| view.upgrade())
        };
        let known = find(&self.lock_views());
        if let Some(view) = known {
            return Ok(view);
        }
        let agent = key.agent.as_ref().map(|agent| agent.name.as_str());
        let view = self.server.limited_view(library.clone(), agent, key.limits.clone()).await?;
        let mut views = self.lock_views();
        if let Some(faster) = find(&views) {
            return Ok(faster);
        }
        view.start_following();
        views.retain(|(_, view)| view.strong_count() > 0);
        views.push((key.clone(), Arc::downgrade(&view)));
        Ok(view)
    }

    fn configured(&self) -> Arc<ConfiguredAccess> {
        Arc::clone(&self.configured.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn lock_open(&self) -> std::sync::MutexGuard<'_, HashMap<Digest, OpenEndpoint>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_views(&self) -> std::sync::MutexGuard<'_, Vec<(ViewKey, Weak<AgentView>)>> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns `token` if it has the form of a JSON Web Token.
fn jwt(token: &[u8]) -> Option<&str> {
    std::str::from_utf8(token).ok().filter(|token| is_jwt(token))
}

/// Returns the fault of a request with a token of the provider.
fn access_fault(fault: OidcFault) -> AccessFault {
    match fault {
        OidcFault::Provider(_) => AccessFault::ProviderAway,
        OidcFault::Token(_) => AccessFault::InvalidToken,
        OidcFault::Name(_) | OidcFault::NoGroup(_) => AccessFault::NoAccess,
    }
}

/// Fails if two of `tokens` are equal, so that requests could not be distinguished.
pub(super) fn expect_distinct(tokens: &[Token]) -> Result<(), Error> {
    let Some(token) = duplicate(tokens) else { return Ok(()) };
    let agent = token.agent.as_deref().unwrap_or("one that may see everything");
    Err(Error::new(ErrorKind::TokenTwice).about(agent))
}

/// Returns the skills that a token gives access to. A kit that does not exist has no skills.
fn scope(record: &TokenRecord, kits: &BTreeMap<String, Vec<Pattern>>) -> Scope {
    let mut scope = record.scope.scope.clone();
    for kit in &record.scope.kits {
        let skills = kits.get(kit).into_iter().flatten().cloned();
        scope.allow.get_or_insert_default().extend(skills);
    }
    scope
}

fn tools(role: Role) -> OfferedTools {
    let names = ToolNames::default();
    let mut tools = reserved_names(&names);
    if role < Role::Reviewer {
        tools.remove(&names.review);
    }
    if role < Role::Author {
        tools.remove(&names.propose);
        tools.remove(&names.propose_update);
    }
    if role < Role::Reviewer { OfferedTools::Only(tools) } else { OfferedTools::All }
}

#[cfg(test)]
mod tests {
    use super::*;
    use repertoire::serve::{Notices, ServedLibrary};

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn the_first_requests_of_a_token_share_an_endpoint() {
        use crate::memory_store::MemoryStore;
        use repertoire::store::{Store, Tokens as _};
        let library = Library::builder().open().await.unwrap();
        let store = Arc::new(MemoryStore::new());
        let record = TokenRecord::new("rep_1", "ann", Role::Reader, std::time::SystemTime::now());
        store.add_token(&record).unwrap();
        let options = PrincipalsOptions {
            stopping: CancellationToken::new(),
            closed: CancellationToken::new(),
            agent: None,
            needs_token: true,
            store: Some(LazyStore::from(store as Arc<dyn Store>)),
            principal_limits: PrincipalLimits::default(),
        };
        let served = ServedLibrary::new(library, Notices::default());
        let server = Server::new(served, Arc::default(), crate::ServerOptions::default());
        let principals = Arc::new(Principals::open(server, options, HttpAccess::default()).await.unwrap());
        let requests: Vec<_> = (0..64)
            .map(|_| {
                let principals = Arc::clone(&principals);
                tokio::spawn(async move { principals.endpoint(Some(b"rep_1")).await })
            })
            .collect();
        let mut endpoints = Vec::new();
        for request in requests {
            endpoints.push(request.await.unwrap().unwrap());
        }
        assert!(endpoints.iter().all(|endpoint| Arc::ptr_eq(endpoint, &endpoints[0])));
    }

    #[test]
    fn roles_have_the_tools_of_their_rights() {
        let includes = |role: Role| {
            let tools = tools(role);
            [
                "load_skill",
                "run_skill_script",
                "propose_skill",
                "propose_skill_update",
                "review_skill_proposals",
            ]
            .map(|tool| tools.includes(tool))
        };
        assert_eq!(includes(Role::Reader), [true, true, false, false, false]);
        assert_eq!(includes(Role::Author), [true, true, true, true, false]);
        assert_eq!(includes(Role::Reviewer), [true; 5]);
    }

    #[test]
    fn a_kit_that_does_not_exist_gives_access_to_nothing() {
        let mut record = TokenRecord::new("", "ann", Role::Reader, std::time::SystemTime::UNIX_EPOCH);
        record.scope.kits = vec!["web".to_owned(), "gone".to_owned()];
        let kits = BTreeMap::from([("web".to_owned(), vec![Pattern::new("css").unwrap()])]);
        assert!(
            scope(&record, &kits).allows("s", "css", &[]) && !scope(&record, &kits).allows("s", "git", &[])
        );
        assert!(!scope(&record, &BTreeMap::new()).allows("s", "css", &[]));
    }
}
