//! Answers a request that publishes a version of a skill.

use std::time::SystemTime;

use axum::body::Bytes;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use repertoire::event::{Event, Surface};
use repertoire::proposal::{NewPublication, PublishFault, PublishMode, PublishOutcome, channel_source};
use repertoire::serve::{AgentView, MAX_NAME_CHARS, OUT_OF_SCOPE, Principal};
use repertoire::{EventKind, Outcome};
use repertoire_model::SkillName;
use repertoire_model::text::shorten;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::options::PublishOptions;
use crate::api::ApiError;
use crate::http::RecordedRefusal;
use crate::server_state::ServerState;

pub(crate) const MAX_ARCHIVE_BYTES: usize = 10 * 1024 * 1024;

/// The place that a version is published to.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct PublishQuery {
    /// The channel; without it, the last one that the server serves.
    pub(crate) channel: Option<String>,
}

impl From<PublishFault> for ApiError {
    fn from(fault: PublishFault) -> Self {
        match fault {
            PublishFault::Version => {
                Self::invalid("a version has 1 to 64 letters, digits, or one of . - _ +")
            }
            PublishFault::Exists(_) => Self::conflict(
                "version_exists",
                "this version exists with other content; publish another version",
            ),
            PublishFault::ReleasedAs(version) => Self::conflict(
                "same_content",
                format!(
                    "this content is released already{}; \
                     let somebody who needs no review publish this version",
                    as_version(version)
                ),
            ),
            PublishFault::WaitsAs { version, proposal } => Self::conflict(
                "same_content",
                format!(
                    "this content waits for a review already{} in proposal {proposal}; \
                     wait for it, or let somebody who needs no review publish this version",
                    as_version(version)
                ),
            ),
            PublishFault::Refused(refusal) => refused(refusal.to_string()),
            PublishFault::Failed(error) => error.into(),
            _ => Self::internal("the version was not published"),
        }
    }
}

/// Returns the words for a version in a message, none if there is no version.
fn as_version(version: Option<String>) -> String {
    version.map(|version| format!(" as version {version}")).unwrap_or_default()
}

/// Returns the error of an archive or a skill that is not accepted.
fn refused(message: String) -> ApiError {
    ApiError { status: StatusCode::UNPROCESSABLE_ENTITY, code: "refused", message }
}

/// A request that publishes a version of a skill.
struct PutRequest {
    name: SkillName,
    version: String,
    channel: String,
    author: String,
    mode: PublishMode,
}

/// Publishes the skill in the archive `body` for `principal`, and records it.
pub(crate) async fn publish(
    server: &ServerState,
    view: &AgentView,
    principal: &Principal,
    (name, version): (String, String),
    query: PublishQuery,
    body: Bytes,
) -> Response {
    let mut event = Event::new(EventKind::SkillPublished, "publish", "", SystemTime::now());
    event.surface = Surface::Http;
    event.skill = Some(shorten(&name, MAX_NAME_CHARS));
    event.query = Some(shorten(&version, MAX_NAME_CHARS));
    event.principal = principal.name.as_deref().map(str::to_owned);
    event.agent = view.agent().map(|agent| agent.name.clone());
    event.bytes = body.len() as u64;
    let mut response = match published(server, view, principal, &name, version, query, body).await {
        Ok((request, published)) => {
            event.digest = Some(published.digest);
            response_to(request, &published)
        }
        Err(error) => {
            event.outcome = match error.status {
                StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => Outcome::Denied,
                StatusCode::NOT_FOUND => Outcome::NotFound,
                status if status.is_client_error() => Outcome::Invalid,
                _ => Outcome::Error,
            };
            event.error = Some(error.code.to_owned());
            error.into_response()
        }
    };
    view.shared.library.emit(&event);
    response.extensions_mut().insert(RecordedRefusal);
    response
}

