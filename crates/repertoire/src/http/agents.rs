//! The agents of the HTTP implementation, made when they are needed.

use std::sync::{Arc, OnceLock};

use rustls::crypto::ring;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use super::error::{HttpError, HttpErrorKind};
use super::proxy::Proxy;
use crate::certificates::Certificates;

/// The name of the client in requests.
const USER_AGENT: &str = concat!("repertoire/", env!("CARGO_PKG_VERSION"));

/// The agents of a client, which keep connections open.
#[derive(Default)]
pub(super) struct Agents {
    pub(super) certificates: Certificates,
    pub(super) proxy: Option<Proxy>,
    /// Asks servers without encryption, for which no certificates are read.
    plain: OnceLock<Agent>,
    encrypted: OnceLock<Agent>,
}

impl Agents {
    pub(super) fn new(certificates: Certificates, proxy: Option<Proxy>) -> Self {
        Self { certificates, proxy, ..Self::default() }
    }

    /// Returns the agent for connections without encryption.
    pub(super) fn plain(&self) -> &Agent {
        self.plain.get_or_init(|| agent(Vec::new()))
    }

    /// Returns the agent for encrypted connections; fails if the certificates cannot be read.
    pub(super) fn encrypted(&self) -> Result<&Agent, HttpError> {
        let certificates = self.certificates.get();
        let certificates = certificates.map_err(|why| HttpError::new(HttpErrorKind::Untrusted, why))?;
        Ok(self.encrypted.get_or_init(|| {
            agent(certificates.iter().map(|der| Certificate::from_der(der).to_owned()).collect())
        }))
    }
}

fn agent(roots: Vec<Certificate<'static>>) -> Agent {
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(roots)))
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .build();
    Agent::config_builder()
        .http_status_as_error(false)
        // Proxy and redirects are those of the request; by default the environment's proxy would be used.
        .proxy(None)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .tls_config(tls)
        .user_agent(USER_AGENT)
        .build()
        .new_agent()
}
