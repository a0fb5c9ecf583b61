//! Everything that goes out trusts the same certificates and follows the same proxy: with a server whose
//! certificate is from a private authority, and a proxy that records where it was sent.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use crate::machine::skipped;
use crate::model_server::{Answer, chat};
use crate::sandbox::{Sandbox, skill};
use crate::test_serve_command::Serving;

const CONFIG: &str = "../home/.config/repertoire/config.toml";

/// The name of a host that only the proxy knows.
const REMOTE: &str = "skills.corp.test";

/// The settings of a certificate that is its own authority. `0.0.0.0` leads to this machine, and is not a
/// loopback address by its form.
const SETTINGS: &str = "[req]\ndistinguished_name = name\nx509_extensions = extensions\nprompt = no\n[name]\nCN = private\n\
                        [extensions]\nbasicConstraints = critical, CA:FALSE\n\
                        subjectAltName = DNS:localhost, DNS:skills.corp.test, IP:0.0.0.0\n";

/// The arguments of openssl that make the certificate and its key.
const ARGUMENTS: &str = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -config server.cnf \
                         -keyout server.key -out server.crt";

/// A server of everything that `rep` sends requests to.
struct TlsServer {
    port: u16,
    paths: Arc<Mutex<Vec<String>>>,
}

impl TlsServer {
    /// Starts a server with a new certificate in `directory`; `None` without openssl.
    fn start(directory: &Path) -> Option<Self> {
        std::fs::write(directory.join("server.cnf"), SETTINGS).unwrap();
        let mut openssl = Command::new("openssl");
        openssl.args(ARGUMENTS.split(' ').filter(|word| !word.is_empty())).current_dir(directory);
        let status = openssl.stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !status.is_ok_and(|status| status.success()) {
            return None;
        }
        let certificate = CertificateDer::from_pem_file(directory.join("server.crt")).unwrap();
        let key = PrivateKeyDer::from_pem_file(directory.join("server.key")).unwrap();
        let provider = rustls::crypto::ring::default_provider();
        let config = ServerConfig::builder_with_provider(provider.into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let paths = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&paths);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (config, seen) = (Arc::clone(&config), Arc::clone(&seen));
                thread::spawn(move || {
                    let connection = ServerConnection::new(config).unwrap();
                    let mut stream = StreamOwned::new(connection, stream);
                    // A client that does not trust the certificate hangs up.
                    if let Some((path, host, body)) = request(&mut stream) {
                        seen.lock().unwrap().push(path.clone());
                        let _ = stream.write_all(&answer(&path, &host, &body));
                        stream.conn.send_close_notify();
                        let _ = stream.flush();
                    }
                });
            }
        });
        Some(Self { port, paths })
    }

    fn take_paths(&self) -> Vec<String> {
        std::mem::take(&mut self.paths.lock().unwrap())
    }
}

/// Reads a request, and returns its path, its `Host` and its body; `None` if the client hangs up.
fn request(stream: &mut impl Read) -> Option<(String, String, Value)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    let mut body = vec![0; header("content-length: ").parse().unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    let path = head.split(' ').nth(1).unwrap().to_owned();
    Some((path, header("host: ").to_owned(), serde_json::from_slice(&body).unwrap_or_default()))
}

fn answer(path: &str, host: &str, body: &Value) -> Vec<u8> {
    let (kind, content) = match path {
        "/greet.zip" => ("application/zip", archive()),
        "/v1/chat/completions" => {
            let Answer::Events(events) = chat("Hello.", &[]) else { unreachable!() };
            let events: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
            ("text/event-stream", events.into_bytes())
        }
        "/mcp" => ("application/json", mcp(body).to_string().into_bytes()),
        _ => ("application/json", json_answer(path, host, body).to_string().into_bytes()),
    };
    let status = if content == b"null" { "202 Accepted" } else { "200 OK" };
    let length = content.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    [head.into_bytes(), content].concat()
}

fn json_answer(path: &str, host: &str, body: &Value) -> Value {
    match path {
        "/v1/embeddings" => {
            let texts = body["input"].as_array().map_or(0, Vec::len);
            let data: Vec<Value> =
                (0..texts).map(|index| json!({"index": index, "embedding": [1.0, 0.5]})).collect();
            json!({"data": data})
        }
        "/.well-known/openid-configuration" => json!({
            "issuer": format!("https://{host}"),
            "authorization_endpoint": format!("https://{host}/authorize"),
            "token_endpoint": format!("https://{host}/token"),
            "jwks_uri": format!("https://{host}/keys"),
        }),
        _ => json!({}),
    }
}

fn mcp(request: &Value) -> Value {
    let result = match request["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": request["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "test", "version": "1"},
        }),
        "tools/list" => json!({"tools": []}),
        _ => return Value::Null,
    };
    json!({"jsonrpc": "2.0", "id": request["id"], "result": result})
}

fn archive() -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zip.start_file("greet/SKILL.md", zip::write::SimpleFileOptions::default()).unwrap();
    zip.write_all(skill("greet", "Be warm.\n").as_bytes()).unwrap();
    zip.finish().unwrap().into_inner()
}

/// A proxy that connects to this machine, whichever host is asked for.
struct TestProxy {
    url: String,
    targets: Arc<Mutex<Vec<String>>>,
}

impl TestProxy {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let targets = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&targets);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let seen = Arc::clone(&seen);
                thread::spawn(move || tunnel(client, &seen));
            }
        });
        Self { url, targets }
    }

    fn take_targets(&self) -> Vec<String> {
        std::mem::take(&mut self.targets.lock().unwrap())
    }
}

