//! A library in a temporary directory, clients that send raw bytes, and a server of HTTP with MCP mounted.

#[allow(dead_code, reason = "the tests of MCP use the rest")]
#[path = "../../mcp/tests/world.rs"]
mod library;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::ops::Deref;
use std::sync::Arc;

use repertoire::serve::{ServedLibrary, Stop};
use repertoire::{Agent, LibraryBuilder, SessionOptions, Watcher};
use repertoire_mcp::McpOptions;
use repertoire_model::Policy;
use repertoire_web::http::{HttpControl, HttpOptions, Mount, PageSecret};
use repertoire_web::{MetricsSink, ServerOptions};
use serde_json::{Value, json};

pub use self::library::*;

/// A server over two streams and over HTTP.
pub struct Server {
    pub mcp: repertoire_mcp::Server,
    http: repertoire_web::Server,
}

impl Deref for Server {
    type Target = repertoire_web::Server;

    fn deref(&self) -> &Self::Target {
        &self.http
    }
}

impl Server {
    /// Returns a server of `served`, whose library has the sink `metrics`, with MCP mounted.
    pub fn new(
        served: Arc<ServedLibrary>,
        metrics: Arc<MetricsSink>,
        mcp: McpOptions,
        options: ServerOptions,
    ) -> Self {
        let mcp = repertoire_mcp::Server::new(Arc::clone(&served), mcp);
        let mounted = mcp.clone();
        let mount = Mount::new(move |caller, stopping, closed| {
            let endpoint = Arc::new(mounted.endpoint(caller, stopping, closed));
            Box::new(move |request, limits| {
                let endpoint = Arc::clone(&endpoint);
                Box::pin(async move { endpoint.answer(request, limits).await })
            })
        });
        let options = changed(options, |options| options.mcp = mount);
        Self { mcp, http: repertoire_web::Server::new(served, metrics, options) }
    }
}

/// Returns the options of MCP in tests.
pub fn mcp_options() -> McpOptions {
    changed(McpOptions::default(), |options| options.version = "0.0.0".to_owned())
}

impl World {
    pub fn server(&self) -> Server {
        self.server_with(ServerOptions::default())
    }

    pub fn server_with(&self, options: ServerOptions) -> Server {
        self.server_for(options, Vec::new())
    }

    pub fn server_for(&self, options: ServerOptions, agents: Vec<Agent>) -> Server {
        self.server_under(options, agents, Policy::default())
    }

    /// Returns a server whose options of MCP are changed.
    pub fn server_with_mcp(&self, change: impl FnOnce(&mut McpOptions)) -> Server {
        let (mcp, options) = (changed(mcp_options(), change), test_version(ServerOptions::default()));
        self.server_of(mcp, options, SessionOptions::default(), |builder| builder)
    }

    /// Returns a server whose sessions have `session`, and whose library is what `equip` makes of it.
    pub fn server_equipped(
        &self,
        session: SessionOptions,
        equip: impl FnOnce(LibraryBuilder) -> LibraryBuilder,
    ) -> Server {
        self.server_with_options(test_version(ServerOptions::default()), session, equip)
    }

    /// Returns a server with `options`, whose sessions have `session`, and whose library is what `equip`
    /// makes of it.
    pub fn server_with_options(
        &self,
        options: ServerOptions,
        session: SessionOptions,
        equip: impl FnOnce(LibraryBuilder) -> LibraryBuilder,
    ) -> Server {
        self.server_of(mcp_options(), options, session, equip)
    }

    fn server_of(
        &self,
        mcp: McpOptions,
        options: ServerOptions,
        session: SessionOptions,
        equip: impl FnOnce(LibraryBuilder) -> LibraryBuilder,
    ) -> Server {
        let metrics = Arc::new(MetricsSink::default());
        let sink = metrics.clone();
        let served = self.served(&mcp, session, |builder| equip(builder.sink(sink)));
        Server::new(served, metrics, mcp, options)
    }

    pub fn server_under(&self, options: ServerOptions, agents: Vec<Agent>, policy: Policy) -> Server {
        self.server_with_options(test_version(options), SessionOptions::default(), |builder| {
            agents.into_iter().fold(builder.policy(policy), LibraryBuilder::agent)
        })
    }
}

/// Returns `options` with the version of tests.
fn test_version(options: ServerOptions) -> ServerOptions {
    changed(options, |options| options.version = "0.0.0".to_owned())
}

