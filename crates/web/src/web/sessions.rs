//! The page with the sessions.

use askama::Template;
use axum::Extension;

use super::page::{self, Page};
use super::text::{NumberText, TimeText};
use super::url;
use crate::api::Params;
use crate::api::sessions::{self, SessionList, SessionsQuery};
use crate::dashboard::RequestContext;

#[derive(Template)]
#[template(path = "sessions.html")]
struct SessionsPage {
    page: Page,
    list: SessionList,
    cursor: String,
}

impl SessionsPage {
    fn here(&self) -> String {
        format!("/sessions{}", url::query(&[("cursor", &self.cursor)]))
    }

    fn next(&self) -> Option<String> {
        Some(format!("/sessions{}", url::query(&[("cursor", self.list.next_cursor.as_deref()?)])))
    }
}

pub(super) async fn get(
    Extension(ctx): Extension<RequestContext>,
    Params(query): Params<SessionsQuery>,
) -> page::PageResult {
    let list = sessions::list(&ctx, &query).await?;
    let page = Page::new(&ctx, "sessions", "Sessions").await;
    page::html(&SessionsPage { page, list, cursor: query.cursor.unwrap_or_default() })
}
