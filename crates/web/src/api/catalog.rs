//! `GET /api/v1/catalog`: the catalog for an agent, a budget, a task and a format.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Extension;
use repertoire::{Agent, Entry, SessionRequest, Task, TaskRanking, Visibility};
use repertoire_model::catalog::{Format, Tier};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::ApiError;
use super::records::blocking;
use super::request::{Answer, Params};
use crate::dashboard::Asker;

/// Maximum characters of a task.
const MAX_TASK_CHARS: usize = 20_000;

/// Maximum of numbers.
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

/// A catalog.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct CatalogAnswer {
    /// The exact text.
    pub(crate) text: String,
    /// The format.
    pub(crate) format: String,
    /// The tokenizer of all counts.
    pub(crate) tokenizer: String,
    /// The tokens of the text.
    pub(crate) tokens: usize,
    /// The budget; absent without one.
    pub(crate) budget: Option<usize>,
    /// True if the text is over the budget nevertheless.
    pub(crate) is_over_budget: bool,
    /// The number of skills that are shown in full.
    pub(crate) full: usize,
    /// The number of skills that are shown with the first sentence of their descriptions.
    pub(crate) first_sentence: usize,
    /// The number of skills that are shown by their names.
    pub(crate) name_only: usize,
    /// The number of skills that are left out.
    pub(crate) omitted: usize,
    /// The number of turns after which each skill was shown; absent if all fits.
    pub(crate) turns: Option<usize>,
    /// The skills, in the order of the text.
    pub(crate) skills: Vec<ShownSkill>,
}

/// A skill of a catalog.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ShownSkill {
    /// The skill.
    pub(crate) name: String,
    /// The share of it that is shown: `full`, `first_sentence`, `name_only` or `omitted`.
    pub(crate) shown: String,
    /// The reason: `host`, `task`, `fair_share`, `tier` or `omitted`.
    pub(crate) reason: String,
    /// The place among the skills that the task needs, from 1.
    pub(crate) rank: Option<usize>,
    /// The score of the search, from 0 to about 1.
    pub(crate) score: Option<f32>,
    /// The words of the task that it was found by.
    pub(crate) words: Vec<String>,
}

/// Answers with a catalog.
pub(crate) async fn get(
    Extension(asker): Extension<Asker>,
    Params(query): Params<CatalogQuery>,
) -> Result<Answer<CatalogAnswer>, ApiError> {
    Ok(Answer(catalog(&asker, &query).await?))
}

/// Returns the catalog that `query` asks for.
pub(crate) async fn catalog(asker: &Asker, query: &CatalogQuery) -> Result<CatalogAnswer, ApiError> {
    let library = &asker.view.shared.library;
    let agent = match query.agent.as_deref().filter(|agent| !agent.is_empty()) {
        Some(name) if asker.sees_all() => Some(
            library
                .agent(name)
                .map_err(|_| ApiError::not_found(format!("there is no agent `{name}`")))?
                .clone(),
        ),
        Some(name) => return Err(ApiError::not_found(format!("there is no agent `{name}`"))),
        None => None,
    };
    let mut options = match &agent {
        Some(agent) => {
            library.open_session(&SessionRequest::of(&agent.name).without_reload()).await?.catalog_options()
        }
        None => asker.view.session.catalog_options(),
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
    let view = Arc::clone(&asker.view);
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
        let mut needed: HashMap<&str, (usize, f32, &[String])> = HashMap::new();
        let skills = ranking.as_ref().map(TaskRanking::skills).unwrap_or_default();
        for (rank, skill) in (1..).zip(skills) {
            needed.insert(skill.name.as_str(), (rank, skill.score, &skill.words));
        }
        let report = &catalog.report;
        let skills = report.tiers.iter().map(|tier| {
            let need = needed.get(tier.name.as_str());
            ShownSkill {
                name: tier.name.clone(),
                shown: tier.tier.as_str().to_owned(),
                reason: tier.reason.as_str().to_owned(),
                rank: need.map(|need| need.0),
                score: need.map(|need| need.1),
                words: need.map(|need| need.2.to_vec()).unwrap_or_default(),
            }
        });
        Ok(CatalogAnswer {
            format: options.format.as_str().to_owned(),
            tokenizer: options.tokenizer.as_str().to_owned(),
            tokens: report.tokens.unwrap_or_else(|| options.tokenizer.count(&catalog.text)),
            budget: options.budget_tokens,
            is_over_budget: report.over_budget,
            full: report.count(Tier::Full),
            first_sentence: report.count(Tier::FirstSentence),
            name_only: report.count(Tier::NameOnly),
            omitted: report.count(Tier::Omitted),
            turns: report.turns,
            skills: skills.collect(),
            text: catalog.text,
        })
    })
    .await
}
