//! The certificates that connections are verified by.

use std::fmt;
use std::sync::{Arc, LazyLock};

/// The certificates in DER, or the reason that there are not any.
type ReadCertificates = Result<Vec<Vec<u8>>, String>;

/// The root certificates that servers are verified by, which are read when the first connection needs them.
///
/// The crate [`rustls-native-certs`](https://docs.rs/rustls-native-certs), for one, returns the system's.
///
/// ```
/// use repertoire::certificates::Certificates;
///
/// let company = Certificates::new("ask the administrator", || Err("the store is locked".to_owned()));
/// assert_eq!(company.get(), Err("the store is locked"));
/// ```
#[derive(Clone)]
pub struct Certificates {
    read: Arc<LazyLock<ReadCertificates, Box<dyn FnOnce() -> ReadCertificates + Send>>>,
    help: Arc<str>,
}

impl Certificates {
    /// Returns the certificates in DER that `read` returns when it is called, at most once.
    ///
    /// `help` says what to do about a server whose authority is unknown; it ends the message of the error.
    pub fn new(help: &str, read: impl FnOnce() -> ReadCertificates + Send + 'static) -> Self {
        Self { read: Arc::new(LazyLock::new(Box::new(read))), help: help.into() }
    }

    /// Returns no certificates: every encrypted connection fails.
    pub fn none() -> Self {
        Self::new("give the client the certificates to trust", || {
            Err("no certificates were given, so no encrypted connection can be verified".to_owned())
        })
    }

    /// Returns the certificates in DER, or the reason that they cannot be read.
    pub fn get(&self) -> Result<&[Vec<u8>], &str> {
        self.read.as_deref().map_err(String::as_str)
    }

    /// Returns what to do about a server whose authority is unknown.
    pub fn help(&self) -> &str {
        &self.help
    }
}

impl Default for Certificates {
    fn default() -> Self {
        Self::none()
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificates").finish_non_exhaustive()
    }
}
