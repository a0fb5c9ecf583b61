//! Bearer tokens, each for one agent.

use std::collections::HashSet;
use std::fmt;

use axum::http::{HeaderMap, header};
use repertoire_model::Digest;

use crate::dashboard::is_equal;
use crate::{Error, ErrorKind};

/// Minimum characters of a token: a shorter one could be guessed.
const MIN_CHARS: usize = 16;
/// Maximum characters of a token.
const MAX_CHARS: usize = 4096;

/// A bearer token and the agent it stands for. Only its digest is stored.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    digest: Digest,
    /// The agent; none for full access.
    pub agent: Option<String>,
    /// The name by which events tell who sent a request: the agent, or the label of the token.
    pub name: String,
}

impl Token {
    /// Returns the token written as `text`, called `label` in errors.
    pub fn new(text: &str, agent: Option<String>, label: &str) -> Result<Self, Error> {
        let text = text.trim();
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
        if !(MIN_CHARS..=MAX_CHARS).contains(&text.len()) || !text.bytes().all(is_allowed) {
            return Err(Error::new(ErrorKind::BadToken).about(label));
        }
        let name = agent.clone().unwrap_or_else(|| label.to_owned());
        Ok(Self { digest: Digest::of(text.as_bytes()), agent, name })
    }
}

/// Returns a token that equals an earlier one, so that requests could not be distinguished.
pub(super) fn duplicate(tokens: &[Token]) -> Option<&Token> {
    let mut digests = HashSet::new();
    tokens.iter().find(|token| !digests.insert(token.digest))
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("agent", &self.agent).finish_non_exhaustive()
    }
}

/// Returns the token that a request carries.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next().filter(|_| values.next().is_none())?.as_bytes();
    let (scheme, token) = value.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| token.trim_ascii())
}

/// Returns the index of the token with the digest `given`.
///
/// All digests are compared in full, so that the time taken reveals nothing about the tokens.
pub(super) fn find(given: &Digest, tokens: &[Token]) -> Option<usize> {
    let mut found = None;
    for (index, token) in tokens.iter().enumerate() {
        if is_equal(given.as_bytes(), token.digest.as_bytes()) {
            found = Some(index);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    const ONE: &str = "0123456789abcdef";
    const TWO: &str = "fedcba9876543210";

    #[test]
    fn the_bearer_token_is_read_from_the_authorization_header() {
        let tokens =
            [Token::new(ONE, None, "").unwrap(), Token::new(&format!(" {TWO}\n"), None, "").unwrap()];
        let check = |values: &[&str], expect: Option<usize>| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::AUTHORIZATION, HeaderValue::from_str(value).unwrap());
            }
            let found = bearer(&headers).and_then(|token| find(&Digest::of(token), &tokens));
            assert_eq!(found, expect, "{values:?}");
        };
        check(&[&format!("Bearer {ONE}")], Some(0));
        check(&[&format!("bearer {TWO}")], Some(1));
        check(&[&format!("Bearer {ONE}"), &format!("Bearer {TWO}")], None);
        for wrong in ["", "Bearer", "Bearer ", ONE, "Basic 0123456789abcdef", "Bearer 0123456789abcde"] {
            check(&[wrong], None);
        }
        check(&[], None);
    }

    #[test]
    fn short_or_malformed_tokens_are_refused() {
        for bad in ["", "short", "0123456789 abcdef", "0123456789abcdeü", &"x".repeat(5000)] {
            assert_eq!(Token::new(bad, None, "t").unwrap_err().kind(), ErrorKind::BadToken);
        }
        assert!(!format!("{:?}", Token::new(ONE, None, "t").unwrap()).contains(ONE));
    }
}