async fn published(
    server: &ServerState,
    view: &AgentView,
    principal: &Principal,
    name: &str,
    version: String,
    query: PublishQuery,
    body: Bytes,
) -> Result<(PutRequest, PublishOutcome), ApiError> {
    let Some(options) = server.options.publish.clone() else {
        return Err(ApiError::not_found(
            "this server does not take versions of skills; serve a channel of a store",
        ));
    };
    let request = permitted(view, &options, principal, name, version, query).await?;
    let policy = view.shared.registry.policy().clone();
    let work = move || {
        let files = (options.unpack)(&body).map_err(refused)?;
        let store = options.proposer.store()?;
        let named = (&request.name, request.version.as_str());
        let new = NewPublication::new(&request.channel, named, files, &request.author, SystemTime::now());
        let rules = options.proposer.rules();
        let published = repertoire::proposal::publish(&*store, &policy, new, request.mode, rules)?;
        if let (Some(id), true) = (published.proposal, published.is_new_proposal)
            && let Ok(Some(proposal)) = store.proposal(id)
        {
            options.proposer.submitted(&proposal);
        }
        Ok((request, published))
    };
    let gone = |_| ApiError::internal("the server is stopping");
    tokio::task::spawn_blocking(work).await.map_err(gone)?
}

/// Returns the request, if `principal` may make it.
async fn permitted(
    view: &AgentView,
    options: &PublishOptions,
    principal: &Principal,
    name: &str,
    version: String,
    query: PublishQuery,
) -> Result<PutRequest, ApiError> {
    let Some(author) = principal.name.as_ref().and_then(|_| view.author(principal)) else {
        let message = "publishing needs a token; send Authorization: Bearer TOKEN".to_owned();
        return Err(ApiError { status: StatusCode::UNAUTHORIZED, code: "missing_token", message });
    };
    let forbidden = |code: &'static str, message: &str| ApiError {
        status: StatusCode::FORBIDDEN,
        code,
        message: message.to_owned(),
    };
    let name = SkillName::new(name)
        .filter(|valid| valid.as_str() == name)
        .ok_or_else(|| ApiError::invalid("this is not a name of a skill"))?;
    let wanted = query.channel.filter(|channel| !channel.is_empty());
    let channel = match &wanted {
        Some(wanted) => options.channels.iter().find(|channel| *channel == wanted),
        None => options.channels.last(),
    };
    // A channel or a name out of scope is refused in the same way if it exists and if it does not.
    let snapshot = view.shared.registry.touch().await;
    let channel = channel
        .filter(|channel| view.may_change(&snapshot, &channel_source(channel), name.as_str()))
        .ok_or_else(|| {
            let message =
                "this token may not publish a skill of this name there, or the channel is not served";
            forbidden(OUT_OF_SCOPE, message)
        })?;
    let mode = PublishMode::of(options.proposer.rules(), principal.role, channel, &name)
        .ok_or_else(|| forbidden("role", "the role of this token may not publish; an author's may"))?;
    Ok(PutRequest { name, version, channel: channel.clone(), author, mode })
}

fn response_to(request: PutRequest, published: &PublishOutcome) -> Response {
    let (status, state) = match (published.release, published.proposal) {
        (_, Some(_)) => (StatusCode::ACCEPTED, "proposed"),
        (Some(_), None) => (StatusCode::CREATED, "released"),
        (None, None) => (StatusCode::OK, "unchanged"),
    };
    let answer = PublishAnswer {
        name: request.name.to_string(),
        version: request.version,
        channel: request.channel,
        digest: published.digest.to_string(),
        state: state.to_owned(),
        release: published.release,
        proposal: published.proposal,
        findings: published.findings.lines().map(str::to_owned).collect(),
    };
    let body = serde_json::to_string(&answer).unwrap_or_default();
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// A version that was published, or waits for a review.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct PublishAnswer {
    /// The name of the skill.
    pub(crate) name: String,
    /// The version.
    pub(crate) version: String,
    /// The channel.
    pub(crate) channel: String,
    /// The digest of the files.
    pub(crate) digest: String,
    /// The state: `released` (201), `proposed` if it waits for a review (202), or `unchanged` if the channel
    /// has it already (200).
    pub(crate) state: String,
    /// The number of the release.
    pub(crate) release: Option<u64>,
    /// The number of the proposal that waits for a review.
    pub(crate) proposal: Option<u64>,
    /// The findings of the rules.
    pub(crate) findings: Vec<String>,
}
