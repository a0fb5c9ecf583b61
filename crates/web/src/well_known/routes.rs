//! The routes of the index and of the files it lists.

use std::sync::Arc;

use axum::extract::{Path, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, get};
use axum::{Extension, Router};
use repertoire::event::{Surface, Via};
use repertoire::serve::{AgentView, OVERLOADED, Principal, PublishResult, RequestRecord, media_type};
use repertoire::{EventKind, LineRange, Outcome, SkillPath};
use repertoire_model::Digest;
use serde_json::Value;

use super::archive::ArchiveKind;
use super::{archive, index, marketplace};
use crate::http::{PublicOrigin, UnreadLimit, UrlToken};
use crate::server_state::ServerState;

/// Clients have to revalidate, so that they see changes.
const CACHE: &str = "private, no-cache";

/// The media type of a file with an unknown extension.
const BINARY: &str = "application/octet-stream";

/// The media type of an archive.
const GZIP: &str = "application/gzip";

/// The media type of the archive of a plugin.
const ZIP: &str = "application/zip";

const ARCHIVE: &str = ".tar.gz";

/// The extension of archives of plugins.
const PLUGIN: &str = ".zip";

/// The start of addresses that are asked over TLS.
const TLS: &str = "https://";

/// The answer to a request for the marketplace that did not come over TLS.
const NO_TLS: &str =
    "plugins are fetched over https alone: put a proxy with TLS before the server, and set http.public_url\n";

/// Headers that keep browsers from running a skill's files as pages of this server.
const SECURITY_HEADERS: [(HeaderName, &str); 4] = [
    (header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    // A URL may have a token.
    (header::REFERRER_POLICY, "no-referrer"),
];

/// The media type for files that a browser would run or load into a page.
const PLAIN: &str = "text/plain; charset=utf-8";

/// Returns the routes of the index; each answers GET and HEAD.
pub(crate) fn index_routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/.well-known/agent-skills/index.json", get(index_file))
        .route("/.well-known/skills/index.json", get(old_index_file))
        .route("/.claude-plugin/marketplace.json", get(marketplace_file))
        .layer(map_response(add_security_headers))
}

/// Returns the routes of archives and files; each answers GET and HEAD.
pub(crate) fn file_routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/.well-known/agent-skills/{archive}", archives(ArchiveKind::Skill, ARCHIVE))
        .route("/.claude-plugin/plugins/{archive}", archives(ArchiveKind::Plugin, PLUGIN))
        .route("/.well-known/agent-skills/{name}/{*path}", get(skill_file))
        .route("/.well-known/skills/{name}/{*path}", get(skill_file))
        .layer(map_response(add_security_headers))
}

async fn add_security_headers(mut response: Response) -> Response {
    for (name, value) in SECURITY_HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn index_file(
    Extension(server): Extension<Arc<ServerState>>,
    Extension(view): Extension<Arc<AgentView>>,
    request: Request,
) -> Response {
    json(request.headers(), &index::index(&server.archives, &view).await)
}

async fn old_index_file(Extension(view): Extension<Arc<AgentView>>, request: Request) -> Response {
    json(request.headers(), &index::old_index(&view).await)
}

/// Answers with the marketplace, whose plugins clients fetch over TLS alone.
async fn marketplace_file(
    Extension(server): Extension<Arc<ServerState>>,
    Extension(view): Extension<Arc<AgentView>>,
    origin: Option<Extension<PublicOrigin>>,
    token: Option<Extension<UrlToken>>,
    request: Request,
) -> Response {
    let Some(Extension(PublicOrigin(origin))) = origin.filter(|origin| origin.0.0.starts_with(TLS)) else {
        return (StatusCode::NOT_FOUND, NO_TLS).into_response();
    };
    let prefix = token.map(|Extension(token)| token.prefix()).unwrap_or_default();
    json(request.headers(), &marketplace::marketplace(&server.archives, &view, &origin, &prefix).await)
}

/// Answers with archives of `kind`, whose names end with `extension`.
fn archives<S: Clone + Send + Sync + 'static>(kind: ArchiveKind, extension: &'static str) -> MethodRouter<S> {
    let answer = async move |Extension(view): Extension<Arc<AgentView>>,
                             Extension(principal): Extension<Principal>,
                             Extension(unread): Extension<UnreadLimit>,
                             Path(archive): Path<String>,
                             request: Request| {
        let Some(name) = archive.strip_suffix(extension) else { return not_found() };
        send_archive(&view, &principal, &unread, name, kind, &request.into_parts().0).await
    };
    get(answer)
}

