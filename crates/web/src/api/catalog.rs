//! `GET /api/v1/catalog`: the catalog for an agent, a budget, a task and a format.

use std::sync::Arc;

use repertoire::{Agent, Entry, SessionRequest, Task, TaskRanking, Visibility};
use repertoire_app::view::CatalogView;
use repertoire_model::catalog::Format;
use schemars::JsonSchema;
use serde::Deserialize;

use super::error::ApiError;
use super::records::blocking;
use crate::dashboard::RequestContext;

const MAX_TASK_CHARS: usize = 20_000;

const MAX_NUMBER: u64 = 1_000_000_000;

/// The choices of a catalog.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct CatalogQuery {
    /// The format: `xml`, `list`, `menu`, `bracket`, `markdown`, `json` or `compat`.
    #[schemars(extend("enum" = ["", "xml", "list", "menu", "bracket", "markdown", "json", "compat"]))]
    pub(crate) format: Option<String>,
    /// The most tokens; 0 for any number. Without it, the budget of the configuration.
    #[schemars(extend("maximum" = 1_000_000_000))]
    pub(crate) budget: Option<usize>,
    /// The task whose skills are shown in full if the budget is too small for all.
    #[schemars(extend("maxLength" = 20_000))]
    pub(crate) task: Option<String>,
    /// The turn among the other skills.
    #[schemars(extend("maximum" = 1_000_000_000))]
    pub(crate) epoch: Option<u64>,
    /// The agent of the configuration whose catalog it is.
    pub(crate) agent: Option<String>,
}

/// Returns the configured agent called `name`, if given; only senders that see the whole library know of any.
pub(super) fn named_agent<'c>(
    ctx: &'c RequestContext,
    name: Option<&str>,
) -> Result<Option<&'c Agent>, ApiError> {
    let Some(name) = name.filter(|name| !name.is_empty()) else { return Ok(None) };
    let known = ctx.view.shared.library.agent(name).ok().filter(|_| ctx.sees_all());
    known.map(Some).ok_or_else(|| ApiError::not_found(format!("there is no agent `{name}`")))
}

pub(crate) async fn catalog(ctx: &RequestContext, query: &CatalogQuery) -> Result<CatalogView, ApiError> {
    let library = &ctx.view.shared.library;
    let agent = named_agent(ctx, query.agent.as_deref())?.cloned();
    let mut options = match &agent {
        Some(agent) => {
            library.open_session(&SessionRequest::of(&agent.name).without_reload()).await?.catalog_options()
        }
        None => ctx.view.session.catalog_options(),
    };
    if let Some(format) = query.format.as_deref().filter(|format| !format.is_empty()) {
        let known = || ApiError::invalid("format: xml, list, menu, bracket, markdown, json or compat");
        options.format = Format::parse(format).ok_or_else(known)?;
    }
    if let Some(budget) = query.budget {
        options.budget_tokens = Some(budget).filter(|budget| *budget > 0);
    }
    if query.budget.is_some_and(|budget| budget as u64 > MAX_NUMBER)
        || query.epoch.is_some_and(|epoch| epoch > MAX_NUMBER)
    {
        return Err(ApiError::invalid(format!("budget, epoch: at most {MAX_NUMBER}")));
    }
    let text = query.task.clone().unwrap_or_default();
    if text.chars().count() > MAX_TASK_CHARS {
        return Err(ApiError::invalid(format!("task: at most {MAX_TASK_CHARS} characters")));
    }
    let mut task = Task::new(text);
    task.epoch = query.epoch.unwrap_or_default();
    let snapshot = library.snapshot();
    let view = Arc::clone(&ctx.view);
    let sees =
        move |entry: &Entry| view.sees(entry) && agent.as_ref().is_none_or(|agent: &Agent| agent.sees(entry));
    let ranking = if task.is_blank() {
        None
    } else {
        let visible = snapshot.visible(&sees);
        Some(library.rank_for_task(&snapshot, &task, Visibility::Of(&visible)).await)
    };
    options.ranking = ranking.as_ref().map(TaskRanking::to_catalog);
    blocking(move || {
        let catalog =
            snapshot.catalog_of(&options, sees).map_err(|error| ApiError::invalid(error.to_string()))?;
        Ok(CatalogView::new(catalog, &options, ranking.as_ref()))
    })
    .await
}
