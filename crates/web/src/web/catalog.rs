//! The catalog lab: the catalog for an agent, a budget, a task and a format.

use askama::Template;
use axum::Extension;
use repertoire_app::view::{CatalogView, ShownSkillView};
use repertoire_model::catalog::Format;
use serde::Deserialize;

use super::page::{self, Page};
use super::text::NumberText;
use super::{chart, url};
use crate::api::Params;
use crate::api::catalog::{self, CatalogQuery};
use crate::dashboard::RequestContext;

/// Maximum characters of the text on the page, and maximum skills; the API answers with all of them.
const MAX_TEXT_CHARS: usize = 24_000;
const MAX_SKILLS: usize = 100;

/// The choices of the form. An empty field is one that was not chosen.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct CatalogForm {
    agent: String,
    budget: String,
    format: String,
    task: String,
    epoch: String,
}

#[derive(Template)]
#[template(path = "catalog.html")]
struct CatalogPage {
    page: Page,
    form: CatalogForm,
    agents: Vec<String>,
    formats: [&'static str; 7],
    catalog: Option<CatalogView>,
    fault: Option<String>,
}

impl CatalogPage {
    /// Returns the skills, the ones that the task needs first.
    fn ranked(&self) -> Vec<&ShownSkillView> {
        let mut skills: Vec<&ShownSkillView> =
            self.catalog.iter().flat_map(|catalog| &catalog.skills).collect();
        skills.sort_by_key(|skill| skill.task.as_ref().map_or(usize::MAX, |task| task.rank));
        skills.truncate(MAX_SKILLS);
        skills
    }

    /// Returns the number of skills that are shown like this.
    fn count(&self, shown: &str) -> usize {
        self.catalog.iter().flat_map(|catalog| &catalog.skills).filter(|skill| skill.shown == shown).count()
    }

    fn text(&self) -> &str {
        let text = self.catalog.as_ref().map(|catalog| catalog.text.as_str()).unwrap_or_default();
        text.char_indices().nth(MAX_TEXT_CHARS).map_or(text, |(end, _)| &text[..end])
    }

    /// Returns the share of a skill that is shown, in words.
    fn shown(&self, word: &str) -> &'static str {
        match word {
            "full" => "in full",
            "first_sentence" => "one sentence",
            "name_only" => "name only",
            _ => "left out",
        }
    }

    /// Returns the reason for the place and the share of a skill in words.
    fn reason(&self, skill: &ShownSkillView) -> String {
        let share = match skill.reason {
            "host" => "the configuration puts it first",
            "fair_share" => "it is its turn among the others",
            "omitted" => "there is no room",
            "task" => "",
            _ => "the same for all",
        };
        let words = match skill.task.as_ref().map(|task| task.words.as_slice()) {
            None => return share.to_owned(),
            Some([]) => "near the task in meaning".to_owned(),
            Some(words) => format!("has {}", words.join(", ")),
        };
        if share.is_empty() { words } else { format!("{words}; {share}") }
    }

    fn budget_bar(&self) -> String {
        let Some(catalog) = &self.catalog else { return String::new() };
        let class = if catalog.over_budget { "over" } else { "" };
        chart::share(catalog.tokens as f64, catalog.budget.unwrap_or_default() as f64, class)
    }
}

pub(super) async fn get(
    Extension(ctx): Extension<RequestContext>,
    Params(form): Params<CatalogForm>,
) -> page::PageResult {
    let number = |text: &str| text.trim().parse().ok();
    let set = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let query = CatalogQuery {
        format: set(&form.format),
        budget: number(&form.budget),
        task: set(form.task.trim()),
        epoch: number(&form.epoch).map(|epoch| epoch as u64),
        agent: set(&form.agent),
    };
    let (catalog, fault) = match catalog::catalog(&ctx, &query).await {
        Ok(catalog) => (Some(catalog), None),
        Err(error) => (None, Some(error.message)),
    };
    let agents = if ctx.sees_all() {
        ctx.view.shared.library.agents().map(|agent| agent.name.clone()).collect()
    } else {
        Vec::new()
    };
    let page = Page::new(&ctx, "catalog", "Catalog lab").await;
    let formats = Format::ALL.map(Format::as_str);
    page::html(&CatalogPage { page, form, agents, formats, catalog, fault })
}
