//! Routes and middleware.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::HttpBody as _;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get, put};
use axum::{Extension, Router};
use http_body_util::BodyExt as _;
use tokio::sync::OwnedSemaphorePermit;
use tower::limit::GlobalConcurrencyLimitLayer;

use super::access::bearer;
use super::access_log::{self, LoggedRequest, Peer};
use super::app::App;
use super::body;
use super::counted_body::CountedBody;
use super::endpoint::{Endpoint, RequestKind};
use super::options::HttpLimits;
use super::principals::AccessFault;
use super::reply::{overloaded, refuse};
use super::request_metrics::route;
use crate::agent_view::AgentView;
use crate::api;
use crate::dashboard::{Asker, Streams};
use crate::metrics::{CONTENT_TYPE, Gauges};
use crate::publish;
use crate::record::Principal;
use crate::{web, well_known};

/// Seconds after which a client may find a free connection.
const CONNECTION_RETRY_SECONDS: u32 = 1;

/// Seconds after which a client may find a free event stream; they stay open for long.
const STREAM_RETRY_SECONDS: u32 = 30;

/// Seconds after which a client may find a store that answers.
const STORE_RETRY_SECONDS: u32 = 5;

/// The reason for refusing a request with another token than those that are accepted.
const INVALID_TOKEN: &str = "invalid token";

/// The paths of health checks.
const ALIVE: &str = "/healthz";
const READY: &str = "/readyz";

/// The path of the stream of changes.
const CHANGES: &str = "/changes";

/// Maximum time for the store to answer whether it is there.
const STORE_TIME: Duration = Duration::from_secs(2);

/// Maximum requests for files of the well-known index at a time; more wait. Each may pack up to 16 MiB. As many requests for the
/// index itself are answered beside them.
const MAX_DOWNLOADS: usize = 8;

/// Returns the routes of the server.
pub(super) fn router(app: Arc<App>) -> Router {
    let index = well_known::index_routes().layer(GlobalConcurrencyLimitLayer::new(MAX_DOWNLOADS));
    let downloads = well_known::file_routes().layer(GlobalConcurrencyLimitLayer::new(MAX_DOWNLOADS));
    let protected = Router::new()
        .route("/mcp", any(mcp))
        .route("/metrics", get(metrics))
        .route("/api/v1/skills/{name}/versions/{version}", put(put_version))
        .merge(index)
        .merge(downloads)
        .merge(dashboard(&app))
        // The last layer runs first.
        .layer(middleware::from_fn_with_state(Arc::clone(&app), limit_unread))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), authenticate))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), check_origin));
    let logged = middleware::from_fn_with_state(Arc::clone(&app), log_access);
    health_routes().merge(protected).fallback(not_found).layer(logged).with_state(app)
}

/// Returns the routes of the dashboard, if it is served.
fn dashboard(app: &Arc<App>) -> Router<Arc<App>> {
    if !app.server.options().dashboard.is_served {
        return Router::new();
    }
    let streams = middleware::from_fn_with_state(Arc::clone(app), limit_streams);
    let bodies = middleware::from_fn_with_state(Arc::clone(app), collect_body);
    api::routes().layer(streams).merge(web::routes()).layer(bodies)
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
        axum::body::Body::new(body.map_frame(move |frame| {
            let _held = &permit;
            frame
        }))
    })
}

/// Writes the request to the access log, if there is one, and counts the bytes of its principal.
async fn log_access(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
    let (sent, route) = (request.body().size_hint().lower(), route(request.method(), &path));
    let peer = request.extensions().get::<Peer>().copied();
    let client = access_log::client(peer, request.headers(), &app.trusted_proxies);
    let mut response = next.run(request).await;
    app.requests.answered(route, response.status(), started.elapsed());
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
        quotas.add_bytes(&principal, sent);
    }
    if logged.is_none() && quotas.is_none() {
        return response;
    }
    // The line is written when the body is dropped, after its last byte.
    response.map(|body| {
        axum::body::Body::new(CountedBody::new(body, move |length| {
            if let Some(logged) = &mut logged {
                logged.bytes += length;
            }
            if let Some(quotas) = &quotas {
                quotas.add_bytes(&principal, length);
            }
        }))
    })
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

/// Answers that the process is alive.
async fn alive() -> &'static str {
    "ok\n"
}

/// Answers whether every source of the library was read, and whether the store answers, if there is one.
///
/// A store that is away does not make the server unready: it serves what it has read.
async fn ready(State(app): State<Arc<App>>) -> Response {
    if app.draining.is_cancelled() {
        return readiness(Some("the server is about to stop".to_owned()), None);
    }
    if app.server.library().snapshot().number() == 0 {
        return readiness(Some("the library was not read yet".to_owned()), None);
    }
    let store = store_answers(&app).await;
    let snapshot = app.server.library().snapshot();
    let unread = snapshot.unlisted_sources().next();
    readiness(unread.map(|source| format!("the source {source} was not read yet")), store)
}