async fn send_archive(
    view: &AgentView,
    principal: &Principal,
    unread: &UnreadLimit,
    name: &str,
    kind: ArchiveKind,
    parts: &Parts,
) -> Response {
    let mut record = download(view, principal);
    record.asked(name, None);
    let response = packed(view, unread, name, kind, &parts.headers, &mut record).await;
    emit(record, &parts.method);
    response
}

async fn packed(
    view: &AgentView,
    unread: &UnreadLimit,
    name: &str,
    kind: ArchiveKind,
    headers: &HeaderMap,
    record: &mut RequestRecord<'_>,
) -> Response {
    let snapshot = view.shared.registry.touch().await;
    record.unseen(&snapshot, name);
    let Some(entry) = view.find(&snapshot, name).filter(|entry| entry.allows_models()) else {
        return not_found();
    };
    record.failed(Outcome::Error, "withheld");
    record.set(|event| entry.describe(event));
    let PublishResult::Published(skill) = view.publish(entry).await else { return not_found() };
    record.failed(Outcome::NotFound, "no_file");
    record.failed(Outcome::Error, OVERLOADED);
    let size = skill.bundle.files().iter().map(|file| file.size).sum();
    if let Some(refusal) = unread.refusal_of(size) {
        return refusal;
    }
    let packed = match archive::pack(&view.shared.registry, entry, &skill, kind).await {
        Some(bytes) => digested(bytes).await,
        None => None,
    };
    let Some((digest, bytes)) = packed else {
        record.failed(Outcome::Error, "changed");
        return changed();
    };
    note_file(record, headers, digest, &bytes);
    let media_type = if kind == ArchiveKind::Plugin { ZIP } else { GZIP };
    attachment(file(headers, media_type, &digest, bytes))
}

/// Returns `bytes` with their digest, which takes long for large ones; `None` if the server stops.
async fn digested(bytes: Vec<u8>) -> Option<(Digest, Vec<u8>)> {
    tokio::task::spawn_blocking(move || (Digest::of(&bytes), bytes)).await.ok()
}

/// Returns the record of a download: clients install skills by it, or look at them.
fn download<'a>(view: &'a AgentView, principal: &Principal) -> RequestRecord<'a> {
    let (kind, origin) = (EventKind::SkillDownloaded, principal.origin(Via::Download));
    let mut record = RequestRecord::new(&view.session, kind, "download", &origin);
    record.set(|event| event.surface = Surface::Http);
    record
}

/// Notes that the client gets `bytes`, which have this digest, or has them already.
fn note_file(record: &mut RequestRecord<'_>, headers: &HeaderMap, digest: Digest, bytes: &[u8]) {
    if has_tag(headers, &tag(&digest)) {
        record.acknowledged(Some(digest));
    } else {
        record.served(Some(digest), bytes);
    }
}

/// Emits `record`, unless the client asked for nothing but headers.
fn emit(record: RequestRecord<'_>, method: &Method) {
    if method != Method::HEAD {
        record.emit();
    }
}

async fn skill_file(
    Extension(view): Extension<Arc<AgentView>>,
    Extension(principal): Extension<Principal>,
    Extension(unread): Extension<UnreadLimit>,
    Path((name, path)): Path<(String, String)>,
    request: Request,
) -> Response {
    let Ok(path) = SkillPath::new(&path) else { return not_found() };
    let mut record = download(&view, &principal);
    record.asked(&name, Some(path.as_str()));
    let response = single_file(&view, &unread, &name, &path, request.headers(), &mut record).await;
    emit(record, request.method());
    response
}

