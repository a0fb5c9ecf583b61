//! Encrypted connections to PostgreSQL.

use std::io::Write as _;
use std::net::TcpListener;
use std::process::{Command, Stdio};

use repertoire::store::Store as _;
use repertoire_store::PostgresStore;

use crate::server::Server;

/// The settings of a certificate for `localhost` that is its own root.
const SETTINGS: &str = "[req]\ndistinguished_name = name\nx509_extensions = extensions\nprompt = no\n[name]\nCN = localhost\n\
                        [extensions]\nbasicConstraints = critical, CA:FALSE\nsubjectAltName = DNS:localhost\n";

/// The arguments of openssl that make the certificate and its key.
const ARGUMENTS: &str = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -config server.cnf \
                         -keyout server.key -out server.crt";

#[test]
fn certificates_are_verified() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("server.cnf"), SETTINGS).unwrap();
    let mut openssl = Command::new("openssl");
    openssl
        .args(ARGUMENTS.split_whitespace())
        .current_dir(&directory)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if !openssl.status().is_ok_and(|status| status.success()) {
        let _ = std::io::stderr().write_all(
            b"\nSKIPPED: openssl is not installed, so encrypted connections to PostgreSQL are NOT tested\n",
        );
        return;
    }
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let Some(server) = Server::start_with_tls(directory.path(), port) else { return };
    drop(server.database());
    let url = format!("postgres://rep@localhost:{port}/d0");
    let root = directory.path().join("server.crt").display().to_string().replace('/', "%2F");
    for mode in ["prefer", "require", "verify-full"] {
        let error = PostgresStore::open(&format!("{url}?sslmode={mode}")).unwrap_err().chain();
        assert!(error.contains("certificate") && error.contains("?sslrootcert=FILE"), "{error}");
        let store = PostgresStore::open(&format!("{url}?sslmode={mode}&sslrootcert={root}")).unwrap();
        assert_eq!(store.schema_version().unwrap(), 2);
    }
    let by_address = format!("{url}?sslmode=require&sslrootcert={root}").replace("localhost", "127.0.0.1");
    let error = PostgresStore::open(&by_address).unwrap_err().chain();
    assert!(error.contains("certificate"), "{error}");
    // The server insists on encryption.
    assert!(PostgresStore::open(&format!("{url}?sslmode=disable")).is_err());
}
