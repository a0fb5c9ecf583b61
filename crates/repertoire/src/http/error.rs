//! Errors of requests.

use std::io;

use rustls::CertificateError;

/// The kind of an [`HttpError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpErrorKind {
    /// There is no complete answer within the time.
    Timeout,
    /// The connection was refused: no server listens at the address.
    Refused,
    /// The certificate of the server cannot be verified.
    Untrusted,
    /// The connection broke.
    Interrupted,
    /// The answer has more bytes than allowed.
    TooLarge,
    /// The answer has a status that is not one of success.
    Status(u16),
    /// Another reason, which a repetition does not change.
    Other,
}

/// The failure of a request.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct HttpError {
    kind: HttpErrorKind,
    message: String,
}

impl HttpError {
    pub(super) fn new(kind: HttpErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// Returns the error for that of the implementation. `help` says what to do about an unknown authority.
    pub(super) fn of(error: &ureq::Error, help: &str) -> Self {
        match error {
            ureq::Error::Rustls(error) => Self::of_tls(error, help),
            ureq::Error::Io(cause) => {
                let tls = cause.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
                match tls {
                    Some(tls @ rustls::Error::InvalidCertificate(_)) => Self::of_tls(tls, help),
                    _ => Self::new(kind_of(cause), error.to_string()),
                }
            }
            ureq::Error::Timeout(_) => Self::new(HttpErrorKind::Timeout, error.to_string()),
            ureq::Error::BodyExceedsLimit(_) => Self::new(HttpErrorKind::TooLarge, error.to_string()),
            error => Self::new(HttpErrorKind::Other, error.to_string()),
        }
    }

    fn of_tls(error: &rustls::Error, help: &str) -> Self {
        match error {
            rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
                let message =
                    format!("the certificate of the server is from an authority that is not trusted; {help}");
                Self::new(HttpErrorKind::Untrusted, message)
            }
            rustls::Error::InvalidCertificate(reason) => {
                let message = format!("the certificate of the server is not valid: {reason}");
                Self::new(HttpErrorKind::Untrusted, message)
            }
            error => Self::new(HttpErrorKind::Other, error.to_string()),
        }
    }

    /// Returns this error with `context` at the end of its message.
    pub(super) fn with(mut self, context: &str) -> Self {
        self.message.push_str(context);
        self
    }

    /// Returns the kind.
    pub fn kind(&self) -> HttpErrorKind {
        self.kind
    }
}

fn kind_of(error: &io::Error) -> HttpErrorKind {
    match error.kind() {
        io::ErrorKind::TimedOut => HttpErrorKind::Timeout,
        io::ErrorKind::ConnectionRefused => HttpErrorKind::Refused,
        _ => HttpErrorKind::Interrupted,
    }
}