fn tunnel(mut client: TcpStream, seen: &Mutex<Vec<String>>) {
    let Some((target, ..)) = request(&mut client) else { return };
    seen.lock().unwrap().push(target.clone());
    let port: u16 = target.rsplit(':').next().unwrap().parse().unwrap();
    let mut server = TcpStream::connect(("127.0.0.1", port)).unwrap();
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").unwrap();
    let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    thread::spawn(move || {
        let _ = std::io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(std::net::Shutdown::Write);
    });
    let _ = std::io::copy(&mut server, &mut client);
    let _ = client.shutdown(std::net::Shutdown::Both);
}

/// A way in which `rep` sends requests: a name, the path that is asked for, and a function that makes it do
/// so with the server at an address, and returns what it says about it.
type Sender = (&'static str, &'static str, fn(&mut Sandbox, &str) -> String);

const SENDERS: [Sender; 7] = [
    ("add", "/greet.zip", |sandbox, url| sandbox.run(&["add", &format!("{url}/greet.zip"), "--yes"]).stderr),
    ("agent", "/v1/chat/completions", |sandbox, url| {
        sandbox.run(&["agent", "--model", "m", "--base-url", &format!("{url}/v1"), "Hi"]).stderr
    }),
    ("embeddings", "/v1/embeddings", |sandbox, url| {
        sandbox.write(
            CONFIG,
            format!("[search]\nembeddings = \"http\"\nurl = \"{url}/v1\"\nmodel = \"m\"\nkey_env = \"\"\n"),
        );
        sandbox.run(&["search", "greet people"]).stderr
    }),
    ("sign-in", "/.well-known/openid-configuration", |sandbox, url| {
        sandbox
            .write(CONFIG, format!("[oidc]\nissuer = \"{url}\"\nclient_id = \"rep\"\nrole = \"reader\"\n"));
        Serving::start(sandbox, &[]).get("/sign-in/start", "Accept: text/html\r\n")
    }),
    ("webhook", "/hook", |sandbox, url| {
        sandbox.write(CONFIG, format!("[proposals]\nnotify_url = \"{url}/hook\"\n"));
        let diff = "--- a/SKILL.md\n+++ b/SKILL.md\n@@ -7 +7 @@\n-Do alpha.\n+Do it.\n";
        sandbox.run_with_input(&["proposal", "new", "alpha", "--why", "w", "--evidence", "e"], diff).stderr
    }),
    ("traces", "/v1/traces", |sandbox, url| {
        sandbox.set("OTEL_EXPORTER_OTLP_ENDPOINT", url);
        sandbox.run(&["call", "load_skill", r#"{"name": "alpha"}"#]).stderr
    }),
    ("MCP client", "/mcp", |sandbox, url| {
        let servers = json!({"mcpServers": {"other": {"url": format!("{url}/mcp")}}});
        sandbox.write("servers.json", servers.to_string());
        let model = format!("{url}/v1");
        let arguments = ["agent", "--model", "m", "--base-url", &model, "--mcp-config", "servers.json", "Hi"];
        sandbox.run(&arguments).stderr
    }),
];

#[test]
fn everything_that_goes_out_trusts_the_same_certificates_and_follows_the_proxy() {
    let directory = tempfile::tempdir().unwrap();
    let Some(server) = TlsServer::start(directory.path()) else {
        return skipped("openssl is not installed, so certificates of a company");
    };
    let proxy = TestProxy::start();
    let authority = directory.path().join("server.crt").display().to_string();
    let trusted = ("SSL_CERT_FILE", authority.as_str());
    let proxied = ("HTTPS_PROXY", proxy.url.as_str());
    for (name, path, send) in SENDERS {
        let check = |host: &str, variables: &[(&str, &str)], is_reached: bool, is_proxied: bool| {
            let mut sandbox = Sandbox::with_skills();
            variables.iter().for_each(|(name, value)| sandbox.set(name, value));
            let said = send(&mut sandbox, &format!("https://{host}:{}", server.port));
            let (paths, targets) = (server.take_paths(), proxy.take_targets());
            let about = format!("{name}, {host}, {variables:?}: {paths:?}, {targets:?}\n{said}");
            assert_eq!(paths.iter().any(|seen| seen == path), is_reached, "{about}");
            assert_eq!(said.contains("SSL_CERT_FILE"), !is_reached, "{about}");
            let expect = is_proxied.then(|| format!("{host}:{}", server.port));
            assert_eq!(targets.first(), expect.as_ref(), "{about}");
        };
        check("localhost", &[], false, false);
        check("localhost", &[trusted, proxied], true, false);
        check(REMOTE, &[trusted, proxied], true, true);
        check("0.0.0.0", &[trusted, proxied, ("NO_PROXY", "x.test,0.0.0.0")], true, false);
        check("0.0.0.0", &[trusted, ("https_proxy", &proxy.url)], true, true);
    }
}

#[test]
fn a_file_of_certificates_that_cannot_be_read_is_named() {
    let mut sandbox = Sandbox::new();
    sandbox.set("SSL_CERT_FILE", "/nowhere/ca.pem");
    let run = sandbox.run(&["add", "https://localhost:9/greet.zip", "--yes"]);
    assert!(run.code != 0 && run.stderr.contains("SSL_CERT_FILE names /nowhere/ca.pem"), "{}", run.stderr);
    sandbox.write("empty.pem", "no certificate\n");
    sandbox.set("SSL_CERT_FILE", "empty.pem");
    let run = sandbox.run(&["add", "https://localhost:9/greet.zip", "--yes"]);
    assert!(run.stderr.contains("it has no certificate in PEM"), "{}", run.stderr);
}
