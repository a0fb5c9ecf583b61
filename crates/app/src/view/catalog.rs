//! A catalog and how its budget and its task shaped it.

use std::collections::HashMap;

use repertoire::{RankedSkill, TaskRanking};
use repertoire_model::catalog::{Catalog, CatalogOptions, Tier};
use schemars::JsonSchema;
use serde::Serialize;

/// A catalog.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct CatalogView {
    /// The exact text.
    pub text: String,
    /// The format.
    pub format: &'static str,
    /// The tokenizer of all counts.
    pub tokenizer: &'static str,
    /// The tokens of the text.
    pub tokens: usize,
    /// The budget; `null` without one.
    pub budget: Option<usize>,
    /// True if the text is over the budget nevertheless.
    pub over_budget: bool,
    /// The number of skills that show less than their descriptions because of the budget.
    pub shortened: usize,
    /// The number of skills that are left out.
    pub omitted: usize,
    /// The number of descriptions that were longer than a catalog shows.
    pub clipped: usize,
    /// The note about the files of `--paths`, if it offers skills.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The number of epochs after which each skill had its turn, if the budget left something out for a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<usize>,
    /// The skills, in the order of the text.
    pub skills: Vec<ShownSkillView>,
}

impl CatalogView {
    /// Returns the view of `catalog`, which was made with `options` and, for a task, with `ranking`.
    pub fn new(catalog: Catalog, options: &CatalogOptions, ranking: Option<&TaskRanking>) -> Self {
        let ranked = ranking.map(TaskRanking::skills).unwrap_or_default();
        let needs: HashMap<&str, (usize, &RankedSkill)> =
            (1..).zip(ranked).map(|(rank, skill)| (skill.name.as_str(), (rank, skill))).collect();
        let tokens = catalog.report.tokens.unwrap_or_else(|| options.tokenizer.count(&catalog.text));
        let report = &catalog.report;
        let skills = report.tiers.iter().map(|skill| ShownSkillView {
            name: skill.name.clone(),
            shown: skill.tier.as_str(),
            reason: skill.reason.as_str(),
            task: needs.get(skill.name.as_str()).map(|(rank, skill)| SkillNeedView {
                rank: *rank,
                score: skill.score,
                words: skill.words.clone(),
            }),
        });
        Self {
            format: options.format.as_str(),
            tokenizer: options.tokenizer.as_str(),
            tokens,
            budget: options.budget_tokens,
            over_budget: report.over_budget,
            shortened: report.shortened(),
            omitted: report.count(Tier::Omitted),
            clipped: report.clipped,
            note: None,
            turns: report.turns,
            skills: skills.collect(),
            text: catalog.text,
        }
    }
}

/// A skill of a catalog.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct ShownSkillView {
    /// The name of the skill.
    pub name: String,
    /// The share of it that is shown: `full`, `first_sentence`, `name_only` or `omitted`.
    pub shown: &'static str,
    /// The reason: `host` if the host highlighted it, `task` if the task needs it, `fair_share` if it was its
    /// turn, `tier` for the rule for all skills, or `omitted`.
    pub reason: &'static str,
    /// The relevance to the task, if the task needs the skill, whatever the budget left for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<SkillNeedView>,
}

/// The relevance of a skill to a task.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct SkillNeedView {
    /// The place among the skills that the task needs, from 1.
    pub rank: usize,
    /// The score of the search, from 0 to about 1.
    pub score: f32,
    /// The words of the task that found it, common ones only if alone; empty if only the meaning is near.
    pub words: Vec<String>,
}
