//! The files that pages load. They are part of the program.

use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use repertoire_model::Digest;

/// The files: name, media type and content.
const FILES: [(&str, &str, &str); 4] = [
    ("app.css", "text/css; charset=utf-8", include_str!("../../web/assets/app.css")),
    ("app.js", "text/javascript; charset=utf-8", include_str!("../../web/assets/app.js")),
    ("htmx.js", "text/javascript; charset=utf-8", include_str!("../../web/assets/htmx.js")),
    ("icon.svg", "image/svg+xml", include_str!("../../web/assets/icon.svg")),
];

/// Answers with a file.
pub(super) async fn get(Path(name): Path<String>, headers: HeaderMap) -> Response {
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
