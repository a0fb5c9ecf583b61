//! `GET /api/v1/search`: the skills that a text is about.

use repertoire::{SearchRequest, Visibility};
use repertoire_app::view::{FoundSkillView, SearchView};
use repertoire_model::tokens::approximate;
use schemars::JsonSchema;
use serde::Deserialize;

use super::error::ApiError;
use super::request::page_size;
use crate::dashboard::RequestContext;

/// The number of results.
const PAGE: usize = 10;

const MAX_QUERY_CHARS: usize = 1_000;

/// A search.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct SearchQuery {
    /// The task or question.
    #[schemars(extend("maxLength" = 1000))]
    pub(crate) q: String,
    /// Only skills with this tag.
    #[serde(default)]
    pub(crate) tag: Option<String>,
    /// Only skills of this source.
    #[serde(default)]
    pub(crate) source: Option<String>,
    /// The most results, from 1 to 500.
    #[serde(default)]
    #[schemars(extend("minimum" = 1, "maximum" = 500))]
    pub(crate) limit: Option<usize>,
}

pub(crate) async fn search(ctx: &RequestContext, query: SearchQuery) -> Result<SearchView, ApiError> {
    if query.q.chars().count() > MAX_QUERY_CHARS {
        return Err(ApiError::invalid(format!("q: at most {MAX_QUERY_CHARS} characters")));
    }
    let mut request = SearchRequest::new(query.q, page_size(query.limit, PAGE)?);
    (request.tag, request.source) = (query.tag, query.source);
    let library = &ctx.view.shared.library;
    let snapshot = library.snapshot();
    let visible = ctx.view.visible(&snapshot);
    let hits = library.search_reranked(&snapshot, &request, Visibility::Of(&visible)).await;
    let mut results = Vec::with_capacity(hits.len());
    for hit in hits {
        let source = hit.entry.source.to_string();
        let found = library.search_result(&request.query, hit, &|text| approximate(text)).await;
        results.push(FoundSkillView::new(&found, &source));
    }
    Ok(SearchView { query: request.query, results })
}
