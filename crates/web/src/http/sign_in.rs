//! Signing in and out: a browser keeps a token in a cookie, which the pages and their API accept.

use std::sync::Arc;

use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{get, post};
use axum::{Extension, Form, Router};
use serde::Deserialize;

use super::access_log::{Peer, is_https};
use super::app::App;
use super::cookie::{self, Scheme};
use super::principals::AccessFault;
use super::refusals::Refusal;
use super::refuse_access::{STORE_RETRY_SECONDS, refuse_access};
use super::reply::{overloaded, refuse};
use super::signed_in_tokens::revoke;
use crate::dashboard::RequestContext;
use crate::web::{self, SignInPage};

/// The path of the page.
pub(super) const SIGN_IN: &str = "/sign-in";

/// The maximum length of the path that a person gets to after signing in.
const MAX_RETURN: usize = 2_048;

/// Returns the routes that need no token.
pub(super) fn open_routes() -> Router<Arc<App>> {
    Router::new().route(SIGN_IN, get(get_page).post(post_token))
}

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/sign-out", post(post_sign_out))
}

/// Returns the scheme that the browser of a request uses.
pub(super) fn scheme(app: &App, peer: Option<Peer>, headers: &HeaderMap) -> Scheme {
    let is_public = app.guard.public().is_some_and(|public| public.starts_with("https://"));
    if is_public || is_https(peer, headers, &app.trusted_proxies) { Scheme::Https } else { Scheme::Http }
}

/// Returns the token of the person that signed in, if the request has no other.
pub(super) fn token<'r>(app: &App, request: &'r Request) -> Option<&'r str> {
    let headers = request.headers();
    let scheme = scheme(app, request.extensions().get::<Peer>().copied(), headers);
    let is_person = !headers.contains_key(header::AUTHORIZATION);
    cookie::TOKEN.read(headers, scheme).filter(|_| is_person)
}

/// Returns the response to a request without a valid token: browsers are led to the page, others are refused.
pub(super) fn refuse_person(app: &App, route: &str, request: &Request, fault: &AccessFault) -> Response {
    let (method, uri, headers) = (request.method(), request.uri(), request.headers());
    let has = |name: &str, word: &str| {
        headers.get_all(name).iter().any(|value| value.to_str().is_ok_and(|value| value.contains(word)))
    };
    let is_page = !uri.path().starts_with("/api/") && !headers.contains_key(header::AUTHORIZATION);
    let is_missing = matches!(fault, AccessFault::MissingToken | AccessFault::InvalidToken);
    if is_page && is_missing && headers.contains_key("hx-request") {
        // The page whose part is asked for is loaded anew, and leads to the sign-in page then.
        let mut response = refuse(StatusCode::UNAUTHORIZED, "signed out");
        response.headers_mut().insert("hx-refresh", HeaderValue::from_static("true"));
        return response;
    }
    if is_page && is_missing && has("accept", "text/html") {
        let is_read = matches!(*method, Method::GET | Method::HEAD);
        let wanted = uri.path_and_query().map_or("/", |wanted| wanted.as_str());
        return Redirect::to(&web::sign_in_address(if is_read { wanted } else { "/" })).into_response();
    }
    refuse_access(app, route, fault)
}

