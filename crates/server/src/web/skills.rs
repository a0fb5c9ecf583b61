//! The page with the skills.

use askama::Template;
use axum::Extension;
use axum::response::{IntoResponse as _, Response};

use super::page::{self, Page};
use super::text::{Shown, ShownTime};
use super::{chart, url};
use crate::api::Params;
use crate::api::skills::{self, SkillList, SkillsQuery};
use crate::dashboard::Asker;

#[derive(Template)]
#[template(path = "skills.html")]
struct SkillsPage {
    page: Page,
    list: SkillList,
    query: SkillsQuery,
}

impl SkillsPage {
    fn q(&self) -> &str {
        self.query.q.as_deref().unwrap_or_default()
    }

    /// Returns whether the filter `name` has the value `value`.
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

    fn is_filtered(&self) -> bool {
        let query = &self.query;
        let filters = [&query.q, &query.source, &query.tag, &query.state, &query.agent];
        filters.into_iter().flatten().any(|filter| !filter.is_empty())
    }

    /// Returns the address of the next part.
    fn next(&self) -> Option<String> {
        let query = &self.query;
        let text = |value: &'static str, of: &Option<String>| (value, of.clone().unwrap_or_default());
        let pairs = [
            text("q", &query.q),
            text("source", &query.source),
            text("tag", &query.tag),
            text("state", &query.state),
            text("agent", &query.agent),
            text("sort", &query.sort),
            ("cursor", self.list.next_cursor.clone()?),
        ];
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(name, value)| (*name, value.as_str())).collect();
        Some(format!("/skills{}", url::query(&pairs)))
    }

    /// Returns the address of this page.
    fn here(&self) -> String {
        let query = &self.query;
        let value = |of: &Option<String>| of.clone().unwrap_or_default();
        let pairs = [
            ("q", value(&query.q)),
            ("source", value(&query.source)),
            ("tag", value(&query.tag)),
            ("state", value(&query.state)),
            ("agent", value(&query.agent)),
            ("sort", value(&query.sort)),
            ("cursor", value(&query.cursor)),
        ];
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(name, value)| (*name, value.as_str())).collect();
        format!("/skills{}", url::query(&pairs))
    }
}

/// Answers with the page.
pub(super) async fn get(
    Extension(asker): Extension<Asker>,
    params: Result<Params<SkillsQuery>, crate::api::ApiError>,
) -> Response {
    let query = match params {
        Ok(Params(query)) => query,
        Err(error) => return error.into_response(),
    };
    match skills::list(&asker, &query).await {
        Ok(list) => {
            page::html(&SkillsPage { page: Page::new(&asker, "skills", "Skills").await, list, query })
        }
        Err(error) => page::error(&asker, "skills", error).await,
    }
}
