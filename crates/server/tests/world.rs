//! A library in a temporary directory, and clients that send raw bytes.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use repertoire::serve::{Notice, Notices, Stop};
use repertoire::testing::WordSearcher;
use repertoire::{Agent, FsOptions, FsProvider, Library, LibraryBuilder, ReloadOptions, Watcher};
use repertoire_model::Policy;
use repertoire_server::http::{HttpControl, HttpOptions, PageSecret};
use repertoire_server::{Server, ServerOptions};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf};

/// The timeout of every wait.
pub const TIMEOUT: Duration = Duration::from_secs(20);

pub const MODERN: &str = "2026-07-28";

/// Returns `options` with a change.
pub fn changed<T>(mut options: T, change: impl FnOnce(&mut T)) -> T {
    change(&mut options);
    options
}

/// A library of skills.
pub struct World {
    directory: tempfile::TempDir,
    pub notices: Arc<Mutex<Vec<String>>>,
}

impl World {
    /// Returns a library with `alpha`, which has files, and `beta`, which has none.
    pub fn new() -> Self {
        let world = Self { directory: tempfile::tempdir().unwrap(), notices: Arc::default() };
        world.skill("alpha", "metadata:\n  version: \"1.0\"\n", "# Alpha\n\nDo alpha.\n");
        world.write("alpha/references/guide one.md", "one\ntwo\n");
        world.write("alpha/references/deep/more.md", "more\n");
        world.write("alpha/assets/logo.bin", b"\x00\x01\xff");
        world.skill("beta", "", "# Beta\n\nDo beta.\n");
        world
    }

    pub fn empty() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), notices: Arc::default() }
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.directory.path().join("skills").join(relative)
    }

    pub fn write(&self, relative: &str, content: impl AsRef<[u8]>) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn skill(&self, name: &str, more: &str, body: &str) {
        let text = format!(
            "---\nname: {name}\ndescription: Does {name} things well. Use when {name} is asked for.\n{more}---\n{body}"
        );
        self.write(&format!("{name}/SKILL.md"), text);
    }

    fn root(&self) -> &Path {
        self.directory.path()
    }

    pub fn server(&self) -> Server {
        self.server_with(ServerOptions::default())
    }

    pub fn server_with(&self, options: ServerOptions) -> Server {
        self.server_for(options, Vec::new())
    }

    pub fn server_for(&self, options: ServerOptions, agents: Vec<Agent>) -> Server {
        self.server_under(options, agents, Policy::default())
    }

    /// Returns a server whose sessions have `session`, and whose library is what `equip` makes of it.
    pub fn server_equipped(
        &self,
        session: repertoire::SessionOptions,
        equip: impl FnOnce(LibraryBuilder) -> LibraryBuilder,
    ) -> Server {
        let options = changed(ServerOptions::default(), |options| options.version = "0.0.0".to_owned());
        self.server_with_options(options, session, equip)
    }

    /// Returns a server with `options`, whose sessions have `session`, and whose library is what `equip` makes of it.
    pub fn server_with_options(
        &self,
        options: ServerOptions,
        session: repertoire::SessionOptions,
        equip: impl FnOnce(LibraryBuilder) -> LibraryBuilder,
    ) -> Server {
        let provider = FsProvider::new(FsOptions::new("project:skills", self.root().join("skills")));
        let builder = Library::builder()
            .provider(Arc::new(provider))
            .searcher(WordSearcher)
            .session_options(options.session_options(session));
        Server::new(pollster::block_on(equip(builder).open()).unwrap(), options)
    }

    pub fn server_under(&self, options: ServerOptions, agents: Vec<Agent>, policy: Policy) -> Server {
        let notices = Arc::clone(&self.notices);
        let mut options = options;
        options.version = "0.0.0".to_owned();
        options.notices = Notices::new(move |notice| {
            if let Notice::Withheld { skill, reasons, .. } = notice {
                let rules = reasons.iter().map(|reason| reason.rule.as_str()).collect::<Vec<_>>();
                notices.lock().unwrap().push(format!("{skill}: {}", rules.join(" ")));
            }
        });
        fs::create_dir_all(self.root().join("skills")).unwrap();
        let provider = FsProvider::new(FsOptions::new("project:skills", self.root().join("skills")));
        let mut builder = Library::builder()
            .provider(Arc::new(provider))
            .searcher(WordSearcher)
            .policy(policy)
            .session_options(options.session_options(repertoire::SessionOptions::default()));
        for agent in agents {
            builder = builder.agent(agent);
        }
        Server::new(pollster::block_on(builder.open()).unwrap(), options)
    }
}

