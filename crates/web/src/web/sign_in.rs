//! The page on which people sign in.

use askama::Template;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{Html, IntoResponse as _, Response};

use super::{page, url};

/// The page on which people sign in.
#[derive(Template)]
#[template(path = "sign_in.html")]
pub(crate) struct SignInPage {
    pub(crate) library: String,
    /// The path that the person gets to after signing in.
    pub(crate) return_path: String,
    /// The host of the provider that people sign in at, if there is one.
    pub(crate) provider: Option<String>,
    /// The reason that signing in did not work.
    pub(crate) problem: Option<String>,
}

impl SignInPage {
    /// Returns the address that leads to the provider.
    fn start(&self) -> String {
        format!("/sign-in/start{}", url::query(&[("return", &self.return_path)]))
    }
}

pub(crate) fn sign_in(page: &SignInPage) -> Response {
    page::html(page).into_response()
}

/// Returns the address of the page, from which a person gets to `return_path`.
pub(crate) fn sign_in_address(return_path: &str) -> String {
    let query = if return_path == "/" { String::new() } else { url::query(&[("return", return_path)]) };
    format!("/sign-in{query}")
}

/// The page. It has its styles in itself, because nothing else is answered without the cookie.
const PAGE: &str = include_str!("../../web/templates/not_opened.html");

const HEADERS: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::CACHE_CONTROL, "no-store"),
];

pub(crate) fn not_opened() -> Response {
    (StatusCode::FORBIDDEN, HEADERS, Html(PAGE)).into_response()
}
