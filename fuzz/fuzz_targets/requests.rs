//! Feeds arbitrary lines to an MCP server: it sends messages, and answers the request behind the lines.
#![no_main]

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use repertoire::serve::{Notices, ServedLibrary, Stop};
use repertoire::{Library, MemoryProvider, SessionOptions, SkillDefinition};
use repertoire_mcp::{McpOptions, Server};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::{Builder, Runtime};

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_all().build().expect("a runtime"));

static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let skill = SkillDefinition::new("alpha", "Does alpha things well.", "# Alpha\n")
        .with_resource("references/guide.md", "one\ntwo\n");
    let options = McpOptions::default();
    let library = Library::builder()
        .provider(Arc::new(MemoryProvider::new("memory", vec![skill])))
        .session_options(options.session_options(SessionOptions::default()));
    let library = pollster::block_on(library.open()).expect("a library");
    Server::new(ServedLibrary::new(library, Notices::default()), options)
});

fuzz_target!(|bytes: &[u8]| {
    let answers = RUNTIME.block_on(async {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (reader, writer) = tokio::io::split(theirs);
        let stop = Stop::new();
        let serving = SERVER.serve_streams(reader, writer, None, &stop);
        let talking = async {
            let (mut reader, mut writer) = tokio::io::split(ours);
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            let last = json!({"jsonrpc": "2.0", "id": "the last", "method": "skills/list", "params": {"_meta": meta}});
            let _ = writer.write_all(bytes).await;
            let _ = writer.write_all(format!("\n{last}\n").as_bytes()).await;
            // The end of the input: what was asked is answered, then the server ends.
            let _ = writer.shutdown().await;
            let mut answers = String::new();
            reader.read_to_string(&mut answers).await.expect("answers are text");
            answers
        };
        let both = async { tokio::join!(serving, talking) };
        let (served, answers) = tokio::time::timeout(Duration::from_secs(4), both).await.expect("the end in time");
        served.expect("nothing that comes in ends a server");
        answers
    });
    let messages: Vec<Value> =
        answers.lines().map(|line| serde_json::from_str(line).expect("every line is a message")).collect();
    assert!(messages.iter().all(|message| message["jsonrpc"] == "2.0"));
    assert!(messages.iter().any(|message| message["id"] == "the last"), "the next request is served");
});
