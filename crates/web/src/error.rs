//! The error type of this crate.

use std::fmt;
use std::io;

/// An error of the server.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    subject: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The kind of an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The library or an agent is invalid; see the source.
    Library,
    /// Cannot listen on the address.
    Address,
    /// An address that is not a loopback address needs a token.
    TokenNeeded,
    /// A server that runs tools of skills needs a token on every address.
    TokenNeededForTools,
    /// A server that lets people write needs a token on every address.
    TokenNeededForWrites,
    /// Invalid token.
    BadToken,
    /// Two tokens are equal.
    TokenTwice,
    /// Invalid origin or host.
    BadOrigin,
    /// The provider of OpenID Connect cannot be used.
    BadProvider,
    /// The operating system reported an error.
    Io,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self { kind, subject: None, source: None }
    }

    /// Returns this error with the address, token or origin it is about.
    pub(crate) fn about(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    pub(crate) fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the address, token or origin it is about.
    pub fn subject(&self) -> Option<&str> {
        self.subject.as_deref()
    }

    /// Returns the hint.
    pub fn hint(&self) -> Option<&'static str> {
        match self.kind {
            ErrorKind::TokenNeeded => Some(
                "listen on 127.0.0.1, or give a token with `rep team token create` or REPERTOIRE_HTTP_TOKEN",
            ),
            ErrorKind::TokenNeededForTools => {
                Some("give a token with REPERTOIRE_HTTP_TOKEN, or serve without tools that run")
            }
            ErrorKind::TokenNeededForWrites => Some(
                "give a token with `rep team token create` or REPERTOIRE_HTTP_TOKEN; `rep dashboard` needs none",
            ),
            ErrorKind::BadToken => Some("use 16 to 4096 letters, digits and - . _ ~ + / ="),
            ErrorKind::TokenTwice => Some("give every agent a token of its own"),
            ErrorKind::BadOrigin => {
                Some("write an origin as https://app.example.com, a host as example.com:8080")
            }
            ErrorKind::BadProvider => Some(
                "write `oidc.issuer` as https://id.example.com (http on this machine only), and a `client_id`",
            ),
            ErrorKind::Address => Some(match self.system() {
                Some(io::ErrorKind::AddrInUse) => {
                    "the port is in use; choose another one, or 0 for any free port"
                }
                Some(io::ErrorKind::AddrNotAvailable) => "name an address of this machine, such as 127.0.0.1",
                Some(io::ErrorKind::PermissionDenied) => {
                    "ports below 1024 need privileges; choose a higher one, or 0 for any free port"
                }
                _ => "choose another port, or 0 for any free port",
            }),
            ErrorKind::Library | ErrorKind::Io => None,
        }
    }

    fn system(&self) -> Option<io::ErrorKind> {
        self.source.as_ref()?.downcast_ref().map(io::Error::kind)
    }
}

impl From<Error> for repertoire_app::Error {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            // The request is right; the system is not as it would have to be.
            ErrorKind::Io | ErrorKind::Address => repertoire_app::ErrorKind::Failure,
            _ => repertoire_app::ErrorKind::Usage,
        };
        Self::of(kind, &error).with_hints(error.hint().map(str::to_owned))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = self.subject.as_deref().unwrap_or_default();
        match self.kind {
            ErrorKind::Library => f.write_str("the library cannot be served"),
            ErrorKind::Address => write!(f, "cannot listen on {subject}"),
            ErrorKind::TokenNeeded => write!(f, "{subject} is not a loopback address and needs a token"),
            ErrorKind::TokenNeededForTools => {
                write!(
                    f,
                    "tools of skills can run at {subject}, so it needs a token: any program of this machine could call them"
                )
            }
            ErrorKind::TokenNeededForWrites => {
                write!(
                    f,
                    "skills can be changed at {subject}, so it needs a token: any program of this machine could change them"
                )
            }
            ErrorKind::BadToken => write!(f, "invalid token {subject}"),
            ErrorKind::TokenTwice => write!(f, "the token of {subject} is also used by another agent"),
            ErrorKind::BadOrigin => write!(f, "`{subject}` is neither an origin nor a host"),
            ErrorKind::BadProvider => write!(f, "`{subject}` cannot be used as a provider of OpenID Connect"),
            ErrorKind::Io => f.write_str("the operating system reported an error"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn std::error::Error + 'static))
    }
}

impl From<repertoire::Error> for Error {
    fn from(error: repertoire::Error) -> Self {
        Self::new(ErrorKind::Library).because(error)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::new(ErrorKind::Io).because(error)
    }
}