async fn single_file(
    view: &AgentView,
    unread: &UnreadLimit,
    name: &str,
    path: &SkillPath,
    headers: &HeaderMap,
    record: &mut RequestRecord<'_>,
) -> Response {
    let snapshot = view.shared.registry.touch().await;
    record.unseen(&snapshot, name);
    let Some(entry) = view.find(&snapshot, name).filter(|entry| entry.allows_models()) else {
        return not_found();
    };
    record.failed(Outcome::Error, "withheld");
    record.set(|event| entry.describe(event));
    let PublishResult::Published(skill) = view.publish(entry).await else { return not_found() };
    record.failed(Outcome::NotFound, "no_file");
    let Some(listed) = skill.file(path.as_str()) else { return not_found() };
    record.failed(Outcome::Error, OVERLOADED);
    if let Some(refusal) = unread.refusal_of(listed.size) {
        return refusal;
    }
    record.failed(Outcome::Error, "changed");
    let Ok(content) = view.shared.registry.read(entry, path, LineRange::default()).await else {
        return changed();
    };
    let read = digested(content.bytes).await.filter(|(digest, _)| *digest == listed.digest);
    let Some((digest, bytes)) = read else { return changed() };
    note_file(record, headers, digest, &bytes);
    attachment(file(headers, safe_media_type(path.as_str()), &digest, bytes))
}

fn json(headers: &HeaderMap, value: &Value) -> Response {
    let bytes = value.to_string().into_bytes();
    file(headers, "application/json", &Digest::of(&bytes), bytes)
}

pub(crate) fn archive_response(headers: &HeaderMap, digest: &Digest, bytes: Vec<u8>) -> Response {
    let mut response = attachment(file(headers, GZIP, digest, bytes));
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

fn attachment(mut response: Response) -> Response {
    response.headers_mut().insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    response
}

/// Returns the media type of the file at `path`, or plain text if a browser would run it.
fn safe_media_type(path: &str) -> &'static str {
    match media_type::by_name(path).unwrap_or(BINARY) {
        kind @ ("text/markdown" | "text/plain" | "application/json") => kind,
        kind if kind.starts_with("text/") || kind.contains("xml") || kind.contains("script") => PLAIN,
        kind => kind,
    }
}

/// Returns `bytes` with their digest as `ETag`, or 304 if the client has them.
fn file(headers: &HeaderMap, kind: &'static str, digest: &Digest, bytes: Vec<u8>) -> Response {
    let tag = tag(digest);
    let is_current = has_tag(headers, &tag);
    let headers = [
        (header::ETAG, tag),
        (header::CACHE_CONTROL, CACHE.to_owned()),
        (header::CONTENT_TYPE, kind.to_owned()),
    ];
    if is_current {
        (StatusCode::NOT_MODIFIED, headers).into_response()
    } else {
        (headers, bytes).into_response()
    }
}

/// Returns the `ETag` of the content with this digest.
fn tag(digest: &Digest) -> String {
    format!("\"{}\"", digest.to_hex())
}

/// Returns whether `If-None-Match` has `tag`, in a list, as a weak tag or as `*`.
fn has_tag(headers: &HeaderMap, tag: &str) -> bool {
    let values = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut known = values.flat_map(|value| value.split(',')).map(str::trim);
    // The tags of this server have no comma.
    known.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

fn not_found() -> Response {
    (StatusCode::NOT_FOUND, "skill or file not found; see index.json\n").into_response()
}

fn changed() -> Response {
    (StatusCode::CONFLICT, "the skill is changing; fetch index.json again\n").into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_browsers_run_are_plain_text() {
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
            assert_eq!(safe_media_type(path), expect, "{path}");
        }
    }

    #[test]
    fn if_none_match_accepts_lists_weak_tags_and_any() {
        let check = |values: &[&str], expect: bool| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::IF_NONE_MATCH, HeaderValue::from_str(value).unwrap());
            }
            assert_eq!(has_tag(&headers, "\"ab\""), expect, "{values:?}");
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
