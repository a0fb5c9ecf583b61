//! The page with the skills.

use askama::Template;
use axum::Extension;
use repertoire::State;
use repertoire_app::view::{DiagnosticView, SkillView, UsageView, address_of};
use serde::Deserialize;

use super::page::{self, Page};
use super::text::{NumberText, TimeText};
use super::{chart, url};
use crate::api::Params;
use crate::api::skills::{self, Facet, SkillList, SkillsQuery};
use crate::api::{skill, switch};
use crate::dashboard::RequestContext;

/// Maximum tags to choose from, the most frequent. All of thousands of skills would be most of the page.
const MAX_TAGS: usize = 80;

/// Maximum characters of a description; the page of the skill has all of it.
const MAX_DESCRIPTION_CHARS: usize = 280;

/// The switch that led to the page.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct SwitchNotice {
    /// The skill.
    switched: Option<String>,
    /// `on` or `off`.
    to: Option<String>,
}

struct Notice {
    text: String,
    is_warning: bool,
    /// The address of the skill.
    address: String,
    /// True if the skill is switched off now.
    is_off: bool,
}

#[derive(Template)]
#[template(path = "skills.html")]
struct SkillsPage {
    page: Page,
    list: SkillList,
    query: SkillsQuery,
    notice: Option<Notice>,
    /// True if the sender may switch skills off and on.
    may_switch: bool,
}

impl SkillsPage {
    fn q(&self) -> &str {
        self.query.q.as_deref().unwrap_or_default()
    }

    fn is_chosen(&self, name: &str, value: &str) -> bool {
        let query = &self.query;
        let chosen = match name {
            "source" => &query.source,
            "tag" => &query.tag,
            "state" => &query.state,
            "agent" => &query.agent,
            _ => &query.sort,
        };
        chosen.as_deref() == Some(value)
    }

    /// Returns the tags that can be chosen, by name.
    fn tags(&self) -> Vec<&Facet> {
        let mut tags: Vec<&Facet> = self.list.facets.tags.iter().collect();
        tags.sort_by_key(|tag| (!self.is_chosen("tag", &tag.value), std::cmp::Reverse(tag.skills)));
        tags.truncate(MAX_TAGS);
        tags.sort_by(|a, b| a.value.cmp(&b.value));
        tags
    }

    fn usage(&self, skill: &SkillView) -> UsageView {
        skill.usage.clone().unwrap_or_default()
    }

    /// Returns the number of findings of `severity` about a skill.
    fn count(&self, skill: &SkillView, severity: &str) -> usize {
        skill.diagnostics.iter().filter(|found| found.severity == severity).count()
    }

    /// Returns the worst finding about a skill in a list of problems.
    fn problem<'s>(&self, skill: &'s SkillView) -> Option<&'s DiagnosticView> {
        let of = |severity: &str| skill.diagnostics.iter().find(|found| found.severity == severity);
        of("error").or_else(|| of("warning")).filter(|_| self.is_chosen("state", "problems"))
    }

    /// Returns the beginning of the description of a skill.
    fn description<'s>(&self, skill: &'s SkillView) -> &'s str {
        let text = skill.description.as_str();
        text.char_indices().nth(MAX_DESCRIPTION_CHARS).map_or(text, |(end, _)| &text[..end])
    }

    /// Returns the part of the list that the page shows, if it is not all of it.
    fn range(&self) -> Option<String> {
        let shown = self.list.skills.len();
        if shown == self.list.total || shown == 0 {
            return None;
        }
        let start = self.query.cursor.as_deref().and_then(|cursor| cursor.parse().ok()).unwrap_or(0_usize);
        Some(format!("{} to {}", (start + 1).grouped(), (start + shown).grouped()))
    }

    fn is_filtered(&self) -> bool {
        let query = &self.query;
        let filters = [&query.q, &query.source, &query.tag, &query.state, &query.agent];
        filters.into_iter().flatten().any(|filter| !filter.is_empty())
    }

    /// Returns the address of the next part.
    fn next(&self) -> Option<String> {
        Some(self.part(self.list.next_cursor.as_deref()?))
    }

    fn here(&self) -> String {
        self.part(self.query.cursor.as_deref().unwrap_or_default())
    }

    /// Returns the address of the part that begins at `cursor`.
    fn part(&self, cursor: &str) -> String {
        let query = &self.query;
        let filters = [
            ("q", &query.q),
            ("source", &query.source),
            ("tag", &query.tag),
            ("state", &query.state),
            ("agent", &query.agent),
            ("sort", &query.sort),
        ];
        let filters = filters.map(|(name, value)| (name, value.as_deref().unwrap_or_default()));
        format!("/skills{}", url::query(&[&filters[..], &[("cursor", cursor)]].concat()))
    }
}

pub(super) async fn get(
    Extension(ctx): Extension<RequestContext>,
    Params(query): Params<SkillsQuery>,
    Params(switched): Params<SwitchNotice>,
) -> page::PageResult {
    let list = skills::list(&ctx, &query).await?;
    let page = Page::new(&ctx, "skills", "Skills").await;
    let may_switch = switch::may_switch(&ctx);
    let notice = if may_switch { notice(&ctx, &switched).await } else { None };
    page::html(&SkillsPage { page, list, query, notice, may_switch })
}

/// Returns the notice of the switch that led here, as far as true, and the clients that still read the skill.
async fn notice(ctx: &RequestContext, switched: &SwitchNotice) -> Option<Notice> {
    let snapshot = ctx.view.shared.registry.snapshot();
    let entry = skill::look_up(ctx, &snapshot, switched.switched.as_deref()?)?;
    let (is_off, name) = (entry.state == State::Disabled, entry.name());
    let still_read = skill::still_read(ctx, &snapshot, entry).await.ok()?;
    let text = match switched.to.as_deref()? {
        "on" if !is_off => format!("{name} is switched on."),
        "off" if is_off && still_read.is_empty() => format!("{name} is switched off for all agents."),
        "off" if is_off => format!("{name} is switched off, but {}.", still_read.join("; ")),
        _ => return None,
    };
    Some(Notice { text, is_warning: !still_read.is_empty(), address: address_of(entry), is_off })
}
