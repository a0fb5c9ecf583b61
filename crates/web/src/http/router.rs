//! Routes and middleware.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{MatchedPath, Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get};
use axum::{Extension, Router};
use futures_util::StreamExt as _;
use http_body_util::BodyExt as _;
use repertoire::EventSink as _;
use repertoire::serve::{AgentView, Principal};
use tokio::sync::OwnedSemaphorePermit;
use tower::limit::GlobalConcurrencyLimitLayer;

use super::access::bearer;
use super::access_log::{self, LoggedRequest, Peer, PublicOrigin};
use super::app::App;
use super::body;
use super::guard::ForeignLinks;
use super::mount::Endpoint;
use super::options::HttpLimits;
use super::principals::AccessFault;
use super::refusals::{RecordedRefusal, Refusal, RefusalCode};
use super::refuse_access::refuse_access;
use super::reply::{overloaded, refuse};
use super::url_token::UrlToken;
use super::{open_pages, provider_sign_in, request_metrics, sign_in};
use crate::api;
use crate::dashboard::{RequestContext, Streams};
use crate::metrics::{CONTENT_TYPE, Gauges, ShownSkills};
use crate::publish::{self, PublishQuery};
use crate::{web, well_known};

/// Seconds after which a client may find a free connection.
const CONNECTION_RETRY_SECONDS: u32 = 1;

/// Seconds after which a client may find a free event stream; they stay open for long.
const STREAM_RETRY_SECONDS: u32 = 30;

const MCP: &str = "/mcp";

/// The paths of health checks.
const ALIVE: &str = "/healthz";
const READY: &str = "/readyz";

/// The path of the stream of changes.
const CHANGES: &str = "/changes";

/// Maximum time for the store to answer whether it is there. Health checks often wait for a second.
const STORE_TIME: Duration = Duration::from_millis(500);

/// The interval in which the token of an open event stream is checked again.
const STREAM_CHECK: Duration = Duration::from_secs(2);

/// The checks in a row that may fail because the store or the provider does not answer; the stream ends then.
const MAX_FAILED_CHECKS: usize = 15;

/// Maximum requests for files of the well-known index at a time; more wait. Each may pack up to 16 MiB. As
/// many requests for the index itself are answered beside them, and as many for published versions.
const MAX_DOWNLOADS: usize = 8;

/// Returns the routes of the server.
pub(super) fn router(app: Arc<App>) -> Router {
    let origin = middleware::from_fn_with_state(Arc::clone(&app), check_origin);
    let served = if app.page_secret.is_some() {
        personal(&app).layer(origin)
    } else {
        programs(&app).merge(dashboard(&app)).layer(origin).fallback(not_found)
    };
    let logged = middleware::from_fn_with_state(Arc::clone(&app), log_access);
    health_routes().merge(served).layer(logged).with_state(app)
}

/// Returns the routes of a server for one person: the dashboard alone, because no program has the cookie.
fn personal(app: &Arc<App>) -> Router<Arc<App>> {
    let opened = middleware::from_fn_with_state(Arc::clone(app), expect_opened);
    open_pages::open_routes().merge(dashboard(app).fallback(not_found).layer(opened))
}

fn programs(app: &Arc<App>) -> Router<Arc<App>> {
    let index = well_known::index_routes().layer(GlobalConcurrencyLimitLayer::new(MAX_DOWNLOADS));
    let downloads = well_known::file_routes().layer(GlobalConcurrencyLimitLayer::new(MAX_DOWNLOADS));
    let versions = Router::new()
        .route("/api/v1/skills/{name}/versions/{version}", get(get_version).put(put_version))
        .layer(GlobalConcurrencyLimitLayer::new(MAX_DOWNLOADS));
    Router::new()
        .route(MCP, any(mcp))
        .route("/metrics", get(metrics))
        .merge(versions)
        .merge(index)
        .merge(downloads)
        // The last layer runs first.
        .layer(middleware::from_fn_with_state(Arc::clone(app), limit_unread))
        .layer(middleware::from_fn_with_state(Arc::clone(app), authenticate))
}

