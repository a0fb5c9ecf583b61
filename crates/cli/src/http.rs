//! The client of all requests: the certificates that this system trusts, and the proxy of the environment.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use repertoire::certificates::Certificates;
use repertoire::http::{HttpClient, Proxy};
use rustls_native_certs::{CertificateResult, load_certs_from_paths, load_native_certs};

/// The step that makes the authority of a server trusted.
const HELP: &str = "if you know it, name the file with its certificate in SSL_CERT_FILE";

/// The certificates that the environment names. The system's count as well, where they can be told apart.
#[derive(Debug)]
pub(crate) struct NamedCertificates {
    /// The value of `SSL_CERT_FILE`.
    pub(crate) file: Option<PathBuf>,
    /// True if `SSL_CERT_DIR` is set.
    pub(crate) has_directories: bool,
}

/// Returns the client that goes through the first valid one of `proxies`, except to the hosts of `no_proxy`.
///
/// Certificates are read when they are needed first.
pub(crate) fn client<'p>(
    named: NamedCertificates,
    mut proxies: impl Iterator<Item = &'p str>,
    no_proxy: &str,
) -> HttpClient {
    let proxy = proxies.find_map(|url| Proxy::new(url, no_proxy).ok());
    HttpClient::new(Certificates::new(HELP, move || read(&named)), proxy)
}

/// Returns the trusted certificates in DER.
fn read(named: &NamedCertificates) -> Result<Vec<Vec<u8>>, String> {
    if let Some(file) = &named.file {
        let found = load_certs_from_paths(Some(file), None);
        if found.certs.is_empty() {
            let reason = reason(&found, "it has no certificate in PEM");
            return Err(format!("SSL_CERT_FILE names {}, which cannot be used: {reason}", file.display()));
        }
    }
    // It reads both variables itself, and then not the certificates of the system.
    let mut found = load_native_certs();
    if named.file.is_some() || named.has_directories {
        system_directories()
            .for_each(|directory| found.certs.extend(load_certs_from_paths(None, Some(directory)).certs));
    }
    if found.certs.is_empty() {
        let reason = reason(&found, "there are no certificates");
        return Err(format!(
            "the certificates that this system trusts cannot be read ({reason}); install its package of them, often called \
             ca-certificates, or name a file with certificates in SSL_CERT_FILE"
        ));
    }
    let certificates: BTreeSet<Vec<u8>> =
        found.certs.iter().map(|certificate| certificate.to_vec()).collect();
    Ok(certificates.into_iter().collect())
}

fn reason(found: &CertificateResult, otherwise: &str) -> String {
    found.errors.first().map_or_else(|| otherwise.to_owned(), ToString::to_string)
}

#[cfg(all(unix, not(target_os = "macos")))]
fn system_directories() -> impl Iterator<Item = &'static Path> {
    openssl_probe::candidate_cert_dirs()
}

/// The store of other systems is not a directory.
#[cfg(not(all(unix, not(target_os = "macos"))))]
fn system_directories() -> impl Iterator<Item = &'static Path> {
    std::iter::empty()
}
