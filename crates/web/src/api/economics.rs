//! `GET /api/v1/economics`: the tokens and the price of a session with these skills.

use std::sync::Arc;

use axum::Extension;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::ApiError;
use super::records::blocking;
use super::request::{Answer, Params};
use crate::dashboard::{Asker, Cost, Host};
use crate::server_state::ServerState;

/// The number of turns.
const TURNS: u32 = 30;

/// Maximum turns.
const MAX_TURNS: u32 = 100;

/// The session whose price is asked for.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct EconomicsQuery {
    /// The number of turns, from 1 to 100.
    #[schemars(extend("minimum" = 1, "maximum" = 100))]
    pub(crate) turns: Option<u32>,
}

/// The tokens and the price of a session, in several ways of disclosing skills.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Economics {
    /// The model whose prices apply.
    pub(crate) model: String,
    /// The date of the prices.
    pub(crate) prices_of: String,
    /// The number of turns.
    pub(crate) turns: u32,
    /// The number of skills.
    pub(crate) skills: usize,
    /// The skills that are loaded in the session.
    pub(crate) loaded: Vec<String>,
    /// The ways.
    pub(crate) ways: Vec<WayRow>,
    /// The use from which binding a skill to the prompt pays, in words.
    pub(crate) break_even: Option<String>,
}

/// A way of disclosing skills.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct WayRow {
    /// The name.
    pub(crate) way: String,
    /// The way in words.
    pub(crate) explanation: String,
    /// The tokens of tools and system prompt in the first request.
    pub(crate) prefix_tokens: u64,
    /// The number of requests whose tools or system prompt differ from those of the request before.
    pub(crate) prefix_changes: u64,
    /// The tokens that were read from the cache.
    pub(crate) cache_read: u64,
    /// The tokens that were written to the cache.
    pub(crate) cache_write: u64,
    /// The tokens of input that were not cached.
    pub(crate) input: u64,
    /// The tokens of output.
    pub(crate) output: u64,
    /// The price in USD.
    pub(crate) cost: f64,
    /// The price of tokens read from the cache, written to it, not cached, and put out.
    pub(crate) parts: Vec<f64>,
    /// The price compared with the default way.
    pub(crate) ratio: Option<f64>,
}

/// Answers with the price of a session.
pub(crate) async fn get(
    Extension(asker): Extension<Asker>,
    Params(query): Params<EconomicsQuery>,
) -> Result<Answer<Economics>, ApiError> {
    Ok(Answer(economics(&asker, &query).await?))
}

/// Returns the price of a session.
pub(crate) async fn economics(asker: &Asker, query: &EconomicsQuery) -> Result<Economics, ApiError> {
    let turns = query.turns.unwrap_or(TURNS);
    if !(1..=MAX_TURNS).contains(&turns) {
        return Err(ApiError::invalid(format!("turns: a number from 1 to {MAX_TURNS}")));
    }
    let unknown = || ApiError::unsupported("this server does not know the price of its sessions");
    let host = asker.options().host.clone().filter(|_| asker.sees_all()).ok_or_else(unknown)?;
    // It goes on if the sender does not wait for it, and is there when they ask again.
    let measured = tokio::spawn(measured(Arc::clone(&asker.server), host, turns)).await;
    let cost = measured.map_err(|_| ApiError::internal("the request was given up"))??.ok_or_else(unknown)?;
    cost.map(answer).map_err(|reason| ApiError::conflict("no_cost", reason))
}

/// Returns the cost of a session of `turns` turns; `None` if the host does not know it.
async fn measured(
    shared: Arc<ServerState>,
    host: Arc<dyn Host>,
    turns: u32,
) -> Result<Option<Result<Cost, String>>, ApiError> {
    let number = shared.served.registry.snapshot().number();
    // One session is measured at a time, and those that wait for the same one get it from there.
    let _measuring = shared.dashboard.measuring.lock().await;
    if let Some(cost) = shared.dashboard.cost(number, turns) {
        return Ok(Some(cost));
    }
    let cost = blocking(move || Ok(host.cost(turns))).await?;
    if let Some(cost) = &cost {
        shared.dashboard.keep_cost(number, turns, cost.clone());
    }
    Ok(cost)
}

fn answer(cost: Cost) -> Economics {
    let stable =
        cost.ways.iter().find(|way| way.way == "stable").map(|way| way.cost).filter(|cost| *cost > 0.0);
    let ways = cost.ways.into_iter().map(|way| WayRow {
        ratio: stable.map(|stable| way.cost / stable),
        way: way.way,
        explanation: way.explanation,
        prefix_tokens: way.prefix_tokens,
        prefix_changes: way.prefix_changes,
        cache_read: way.cache_read,
        cache_write: way.cache_write,
        input: way.input,
        output: way.output,
        cost: way.cost,
        parts: way.parts.to_vec(),
    });
    Economics {
        model: cost.model,
        prices_of: cost.prices_of,
        turns: cost.turns,
        skills: cost.skills,
        loaded: cost.loaded,
        ways: ways.collect(),
        break_even: cost.break_even.map(|found| found.sentence),
    }
}
