//! Which path leads where. Metrics, an API and pages join here.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get};

use super::access::{Token, bearer};
use super::endpoint::{Asked, Endpoint};
use super::guard::Guard;
use super::health;
use super::limits::{Room, SOON, busy_answer, hold, refuse};
use crate::{Server, well_known};

/// In how many seconds there may be room for a stream again; they last.
const LATER: u32 = 30;

/// What all requests share.
pub(super) struct App {
    pub(super) server: Server,
    pub(super) guard: Guard,
    pub(super) tokens: Vec<Token>,
    /// One for each token; the only one where there are none.
    pub(super) endpoints: Vec<Arc<Endpoint>>,
    pub(super) room: Room,
}

/// Returns the routes.
pub(super) fn router(app: Arc<App>) -> Router {
    let served = Router::new()
        .route("/mcp", any(mcp))
        .merge(well_known::routes().layer(middleware::from_fn_with_state(Arc::clone(&app), take_turn)))
        // The last one added comes first.
        .layer(middleware::from_fn_with_state(Arc::clone(&app), admit))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), guard));
    Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .merge(served)
        .fallback(nothing)
        .with_state(app)
}

/// Returns the routes for connections that there is no room for: whoever watches over the server is told how it is.
pub(super) fn crowded_router(app: Arc<App>) -> Router {
    Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .fallback(async || busy_answer("there are too many connections", SOON))
        .with_state(app)
}

async fn nothing() -> (StatusCode, &'static str) {
    (StatusCode::NOT_FOUND, "there is nothing here; MCP is at /mcp\n")
}

/// Lets only requests in that were meant for this server, and tells browsers which pages may read the answer.
async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
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

/// Returns the answer to a browser that asks what a page may send.
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

/// Lets only those in who may ask, and notes for whom the request is.
async fn admit(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let index = match app.tokens.is_empty() {
        true => Some(0),
        false => bearer(request.headers(), &app.tokens),
    };
    let Some(endpoint) = index.and_then(|index| app.endpoints.get(index)) else {
        let (reason, challenge) = match request.headers().contains_key(header::AUTHORIZATION) {
            true => ("this token is none of this server's", "Bearer error=\"invalid_token\""),
            false => ("a token is needed: Authorization: Bearer TOKEN", "Bearer"),
        };
        let mut response = refuse(StatusCode::UNAUTHORIZED, reason);
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        return response;
    };
    request.extensions_mut().insert(Arc::clone(endpoint));
    request.extensions_mut().insert(Arc::clone(&endpoint.audience));
    next.run(request).await
}

/// Waits until an installer may be served, which a stopped server still finishes.
async fn take_turn(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let busy = app.room.busy();
    match app.room.download().await {
        Some(_turn) => hold(next.run(request).await, busy),
        None => busy_answer("there are too many requests", SOON),
    }
}

async fn mcp(State(app): State<Arc<App>>, request: Request) -> Response {
    let Some(endpoint) = request.extensions().get::<Arc<Endpoint>>().cloned() else {
        return refuse(StatusCode::INTERNAL_SERVER_ERROR, "the request is for nobody");
    };
    // A stream that only waits for changes is not under way: it ends with the server.
    let busy = if request.method() == Method::POST { app.room.busy() } else { None };
    let (parts, body) = request.into_parts();
    // The room that the body takes is given back when it is answered.
    let body = match app.room.read(&parts.headers, body).await {
        Ok(body) => body,
        Err(response) => return response,
    };
    let asked = Asked::of(&parts, &body.bytes);
    // Whatever there is no room for is not begun.
    let stream = match asked.lasts() {
        true => match app.room.stream() {
            Some(stream) => Some(stream),
            None => return busy_answer("there are too many streams", LATER),
        },
        false => None,
    };
    // Whoever is slow to ask takes nobody's turn, and neither does what runs for long.
    let turn = if endpoint.may_run(&asked) { app.room.run().await } else { app.room.request().await };
    let Some(_turn) = turn else {
        return busy_answer("there are too many requests", SOON);
    };
    let response = endpoint.answer(parts, body.bytes.clone(), asked).await;
    hold(response, (stream, busy))
}
