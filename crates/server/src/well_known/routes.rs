//! The paths of the index and of what it leads to.

use std::sync::Arc;

use axum::extract::{Path, Request};
use axum::http::{HeaderMap, StatusCode, header};
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

/// Returns the routes; each answers GET and HEAD.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/.well-known/agent-skills/index.json", get(index_file))
        .route("/.well-known/agent-skills/{archive}", get(archive_file))
        .route("/.well-known/agent-skills/{name}/{*path}", get(skill_file))
        .route("/.well-known/skills/index.json", get(old_index_file))
        .route("/.well-known/skills/{name}/{*path}", get(skill_file))
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
        Some(bytes) => file(request.headers(), GZIP, bytes),
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
            file(request.headers(), media_type_by_name(path.as_str()).unwrap_or(BINARY), content.bytes)
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

/// Returns `bytes` with their digest for a tag, or only that they are what the client has.
fn file(headers: &HeaderMap, kind: &'static str, bytes: Vec<u8>) -> Response {
    let tag = format!("\"{}\"", Digest::of(&bytes).to_hex());
    let is_known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let described = [
        (header::ETAG, tag),
        (header::CACHE_CONTROL, CACHE.to_owned()),
        (header::CONTENT_TYPE, kind.to_owned()),
    ];
    match is_known {
        true => (StatusCode::NOT_MODIFIED, described).into_response(),
        false => (described, [(header::X_CONTENT_TYPE_OPTIONS, "nosniff")], bytes).into_response(),
    }
}

fn not_found() -> Response {
    (StatusCode::NOT_FOUND, "there is no such skill, or it has no such file; index.json has all of them\n")
        .into_response()
}

fn changed() -> Response {
    (StatusCode::CONFLICT, "the skill is changing; fetch index.json again\n").into_response()
}
