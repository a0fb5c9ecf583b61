//! The routes of the pages, and the files that pages load, which are part of the program.

use axum::Router;
use axum::extract::{Path, Request};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse as _, Response};
use axum::routing::{get, post};
use repertoire_model::Digest;

use super::{catalog, events, overview, page, proposals, sessions, skill, skills, versions};
use crate::api::ApiError;
use crate::dashboard::RequestContext;

/// Nothing is loaded from elsewhere, and nothing in a page runs: scripts and styles are files of this server.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
    form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// The headers of every page.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // Without a referrer, browsers send forms of these pages with the origin `null`.
    (header::REFERRER_POLICY, "same-origin"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Returns the routes of the pages, which need the headers of [`secure`].
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/", get(overview::get))
        .route("/skills", get(skills::get))
        .route("/skills/{name}", get(skill::get))
        .route("/skills/{name}/explain", get(skill::get_explain))
        .route("/skills/{name}/update", get(skill::get_update))
        .route("/skills/{name}/files/{*path}", get(skill::get_file))
        .route("/skills/{name}/versions/{version}", get(versions::get))
        .route("/skills/{name}/switch", post(skill::post_switch))
        .route("/skills/{name}/rollback", post(versions::post_rollback))
        .route("/catalog", get(catalog::get))
        .route("/proposals", get(proposals::get))
        .route("/proposals/{id}", get(proposals::get_one))
        .route("/proposals/{id}/approve", post(proposals::post_approve))
        .route("/proposals/{id}/reject", post(proposals::post_reject))
        .route("/proposals/{id}/rebase", post(proposals::post_rebase))
        .route("/events", get(events::get))
        .route("/sessions", get(sessions::get))
}

/// Returns the routes of the files that pages load, which need no token.
pub(crate) fn asset_routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new().route("/assets/{name}", get(asset))
}

/// Adds the headers of every page; answers with an error page if there is one, or a request fits no route.
pub(crate) async fn secure(request: Request, next: Next) -> Response {
    let ctx = request.extensions().get::<RequestContext>().cloned();
    let path = request.uri().path().to_owned();
    let mut response = next.run(request).await;
    let status = response.status();
    let is_misfit = status.is_client_error() && !path.starts_with("/assets/") && !is_page(&response);
    let misfit = || {
        let message = "no page has this address, or the form that was sent does not fit it".to_owned();
        ApiError { status, code: "bad_address", message }
    };
    let error = response.extensions_mut().remove::<ApiError>().or_else(|| is_misfit.then(misfit));
    if let (Some(ctx), Some(error)) = (ctx, error) {
        response = page::error(&ctx, &path, error).await;
    }
    secured(response)
}

/// Returns the page for an address that nothing has, which tells nothing of the library.
pub(crate) fn not_found() -> Response {
    let page = Html(include_str!("../../web/templates/not_found.html"));
    secured((StatusCode::NOT_FOUND, page).into_response())
}

fn secured(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

fn is_page(response: &Response) -> bool {
    let media_type = response.headers().get(header::CONTENT_TYPE);
    media_type.is_some_and(|value| value.as_bytes().starts_with(b"text/html"))
}

/// The files: name, media type and content.
const FILES: [(&str, &str, &str); 4] = [
    ("app.css", "text/css; charset=utf-8", include_str!("../../web/assets/app.css")),
    ("app.js", "text/javascript; charset=utf-8", include_str!("../../web/assets/app.js")),
    ("htmx.js", "text/javascript; charset=utf-8", include_str!("../../web/assets/htmx.js")),
    ("icon.svg", "image/svg+xml", include_str!("../../web/assets/icon.svg")),
];

async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let Some((_, media_type, content)) = FILES.iter().find(|(file, ..)| *file == name) else {
        return (StatusCode::NOT_FOUND, "not found\n").into_response();
    };
    let tag = format!("\"{}\"", &Digest::of(content.as_bytes()).to_hex()[..16]);
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        return StatusCode::NOT_MODIFIED.into_response();
    }
    let headers = [
        (header::CONTENT_TYPE, (*media_type).to_owned()),
        (header::ETAG, tag),
        (header::CACHE_CONTROL, "no-cache".to_owned()),
    ];
    (headers, *content).into_response()
}
