//! `GET /api/v1/health`: the state of the parts of the server.

use std::sync::{Arc, Weak};

use repertoire_app::doctor::{HealthItem, HealthState, following, sandbox};
use schemars::JsonSchema;
use serde::Serialize;

use super::error::ApiError;
use super::records::{blocking, with_store};
use crate::dashboard::RequestContext;

/// The state of the parts of the server.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Health {
    /// The version of the server.
    pub(crate) version: String,
    /// The parts.
    pub(crate) parts: Vec<HealthRow>,
}

/// A part of the server and its state.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct HealthRow {
    /// The part, such as `store`.
    pub(crate) part: String,
    /// The state: `ok`, `warning`, `error` or `off`.
    pub(crate) state: String,
    /// The state in a few words.
    pub(crate) detail: String,
}

impl From<HealthItem> for HealthRow {
    fn from(item: HealthItem) -> Self {
        Self { part: item.part, state: item.state.as_str().to_owned(), detail: item.detail }
    }
}

/// Returns the state of the parts of the server.
pub(crate) async fn health(ctx: &RequestContext) -> Result<Health, ApiError> {
    let mut parts = vec![library(ctx), store(ctx).await];
    parts.extend(replicas(ctx).await);
    if let Some(dropped) = ctx.server.options.dropped_events.ask() {
        let (state, detail) = match dropped {
            0 => (HealthState::Ok, "every event was recorded".to_owned()),
            number => (HealthState::Warning, format!("{number} events could not be recorded")),
        };
        parts.push(HealthItem::new("events", state, detail));
    }
    if let Some(workspace) = ctx.workspace() {
        let server = Arc::clone(&ctx.server);
        let around = blocking(move || {
            let watcher = server.options.dashboard.watcher.as_ref().and_then(Weak::upgrade);
            let sandbox = server.dashboard.sandbox.get_or_init(|| sandbox(&workspace));
            Ok([following(&workspace, watcher.as_deref()), sandbox.clone()])
        });
        parts.extend(around.await?);
    }
    let parts = parts.into_iter().map(HealthRow::from).collect();
    Ok(Health { version: ctx.server.options.version.clone(), parts })
}

fn library(ctx: &RequestContext) -> HealthItem {
    let snapshot = ctx.view.shared.registry.snapshot();
    if !ctx.sees_all() {
        return HealthItem::new("library", HealthState::Ok, "the sources were read");
    }
    if let Some(source) = snapshot.unlisted_sources().next() {
        return HealthItem::new("library", HealthState::Error, format!("{source} could not be read"));
    }
    match snapshot.problems() {
        [] => HealthItem::new(
            "library",
            HealthState::Ok,
            format!("all sources were read, snapshot {}", snapshot.number()),
        ),
        [problem, ..] => HealthItem::new("library", HealthState::Warning, problem.diagnostic.message.clone()),
    }
}

async fn store(ctx: &RequestContext) -> HealthItem {
    if ctx.options().store.is_none() {
        return HealthItem::new("store", HealthState::Off, "nothing is recorded");
    }
    let is_told = ctx.sees_all();
    let asked = with_store(ctx, move |store| {
        let schema = store.schema_version()?;
        let place = if is_told { format!(" at {}", store.location()) } else { String::new() };
        Ok(format!("schema {schema}{place}"))
    });
    match asked.await {
        Ok(detail) => HealthItem::new("store", HealthState::Ok, detail),
        Err(error) => HealthItem::new(
            "store",
            HealthState::Error,
            if is_told { error.message } else { "away".to_owned() },
        ),
    }
}

/// Returns the state of the servers that share the store; `None` without a store that answers.
async fn replicas(ctx: &RequestContext) -> Option<HealthItem> {
    let processes = with_store(ctx, |store| Ok(store.processes()?)).await.ok()?;
    Some(match processes {
        None => HealthItem::new("replicas", HealthState::Off, "the store is for one machine"),
        Some(1) => HealthItem::new("replicas", HealthState::Ok, "this server alone uses the store"),
        Some(number) => HealthItem::new(
            "replicas",
            HealthState::Ok,
            format!("{number} servers and commands share the store"),
        ),
    })
}