/// Starts following the library of `server`; when it returns, no change is missed.
pub fn watched(server: &Server) -> Watcher {
    watched_library(server.library())
}

/// An HTTP server in a thread of its own.
pub struct Http {
    pub address: SocketAddr,
    pub stop: Stop,
    pub control: HttpControl,
    /// The cookie of a browser that opened the pages of a server for one person. Every request has it, unless
    /// it has another.
    pub cookie: Option<String>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Http {
    pub fn start(server: &Server, options: HttpOptions) -> Self {
        let options = changed(options, |options| options.address = "127.0.0.1:0".parse().unwrap());
        let opening = options.page_secret.as_ref().map(PageSecret::path);
        let bound = server.bind_http(options).unwrap();
        let (address, stop) = (bound.address(), Stop::new());
        let (stopper, control) = (stop.clone(), bound.control());
        let thread = std::thread::spawn(move || bound.serve_blocking(&stopper).unwrap());
        let mut http = Self { address, stop, control, cookie: None, thread: Some(thread) };
        http.cookie = opening.map(|path| http.opened(&path).expect("the pages open"));
        http
    }

    /// Returns the cookie that opening the pages with `path` sets, if it does.
    pub fn opened(&self, path: &str) -> Option<String> {
        let (_, answer) = self.get(path);
        let (_, rest) = answer.split_once("set-cookie: ")?;
        rest.split(';').next().map(str::to_owned)
    }

    /// Returns the token that forms of the pages carry.
    pub fn csrf(&self) -> String {
        let (_, page) = self.get("/skills");
        let (_, rest) = page.split_once("name=\"csrf\" value=\"").expect("a page with forms");
        rest.split('"').next().unwrap().to_owned()
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream
    }

    /// Sends `bytes` on a connection of their own, and returns the status and everything that came back.
    pub fn exchange(&self, bytes: impl AsRef<[u8]>) -> (u16, String) {
        let mut stream = self.connect();
        stream.write_all(bytes.as_ref()).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        (status, answer)
    }

    /// Sends a request with these headers, and returns the status and everything that came back.
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            request.push_str(&format!("Host: {}\r\n", self.address));
        }
        let has_cookie = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("cookie"));
        if let Some(cookie) = self.cookie.as_ref().filter(|_| !has_cookie) {
            request.push_str(&format!("Cookie: {cookie}\r\n"));
        }
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        self.exchange(request)
    }

    pub fn get(&self, path: &str) -> (u16, String) {
        self.ask("GET", path, &[], "")
    }

    /// Posts a request without a handshake, with more headers, and returns the status and the answer.
    pub fn post_with(&self, method: &str, params: Value, more: &[(&str, &str)]) -> (u16, Value) {
        self.post_to("/mcp", method, params, more)
    }

    /// Posts a request without a handshake to `path`, with more headers, and returns the status and the
    /// answer.
    pub fn post_to(&self, path: &str, method: &str, params: Value, more: &[(&str, &str)]) -> (u16, Value) {
        let name = params["name"].as_str().or(params["uri"].as_str()).map(str::to_owned);
        let body =
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": with_meta(params)}).to_string();
        let mut headers = vec![
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", MODERN),
            ("Mcp-Method", method),
        ];
        if let (Some(name), "tools/call" | "prompts/get" | "resources/read") = (&name, method) {
            headers.push(("Mcp-Name", name));
        }
        headers.extend(more);
        let (status, answer) = self.ask("POST", path, &headers, &body);
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
        (status, serde_json::from_str(body).unwrap_or_else(|_| Value::from(body)))
    }

    pub fn post(&self, method: &str, params: Value) -> (u16, Value) {
        self.post_with(method, params, &[])
    }

    pub fn end(mut self) {
        self.stop.stop();
        self.thread.take().unwrap().join().unwrap();
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Reads events of a stream until `is_it`.
pub fn event(stream: &TcpStream, is_it: impl Fn(&Value) -> bool) -> Value {
    let mut reader = BufReader::new(stream);
    let started = std::time::Instant::now();
    loop {
        // A stream that is kept alive never runs into the timeout of its socket.
        assert!(started.elapsed() < TIMEOUT, "the event in time");
        let mut line = String::new();
        assert_ne!(reader.read_line(&mut line).unwrap(), 0, "the stream ended");
        if let Some(data) = line.strip_prefix("data:")
            && let Ok(message) = serde_json::from_str::<Value>(data.trim())
            && is_it(&message)
        {
            return message;
        }
    }
}
