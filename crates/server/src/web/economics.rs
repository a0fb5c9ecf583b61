//! The page with the price of a session.

use askama::Template;
use axum::Extension;
use axum::response::Response;

use super::page::{self, Page};
use super::text::Shown;
use super::{chart, url};
use crate::api::Params;
use crate::api::economics::{self, Economics, EconomicsQuery};
use crate::dashboard::Asker;

/// The numbers of turns that can be chosen.
const TURNS: [u32; 4] = [10, 30, 60, 100];

#[derive(Template)]
#[template(path = "economics.html")]
struct EconomicsPage {
    page: Page,
    economics: Economics,
    turns: [u32; 4],
}

impl EconomicsPage {
    /// Returns a bar of the prices `parts`, compared with the way that costs most.
    fn bar(&self, parts: &[f64]) -> String {
        chart::stacked(parts, self.economics.ways.iter().map(|way| way.cost).fold(0.0, f64::max))
    }
}

/// Answers with the page.
pub(super) async fn get(
    Extension(asker): Extension<Asker>,
    Params(query): Params<EconomicsQuery>,
) -> Response {
    match economics::economics(&asker, &query).await {
        Ok(economics) => {
            let page = Page::new(&asker, "economics", "Economics").await;
            page::html(&EconomicsPage { page, economics, turns: TURNS })
        }
        Err(error) => page::error(&asker, "economics", error).await,
    }
}