/// Starts following the library of `server`; when it returns, no change is missed.
pub fn watched(server: &Server) -> Watcher {
    let watcher = server.library().registry().watch(ReloadOptions::default()).unwrap();
    assert!(watcher.wait_ready(TIMEOUT));
    watcher
}

/// A client of two streams.
pub struct Client {
    writer: WriteHalf<DuplexStream>,
    reader: tokio::io::BufReader<ReadHalf<DuplexStream>>,
    pub server: tokio::task::JoinHandle<()>,
    pub stop: Stop,
    next: i64,
    /// Messages that came while another was waited for.
    early: Vec<Value>,
}

impl Client {
    pub fn start(server: &Server, agent: Option<&str>) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (reader, writer) = tokio::io::split(theirs);
        let (server, agent, stop) = (server.clone(), agent.map(str::to_owned), Stop::new());
        let stopper = stop.clone();
        let task = tokio::spawn(async move {
            server.serve_streams(reader, writer, agent.as_deref(), &stopper).await.unwrap();
        });
        let (reader, writer) = tokio::io::split(ours);
        Self {
            writer,
            reader: tokio::io::BufReader::new(reader),
            server: task,
            stop,
            next: 1,
            early: Vec::new(),
        }
    }

    pub async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.writer.write_all(bytes.as_ref()).await.unwrap();
    }

    pub async fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n")).await;
    }

    /// Returns the next message of any kind.
    pub async fn receive(&mut self) -> Value {
        let mut line = String::new();
        let read = tokio::time::timeout(TIMEOUT, self.reader.read_line(&mut line)).await;
        assert_ne!(read.expect("an answer in time").unwrap(), 0, "the server is gone");
        serde_json::from_str(&line).unwrap()
    }

    async fn receive_that(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(index) = self.early.iter().position(&is_it) {
            return self.early.remove(index);
        }
        loop {
            let message = self.receive().await;
            if is_it(&message) {
                return message;
            }
            self.early.push(message);
        }
    }

    /// Returns the answer to what has `id`.
    pub async fn answer_to(&mut self, id: i64) -> Value {
        self.receive_that(|message| message["id"] == id && message.get("method").is_none()).await
    }

    /// Returns the next notification of `method`.
    pub async fn notification(&mut self, method: &str) -> Value {
        self.receive_that(|message| message["method"] == method).await
    }

    /// Returns the messages that arrived while others were waited for.
    pub fn others(&self) -> &[Value] {
        &self.early
    }

    /// Sends a request of a client with a handshake, and returns the whole response.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.start_request(method, params).await;
        self.answer_to(id).await
    }

    /// Sends a request of a client with a handshake, and returns its id.
    pub async fn start_request(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next;
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    /// Sends a stateless request, and returns the whole response.
    pub async fn modern(&mut self, method: &str, params: Value) -> Value {
        self.request(method, with_meta(params)).await
    }

    /// Sends `initialize` and `notifications/initialized`, and returns the result.
    pub async fn initialize(&mut self, version: &str) -> Value {
        self.initialize_with(version, json!({})).await
    }

    /// Does the same as a client with `capabilities`.
    pub async fn initialize_with(&mut self, version: &str, capabilities: Value) -> Value {
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": client});
        let answer = self.request("initialize", params).await;
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        answer["result"].clone()
    }

    /// Ends the input, and waits for the server to end.
    pub async fn end(self) {
        let Self { writer, reader, server, .. } = self;
        drop((writer, reader));
        tokio::time::timeout(TIMEOUT, server).await.expect("the end in time").unwrap();
    }
}

/// Returns `params` with the fields of every request without a handshake.
pub fn with_meta(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

/// An HTTP server in a thread of its own.
pub struct Http {
    pub address: SocketAddr,
    pub stop: Stop,
    pub control: HttpControl,
    /// The cookie of a browser that opened the pages of a server for one person. Every request has it, unless it has another.
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

    /// Posts a request without a handshake to `path`, with more headers, and returns the status and the answer.
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
