//! The paths of the index and of what it leads to.

use std::sync::Arc;

use axum::extract::{Path, Request};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Extension, Router};
use repertoire::{LineRange, SkillPath};
use repertoire_model::Digest;
use serde::Serialize;

use super::{archive, index};
use crate::audience::Audience;
use crate::mcp::media_type_by_name;
use crate::shelf::Standing;

/// How long an index may be kept: a change is there when somebody looks.
const CACHE: &str = "private, no-cache";

/// What a file whose name tells nothing is.
const BINARY: &str = "application/octet-stream";

/// What an archive is.
const GZIP: &str = "application/gzip";

/// The ending of the names of archives.
const ARCHIVE: &str = ".tar.gz";

/// What a skill's author wrote is nothing that a browser may run as a page of this server.
const CONFINED: [(HeaderName, &str); 3] = [
    (header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// What files are called that a browser would run, or take for a part of a page.
const PLAIN: &str = "text/plain; charset=utf-8";

/// Returns the routes; each answers GET and HEAD.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/.well-known/agent-skills/index.json", get(index_file))
        .route("/.well-known/agent-skills/{archive}", get(archive_file))
        .route("/.well-known/agent-skills/{name}/{*path}", get(skill_file))
        .route("/.well-known/skills/index.json", get(old_index_file))
        .route("/.well-known/skills/{name}/{*path}", get(skill_file))
        .layer(map_response(confined))
}

async fn confined(mut response: Response) -> Response {
    for (name, value) in CONFINED {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn index_file(Extension(audience): Extension<Arc<Audience>>, request: Request) -> Response {
    json(request.headers(), &index::index(&audience).await)
}

async fn old_index_file(Extension(audience): Extension<Arc<Audience>>, request: Request) -> Response {
    json(request.headers(), &index::old_index(&audience).await)
}

async fn archive_file(
    Extension(audience): Extension<Arc<Audience>>,
    Path(archive): Path<String>,
    request: Request,
) -> Response {
    let Some(name) = archive.strip_suffix(ARCHIVE) else { return not_found() };
    let snapshot = audience.shared.registry.touch().await;
    let Some(entry) = audience.find(&snapshot, name).filter(|entry| entry.is_offered()) else {
        return not_found();
    };
    let Standing::Published(skill) = audience.current(entry).await else { return not_found() };
    match archive::pack(&audience.shared.registry, entry, &skill).await {
        Some(bytes) => attachment(file(request.headers(), GZIP, bytes)),
        None => changed(),
    }
}

async fn skill_file(
    Extension(audience): Extension<Arc<Audience>>,
    Path((name, path)): Path<(String, String)>,
    request: Request,
) -> Response {
    let Ok(path) = SkillPath::new(&path) else { return not_found() };
    let snapshot = audience.shared.registry.touch().await;
    let Some(entry) = audience.find(&snapshot, &name).filter(|entry| entry.is_offered()) else {
        return not_found();
    };
    let Standing::Published(skill) = audience.current(entry).await else { return not_found() };
    let Some(listed) = skill.file(path.as_str()) else { return not_found() };
    match audience.shared.registry.read(entry, &path, LineRange::default()).await {
        Ok(content) if Digest::of(&content.bytes) == listed.digest => {
            attachment(file(request.headers(), harmless(path.as_str()), content.bytes))
        }
        _ => changed(),
    }
}

fn json(headers: &HeaderMap, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => file(headers, "application/json", bytes),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Returns `response` as something to keep, not to look at.
fn attachment(mut response: Response) -> Response {
    response.headers_mut().insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    response
}

/// Returns the media type of the file at `path`, or one that no browser runs.
fn harmless(path: &str) -> &'static str {
    match media_type_by_name(path).unwrap_or(BINARY) {
        kind @ ("text/markdown" | "text/plain" | "application/json") => kind,
        kind if kind.starts_with("text/") || kind.contains("xml") || kind.contains("script") => PLAIN,
        kind => kind,
    }
}

/// Returns `bytes` with their digest for a tag, or only that they are what the client has.
fn file(headers: &HeaderMap, kind: &'static str, bytes: Vec<u8>) -> Response {
    let tag = format!("\"{}\"", Digest::of(&bytes).to_hex());
    let is_known = is_known(headers, &tag);
    let described = [
        (header::ETAG, tag),
        (header::CACHE_CONTROL, CACHE.to_owned()),
        (header::CONTENT_TYPE, kind.to_owned()),
    ];
    match is_known {
        true => (StatusCode::NOT_MODIFIED, described).into_response(),
        false => (described, bytes).into_response(),
    }
}

/// Returns whether a client says that it has what `tag` names: in a list, as any, or weakly, which comes to the same here.
fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let values = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut known = values.flat_map(|value| value.split(',')).map(str::trim);
    // Our tags hold no comma.
    known.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

fn not_found() -> Response {
    (StatusCode::NOT_FOUND, "there is no such skill, or it has no such file; index.json has all of them\n")
        .into_response()
}

fn changed() -> Response {
    (StatusCode::CONFLICT, "the skill is changing; fetch index.json again\n").into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_is_called_what_a_browser_runs() {
        for (path, expect) in [
            ("SKILL.md", "text/markdown"),
            ("page.html", PLAIN),
            ("page.HTM", PLAIN),
            ("image.svg", PLAIN),
            ("data.xml", PLAIN),
            ("code.js", PLAIN),
            ("code.mjs", PLAIN),
            ("style.css", PLAIN),
            ("page.xhtml", BINARY),
            ("logo.png", "image/png"),
            ("unknown", BINARY),
        ] {
            assert_eq!(harmless(path), expect, "{path}");
        }
    }

    #[test]
    fn tags_are_known_alone_in_lists_and_weakly() {
        let check = |values: &[&str], expect: bool| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::IF_NONE_MATCH, HeaderValue::from_str(value).unwrap());
            }
            assert_eq!(is_known(&headers, "\"ab\""), expect, "{values:?}");
        };
        check(&["\"ab\""], true);
        check(&["W/\"ab\""], true);
        check(&["*"], true);
        check(&["\"x\", W/\"ab\" , \"y\""], true);
        check(&["\"x\"", "\"ab\""], true);
        for other in ["", "ab", "\"abc\"", "W/", "\"x\", \"y\""] {
            check(&[other], false);
        }
        check(&[], false);
    }
}
