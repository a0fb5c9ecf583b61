//! Opens the dashboard of one person: the secret of its address is exchanged for a cookie that pages require.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use axum::{Extension, Router};

use super::app::App;
use super::page_secret::{PageSecret, ROUTE};
use super::refusals::Refusal;
use super::sign_in::signed_in;
use super::url_token::UrlToken;
use crate::api::ApiError;
use crate::web;

/// The code of requests without the cookie.
const NOT_OPENED: &str = "not_opened";

/// Returns the routes that need no cookie.
pub(super) fn open_routes() -> Router<Arc<App>> {
    Router::new().route(ROUTE, any(open))
}

/// Sets the cookie for the secret of the address, and leads to the first page.
async fn open(State(app): State<Arc<App>>, key: Option<Extension<UrlToken>>, request: Request) -> Response {
    // A program that only looks where a link leads does not use up its key.
    let key = key.filter(|_| request.method() == Method::GET);
    let opened = |secret: &PageSecret| secret.open(&key?.0.0, app.port, Instant::now());
    let Some(cookie) = app.page_secret.as_ref().and_then(opened) else {
        return refuse(&app, ROUTE, &request);
    };
    let mut response = signed_in("/", cookie);
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// Returns the response to a request without the cookie, and records it.
pub(super) fn refuse(app: &App, route: &str, request: &Request) -> Response {
    let refusal = Refusal { principal: None, route, reason: NOT_OPENED };
    app.refusals.refused_often(app.server.library(), &refusal);
    if request.uri().path().starts_with("/api/") {
        let message = "run `rep dashboard` again, and open the address that it prints".to_owned();
        return ApiError { status: StatusCode::FORBIDDEN, code: NOT_OPENED, message }.into_response();
    }
    let mut response = web::not_opened();
    if request.headers().contains_key("hx-request") {
        // The page whose part is asked for is loaded anew, and tells what to do then.
        response.headers_mut().insert("hx-refresh", HeaderValue::from_static("true"));
    }
    response
}
