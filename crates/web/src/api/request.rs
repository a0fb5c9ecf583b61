//! Reads parameters of requests, and writes answers as JSON.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::ApiError;

/// Maximum items of one page.
pub(crate) const MAX_LIMIT: usize = 500;

/// The parameters of a URL's query. A query that does not fit is an error of the API.
pub(crate) struct Params<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        match Query::try_from_uri(&parts.uri) {
            Ok(Query(params)) => Ok(Self(params)),
            Err(error) => Err(ApiError::invalid(error.body_text())),
        }
    }
}

/// The parameters of a path. Parameters that do not fit are an error of the API.
pub(crate) struct PathParams<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for PathParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(params)) => Ok(Self(params)),
            Err(error) => Err(ApiError::invalid(error.body_text())),
        }
    }
}

/// The body of a request as JSON.
///
/// Its media type has to be that of JSON: a form of another site cannot send that.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let media_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = media_type.and_then(|value| value.split(';').next()).unwrap_or_default().trim();
        if !media_type.eq_ignore_ascii_case("application/json") {
            return Err(ApiError::invalid("the body has to be application/json"));
        }
        let body = Bytes::from_request(request, state)
            .await
            .map_err(|error| ApiError::invalid(error.body_text()))?;
        let body = serde_json::from_slice(&body);
        body.map(Self).map_err(|error| ApiError::invalid(format!("the body: {error}")))
    }
}

pub(crate) struct Answer<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Answer<T> {
    fn into_response(self) -> Response {
        match serde_json::to_string(&self.0) {
            Ok(body) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
            Err(error) => ApiError::internal(error.to_string()).into_response(),
        }
    }
}

/// A part of a list: its items, and the cursor of the next part.
pub(crate) struct Part<T> {
    pub(crate) items: Vec<T>,
    /// The number of items of the whole list.
    pub(crate) total: usize,
    /// The cursor of the next part, if there is one.
    pub(crate) next: Option<String>,
}

/// Returns at most `limit` of `items`, from the place that `cursor` names.
pub(crate) fn part<T>(
    items: Vec<T>,
    cursor: Option<&str>,
    limit: Option<usize>,
    usual: usize,
) -> Result<Part<T>, ApiError> {
    let limit = page_size(limit, usual)?;
    let start = match cursor.filter(|cursor| !cursor.is_empty()) {
        Some(cursor) => cursor.parse().map_err(|_| ApiError::invalid("cursor: it is not from this list"))?,
        None => 0_usize,
    };
    let total = items.len();
    let end = start.saturating_add(limit);
    let next = (end < total).then(|| end.to_string());
    Ok(Part { items: items.into_iter().skip(start).take(limit).collect(), total, next })
}

/// Returns the number of items of a page, between 1 and [`MAX_LIMIT`].
pub(crate) fn page_size(limit: Option<usize>, usual: usize) -> Result<usize, ApiError> {
    match limit {
        None => Ok(usual),
        Some(limit) if (1..=MAX_LIMIT).contains(&limit) => Ok(limit),
        Some(_) => Err(ApiError::invalid(format!("limit: a number from 1 to {MAX_LIMIT}"))),
    }
}
