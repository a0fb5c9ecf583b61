//! Encrypted connections to PostgreSQL.
//!
//! Another host is never asked without encryption unless `sslmode=disable` is written: where others fall back
//! to sending the password in the clear (`sslmode=prefer`), this is an error. Certificates are always
//! verified, and the name in them: against the file that the option `sslrootcert` of an address names, or
//! against the certificates that the host trusts. With `sslmode=require`, other clients verify nothing.

use std::path::Path;

use repertoire::certificates::Certificates;
use repertoire_model::loopback::is_loopback;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The options of an address that are about encryption, and the rest of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TlsOptions {
    /// The address without the options that the client does not know.
    pub(super) url: String,
    /// The file of the certificates to trust.
    pub(super) root_certificates: Option<String>,
}

impl TlsOptions {
    /// Takes the options out of `url`.
    pub(super) fn parse(url: &str) -> Self {
        let after_password = url.find('@').unwrap_or(0);
        let Some(position) = url[after_password..].find('?').map(|found| after_password + found) else {
            return Self { url: url.to_owned(), root_certificates: None };
        };
        let mut root_certificates = None;
        let mut options = Vec::new();
        for option in url[position + 1..].split('&') {
            match option.split_once('=') {
                Some(("sslrootcert", path)) => {
                    let path = percent_encoding::percent_decode_str(path).decode_utf8_lossy();
                    root_certificates = Some(path.into_owned());
                }
                Some(("sslmode", "verify-ca" | "verify-full")) => options.push("sslmode=require"),
                _ => options.push(option),
            }
        }
        Self { url: format!("{}?{}", &url[..position], options.join("&")), root_certificates }
    }
}

/// Returns the connector for `config`, or `None` if its connections are not encrypted.
///
/// If a connection may leave this machine, `config` is changed so that it is encrypted or fails, at any host.
pub(super) fn connector(
    config: &mut Config,
    root_certificates: Option<&str>,
    certificates: &Certificates,
) -> Result<Option<MakeRustlsConnect>, String> {
    let is_network = !config.get_hostaddrs().is_empty()
        || config.get_hosts().iter().any(|host| matches!(host, Host::Tcp(_)));
    if config.get_ssl_mode() == SslMode::Disable || !is_network {
        return Ok(None);
    }
    if leaves_machine(config) {
        config.ssl_mode(SslMode::Require);
    }
    let mut roots = RootCertStore::empty();
    match root_certificates {
        None => match certificates.get() {
            Ok(certificates) => {
                let certificates = certificates.iter().map(|der| CertificateDer::from(der.as_slice()));
                roots.add_parsable_certificates(certificates);
            }
            Err(why) if config.get_ssl_mode() == SslMode::Require => return Err(why.to_owned()),
            // A server on this machine may do without encryption; otherwise its certificate is not trusted.
            Err(_) => {}
        },
        Some(path) => read(path, &mut roots).map_err(|why| format!("sslrootcert {path}: {why}"))?,
    }
    let provider = rustls::crypto::ring::default_provider();
    let builder = ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let client = builder.with_root_certificates(roots).with_no_client_auth();
    Ok(Some(MakeRustlsConnect::new(client)))
}

/// Returns whether a connection may leave this machine. The addresses of `hostaddr` are connected to, if
/// there are any; the hosts are only the names in the certificates then.
fn leaves_machine(config: &Config) -> bool {
    let addresses = config.get_hostaddrs();
    if addresses.is_empty() {
        return config.get_hosts().iter().any(|host| matches!(host, Host::Tcp(name) if !is_loopback(name)));
    }
    addresses.iter().any(|address| !address.to_canonical().is_loopback())
}

