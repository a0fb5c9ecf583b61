//! A library in a temporary directory, and clients that send raw bytes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use repertoire::serve::{Notice, Notices, ServedLibrary, Stop};
use repertoire::{FsOptions, FsProvider, Library, LibraryBuilder, ReloadOptions, SessionOptions, Watcher};
use repertoire_mcp::{McpOptions, Server};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf};

use crate::word_searcher::WordSearcher;

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
    /// Returns a library with `alpha`, which has files, and `beta`, which has no files.
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

    /// Returns the library that `equip` makes of this one, for servers of MCP with `options` whose sessions
    /// have `session`.
    pub fn served(
        &self,
        options: &McpOptions,
        session: SessionOptions,
        equip: impl FnOnce(LibraryBuilder) -> LibraryBuilder,
    ) -> Arc<ServedLibrary> {
        let notices = Arc::clone(&self.notices);
        let notices = Notices::new(move |notice| {
            if let Notice::Withheld { skill, reasons, .. } = notice {
                let rules = reasons.iter().map(|reason| reason.rule.as_str()).collect::<Vec<_>>();
                notices.lock().unwrap().push(format!("{skill}: {}", rules.join(" ")));
            }
        });
        fs::create_dir_all(self.root().join("skills")).unwrap();
        let provider = FsProvider::new(FsOptions::new("project:skills", self.root().join("skills")));
        let builder = Library::builder()
            .provider(Arc::new(provider))
            .searcher(WordSearcher)
            .session_options(options.session_options(session));
        ServedLibrary::new(pollster::block_on(equip(builder).open()).unwrap(), notices)
    }
}

/// Starts following `library`; when it returns, no change is missed.
pub fn watched_library(library: &Library) -> Watcher {
    let watcher = library.registry().watch(ReloadOptions::default()).unwrap();
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
        self.initialize_as("test", version, capabilities).await
    }

    /// Does the same as the client called `name`.
    pub async fn initialize_as(&mut self, name: &str, version: &str, capabilities: Value) -> Value {
        let client = json!({"name": name, "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": client});
        let answer = self.request("initialize", params).await;
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        answer["result"].clone()
    }

    /// Starts a session as the client called `name`, and returns the instructions and the description of
    /// `load_skill`.
    pub async fn texts_as(&mut self, name: &str) -> (String, String) {
        let result = self.initialize_as(name, "2025-11-25", json!({})).await;
        let instructions = result["instructions"].as_str().unwrap_or_default().to_owned();
        (instructions, self.load_description().await)
    }

    /// Returns the description of `load_skill`; empty if there is no such tool.
    pub async fn load_description(&mut self) -> String {
        let listed = self.request("tools/list", json!({})).await;
        let tools = listed["result"]["tools"].as_array().cloned().unwrap_or_default();
        let load = tools.iter().find(|tool| tool["name"] == "load_skill");
        load.map(|load| load["description"].as_str().unwrap().to_owned()).unwrap_or_default()
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