/// Returns the routes of the dashboard, if it is served.
fn dashboard(app: &Arc<App>) -> Router<Arc<App>> {
    if !app.server.options().dashboard.is_served {
        return Router::new();
    }
    let streams = middleware::from_fn_with_state(Arc::clone(app), limit_streams);
    let bodies = middleware::from_fn_with_state(Arc::clone(app), collect_body);
    let secured = middleware::from_fn(web::secure);
    let (mut open, mut pages) = (web::asset_routes(), web::routes());
    if app.page_secret.is_none() {
        open = open.merge(sign_in::open_routes()).merge(provider_sign_in::routes());
        pages = pages.merge(sign_in::routes());
    }
    let open = open.layer(secured.clone()).layer(bodies.clone());
    let people = api::routes()
        .layer(streams)
        .merge(pages.layer(secured))
        .layer(bodies)
        .layer(middleware::from_fn_with_state(Arc::clone(app), limit_unread))
        .layer(middleware::from_fn_with_state(Arc::clone(app), authenticate_person));
    people.merge(open)
}

/// Reads the body of a request within the limits, before anything is done.
async fn collect_body(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    match body::read(&parts.headers, body, &app.limits, &app.stopping).await {
        Ok(body) => next.run(Request::from_parts(parts, body.into())).await,
        Err(response) => response,
    }
}

/// Limits the number of open event streams of the dashboard.
async fn limit_streams(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    if !request.uri().path().ends_with(CHANGES) {
        return next.run(request).await;
    }
    let Ok(permit) = Arc::clone(&app.streams).try_acquire_owned() else {
        return overloaded("too many event streams", STREAM_RETRY_SECONDS);
    };
    request.extensions_mut().insert(Streams { stopping: app.stopping.clone() });
    hold(next.run(request).await, permit)
}

/// Returns `response`, whose body keeps `permit`.
fn hold(response: Response, permit: OwnedSemaphorePermit) -> Response {
    response.map(|body| {
        Body::new(body.map_frame(move |frame| {
            let _held = &permit;
            frame
        }))
    })
}

/// Writes the request to the access log, if there is one, and counts the bytes of its principal.
async fn log_access(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
    let metered = request_metrics::route(request.method(), &path);
    let peer = request.extensions().get::<Peer>().copied();
    let client = access_log::client(peer, request.headers(), &app.trusted_proxies);
    let sent = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&sent);
    let count = move |length| {
        counter.fetch_add(length, Ordering::Relaxed);
    };
    let request = request.map(|body| counted(body, count));
    let mut response = next.run(request).await;
    app.requests.answered(metered, response.status(), started.elapsed());
    if app.draining.is_cancelled() {
        // A proxy that keeps connections must not use this one for a request that would meet the stop.
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    let identified = response.extensions_mut().remove::<IdentifiedPrincipal>();
    let principal = identified.as_ref().and_then(|principal| principal.0.clone());
    let status = response.status().as_u16();
    // A proxy may check each second.
    let is_check = path == ALIVE || path == READY;
    let mut logged = app.access_log.clone().filter(|_| !is_check).map(|log| LoggedRequest {
        log,
        started,
        method,
        path,
        client,
        principal: principal.clone(),
        status,
        bytes: 0,
    });
    let quotas = identified.map(|_| Arc::clone(&app.quotas)).filter(|quotas| quotas.counts_bytes());
    if let Some(quotas) = &quotas {
        quotas.add_bytes(&principal, sent.load(Ordering::Relaxed));
    }
    if logged.is_none() && quotas.is_none() {
        return response;
    }
    // The line is written when the body is dropped, after its last byte.
    response.map(|body| {
        counted(body, move |length| {
            if let Some(logged) = &mut logged {
                logged.bytes += length;
            }
            if let Some(quotas) = &quotas {
                quotas.add_bytes(&principal, length);
            }
        })
    })
}

/// Returns `body`, which calls `count` with the length of each of its parts.
fn counted(body: Body, mut count: impl FnMut(u64) + Send + 'static) -> Body {
    Body::new(body.inspect_frame(move |frame| {
        if let Some(data) = frame.data_ref() {
            count(data.len() as u64);
        }
    }))
}

/// The name of the principal of a request, noted in its response.
#[derive(Clone)]
struct IdentifiedPrincipal(Option<Arc<str>>);

/// Returns the routes for connections over the limit: health checks are still answered.
pub(super) fn overload_router(app: Arc<App>) -> Router {
    let fallback = async || overloaded("too many connections", CONNECTION_RETRY_SECONDS);
    health_routes().fallback(fallback).with_state(app)
}

