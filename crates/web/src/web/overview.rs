//! The page with the library at a glance.

use std::collections::HashSet;

use askama::Template;
use axum::Extension;
use repertoire_app::view::{ListingView, ProposalView};

use super::events::known_skills;
use super::page::{self, Page};
use super::text::{self, NumberText, TimeText};
use super::{chart, url};
use crate::api::events::{self, EventRecord, EventsQuery};
use crate::api::health::{self, Health};
use crate::api::listing::{self, ListingsQuery};
use crate::api::overview::{self, Overview};
use crate::api::proposals::{self, ProposalsQuery};
use crate::dashboard::RequestContext;

/// The number of events on the page.
const EVENTS: usize = 8;

/// The number of proposals on the page.
const PROPOSALS: usize = 4;

const SOURCES: usize = 6;

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    page: Page,
    overview: Overview,
    health: Health,
    events: Vec<EventRecord>,
    proposals: Vec<ProposalView>,
    listings: Vec<ListingView>,
    /// The skills among those of the events that have a page.
    known: HashSet<String>,
}

impl OverviewPage {
    /// Returns a bar of `loads`, compared with the skill that is loaded most.
    fn load_bar(&self, loads: &u64) -> String {
        let most = self.overview.top.first().map_or(0.0, |skill| skill.loads as f64);
        chart::share(*loads as f64, most, "")
    }

    /// Returns a bar of the catalog, compared with its budget.
    fn budget_bar(&self) -> String {
        let (tokens, budget) =
            (self.overview.catalog.tokens, self.overview.catalog.budget.unwrap_or_default());
        chart::share(tokens as f64, budget as f64, if tokens > budget { "over" } else { "" })
    }

    fn skill_bar(&self, skills: &usize) -> String {
        chart::share(*skills as f64, self.skills() as f64, "")
    }

    fn skills(&self) -> usize {
        self.overview.states.iter().map(|facet| facet.skills).sum()
    }
}

pub(super) async fn get(Extension(ctx): Extension<RequestContext>) -> page::PageResult {
    let overview = overview::overview(&ctx).await?;
    let health = health::health(&ctx).await?;
    let query = EventsQuery { limit: Some(EVENTS), ..EventsQuery::default() };
    let events = events::list(&ctx, &query).await.map(|list| list.events).unwrap_or_default();
    let query = ProposalsQuery { limit: Some(PROPOSALS), ..ProposalsQuery::default() };
    let proposals = proposals::list(&ctx, &query).await.map(|list| list.proposals).unwrap_or_default();
    let listings = listing::listings(&ctx, ListingsQuery::default()).await?;
    let page = Page::new(&ctx, "overview", "Overview").await;
    let known = known_skills(&ctx, &events);
    page::html(&OverviewPage { page, overview, health, events, proposals, listings, known })
}
