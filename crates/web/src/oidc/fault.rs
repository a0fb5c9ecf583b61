//! The reasons that a person or a program is not believed.

/// The reason that a person or a program is not believed.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub(crate) enum OidcFault {
    /// The provider does not answer as it should. The text says how, without secrets.
    #[error("The sign-in provider cannot be used: {0}.")]
    Provider(String),
    /// The token is not valid.
    #[error("The token of the sign-in provider is not valid: {0}.")]
    Token(&'static str),
    /// The person has no name that events could tell.
    #[error(
        "The sign-in provider sends no usable name: the claim `{0}` is missing, unverified, or has other characters than letters, digits and - _ . @ + |."
    )]
    Name(String),
    /// The person is in no group that has access.
    #[error("{0} is in no group that has access to this server.")]
    NoGroup(String),
}
