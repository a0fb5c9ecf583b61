//! The page with the journal of events.

use std::collections::HashSet;

use askama::Template;
use axum::Extension;
use repertoire::{EventKind, Outcome};
use serde::Deserialize;

use super::page::{self, Page};
use super::text::{self, NumberText, TimeText};
use super::url;
use crate::api::Params;
use crate::api::events::{self, EventList, EventRecord, EventsQuery};
use crate::api::skill::look_up;
use crate::dashboard::RequestContext;

/// The filters of the form. An empty field is one that was not chosen.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct EventsForm {
    kind: String,
    outcome: String,
    skill: String,
    agent: String,
    principal: String,
    session: String,
    hours: String,
    cursor: String,
}

#[derive(Template)]
#[template(path = "events.html")]
struct EventsPage {
    page: Page,
    list: EventList,
    form: EventsForm,
    kinds: Vec<&'static str>,
    outcomes: Vec<&'static str>,
    /// The skills among those of the events that have a page.
    known: HashSet<String>,
}

impl EventsPage {
    fn query(&self, cursor: &str) -> String {
        let form = &self.form;
        url::query(&[
            ("kind", &form.kind),
            ("outcome", &form.outcome),
            ("skill", &form.skill),
            ("agent", &form.agent),
            ("principal", &form.principal),
            ("session", &form.session),
            ("hours", &form.hours),
            ("cursor", cursor),
        ])
    }

    fn here(&self) -> String {
        format!("/events{}", self.query(&self.form.cursor))
    }

    fn export(&self) -> String {
        format!("/api/v1/events/export{}", self.query(""))
    }

    fn newest(&self) -> String {
        format!("/events{}", self.query(""))
    }

    fn next(&self) -> Option<String> {
        Some(format!("/events{}", self.query(self.list.next_cursor.as_deref()?)))
    }

    /// Returns `true` if the operation says more than the kind: the decision, the switch, or the route of a
    /// request that was refused.
    fn has_tool(&self, event: &EventRecord) -> bool {
        let kinds = [EventKind::AccessRefused, EventKind::ProposalReviewed, EventKind::SkillSwitched];
        kinds.iter().any(|kind| kind.as_str() == event.kind) && text::event(event) != text::words(&event.tool)
    }

    fn is_filtered(&self) -> bool {
        !self.query("").is_empty()
    }
}

/// Returns the skills of `events` with a page. Others were removed, or are in another library of the store.
pub(super) fn known_skills(ctx: &RequestContext, events: &[EventRecord]) -> HashSet<String> {
    let snapshot = ctx.view.shared.registry.snapshot();
    let skills = events.iter().filter_map(|event| event.skill.as_deref());
    skills.filter(|skill| look_up(ctx, &snapshot, skill).is_some()).map(str::to_owned).collect()
}

pub(super) async fn get(
    Extension(ctx): Extension<RequestContext>,
    Params(form): Params<EventsForm>,
) -> page::PageResult {
    let set = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let query = EventsQuery {
        kind: set(&form.kind),
        outcome: set(&form.outcome),
        skill: set(&form.skill),
        agent: set(&form.agent),
        principal: set(&form.principal),
        session: set(&form.session),
        hours: form.hours.trim().parse().ok(),
        limit: None,
        cursor: set(&form.cursor),
    };
    let list = events::list(&ctx, &query).await?;
    let kinds = EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
    let outcomes = Outcome::ALL.iter().map(|outcome| outcome.as_str()).collect();
    let page = Page::new(&ctx, "events", "Events").await;
    let known = known_skills(&ctx, &list.events);
    page::html(&EventsPage { page, list, form, kinds, outcomes, known })
}
