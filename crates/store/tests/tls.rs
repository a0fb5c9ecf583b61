//! Encrypted connections to PostgreSQL.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;

use repertoire::certificates::Certificates;
use repertoire::store::Store as _;
use repertoire_store::PostgresStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use crate::server::Server;

/// The settings of a certificate for `localhost` that is its own root.
const SETTINGS: &str = "[req]\ndistinguished_name = name\nx509_extensions = extensions\nprompt = no\n[name]\nCN = localhost\n\
                        [extensions]\nbasicConstraints = critical, CA:FALSE\nsubjectAltName = DNS:localhost\n";

/// The arguments of openssl that make the certificate and its key.
const ARGUMENTS: &str = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -config server.cnf \
                         -keyout server.key -out server.crt";

/// Returns certificates of a system that trusts nobody.
fn no_authority() -> Certificates {
    Certificates::new("", || Ok(Vec::new()))
}

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
        assert_ne!(
            std::env::var("REPERTOIRE_TEST_REQUIRE").as_deref(),
            Ok("all"),
            "openssl is not installed"
        );
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
        let error =
            PostgresStore::open(&format!("{url}?sslmode={mode}"), &no_authority()).unwrap_err().chain();
        assert!(error.contains("certificate") && error.contains("?sslrootcert=FILE"), "{error}");
        let store = PostgresStore::open(&format!("{url}?sslmode={mode}&sslrootcert={root}"), &no_authority())
            .unwrap();
        assert_eq!(store.schema_version().unwrap(), 4);
    }
    let file = directory.path().join("server.crt");
    let given =
        Certificates::new("", move || Ok(vec![CertificateDer::from_pem_file(file).unwrap().to_vec()]));
    assert!(PostgresStore::open(&format!("{url}?sslmode=require"), &given).is_ok());
    let by_address = format!("{url}?sslmode=require&sslrootcert={root}").replace("localhost", "127.0.0.1");
    let error = PostgresStore::open(&by_address, &no_authority()).unwrap_err().chain();
    assert!(error.contains("certificate"), "{error}");
    // The server insists on encryption.
    assert!(PostgresStore::open(&format!("{url}?sslmode=disable"), &no_authority()).is_err());
}

/// Reads a message without a type, as a connection begins with.
fn first_message(stream: &mut TcpStream) -> Vec<u8> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut message = vec![0; u32::from_be_bytes(length) as usize - length.len()];
    stream.read_exact(&mut message).unwrap();
    message
}

/// Refuses the encryption that one client asks for, and returns what it sends then, asked for a password in
/// the clear.
fn refuse_encryption(listener: &TcpListener) -> Vec<u8> {
    let (mut stream, _) = listener.accept().unwrap();
    assert_eq!(first_message(&mut stream), 80_877_103_u32.to_be_bytes(), "it asks for encryption");
    stream.write_all(b"N").unwrap();
    let mut begin = [0];
    if stream.peek(&mut begin).unwrap() == 0 {
        return Vec::new();
    }
    first_message(&mut stream);
    stream.write_all(b"R\0\0\0\x08\0\0\0\x03").unwrap();
    assert_eq!(stream.read(&mut begin).unwrap(), 1);
    first_message(&mut stream)
}

#[test]
fn a_password_never_goes_to_another_host_without_encryption() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let sent = |url: &str| {
        thread::scope(|scope| {
            let sent = scope.spawn(|| refuse_encryption(&listener));
            let error = PostgresStore::open(url, &no_authority()).unwrap_err().chain();
            (sent.join().unwrap(), error)
        })
    };
    // The address is not one of loopback by its form, and leads there.
    let url = format!("postgres://u:S3CRET@0.0.0.0:{port}/d");
    for option in ["", "?sslmode=prefer", "?sslmode=require", "?sslmode=verify-full"] {
        let (sent, error) = sent(&format!("{url}{option}"));
        assert!(sent.is_empty(), "{option}: {}", String::from_utf8_lossy(&sent));
        let is_told = error.contains("server does not support TLS") && error.contains("?sslmode=disable");
        assert!(is_told && error.contains(&format!("u@0.0.0.0:{port}/d")), "{error}");
        assert!(!error.contains("S3CRET"), "{error}");
    }
    // On the machine itself it does.
    assert_eq!(sent(&url.replace("0.0.0.0", "127.0.0.1")).0, b"S3CRET\0");
}
