//! Answers a request for a published version of a skill.

use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use repertoire::event::{Surface, Via};
use repertoire::serve::{AgentView, Principal, RequestRecord};
use repertoire::store::skill_files;
use repertoire::{EventKind, Outcome};
use repertoire_model::Digest;

use super::versions::{channels_seen, published_versions};
use crate::api::ApiError;
use crate::server_state::ServerState;
use crate::well_known::{archive_response, pack_files};

/// Returns the archive of the version `version` of the skill called `name`, and records it.
pub(crate) async fn download(
    server: &ServerState,
    view: &AgentView,
    principal: &Principal,
    (name, version): (String, String),
    headers: &HeaderMap,
) -> Response {
    let origin = principal.origin(Via::Download);
    let mut record = RequestRecord::new(&view.session, EventKind::SkillDownloaded, "download", &origin);
    record.set(|event| event.surface = Surface::Http);
    record.asked(&name, None);
    let response = match packed(server, view, &name, version, &mut record).await {
        Ok((digest, bytes)) => {
            record.served(Some(digest), &bytes);
            archive_response(headers, &digest, bytes)
        }
        Err(error) => error.into_response(),
    };
    record.emit();
    response
}

async fn packed(
    server: &ServerState,
    view: &AgentView,
    name: &str,
    version: String,
    record: &mut RequestRecord<'_>,
) -> Result<(Digest, Vec<u8>), ApiError> {
    let snapshot = view.shared.registry.touch().await;
    record.unseen(&snapshot, name);
    let channels = channels_seen(server, view, &snapshot, name);
    let options = server.options.publish.clone().filter(|_| !channels.is_empty());
    let options = options.ok_or_else(|| ApiError::not_found(format!("there is no skill `{name}`")))?;
    record.failed(Outcome::NotFound, "no_version");
    let name = name.to_owned();
    let work = move || {
        let store = options.proposer.store()?;
        let found = published_versions(&*store, &channels, &name)?;
        let found = found.into_iter().find(|publication| publication.version == version);
        let missing = || ApiError::not_found(format!("`{name}` has no version `{version}`"));
        let files = skill_files(&*store, &found.ok_or_else(missing)?.digest)?;
        let files: Vec<(String, bool, Vec<u8>)> =
            files.into_iter().map(|(path, file)| (path.to_string(), file.executable, file.bytes)).collect();
        let bytes = pack_files(&files).map_err(|error| ApiError::internal(error.to_string()))?;
        Ok((Digest::of(&bytes), bytes))
    };
    let gone = |_| ApiError::internal("the server is stopping");
    tokio::task::spawn_blocking(work).await.map_err(gone)?
}