/// Returns whether the store answers, if there is one.
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
    let gauges = Gauges {
        registry,
        dropped_events: view.options().dropped_events.ask(),
        refused: app.refusals.total(),
        requests: &app.requests,
        streams: app.limits.streams.saturating_sub(app.streams.available_permits()),
        store: store_answers(&app).await,
        version: &view.options().version,
    };
    let snapshot = registry.snapshot();
    let text = view.shared.metrics.render(&gauges, |name| view.find(&snapshot, name).is_some());
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response()
}

async fn not_found() -> Response {
    refuse(StatusCode::NOT_FOUND, "not found; MCP is at /mcp")
}

/// Refuses requests for other hosts or from other sites, and adds the CORS headers for allowed origins.
async fn check_origin(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    if let Err((status, reason)) = app.guard.check(request.uri(), request.headers()) {
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
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD, POST, DELETE"),
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "accept, authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id",
        ),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// Checks the bearer token, and passes on the endpoint that belongs to it.
async fn authenticate(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let has_header = request.headers().contains_key(header::AUTHORIZATION);
    let endpoint = match app.principals.endpoint(bearer(request.headers())).await {
        Ok(endpoint) => endpoint,
        Err(AccessFault::MissingToken) if has_header => {
            return refuse_access(&app, &AccessFault::InvalidToken);
        }
        Err(fault) => return refuse_access(&app, &fault),
    };
    let asker = Asker::new(Arc::clone(&endpoint.view), endpoint.principal.clone(), request.headers());
    request.extensions_mut().insert(asker);
    let name = endpoint.principal.name.clone();
    if let Err(seconds) = app.quotas.request(&name, Instant::now()) {
        app.refusals.refused_to(app.server.library(), name.as_deref(), "rate_limited");
        let mut response = refuse(StatusCode::TOO_MANY_REQUESTS, "too many requests, or too many bytes");
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        response.extensions_mut().insert(IdentifiedPrincipal(name));
        return response;
    }
    request.extensions_mut().insert(Arc::clone(&endpoint));
    request.extensions_mut().insert(Arc::clone(&endpoint.view));
    request.extensions_mut().insert(endpoint.principal.clone());
    let mut response = next.run(request).await;
    response.extensions_mut().insert(IdentifiedPrincipal(name));
    response
}

/// Returns the response to a request without an endpoint, and records it.
fn refuse_access(app: &App, fault: &AccessFault) -> Response {
    let (status, word, reason, challenge) = match fault {
        AccessFault::MissingToken => {
            let reason = "missing token; send Authorization: Bearer TOKEN";
            (StatusCode::UNAUTHORIZED, "missing_token", reason, Some("Bearer"))
        }
        AccessFault::InvalidToken => {
            let challenge = "Bearer error=\"invalid_token\"";
            (StatusCode::UNAUTHORIZED, "invalid_token", INVALID_TOKEN, Some(challenge))
        }
        AccessFault::StoreAway => {
            app.refusals.refused(app.server.library(), "store_away");
            return overloaded("tokens cannot be checked now", STORE_RETRY_SECONDS);
        }
        AccessFault::Agent => {
            let reason =
                "the agent of this token cannot be used; its server's configuration needs one of this name";
            (StatusCode::FORBIDDEN, "unusable_agent", reason, None)
        }
    };
    app.refusals.refused(app.server.library(), word);
    let mut response = refuse(status, reason);
    if let Some(challenge) = challenge {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
    response
}

/// Limits the memory of responses that clients have not read yet.
async fn limit_unread(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    request.extensions_mut().insert(app.unread.clone());
    app.unread.apply(next.run(request).await)
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
    match body::read(&parts.headers, body, &limits, &app.stopping).await {
        Ok(body) => publish::publish(&view, &principal, named, parts.uri.query(), body).await,
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
    let kind = RequestKind::of(&parts, &body);
    if !kind.is_stream() {
        return endpoint.answer(parts, body, kind).await;
    }
    let Ok(permit) = Arc::clone(&app.streams).try_acquire_owned() else {
        return overloaded("too many event streams", STREAM_RETRY_SECONDS);
    };
    let response = endpoint.answer(parts, body, kind).await;
    if response.status() != StatusCode::OK {
        return response;
    }
    // The permit is dropped with the body.
    hold(response, permit)
}
