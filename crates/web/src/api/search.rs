//! `GET /api/v1/search`: the skills that a text is about.

use axum::Extension;
use repertoire::{SearchRequest, Visibility};
use repertoire_model::tokens::approximate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::ApiError;
use super::request::{Answer, Params, page_size};
use crate::dashboard::Asker;

/// The number of results.
const PAGE: usize = 10;

/// Maximum characters of a search.
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

/// The results of a search, best first.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct SearchAnswer {
    /// The results.
    pub(crate) results: Vec<FoundSkill>,
}

/// A skill that was found.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct FoundSkill {
    /// The skill.
    pub(crate) name: String,
    /// The description.
    pub(crate) description: String,
    /// The source.
    pub(crate) source: String,
    /// The score, from 0 to about 1.
    pub(crate) score: f32,
    /// The estimated probability that it fits, from 0 to 1.
    pub(crate) confidence: f32,
    /// The words that it was found by; none if only the meaning is near.
    pub(crate) words: Vec<String>,
    /// The title of the section that the text is most about.
    pub(crate) section: Option<String>,
}

/// Answers with the results of a search.
pub(crate) async fn get(
    Extension(asker): Extension<Asker>,
    Params(query): Params<SearchQuery>,
) -> Result<Answer<SearchAnswer>, ApiError> {
    if query.q.chars().count() > MAX_QUERY_CHARS {
        return Err(ApiError::invalid(format!("q: at most {MAX_QUERY_CHARS} characters")));
    }
    let mut request = SearchRequest::new(query.q, page_size(query.limit, PAGE)?);
    (request.tag, request.source) = (query.tag, query.source);
    let library = &asker.view.shared.library;
    let snapshot = library.snapshot();
    let visible = asker.view.visible(&snapshot);
    let hits = library.search_reranked(&snapshot, &request, Visibility::Of(&visible)).await;
    let mut results = Vec::with_capacity(hits.len());
    for hit in hits {
        let source = hit.entry.source.to_string();
        let (score, confidence) = (hit.score, hit.confidence);
        let found = library.search_result(&request.query, hit, &|text| approximate(text)).await;
        results.push(FoundSkill {
            name: found.name.to_string(),
            description: found.description,
            source,
            score,
            confidence,
            words: found.why.into_iter().map(|matched| matched.word).collect(),
            section: found.section.map(|section| section.title.to_string()),
        });
    }
    Ok(Answer(SearchAnswer { results }))
}
