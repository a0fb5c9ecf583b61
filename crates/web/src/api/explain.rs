//! `GET /api/v1/skills/{name}/explain`: every decision about a skill, and what each agent gets of it.

use axum::Extension;
use repertoire::{Bind, Entry, SessionRequest};
use repertoire_app::explain::Decision;
use schemars::JsonSchema;
use serde::Serialize;

use super::error::ApiError;
use super::records::blocking;
use super::request::{Answer, PathParams};
use super::skill;
use crate::dashboard::Asker;

/// The decisions about a skill.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Explanation {
    /// The skill.
    pub(crate) name: String,
    /// The decisions, in the order they were made.
    pub(crate) decisions: Vec<Decision>,
    /// The view of each agent of the configuration.
    pub(crate) agents: Vec<AgentRow>,
}

/// The view that an agent has of a skill.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct AgentRow {
    /// The agent.
    pub(crate) agent: String,
    /// True if it sees the skill.
    pub(crate) sees: bool,
    /// The reason, in words.
    pub(crate) reason: String,
    /// The share of the skill that its catalog shows: `full`, `first_sentence`, `name_only` or `omitted`.
    pub(crate) shown: Option<String>,
}

/// Answers with the decisions about the skill called `name`.
pub(crate) async fn get(
    Extension(asker): Extension<Asker>,
    PathParams(name): PathParams<String>,
) -> Result<Answer<Explanation>, ApiError> {
    Ok(Answer(explain(&asker, &name).await?))
}

/// Returns the decisions about the skill called `name`.
pub(crate) async fn explain(asker: &Asker, name: &str) -> Result<Explanation, ApiError> {
    let snapshot = asker.view.shared.registry.snapshot();
    let entry = skill::find(asker, &snapshot, name)?;
    let mut decisions = Vec::new();
    if let Some(workspace) = asker.workspace() {
        let (registry, qualified) = (asker.view.shared.registry.clone(), entry.qualified_name());
        decisions = blocking(move || {
            let decisions = repertoire_app::explain::decisions(&workspace, &registry, &qualified);
            decisions.map_err(|error| ApiError::internal(error.message_with_causes()))
        })
        .await?;
    }
    let mut agents = Vec::new();
    if asker.sees_all() {
        for agent in asker.view.shared.library.agents() {
            let sees = entry.state.is_reachable() && entry.allows_models() && agent.sees(entry);
            let options = match asker
                .view
                .shared
                .library
                .open_session(&SessionRequest::of(&agent.name).without_reload())
                .await
            {
                Ok(session) => Some(session.catalog_options()),
                Err(_) => None,
            };
            let shown = options.filter(|_| sees).and_then(|options| {
                let catalog = snapshot.catalog_for(agent, &options).ok()?;
                let mut tiers = catalog.report.tiers.into_iter();
                tiers
                    .find(|tier| tier.name == entry.name().as_str())
                    .map(|tier| tier.tier.as_str().to_owned())
            });
            agents.push(AgentRow { agent: agent.name.clone(), sees, reason: reason(agent, entry), shown });
        }
    }
    Ok(Explanation { name: entry.name().to_string(), decisions, agents })
}

fn reason(agent: &repertoire::Agent, entry: &Entry) -> String {
    let text = if !entry.state.is_reachable() {
        return format!("it is {}, so no agent gets it", entry.state.as_str());
    } else if !entry.allows_models() {
        "its author keeps it for people"
    } else {
        match agent.bound(entry) {
            Some(Bind::Hidden) => "it is bound as hidden",
            Some(_) => "it is bound to the agent",
            None if !agent.sees(entry) => "it is outside the scope of the agent",
            None => "it is within the scope of the agent",
        }
    };
    text.to_owned()
}