fn health_routes() -> Router<Arc<App>> {
    Router::new().route(ALIVE, get(alive)).route(READY, get(ready))
}

async fn alive() -> &'static str {
    "ok\n"
}

/// Answers whether every source of the library was read, and whether the store answers, if there is one.
///
/// A store that is away does not make the server unready: it serves what it has read, to those whom it knows.
async fn ready(State(app): State<Arc<App>>) -> Response {
    if app.draining.is_cancelled() {
        return readiness(Some("the server is about to stop".to_owned()), None);
    }
    if app.server.library().snapshot().number() == 0 {
        return readiness(Some("the library was not read yet".to_owned()), None);
    }
    let store = store_answers(&app).await;
    if !app.principals.lets_in().await {
        return readiness(
            Some("the tokens of the store could not be read, or not for too long".to_owned()),
            store,
        );
    }
    let snapshot = app.server.library().snapshot();
    let unread = snapshot.unlisted_sources().next();
    readiness(unread.map(|source| format!("the source {source} was not read yet")), store)
}

async fn store_answers(app: &App) -> Option<bool> {
    let store = app.server.options().store.clone();
    let answer = tokio::task::spawn_blocking(move || store.ask());
    match tokio::time::timeout(STORE_TIME, answer).await {
        Ok(Ok(answer)) => answer,
        _ => Some(false),
    }
}

/// Returns the answer of a server that is ready unless there is a `reason`.
fn readiness(reason: Option<String>, store: Option<bool>) -> Response {
    let status = if reason.is_none() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let mut body = serde_json::json!({"ready": reason.is_none()});
    if let Some(reason) = reason {
        body["reason"] = reason.into();
    }
    if let Some(is_there) = store {
        body["store"] = if is_there { "ok" } else { "away" }.into();
    }
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

/// Answers with the metrics; skills that the agent of the token may not see have no series of their own.
async fn metrics(State(app): State<Arc<App>>, Extension(view): Extension<Arc<AgentView>>) -> Response {
    let registry = app.server.library().registry();
    let others = app.server.options().other_events.clone();
    let others = tokio::task::spawn_blocking(move || others.ask()).await.ok().flatten();
    others.iter().flatten().for_each(|event| app.server.state().metrics.record(event));
    let gauges = Gauges {
        registry,
        dropped_events: app.server.options().dropped_events.ask(),
        refused: app.refusals.total(),
        requests: &app.requests,
        streams: app.limits.streams.saturating_sub(app.streams.available_permits()),
        store: store_answers(&app).await,
        version: &app.server.options().version,
    };
    let snapshot = registry.snapshot();
    let sees = |name: &str, source: Option<&str>| view.sees_records(&snapshot, name, source);
    let shown = if view.is_unrestricted() { ShownSkills::All } else { ShownSkills::Only(&sees) };
    let text = app.server.state().metrics.render(&gauges, shown);
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response()
}

/// Answers browsers with a page, if there are pages, and programs with a line.
async fn not_found(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if app.server.options().dashboard.is_served && accepted.contains("text/html") {
        return web::not_found();
    }
    if app.page_secret.is_some() {
        return refuse(StatusCode::NOT_FOUND, "not found");
    }
    refuse(StatusCode::NOT_FOUND, "not found; MCP is at /mcp")
}

/// Refuses requests for other hosts or from other sites, and adds the CORS headers for allowed origins.
async fn check_origin(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let is_safe = is_read && (!app.principals.is_open() || app.page_secret.is_some());
    let links = if is_safe { ForeignLinks::Accepted } else { ForeignLinks::Refused };
    if let Err((status, reason)) = app.guard.check(request.uri(), request.headers(), links) {
        let refusal = Refusal { principal: None, route: &route(&request), reason: "foreign_host_or_origin" };
        app.refusals.refused_often(app.server.library(), &refusal);
        return refuse(status, reason);
    }
    let origin = app.guard.allowed_origin(request.headers()).cloned();
    let mut response = match (&origin, request.method()) {
        (Some(_), &Method::OPTIONS) => preflight(),
        _ => next.run(request).await,
    };
    if let Some(origin) = origin {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("mcp-session-id"));
        headers.append(header::VARY, HeaderValue::from_static("origin"));
    }
    response
}

