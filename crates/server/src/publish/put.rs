//! Answers a request that publishes a version of a skill.

use std::time::SystemTime;

use axum::body::Bytes;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use percent_encoding::percent_decode_str;
use repertoire::event::{Event, Surface};
use repertoire::proposal::{NewPublication, PublishFault, PublishMode, Published};
use repertoire::store::{AGENT_PREFIX, Role};
use repertoire::{EventKind, Outcome};
use repertoire_model::{Digest, SkillName};
use serde_json::{Value, json};

use super::options::PublishOptions;
use crate::agent_view::AgentView;
use crate::record::Principal;

/// Maximum bytes of an archive.
pub(crate) const MAX_ARCHIVE_BYTES: usize = 10 * 1024 * 1024;

/// The parameter with the channel.
const CHANNEL: &str = "channel";

/// A request that is refused: its status, the code that programs compare, and the message for people.
struct Refused(StatusCode, &'static str, String);

impl From<PublishFault> for Refused {
    fn from(fault: PublishFault) -> Self {
        match fault {
            PublishFault::Version => Self(
                StatusCode::BAD_REQUEST,
                "invalid_request",
                "a version has 1 to 64 letters, digits, or one of . - _ +".to_owned(),
            ),
            PublishFault::Exists(digest) => Self(
                StatusCode::CONFLICT,
                "version_exists",
                format!("this version exists with other content ({digest}); publish another version"),
            ),
            PublishFault::Refused(refusal) => {
                Self(StatusCode::UNPROCESSABLE_ENTITY, "refused", refusal.to_string())
            }
            PublishFault::Failed(error) => {
                Self(StatusCode::SERVICE_UNAVAILABLE, "store_unavailable", error.chain())
            }
            _ => Self(
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal",
                "the version was not published".to_owned(),
            ),
        }
    }
}

/// A request that publishes a version of a skill.
struct PutRequest {
    name: SkillName,
    version: String,
    channel: String,
    mode: PublishMode,
}

/// Publishes the skill in the archive `body` for `principal`.
pub(crate) async fn publish(
    view: &AgentView,
    principal: &Principal,
    (name, version): (String, String),
    query: Option<&str>,
    body: Bytes,
) -> Response {
    let mut event = Event::new(EventKind::SkillPublished, "publish", "", SystemTime::now());
    event.surface = Surface::Http;
    event.skill = Some(repertoire_model::text::shorten(&name, 100));
    event.query = Some(repertoire_model::text::shorten(&version, 100));
    event.principal = principal.name.as_deref().map(str::to_owned);
    event.bytes = body.len() as u64;
    let (response, digest) = match published(view, principal, &name, &version, query, body).await {
        Ok((request, published)) => {
            let digest = published.digest;
            (success(&request, &published), Some(digest))
        }
        Err(Refused(status, code, message)) => {
            event.outcome = match status {
                StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => Outcome::Denied,
                StatusCode::NOT_FOUND => Outcome::NotFound,
                _ if status.is_client_error() => Outcome::Invalid,
                _ => Outcome::Error,
            };
            event.error = Some(code.to_owned());
            (json_response(status, &json!({"error": {"code": code, "message": message}})), None)
        }
    };
    event.digest = digest;
    view.shared.library.emit(&event);
    response
}

async fn published(
    view: &AgentView,
    principal: &Principal,
    name: &str,
    version: &str,
    query: Option<&str>,
    body: Bytes,
) -> Result<(PutRequest, Published), Refused> {
    let Some(options) = view.options().publish.clone() else {
        let message = "this server does not take versions of skills; serve a channel of a store".to_owned();
        return Err(Refused(StatusCode::NOT_FOUND, "not_found", message));
    };
    let Some(sender) = &principal.name else {
        let message = "publishing needs a token; send Authorization: Bearer TOKEN".to_owned();
        return Err(Refused(StatusCode::UNAUTHORIZED, "missing_token", message));
    };
    let request = read(&options, principal, name, version, query)?;
    let author = match view.agent() {
        Some(_) => format!("{AGENT_PREFIX}{sender}"),
        None => format!("user:{sender}"),
    };
    // A name out of scope is refused in the same way if there is such a skill and if there is none.
    let source = format!("store:{}", request.channel);
    let snapshot = view.shared.registry.touch().await;
    let hides = snapshot.entries().iter().any(|entry| entry.name() == &request.name && !view.sees(entry));
    if hides || !view.may_publish(&source, request.name.as_str()) {
        let message = "this token does not give access to a skill of this name".to_owned();
        return Err(Refused(StatusCode::FORBIDDEN, "out_of_scope", message));
    }
    let policy = view.shared.registry.policy().clone();
    let work = move || {
        let refused = |why| Refused(StatusCode::UNPROCESSABLE_ENTITY, "refused", why);
        let files = (options.unpack)(&body).map_err(refused)?;
        let store = options.store.get().map_err(PublishFault::from)?;
        let named = (&request.name, request.version.as_str());
        let new = NewPublication::new(&request.channel, named, files, &author, SystemTime::now());
        let published = repertoire::proposal::publish(&*store, &policy, new, request.mode, options.limits)?;
        Ok((request, published))
    };
    let gone = |_| Refused(StatusCode::SERVICE_UNAVAILABLE, "internal", "the server is stopping".to_owned());
    tokio::task::spawn_blocking(work).await.map_err(gone)?
}

/// Returns the request, if `principal` may make it.
fn read(
    options: &PublishOptions,
    principal: &Principal,
    name: &str,
    version: &str,
    query: Option<&str>,
) -> Result<PutRequest, Refused> {
    let mode = match principal.role {
        Role::Reader => {
            let message = "the role of this token may not publish; an author's may".to_owned();
            return Err(Refused(StatusCode::FORBIDDEN, "role", message));
        }
        Role::Author => PublishMode::Propose,
        Role::Reviewer | Role::Admin => PublishMode::Release,
    };
    let invalid = |message: String| Refused(StatusCode::BAD_REQUEST, "invalid_request", message);
    let name = SkillName::new(name)
        .filter(|valid| valid.as_str() == name)
        .ok_or_else(|| invalid("this is no name of a skill".to_owned()))?;
    let wanted = query.unwrap_or_default().split('&').find_map(|pair| {
        let value = pair.strip_prefix(CHANNEL)?.strip_prefix('=')?;
        Some(percent_decode_str(value).decode_utf8_lossy().into_owned())
    });
    let channel = match wanted {
        Some(wanted) => options.channels.iter().find(|channel| **channel == wanted),
        None => options.channels.last(),
    };
    let channel = channel.ok_or_else(|| {
        invalid(format!("the channel is not served; there are: {}", options.channels.join(", ")))
    })?;
    Ok(PutRequest { name, version: version.to_owned(), channel: channel.clone(), mode })
}

fn success(request: &PutRequest, published: &Published) -> Response {
    let (status, state) = match (published.release, published.proposal) {
        (_, Some(_)) => (StatusCode::ACCEPTED, "proposed"),
        (Some(_), None) => (StatusCode::CREATED, "released"),
        (None, None) => (StatusCode::OK, "unchanged"),
    };
    let digest: &Digest = &published.digest;
    let body = json!({
        "name": request.name.as_str(),
        "version": request.version,
        "channel": request.channel,
        "digest": digest.to_string(),
        "state": state,
        "release": published.release,
        "proposal": published.proposal,
        "findings": published.findings.lines().collect::<Vec<_>>(),
    });
    json_response(status, &body)
}

fn json_response(status: StatusCode, body: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
