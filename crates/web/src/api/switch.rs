//! `POST /api/v1/skills/{name}/switch`: switches a skill off and on.

use std::sync::Arc;

use repertoire::EventKind;
use repertoire_app::workspace::Workspace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decision::record;
use super::error::ApiError;
use super::records::blocking;
use super::skill;
use crate::dashboard::RequestContext;

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

/// Switches the skill called `name` off or on, for all agents.
pub(crate) async fn switch(ctx: &RequestContext, name: &str, is_on: bool) -> Result<SwitchAnswer, ApiError> {
    let registry = &ctx.view.shared.registry;
    let snapshot = registry.snapshot();
    let entry = skill::find(ctx, &snapshot, name)?;
    let workspace = switched_workspace(ctx).map_err(ApiError::unsupported)?;
    let of = entry.clone();
    let switched = blocking(move || Ok(repertoire_app::switch::switch(&workspace, &of, is_on))).await?;
    let switched = switched.map_err(|error| {
        let reason = [&[error.message_with_causes()], error.hints()].concat().join("; ");
        ApiError::conflict("not_switched", reason)
    });
    let decision = if is_on { "enable" } else { "disable" };
    record(ctx, EventKind::SkillSwitched, decision, entry.name().as_str(), switched.as_ref().err());
    let snapshot = registry.set_disabled(switched?).await;
    let entry = skill::find(ctx, &snapshot, &entry.qualified_name())?;
    let (name, state) = (entry.name().to_string(), entry.state.as_str().to_owned());
    Ok(SwitchAnswer { name, state, still_read: skill::still_read(ctx, &snapshot, entry).await? })
}

/// Returns `true` if the sender may switch skills off and on here.
pub(crate) fn may_switch(ctx: &RequestContext) -> bool {
    ctx.write_refusal().is_none() && switched_workspace(ctx).is_ok()
}

/// Returns the workspace in which the sender switches skills, or the reason that it does not.
fn switched_workspace(ctx: &RequestContext) -> Result<Arc<Workspace>, &'static str> {
    // A token that sees a part of the library reviews changes of skills; it does not decide who gets them.
    if !ctx.sees_all() {
        return Err("a token that sees a part of the library does not switch skills");
    }
    match ctx.workspace() {
        None => Err("this server does not switch skills"),
        // The configuration of one server says nothing to the other servers of the store.
        Some(workspace) if !workspace.served_channels().is_empty() => Err(
            "a server of a store does not switch skills: the releases of the channel and the scopes of tokens decide who gets them",
        ),
        Some(workspace) => Ok(workspace),
    }
}