/// Reads the certificates of a PEM file.
fn read(path: &str, roots: &mut RootCertStore) -> Result<(), String> {
    let certificates = CertificateDer::pem_file_iter(Path::new(path)).map_err(|error| error.to_string())?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    if roots.is_empty() { Err("the file has no certificate".to_owned()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trusted() -> Certificates {
        Certificates::new("", || Ok(Vec::new()))
    }

    #[test]
    fn a_system_without_certificates_reaches_no_other_machine() {
        let connect = |url: &str| connector(&mut url.parse().unwrap(), None, &Certificates::none());
        assert!(connect("postgres://h/d").is_err_and(|why| why.contains("no certificates")));
        assert!(connect("postgres://localhost/d?sslmode=require").is_err());
        assert!(
            connect("postgres://localhost/d").is_ok() && connect("postgres://h/d?sslmode=disable").is_ok()
        );
    }

    #[test]
    fn the_options_that_others_know_are_understood() {
        let check = |url: &str, expect: &str, root: Option<&str>| {
            let options = TlsOptions::parse(url);
            assert_eq!((options.url.as_str(), options.root_certificates.as_deref()), (expect, root));
        };
        check("postgres://h/d", "postgres://h/d", None);
        check(
            "postgres://u:a?b=c@h/d?sslmode=verify-full&sslrootcert=%2Fetc%2Fca.pem&connect_timeout=3",
            "postgres://u:a?b=c@h/d?sslmode=require&connect_timeout=3",
            Some("/etc/ca.pem"),
        );
        check("postgres://h/d?sslmode=prefer", "postgres://h/d?sslmode=prefer", None);
    }

    #[test]
    fn sockets_and_sslmode_disable_are_not_encrypted() {
        let is_encrypted =
            |url: &str| connector(&mut url.parse().unwrap(), None, &trusted()).unwrap().is_some();
        assert!(is_encrypted("postgres://h/d") && is_encrypted("postgres://h/d?sslmode=require"));
        assert!(!is_encrypted("postgres://h/d?sslmode=disable") && !is_encrypted("postgres://%2Frun/d"));
        let mut config = "postgres://h/d".parse().unwrap();
        assert!(
            connector(&mut config, Some("/nowhere/ca.pem"), &trusted())
                .is_err_and(|why| why.contains("/nowhere/ca.pem"))
        );
    }

    #[test]
    fn connections_to_other_machines_are_encrypted_unless_sslmode_disable_is_written() {
        use SslMode::{Disable, Prefer, Require};
        let check = |url: &str, expect: SslMode| {
            let mut config: Config = url.parse().unwrap();
            connector(&mut config, None, &trusted()).unwrap();
            assert_eq!(config.get_ssl_mode(), expect, "{url}");
        };
        for other in [
            "db.example",
            "10.0.0.7:6432",
            "[2001:db8::1]",
            "[::ffff:10.0.0.7]",
            "0.0.0.0",
            "localhost.example",
            // One of several is enough, for each of them may be the one that answers.
            "localhost,db.example",
        ] {
            for option in ["", "?sslmode=prefer", "?sslmode=require", "?connect_timeout=3"] {
                check(&format!("postgres://u:p@{other}/d{option}"), Require);
            }
            check(&format!("postgres://u:p@{other}/d?sslmode=disable"), Disable);
        }
        for own in [
            "localhost",
            "LOCALHOST:6432",
            "127.0.0.1",
            "127.1.2.3",
            "[::1]",
            "%2Frun%2Fpg",
            "127.0.0.1,[::1]",
        ] {
            check(&format!("postgres://u:p@{own}/d"), Prefer);
            check(&format!("postgres://u:p@{own}/d?sslmode=disable"), Disable);
        }
        check("postgres://localhost/d?sslmode=require", Require);
        // The address counts where there is one, and not the name.
        check("postgres://localhost/d?hostaddr=10.0.0.7", Require);
        check("postgres://db.example/d?hostaddr=127.0.0.1", Prefer);
        check("postgres:///d?hostaddr=10.0.0.7", Require);
        check("postgres://a,b/d?hostaddr=127.0.0.1,10.0.0.7", Require);
    }
}
