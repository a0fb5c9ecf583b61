//! The page of a dashboard for one person that nobody opened with the address of the command.

use axum::http::{HeaderName, StatusCode, header};
use axum::response::{Html, IntoResponse as _, Response};

/// The page. It has its styles in itself, because nothing else is answered without the cookie.
const PAGE: &str = include_str!("../../web/templates/not_opened.html");

/// The headers of the page.
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

/// Returns the response with the page.
pub(crate) fn not_opened() -> Response {
    (StatusCode::FORBIDDEN, HEADERS, Html(PAGE)).into_response()
}
