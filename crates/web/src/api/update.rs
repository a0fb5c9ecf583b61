//! `GET /api/v1/skills/{name}/update`: asks the source of a skill for its newest version.

use std::time::SystemTime;

use repertoire_app::install;
use repertoire_app::view::UpdateView;

use super::error::ApiError;
use super::records::blocking;
use super::skill;
use crate::dashboard::{KnownUpdate, RequestContext};

/// Asks the source of the skill called `name` for its newest version, and keeps the answer for its page.
pub(crate) async fn update(ctx: &RequestContext, name: &str) -> Result<UpdateView, ApiError> {
    let snapshot = ctx.view.shared.registry.snapshot();
    let entry = skill::find(ctx, &snapshot, name)?.clone();
    let unsupported = || ApiError::unsupported("this server does not ask sources; `rep update` does");
    let workspace = ctx.workspace().ok_or_else(unsupported)?;
    let dashboard = &ctx.server.dashboard;
    // One source is asked at a time: that may fetch a repository.
    let _asking = dashboard.asking.lock().await;
    let of = entry.clone();
    let check = blocking(move || {
        let check = install::check_of(&workspace, &of);
        check.map_err(|error| ApiError::conflict("not_asked", error.message_with_causes()))
    });
    let newest =
        check.await?.map(|check| (install::word(&check.newest), install::newest_in_words(&check.newest)));
    let known = KnownUpdate { newest, time: SystemTime::now() };
    dashboard.keep_update(entry.qualified_name(), known.clone());
    Ok(UpdateView::from(known))
}
