//! Errors of the API: a status, a stable code and a message.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use repertoire::Error;
use schemars::JsonSchema;
use serde::Serialize;

use crate::dashboard::WriteRefusal;
use crate::http::RefusalCode;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiError {
    /// The status of the response.
    pub(crate) status: StatusCode,
    /// The code that programs compare.
    pub(crate) code: &'static str,
    /// The message for people.
    pub(crate) message: String,
}

/// The body of a response with an error.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErrorBody {
    /// The error.
    error: ErrorFields,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Error")]
struct ErrorFields {
    /// The code, which never changes: `invalid_request`, `not_found`, `read_only`, `csrf`, `conflict` …
    code: String,
    /// The problem, for people.
    message: String,
}

impl ApiError {
    /// Returns the error of a request that is wrong.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, code: "invalid_request", message: message.into() }
    }

    /// Returns the error of a request for something that does not exist, or that the sender may not see.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self { status: StatusCode::NOT_FOUND, code: "not_found", message: message.into() }
    }

    /// Returns the error of a decision that does not fit the state of things.
    pub(crate) fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        Self { status: StatusCode::CONFLICT, code, message: message.into() }
    }

    /// Returns the error of a server without a store.
    pub(crate) fn no_store() -> Self {
        let message =
            "this server has no store, so nothing is recorded; set `store.url`, or a state directory";
        Self { status: StatusCode::SERVICE_UNAVAILABLE, code: "no_store", message: message.to_owned() }
    }

    /// Returns the error of work that was given up.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self { status: StatusCode::INTERNAL_SERVER_ERROR, code: "internal", message: message.into() }
    }

    /// Returns the error of something that the host of the server does not know.
    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self { status: StatusCode::NOT_FOUND, code: "unsupported", message: message.into() }
    }
}

impl From<WriteRefusal> for ApiError {
    fn from(refusal: WriteRefusal) -> Self {
        let (code, message) = match refusal {
            WriteRefusal::ReadOnly => {
                ("read_only", "this server is read only; send a token, or use a server that may write")
            }
            WriteRefusal::NotReviewer => (
                "not_reviewer",
                "this token may not decide about skills; it takes the role reviewer, and an agent that reviews",
            ),
            WriteRefusal::Csrf => {
                ("csrf", "the request does not come from a page of this server; reload the page")
            }
        };
        Self { status: StatusCode::FORBIDDEN, code, message: message.to_owned() }
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        use repertoire::ErrorKind::{FileNotFound, IsDirectory, SkillNotFound, Store, TooLarge};
        let message = error.chain();
        match error.kind() {
            SkillNotFound | FileNotFound | IsDirectory => Self::not_found(message),
            Store => Self { status: StatusCode::SERVICE_UNAVAILABLE, code: "store_unavailable", message },
            TooLarge => Self::conflict("too_large", message),
            _ => Self::internal(message),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let error = ErrorFields { code: self.code.to_owned(), message: self.message.clone() };
        let body = serde_json::to_string(&ErrorBody { error }).unwrap_or_default();
        let mut response = (self.status, [(header::CONTENT_TYPE, "application/json")], body).into_response();
        response.extensions_mut().insert(RefusalCode(self.code));
        // The pages show it in one of theirs.
        response.extensions_mut().insert(self);
        response
    }
}
