//! The response to a request without a valid token.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;

use super::app::App;
use super::principals::AccessFault;
use super::refusals::Refusal;
use super::reply::{overloaded, refuse};

/// Seconds after which a client may find a store that answers.
pub(super) const STORE_RETRY_SECONDS: u32 = 5;

/// The reason for refusing a request with a token that is not accepted.
const INVALID_TOKEN: &str = "invalid token";

/// Returns the response to a request without an endpoint, and records it.
pub(super) fn refuse_access(app: &App, route: &str, fault: &AccessFault) -> Response {
    let record = |reason: &str| {
        let refusal = Refusal { principal: None, route, reason };
        app.refusals.refused_often(app.server.library(), &refusal);
    };
    let (status, word, reason, challenge) = match fault {
        AccessFault::MissingToken => {
            let reason = "missing token; send Authorization: Bearer TOKEN";
            (StatusCode::UNAUTHORIZED, "missing_token", reason, Some("Bearer"))
        }
        AccessFault::InvalidToken => {
            let challenge = "Bearer error=\"invalid_token\"";
            (StatusCode::UNAUTHORIZED, "invalid_token", INVALID_TOKEN, Some(challenge))
        }
        AccessFault::StoreAway => {
            record("store_away");
            return overloaded("tokens cannot be checked now", STORE_RETRY_SECONDS);
        }
        AccessFault::ProviderAway => {
            record("provider_away");
            return overloaded("the provider of the token does not answer", STORE_RETRY_SECONDS);
        }
        AccessFault::NoAccess => {
            let reason = "the sender of this token is in no group that has access, or has no usable name";
            (StatusCode::FORBIDDEN, "no_access", reason, None)
        }
        AccessFault::Agent => {
            let reason =
                "the agent of this token cannot be used; its server's configuration needs one of this name";
            (StatusCode::FORBIDDEN, "unusable_agent", reason, None)
        }
        AccessFault::UrlToken => {
            let reason = "a token in a URL must have the role reader and an end; `rep team token create` \
                makes such a token";
            (StatusCode::FORBIDDEN, "url_token", reason, None)
        }
    };
    record(word);
    let mut response = refuse(status, reason);
    if let Some(challenge) = challenge {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
    response
}
