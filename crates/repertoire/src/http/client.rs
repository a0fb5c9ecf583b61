//! The client that all requests go out through.

use std::fmt;
use std::sync::{Arc, OnceLock};

use rustls::crypto::ring;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use super::error::{HttpError, HttpErrorKind};
use super::proxy::Proxy;
use super::request::HttpRequest;
use crate::certificates::Certificates;

/// The name of the client in requests.
const USER_AGENT: &str = concat!("repertoire/", env!("CARGO_PKG_VERSION"));

/// A client of HTTP servers. Clones share connections; two clients are equal if they are clones.
///
/// Time, redirects and sizes are limited by each request.
///
/// ```no_run
/// use repertoire::certificates::Certificates;
/// use repertoire::http::{HttpClient, Proxy};
/// # fn system_certificates() -> Result<Vec<Vec<u8>>, String> { Ok(Vec::new()) }
///
/// let certificates = Certificates::new("install the certificate of the company", system_certificates);
/// let client = HttpClient::new(certificates, Some(Proxy::new("http://proxy.example:3128", ".corp.example")?));
/// let page = client.get("https://example.com/").call()?.body(1024 * 1024)?;
/// # Ok::<(), repertoire::http::HttpError>(())
/// ```
#[derive(Clone, Default)]
pub struct HttpClient(Arc<SharedClient>);

#[derive(Default)]
struct SharedClient {
    certificates: Certificates,
    proxy: Option<Proxy>,
    /// Asks servers without encryption, for which no certificates are read.
    plain: OnceLock<Agent>,
    encrypted: OnceLock<Agent>,
}

impl HttpClient {
    /// Returns a client that trusts servers with `certificates`, and asks those that are not this machine through `proxy`.
    pub fn new(certificates: Certificates, proxy: Option<Proxy>) -> Self {
        let (plain, encrypted) = (OnceLock::new(), OnceLock::new());
        Self(Arc::new(SharedClient { certificates, proxy, plain, encrypted }))
    }

    /// Returns the certificates that are trusted.
    pub fn certificates(&self) -> &Certificates {
        &self.0.certificates
    }

    /// Returns a request with the method `GET`.
    pub fn get(&self, url: &str) -> HttpRequest {
        HttpRequest::new(self, "GET", url)
    }

    /// Returns a request with the method `POST`.
    pub fn post(&self, url: &str) -> HttpRequest {
        HttpRequest::new(self, "POST", url)
    }

    /// Returns a request with the method `PUT`.
    pub fn put(&self, url: &str) -> HttpRequest {
        HttpRequest::new(self, "PUT", url)
    }

    /// Returns a request with the method `DELETE`.
    pub fn delete(&self, url: &str) -> HttpRequest {
        HttpRequest::new(self, "DELETE", url)
    }

    pub(super) fn proxy(&self) -> Option<&Proxy> {
        self.0.proxy.as_ref()
    }

    /// Returns the agent for connections without encryption.
    pub(super) fn plain(&self) -> &Agent {
        self.0.plain.get_or_init(|| agent(RootCerts::Specific(Arc::new(Vec::new()))))
    }

    /// Returns the agent for encrypted connections; fails if the certificates cannot be read.
    pub(super) fn encrypted(&self) -> Result<&Agent, HttpError> {
        let certificates = self.0.certificates.get();
        let certificates = certificates.map_err(|why| HttpError::new(HttpErrorKind::Untrusted, why))?;
        Ok(self.0.encrypted.get_or_init(|| {
            let owned = certificates.iter().map(|der| Certificate::from_der(der).to_owned());
            agent(RootCerts::Specific(Arc::new(owned.collect())))
        }))
    }
}

fn agent(roots: RootCerts) -> Agent {
    let tls = TlsConfig::builder()
        .root_certs(roots)
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .build();
    Agent::config_builder()
        .http_status_as_error(false)
        // The proxy and redirects are those of the request. Without this the environment would be read.
        .proxy(None)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .tls_config(tls)
        .user_agent(USER_AGENT)
        .build()
        .new_agent()
}

impl PartialEq for HttpClient {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for HttpClient {}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient").finish_non_exhaustive()
    }
}
