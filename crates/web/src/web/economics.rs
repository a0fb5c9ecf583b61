//! The page with the price of a session.

use std::time::Duration;

use askama::Template;
use axum::Extension;
use axum::http::{HeaderValue, header};
use axum::response::Response;

use super::page::{self, Page};
use super::text::NumberText;
use super::{chart, url};
use crate::api::Params;
use crate::api::economics::{self, Economics, EconomicsQuery};
use crate::dashboard::Asker;

/// The time after which a page is answered without the price.
const MEASURING_TIME: Duration = Duration::from_secs(2);

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
        chart::stacked(parts, self.most())
    }

    /// Returns the prices along the axis of the bars.
    fn ticks(&self) -> [String; 3] {
        [0.0, 0.5, 1.0].map(|part| format!("${:.2}", self.most() * part))
    }

    fn most(&self) -> f64 {
        self.economics.ways.iter().map(|way| way.cost).fold(0.0, f64::max)
    }
}

/// The page while a session is measured.
#[derive(Template)]
#[template(path = "measuring.html")]
struct MeasuringPage {
    page: Page,
}

/// Answers with the page. One that takes long says so, and asks for itself again.
pub(super) async fn get(
    Extension(asker): Extension<Asker>,
    Params(query): Params<EconomicsQuery>,
) -> Response {
    let measured = tokio::time::timeout(MEASURING_TIME, economics::economics(&asker, &query)).await;
    let page = Page::new(&asker, "economics", "Economics").await;
    match measured {
        Ok(Ok(economics)) => page::html(&EconomicsPage { page, economics, turns: TURNS }),
        Ok(Err(error)) => page::error(&asker, "economics", error).await,
        Err(_) => {
            let mut response = page::html(&MeasuringPage { page });
            response.headers_mut().insert(header::REFRESH, HeaderValue::from_static("2"));
            response
        }
    }
}