/// Returns `text` if it is a path of this server that a person may get to, or the path of the first page.
pub(super) fn return_path(text: &str) -> &str {
    let is_path = text.starts_with('/') && !text.starts_with("//") && text.len() <= MAX_RETURN;
    // Browsers read a backslash as a slash, and skip control characters.
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_path && is_plain && !text.starts_with(SIGN_IN) { text } else { "/" }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PageQuery {
    /// The path that the person gets to after signing in.
    pub(super) r#return: String,
}

async fn get_page(State(app): State<Arc<App>>, Query(query): Query<PageQuery>) -> Response {
    page(&app, return_path(&query.r#return), None)
}

/// Returns the page, with the reason that signing in did not work.
pub(super) fn page(app: &App, return_path: &str, problem: Option<&str>) -> Response {
    let options = &app.server.options().dashboard;
    let page = SignInPage {
        library: options.title.clone(),
        return_path: return_path.to_owned(),
        provider: app.principals.provider().map(|provider| provider.host()),
        problem: problem.map(str::to_owned),
    };
    let mut response = web::sign_in(&page);
    if problem.is_some() {
        *response.status_mut() = StatusCode::FORBIDDEN;
    }
    response
}

#[derive(Deserialize)]
struct TokenForm {
    token: String,
    #[serde(default)]
    r#return: String,
}

/// Keeps the token of the form in a cookie, if it is valid.
async fn post_token(
    State(app): State<Arc<App>>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    Form(form): Form<TokenForm>,
) -> Response {
    let return_path = return_path(&form.r#return);
    // Another site could make a visitor work under a name of its choice.
    if app.guard.is_foreign(&headers) {
        return page(&app, return_path, Some("The form was sent from another site. Sign in here."));
    }
    let token = form.token.trim();
    let scheme = scheme(&app, peer.map(|Extension(peer)| peer), &headers);
    let problem = match app.principals.endpoint(Some(token.as_bytes())).await {
        Ok(endpoint) if endpoint.caller.principal.name.is_some() => match cookie::TOKEN.set(token, scheme) {
            Some(cookie) => return signed_in(return_path, cookie),
            None => "This token cannot be kept in a cookie.",
        },
        Ok(_) | Err(AccessFault::MissingToken | AccessFault::InvalidToken) => {
            let refusal = Refusal { principal: None, route: "POST /sign-in", reason: "invalid_token" };
            app.refusals.refused_often(app.server.library(), &refusal);
            "This token is not valid. It may have been revoked, or have ended."
        }
        Err(AccessFault::StoreAway) => "Tokens cannot be checked now. Try again in a moment.",
        Err(AccessFault::ProviderAway) => "The sign-in provider does not answer. Try again in a moment.",
        Err(AccessFault::NoAccess) => "You are in no group that has access to this server.",
        Err(AccessFault::UrlToken) => "This token is for URLs alone.",
        Err(AccessFault::Agent) => {
            "The agent of this token does not exist here. Tell the person who runs this server."
        }
    };
    page(&app, return_path, Some(problem))
}

pub(super) fn signed_in(return_path: &str, cookie: HeaderValue) -> Response {
    let mut response = Redirect::to(return_path).into_response();
    response.headers_mut().append(header::SET_COOKIE, cookie);
    response
}

#[derive(Deserialize)]
struct SignOutForm {
    csrf: String,
}

/// Removes the cookie, and revokes a token that was made by signing in.
async fn post_sign_out(
    State(app): State<Arc<App>>,
    Extension(ctx): Extension<RequestContext>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    Form(form): Form<SignOutForm>,
) -> Response {
    if !ctx.is_from_page(Some(&form.csrf)) {
        return refuse(StatusCode::FORBIDDEN, "the form is out of date; go back and reload the page");
    }
    let scheme = scheme(&app, peer.map(|Extension(peer)| peer), &headers);
    if let Some(token) = cookie::TOKEN.read(&headers, scheme)
        && revoke(&app, token).await.is_err()
    {
        return overloaded("the store does not answer, so that you are still signed in", STORE_RETRY_SECONDS);
    }
    let mut response = Redirect::to(SIGN_IN).into_response();
    response.headers_mut().extend(cookie::TOKEN.remove(scheme).map(|cookie| (header::SET_COOKIE, cookie)));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_get_back_to_paths_of_this_server_alone() {
        for path in ["/", "/skills/git?view=raw", "/skills/a%2Fb", "/a//b"] {
            assert_eq!(return_path(path), path);
        }
        for bad in [
            "",
            "https://evil.test/",
            "//evil.test/",
            "/\\evil.test",
            "/\t/evil.test",
            "/\n/evil.test",
            "javascript:alert(1)",
            "skills",
            "/sign-in?return=/",
            "/ü",
        ] {
            assert_eq!(return_path(bad), "/", "{bad}");
        }
        assert_eq!(return_path(&format!("/{}", "x".repeat(MAX_RETURN))), "/");
    }
}
