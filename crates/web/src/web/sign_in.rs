//! The page on which people sign in.

use askama::Template;
use axum::response::Response;

use super::page;
use super::url;

/// The page on which people sign in.
#[derive(Template)]
#[template(path = "sign_in.html")]
pub(crate) struct SignInPage {
    /// The name of the library.
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

/// Returns the response with the page.
pub(crate) fn sign_in(page: &SignInPage) -> Response {
    page::html(page)
}

/// Returns the address of the page, from which a person gets to `return_path`.
pub(crate) fn sign_in_address(return_path: &str) -> String {
    let query = if return_path == "/" { String::new() } else { url::query(&[("return", return_path)]) };
    format!("/sign-in{query}")
}
