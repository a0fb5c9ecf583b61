//! Signing in at a provider of OpenID Connect: the way there, and back.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use serde::Deserialize;

use super::access_log::Peer;
use super::app::App;
use super::cookie::{self, Scheme};
use super::refusals::Refusal;
use super::sign_in::{PageQuery, page, return_path, scheme, signed_in};
use super::signed_in_tokens::create;
use crate::oidc::{OidcFault, SignInFlow, error_code};

/// The path that people come back to.
const CALLBACK: &str = "/sign-in/callback";

/// The text for a person that comes back in another browser, or too late.
const UNKNOWN_FLOW: &str = "This sign-in began in another browser or tab, or took too long. Sign in again.";

/// Returns the routes, which need no token.
pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/sign-in/start", get(get_start)).route(CALLBACK, get(get_callback))
}

/// Returns the address that people come back to, as their browsers reach it.
fn redirect_url(app: &App, scheme: Scheme, headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    match app.guard.public() {
        Some(public) => format!("{public}{CALLBACK}"),
        None => format!("{}://{host}{CALLBACK}", scheme.as_str()),
    }
}

async fn get_start(
    State(app): State<Arc<App>>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    Query(query): Query<PageQuery>,
) -> Response {
    let return_path = return_path(&query.r#return);
    let scheme = scheme(&app, peer.map(|Extension(peer)| peer), &headers);
    let Some(provider) = app.principals.provider() else {
        return page(&app, return_path, Some("This server has no sign-in provider."));
    };
    let flow = SignInFlow::new(return_path);
    let cookie = flow.as_ref().and_then(|flow| cookie::FLOW.set(&flow.to_cookie(), scheme));
    let (Some(flow), Some(cookie)) = (flow, cookie) else {
        return page(&app, return_path, Some("The system gives no random numbers."));
    };
    match provider.authorization_url(&flow, &redirect_url(&app, scheme, &headers)).await {
        Ok(url) => signed_in(&url, cookie),
        Err(fault) => failed(&app, return_path, &fault),
    }
}

/// The query that a person comes back with.
#[derive(Default, Deserialize)]
#[serde(default)]
struct CallbackQuery {
    state: String,
    code: Option<String>,
    error: Option<String>,
}

/// Signs the person in that comes back from the provider.
async fn get_callback(
    State(app): State<Arc<App>>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    Query(query): Query<CallbackQuery>,
) -> Response {
    let scheme = scheme(&app, peer.map(|Extension(peer)| peer), &headers);
    let flow = cookie::FLOW.read(&headers, scheme).and_then(SignInFlow::from_cookie);
    let mut response = match flow.filter(|flow| flow.state() == query.state) {
        Some(flow) => finish(&app, scheme, &headers, &flow, &query).await,
        None => refused(&app, "/", UNKNOWN_FLOW),
    };
    // A second return is refused.
    response.headers_mut().extend(cookie::FLOW.remove(scheme).map(|cookie| (header::SET_COOKIE, cookie)));
    response
}

/// Ends a flow that began in the browser of the request.
async fn finish(
    app: &App,
    scheme: Scheme,
    headers: &HeaderMap,
    flow: &SignInFlow,
    query: &CallbackQuery,
) -> Response {
    let return_path = return_path(&flow.return_path);
    let Some(provider) = app.principals.provider() else {
        return page(app, return_path, Some("This server has no sign-in provider."));
    };
    let Some(code) = &query.code else {
        let code = query.error.as_deref().and_then(error_code).unwrap_or("it says nothing more");
        return refused(app, return_path, &format!("The sign-in provider refused: {code}."));
    };
    let redirect = redirect_url(app, scheme, headers);
    let person = match provider.person_of_code(code, flow, &redirect).await {
        Ok(person) => person,
        Err(fault) => return failed(app, return_path, &fault),
    };
    let secret = match create(app, &provider, &person).await {
        Ok(secret) => secret,
        Err(problem) => return page(app, return_path, Some(&problem)),
    };
    match cookie::TOKEN.set(&secret, scheme) {
        Some(cookie) => signed_in(return_path, cookie),
        None => page(app, return_path, Some("The session cannot be kept in a cookie.")),
    }
}

/// Returns the page that tells why the person was not signed in, and records that.
fn failed(app: &App, return_path: &str, fault: &OidcFault) -> Response {
    let mut response = refused(app, return_path, &fault.to_string());
    if matches!(fault, OidcFault::Provider(_)) {
        *response.status_mut() = StatusCode::BAD_GATEWAY;
    }
    response
}

fn refused(app: &App, return_path: &str, problem: &str) -> Response {
    let refusal = Refusal { principal: None, route: "GET /sign-in/callback", reason: "sign_in_failed" };
    app.refusals.refused_often(app.server.library(), &refusal);
    page(app, return_path, Some(problem))
}
