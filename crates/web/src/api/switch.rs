//! `POST /api/v1/skills/{name}/switch`: switches a skill off and on.

use std::sync::Arc;

use axum::Extension;
use repertoire::EventKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decision::record;
use super::error::ApiError;
use super::records::blocking;
use super::request::{Answer, JsonBody, PathParams};
use super::skill;
use crate::dashboard::{Asker, Host};

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
    /// A sentence about each client that reads it from files although it is disabled.
    pub(crate) still_read: Vec<String>,
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
    let host = switching_host(asker).map_err(ApiError::unsupported)?;
    let of = entry.clone();
    let switched = blocking(move || Ok(host.switch(&of, is_on))).await?;
    let switched = switched.map_err(|reason| ApiError::conflict("not_switched", reason));
    let decision = if is_on { "enable" } else { "disable" };
    record(asker, EventKind::SkillSwitched, decision, entry.name().as_str(), switched.as_ref().err());
    let snapshot = registry.set_disabled(switched?).await;
    let entry = skill::find(asker, &snapshot, &entry.qualified_name())?;
    let (name, state) = (entry.name().to_string(), entry.state.as_str().to_owned());
    Ok(SwitchAnswer { name, state, still_read: skill::still_read(asker, &snapshot, entry).await? })
}

/// Returns `true` if the sender may switch skills off and on here.
pub(crate) fn may_switch(asker: &Asker) -> bool {
    asker.write_refusal().is_none() && switching_host(asker).is_ok()
}

/// Returns the host that switches skills for the sender, or the reason that there is none.
fn switching_host(asker: &Asker) -> Result<Arc<dyn Host>, String> {
    // A token that sees a part of the library reviews changes of skills; who gets them is not for it to decide.
    if !asker.sees_all() {
        return Err("a token that sees a part of the library does not switch skills".to_owned());
    }
    let Some(host) = asker.options().host.clone() else {
        return Err("this server does not switch skills".to_owned());
    };
    match host.switch_refusal() {
        Some(refusal) => Err(refusal),
        None => Ok(host),
    }
}