/// Returns the response to a CORS preflight request.
fn preflight() -> Response {
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD, POST, PUT, DELETE"),
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "accept, authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id",
        ),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// Answers only browsers that opened the pages with the secret of the server.
async fn expect_opened(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    if app.page_secret.as_ref().is_some_and(|secret| secret.is_in(request.headers(), app.port)) {
        return next.run(request).await;
    }
    open_pages::refuse(&app, &route(&request), &request)
}

/// Checks the bearer token, and passes on the endpoint that belongs to it.
async fn authenticate(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let (route, sender) = (route(&request), Sender::bearer(&request));
    match sender.endpoint(&app).await {
        Ok(endpoint) => answer(&app, &endpoint, sender, route, request, next).await,
        Err(fault) => refuse_access(&app, &route, &fault),
    }
}

/// Checks the bearer token, or the one that a person signed in with.
async fn authenticate_person(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let route = route(&request);
    if let Some(token) = sign_in::token(&app, &request).map(str::to_owned) {
        let sender = Sender::SignedIn(token);
        match sender.endpoint(&app).await {
            Ok(endpoint) if endpoint.caller.principal.name.is_some() => {
                return answer(&app, &endpoint, sender, route, request, next).await;
            }
            // The token has ended, so that the person is signed out.
            Ok(_) | Err(AccessFault::MissingToken | AccessFault::InvalidToken) => {}
            Err(fault) => return refuse_access(&app, &route, &fault),
        }
    }
    let sender = Sender::bearer(&request);
    match sender.endpoint(&app).await {
        Ok(endpoint) => answer(&app, &endpoint, sender, route, request, next).await,
        Err(fault) => sign_in::refuse_person(&app, &route, &request, &fault),
    }
}

/// The token of a request.
enum Sender {
    /// In its headers or its URL; there need not be one.
    Bearer(HeaderMap, Option<UrlToken>),
    /// Of a person that signed in.
    SignedIn(String),
}

impl Sender {
    fn bearer(request: &Request) -> Self {
        Self::Bearer(request.headers().clone(), request.extensions().get().cloned())
    }

    /// Returns the endpoint of the token, or that of requests without one.
    async fn endpoint(&self, app: &App) -> Result<Arc<Endpoint>, AccessFault> {
        let (headers, url_token) = match self {
            Self::Bearer(headers, url_token) => (headers, url_token),
            Self::SignedIn(token) => return app.principals.endpoint(Some(token.as_bytes())).await,
        };
        let has_header = headers.contains_key(header::AUTHORIZATION);
        if let Some(token) = url_token.as_ref().filter(|_| !has_header) {
            return app.principals.endpoint_of_url(token).await;
        }
        app.principals.endpoint(bearer(headers)).await.map_err(|fault| match fault {
            AccessFault::MissingToken if has_header => AccessFault::InvalidToken,
            fault => fault,
        })
    }

    /// Returns `response`; an event stream ends soon after the token does, or has other rights.
    fn follow(self, response: Response, app: &Arc<App>, endpoint: &Arc<Endpoint>) -> Response {
        let media_type = response.headers().get(header::CONTENT_TYPE);
        if !media_type.is_some_and(|it| it.as_bytes().starts_with(b"text/event-stream")) {
            return response;
        }
        let (app, endpoint) = (Arc::clone(app), Arc::clone(endpoint));
        let ended = async move {
            let mut failures = 0;
            while failures < MAX_FAILED_CHECKS {
                tokio::time::sleep(STREAM_CHECK).await;
                failures = match self.endpoint(&app).await {
                    Ok(now) if Arc::ptr_eq(&now, &endpoint) => 0,
                    // The token may well be valid.
                    Err(AccessFault::StoreAway | AccessFault::ProviderAway) => failures + 1,
                    _ => return,
                };
            }
        };
        let events = |body: Body| Body::from_stream(body.into_data_stream().take_until(Box::pin(ended)));
        response.map(events)
    }
}

