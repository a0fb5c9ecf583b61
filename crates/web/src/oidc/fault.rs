//! The reasons that a person or a program is not believed.

use std::fmt;

/// The reason that a person or a program is not believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OidcFault {
    /// The provider does not answer as it should. The text says how, without secrets.
    Provider(String),
    /// The token is not valid.
    Token(&'static str),
    /// The person has no name that events could tell.
    Name(String),
    /// The person is in no group that has access.
    NoGroup(String),
}

impl fmt::Display for OidcFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Provider(reason) => write!(f, "The sign-in provider cannot be used: {reason}."),
            Self::Token(reason) => write!(f, "The token of the sign-in provider is not valid: {reason}."),
            Self::Name(claim) => write!(
                f,
                "The sign-in provider sends no usable name: the claim `{claim}` is missing, unverified, or has other \
                 characters than letters, digits and - _ . @ + |."
            ),
            Self::NoGroup(name) => write!(f, "{name} is in no group that has access to this server."),
        }
    }
}
