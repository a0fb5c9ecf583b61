//! `POST /api/v1/skills/{name}/switch`: switches a skill off and on.

use axum::Extension;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decision::audit;
use super::error::ApiError;
use super::records::blocking;
use super::request::{Answer, JsonBody, PathParams};
use super::skill;
use crate::dashboard::Asker;

/// The wanted state of a skill.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct SwitchRequest {
    /// True to switch the skill on, false to switch it off.
    pub(crate) on: bool,
}

/// The state of a skill after it was switched.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct SwitchAnswer {
    /// The skill.
    pub(crate) name: String,
    /// Its state.
    pub(crate) state: String,
}

/// Switches the skill called `name` off or on.
pub(crate) async fn post(
    Extension(asker): Extension<Asker>,
    PathParams(name): PathParams<String>,
    JsonBody(request): JsonBody<SwitchRequest>,
) -> Result<Answer<SwitchAnswer>, ApiError> {
    asker.expect_write(None)?;
    Ok(Answer(switch(&asker, &name, request.on).await?))
}

/// Switches the skill called `name` off or on, for all agents.
pub(crate) async fn switch(asker: &Asker, name: &str, is_on: bool) -> Result<SwitchAnswer, ApiError> {
    let registry = &asker.view.shared.registry;
    let snapshot = registry.snapshot();
    let entry = skill::find(asker, &snapshot, name)?;
    let unsupported =
        || ApiError::unsupported("this server does not switch skills; use `rep disable` and `rep enable`");
    // An agent reviews changes of skills; who gets them is not for it to decide.
    let host = asker.options().host.clone().filter(|_| asker.sees_all()).ok_or_else(unsupported)?;
    let of = entry.clone();
    let switched = blocking(move || Ok(host.switch(&of, is_on))).await?.ok_or_else(unsupported)?;
    let switched = switched.map_err(|reason| ApiError::conflict("not_switched", reason));
    audit(asker, if is_on { "enable" } else { "disable" }, entry.name().as_str(), switched.as_ref().err());
    let snapshot = registry.set_disabled(switched?).await;
    let entry = skill::find(asker, &snapshot, &entry.qualified_name())?;
    Ok(SwitchAnswer { name: entry.name().to_string(), state: entry.state.as_str().to_owned() })
}
