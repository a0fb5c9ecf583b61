//! Secrets in URLs: `/token/TOKEN/.well-known/agent-skills/index.json`, and a dashboard's key in `/open/KEY`.
//!
//! Some installers send neither headers nor queries, but keep the path of the address that they are given. A
//! URL ends up in shell histories, lock files and the logs of proxies, so such a token must be a reader's
//! that expires. The secret is taken from the path before anything else sees the request.

use std::fmt;

use axum::http::uri::PathAndQuery;
use axum::http::{Method, Request, Uri};

use super::page_secret;

/// The start of the path of such a URL.
pub(crate) const PREFIX: &str = "/token/";

/// The starts of the paths that may follow the token: what installers read.
const READABLE: [&str; 2] = ["/.well-known/", "/.claude-plugin/"];

/// A path that no route has, for a URL with a token whose rest may not be read in this way.
const NOWHERE: &str = "/token/-";

/// The token or the key of the URL of a request.
#[derive(Clone)]
pub(crate) struct UrlToken(pub(super) String);

impl UrlToken {
    /// Returns the start of the paths of URLs with this token.
    pub(crate) fn prefix(&self) -> String {
        format!("{PREFIX}{}", self.0)
    }
}

impl fmt::Debug for UrlToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UrlToken")
    }
}

/// Moves the token from the path of `request` to its extensions, if it has one there.
pub(super) fn take<B>(request: &mut Request<B>) {
    if let Some(key) = request.uri().path().strip_prefix(page_secret::PREFIX) {
        let key = UrlToken(key.to_owned());
        request.extensions_mut().insert(key);
        set_target(request, page_secret::ROUTE);
        return;
    }
    let Some(rest) = request.uri().path().strip_prefix(PREFIX) else { return };
    let (token, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let is_readable = matches!(*request.method(), Method::GET | Method::HEAD)
        && READABLE.iter().any(|start| path.starts_with(start));
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    let target = if is_readable { format!("{path}{query}") } else { NOWHERE.to_owned() };
    let token = UrlToken(token.to_owned());
    set_target(request, &target);
    if is_readable {
        request.extensions_mut().insert(token);
    }
}

/// Replaces the path and the query of `request`.
fn set_target<B>(request: &mut Request<B>, target: &str) {
    let mut parts = request.uri().clone().into_parts();
    parts.path_and_query = Some(target.parse().unwrap_or_else(|_| PathAndQuery::from_static(NOWHERE)));
    *request.uri_mut() = Uri::from_parts(parts).unwrap_or_else(|_| Uri::from_static(NOWHERE));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_is_taken_from_the_path() {
        let check = |method: Method, target: &str, path: &str, token: Option<&str>| {
            let mut request = Request::builder().method(method).uri(target).body(()).unwrap();
            take(&mut request);
            let found = request.extensions().get::<UrlToken>().map(|token| token.0.clone());
            assert_eq!((request.uri().to_string().as_str(), found.as_deref()), (path, token), "{target}");
        };
        let index = "/.well-known/agent-skills/index.json";
        check(Method::GET, &format!("/token/abc{index}?x=1"), &format!("{index}?x=1"), Some("abc"));
        check(
            Method::HEAD,
            "/token/abc/.claude-plugin/marketplace.json",
            "/.claude-plugin/marketplace.json",
            Some("abc"),
        );
        check(Method::GET, index, index, None);
        for method in [Method::GET, Method::HEAD, Method::POST] {
            check(method, "/open/abc?x=1", "/open", Some("abc"));
        }
        for (method, path) in
            [(Method::POST, index), (Method::GET, "/api/v1/skills"), (Method::GET, "/mcp"), (Method::GET, "")]
        {
            check(method, &format!("/token/abc{path}"), NOWHERE, None);
        }
        assert_eq!(format!("{:?}", UrlToken("secret".to_owned())), "UrlToken");
    }
}