/// Answers a request of the principal of `endpoint`, within its limits.
async fn answer(
    app: &Arc<App>,
    endpoint: &Arc<Endpoint>,
    sender: Sender,
    route: Arc<str>,
    mut request: Request,
    next: Next,
) -> Response {
    let name = endpoint.caller.principal.name.clone();
    if let Err(seconds) = app.quotas.request(&name, Instant::now()) {
        let refusal = Refusal { principal: name.as_ref(), route: &route, reason: "rate_limited" };
        app.refusals.refused_often(app.server.library(), &refusal);
        let mut response = refuse(StatusCode::TOO_MANY_REQUESTS, "too many requests, or too many bytes");
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        response.extensions_mut().insert(IdentifiedPrincipal(name));
        return response;
    }
    // A session of MCP keeps the skills that its handshake named.
    let query = request.uri().query().filter(|_| request.uri().path() != MCP);
    let mut response = match endpoint.caller.view_of(query).await {
        Ok(view) => {
            let peer = request.extensions().get::<Peer>().copied();
            let origin = match app.guard.public() {
                Some(public) => Some(PublicOrigin(public.to_owned())),
                None => access_log::public_origin(peer, request.headers(), &app.trusted_proxies),
            };
            let principal = endpoint.caller.principal.clone();
            let ctx = request_context(app, &view, &principal, request.headers(), &route);
            let ctx = match &sender {
                Sender::SignedIn(secret) => ctx.signed_in(secret),
                Sender::Bearer(..) => ctx,
            };
            let extensions = request.extensions_mut();
            extensions.insert(ctx);
            extensions.insert(Arc::clone(endpoint));
            extensions.insert(Arc::clone(app.server.state()));
            extensions.insert(view);
            extensions.insert(principal);
            origin.map(|origin| extensions.insert(origin));
            sender.follow(next.run(request).await, app, endpoint)
        }
        Err(reason) => refuse(StatusCode::BAD_REQUEST, &reason),
    };
    if response.status() == StatusCode::FORBIDDEN && response.extensions().get::<RecordedRefusal>().is_none()
    {
        let reason = response.extensions().get::<RefusalCode>().map_or("forbidden", |code| code.0);
        let refusal = Refusal { principal: name.as_ref(), route: &route, reason };
        app.refusals.refused(app.server.library(), &refusal);
    }
    response.extensions_mut().insert(IdentifiedPrincipal(name));
    response
}

fn request_context(
    app: &App,
    view: &Arc<AgentView>,
    principal: &Principal,
    headers: &HeaderMap,
    route: &Arc<str>,
) -> RequestContext {
    let is_foreign = app.guard.is_foreign(headers);
    let server = Arc::clone(app.server.state());
    RequestContext::new(server, Arc::clone(view), principal.clone(), headers, is_foreign, Arc::clone(route))
}

/// Returns the method and the route of a request, without its parameters.
pub(super) fn route(request: &Request) -> Arc<str> {
    let path = request.extensions().get::<MatchedPath>().map_or("unknown", MatchedPath::as_str);
    format!("{} {path}", request.method()).into()
}

/// Limits the memory of responses that clients have not read yet.
async fn limit_unread(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    request.extensions_mut().insert(app.unread.clone());
    app.unread.apply(next.run(request).await)
}

/// Answers with the archive of a published version of a skill.
async fn get_version(
    State(app): State<Arc<App>>,
    Extension(view): Extension<Arc<AgentView>>,
    Extension(principal): Extension<Principal>,
    Path(named): Path<(String, String)>,
    request: Request,
) -> Response {
    publish::download(app.server.state(), &view, &principal, named, request.headers()).await
}

/// Publishes a version of a skill.
async fn put_version(
    State(app): State<Arc<App>>,
    Extension(view): Extension<Arc<AgentView>>,
    Extension(principal): Extension<Principal>,
    Path(named): Path<(String, String)>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let limits = HttpLimits { body_bytes: publish::MAX_ARCHIVE_BYTES, ..app.limits };
    let Query(query) = Query::<PublishQuery>::try_from_uri(&parts.uri).unwrap_or_default();
    match body::read(&parts.headers, body, &limits, &app.stopping).await {
        Ok(body) => publish::publish(app.server.state(), &view, &principal, named, query, body).await,
        Err(response) => response,
    }
}

async fn mcp(
    State(app): State<Arc<App>>,
    Extension(endpoint): Extension<Arc<Endpoint>>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let body = match body::read(&parts.headers, body, &app.limits, &app.stopping).await {
        Ok(body) => body,
        Err(response) => return response,
    };
    match (endpoint.service)(Request::from_parts(parts, body), app.mounted.clone()).await {
        Some(response) => response.map(Body::new),
        None => overloaded("too many event streams", STREAM_RETRY_SECONDS),
    }
}
