//! Tests of the HTTP embedder with a local server.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pollster::block_on;
use repertoire::{Library, MemoryProvider, SearchRequest, SkillDefinition, Visibility};
use serde_json::{Value, json};

use super::{HttpEmbedder, HttpEmbedderOptions};
use crate::meaning::{Embedder, Vector};
use crate::options::SearchOptions;
use crate::skill_search::SkillSearch;
use crate::skill_text::SkillText;
use crate::testing;

/// The number of dimensions of the server's embeddings.
const DIMENSIONS: usize = 64;

/// A request that the server received.
#[derive(Debug, Clone)]
struct ReceivedRequest {
    head: String,
    body: Value,
}

/// A response of the server.
struct Reply {
    status: u16,
    headers: &'static str,
    body: String,
    delay: Duration,
}

impl Reply {
    fn of(status: u16, body: impl Into<String>) -> Self {
        Self { status, headers: "", body: body.into(), delay: Duration::ZERO }
    }
}

/// A server that records its requests.
struct Server {
    url: String,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl Server {
    /// Starts a server whose responses `reply` returns. It receives the number of the request, from 0, and
    /// the request.
    fn start(reply: impl Fn(usize, &ReceivedRequest) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1/", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let (reply, log) = (Arc::new(reply), Arc::clone(&received));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (reply, log) = (Arc::clone(&reply), Arc::clone(&log));
                std::thread::spawn(move || {
                    let Some(request) = read(&stream) else { return };
                    let number = {
                        let mut log = log.lock().unwrap();
                        log.push(request.clone());
                        log.len() - 1
                    };
                    let reply = reply(number, &request);
                    std::thread::sleep(reply.delay);
                    let Reply { status, headers, body, .. } = reply;
                    let length = body.len();
                    let head = format!(
                        "HTTP/1.1 {status} X\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n"
                    );
                    let _ = (&stream).write_all(format!("{head}{body}").as_bytes());
                });
            }
        });
        Self { url, received }
    }

    /// Starts a server that works.
    fn working() -> Self {
        Self::start(|_, request| Reply::of(200, answer(&inputs(request)).to_string()))
    }

    fn requests(&self) -> usize {
        self.received.lock().unwrap().len()
    }

    fn options(&self) -> HttpEmbedderOptions {
        HttpEmbedderOptions {
            timeout: Duration::from_secs(10),
            backoff: Duration::from_millis(1),
            ..HttpEmbedderOptions::new(&self.url, "test-model")
        }
    }

    fn embedder(&self) -> HttpEmbedder {
        HttpEmbedder::new(self.options()).unwrap()
    }
}

fn read(stream: &TcpStream) -> Option<ReceivedRequest> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(ReceivedRequest { head, body: serde_json::from_slice(&body).ok()? })
}

fn inputs(request: &ReceivedRequest) -> Vec<String> {
    request.body["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// Returns the answer of a working server to `texts`, last ones first.
fn answer(texts: &[String]) -> Value {
    let item = |(index, text): (usize, &String)| json!({ "index": index, "embedding": embedding(text) });
    json!({ "object": "list", "data": texts.iter().enumerate().rev().map(item).collect::<Vec<_>>() })
}

/// Returns an embedding by the words of `text`: texts that share words are near.
fn embedding(text: &str) -> Vec<f32> {
    let mut values = vec![0.01; DIMENSIONS];
    for word in text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| word.len() > 2) {
        let stem: String = word.to_lowercase().chars().take(5).collect();
        values[(repertoire_model::checksum(stem.as_bytes()) % DIMENSIONS as u64) as usize] += 1.0;
    }
    values
}

fn query(embedder: &HttpEmbedder, text: &str) -> Result<Option<Vector>, String> {
    block_on(embedder.query(text)).map_err(|error| error.chain())
}

/// Sends a query that fails to a server with these replies; returns the error and the number of requests.
fn failure(reply: impl Fn(usize, &ReceivedRequest) -> Reply + Send + Sync + 'static) -> (String, usize) {
    let server = Server::start(reply);
    let message = query(&server.embedder(), "text").unwrap_err();
    (message.replace(&server.url, "URL/"), server.requests())
}

#[test]
fn the_embedder_suite_holds() {
    let server = Server::working();
    block_on(testing::embedder_suite(&server.embedder()));
}

#[test]
fn a_request_is_what_the_protocol_says() {
    let server = Server::working();
    let options = HttpEmbedderOptions { key: Some("secret".to_owned()), ..server.options() };
    let embedder = HttpEmbedder::new(options).unwrap();
    assert_eq!(query(&embedder, "fill a form").unwrap(), Vector::of(&embedding("fill a form")));
    let request = server.received.lock().unwrap()[0].clone();
    assert!(request.head.starts_with("POST /v1/embeddings HTTP/1.1\r\n"), "{}", request.head);
    assert!(request.head.to_lowercase().contains("\r\nauthorization: bearer secret\r\n"), "{}", request.head);
    assert_eq!(
        request.body,
        json!({ "model": "test-model", "input": ["fill a form"], "encoding_format": "float" })
    );
}

#[test]
fn texts_are_sent_in_batches_and_vectors_returned_in_order() {
    let server = Server::working();
    let names: Vec<String> = (0..150).map(|number| format!("skill{number}")).collect();
    let skills: Vec<SkillText<'_>> =
        names.iter().map(|name| SkillText { name, ..SkillText::default() }).collect();
    let embedder = server.embedder();
    let vectors = block_on(embedder.skills(&skills)).unwrap();
    assert_eq!(server.requests(), 3);
    for (name, vector) in names.iter().zip(&vectors) {
        assert_eq!(*vector, Vector::of(&embedding(name)), "{name}");
    }
    assert_eq!(block_on(embedder.skills(&skills)).unwrap(), vectors);
    assert_eq!(server.requests(), 3, "cached vectors are not requested again");
}

#[test]
fn vectors_are_cached_between_runs() {
    let server = Server::working();
    let directory = tempfile::tempdir().unwrap();
    let open = |directory: &Path, model: &str| {
        let cache = Some(directory.to_owned());
        HttpEmbedder::new(HttpEmbedderOptions { cache, model: model.to_owned(), ..server.options() }).unwrap()
    };
    let skill = SkillText { name: "a", description: "b", ..SkillText::default() };
    let ask = |model: &str| {
        let embedder = open(directory.path(), model);
        (query(&embedder, "text").unwrap(), block_on(embedder.skills(&[skill])).unwrap())
    };
    let first = ask("m");
    assert_eq!(server.requests(), 2);
    assert_eq!(ask("m"), first);
    assert_eq!(server.requests(), 2);
    ask("another");
    assert_eq!(server.requests(), 4);
}

#[test]
fn temporary_failures_are_retried() {
    let server = Server::start(|number, request| match number {
        0 => Reply { headers: "Retry-After: 0\r\n", ..Reply::of(429, "slow down") },
        1 => Reply::of(503, ""),
        _ => Reply::of(200, answer(&inputs(request)).to_string()),
    });
    assert!(query(&server.embedder(), "text").unwrap().is_some());
    assert_eq!(server.requests(), 3);
    assert_eq!(
        failure(|_, _| Reply::of(500, "")),
        ("input or output failed: URL/embeddings: status 500".to_owned(), 4)
    );
}

#[test]
fn permanent_failures_are_not_retried() {
    let check = |status: u16, body: &'static str, expected: &str| {
        let (message, requests) = failure(move |_, _| Reply::of(status, body));
        let message = message.strip_prefix("input or output failed: URL/embeddings: ").unwrap().to_owned();
        assert_eq!((message.as_str(), requests), (expected, 1), "{status} {body}");
    };
    check(401, "{\"error\":\n \"no key\"}", "status 401: {\"error\": \"no key\"}");
    check(302, "", "status 302");
    check(200, "hello", "the answer is not JSON: expected value at line 1 column 1");
    check(200, "{}", "the answer has no `data`");
    check(200, r#"{"data": []}"#, "the answer has 0 embeddings for 1 texts");
    check(200, r#"{"data": [{}]}"#, "the answer has no `embedding`");
    check(200, r#"{"data": [{"embedding": []}]}"#, "an embedding has 0 dimensions, not 1 to 4096");
    check(200, r#"{"data": [{"embedding": ["x"]}]}"#, "an embedding has a value that is not a number");
    let index = r#"{"data": [{"index": 7, "embedding": [1]}]}"#;
    check(200, index, "an `index` in the answer is invalid or repeated");
}

#[test]
fn requests_are_suspended_after_a_failure_that_is_reported_once() {
    let server = Server::start(|_, _| Reply::of(400, ""));
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    let notice = move |_: &str| {
        count.fetch_add(1, Ordering::Relaxed);
    };
    let rest = Duration::from_secs(3600);
    let options = HttpEmbedderOptions { rest, notice: Some(Arc::new(notice)), ..server.options() };
    let embedder = HttpEmbedder::new(options).unwrap();
    assert_eq!(query(&embedder, "a"), query(&embedder, "b"));
    assert_eq!((server.requests(), told.load(Ordering::Relaxed)), (1, 1));
    let options = HttpEmbedderOptions { rest: Duration::ZERO, ..server.options() };
    let embedder = HttpEmbedder::new(options).unwrap();
    assert!(query(&embedder, "a").is_err() && query(&embedder, "b").is_err());
    assert_eq!(server.requests(), 3);
}

#[test]
fn a_timeout_or_a_refused_connection_is_a_failure() {
    let server = Server::start(|_, _| Reply { delay: Duration::from_secs(60), ..Reply::of(200, "") });
    let options = HttpEmbedderOptions { timeout: Duration::from_millis(50), retries: 1, ..server.options() };
    assert!(query(&HttpEmbedder::new(options).unwrap(), "text").unwrap_err().contains("timeout"));
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let options = HttpEmbedderOptions { url: format!("http://{closed}"), retries: 0, ..server.options() };
    assert!(query(&HttpEmbedder::new(options).unwrap(), "text").is_err());
}

#[test]
fn embeddings_of_other_dimensions_are_refused() {
    let server = Server::start(|number, request| {
        let values = vec![1.0; if number == 0 { 2 } else { 3 }];
        let data: Vec<Value> = inputs(request).iter().map(|_| json!({ "embedding": values })).collect();
        Reply::of(200, json!({ "data": data }).to_string())
    });
    let embedder =
        HttpEmbedder::new(HttpEmbedderOptions { rest: Duration::ZERO, ..server.options() }).unwrap();
    assert!(query(&embedder, "a").is_ok());
    assert!(query(&embedder, "b").unwrap_err().ends_with("embeddings have 3 dimensions now, not 2"));
    assert_eq!(
        query(&embedder, "b").unwrap().unwrap().dimensions(),
        3,
        "the new dimensions are accepted from now on"
    );
}

#[test]
fn searches_work_without_the_server() {
    let is_up = Arc::new(AtomicUsize::new(0));
    let switch = Arc::clone(&is_up);
    let server = Server::start(move |_, request| match switch.load(Ordering::Relaxed) {
        0 => Reply::of(500, ""),
        _ => Reply::of(200, answer(&inputs(request)).to_string()),
    });
    let directory = tempfile::tempdir().unwrap();
    let found = || {
        let skills = vec![
            SkillDefinition::new("deploy", "Deploys services to Kubernetes.", "# Deploy\n"),
            SkillDefinition::new("pdf-forms", "Fills PDF forms.", "# Forms\n"),
        ];
        let options = HttpEmbedderOptions { retries: 0, ..server.options() };
        let search = SearchOptions {
            embedder: Some(Arc::new(HttpEmbedder::new(options).unwrap())),
            file: Some(directory.path().join("test.index")),
            ..SearchOptions::default()
        };
        let builder = Library::builder().provider(MemoryProvider::new("test", skills));
        let library = block_on(builder.searcher(SkillSearch::new(search)).open()).unwrap();
        let snapshot = library.snapshot();
        let found =
            block_on(library.search(&snapshot, &SearchRequest::new("fill forms", 5), Visibility::All));
        block_on(library.save());
        assert_eq!(found[0].entry.name().as_str(), "pdf-forms");
        found[0].score
    };
    let by_words = found();
    is_up.store(1, Ordering::Relaxed);
    assert_ne!(found(), by_words, "an index without embeddings is not reused");
    let requests = server.requests();
    found();
    assert_eq!(
        server.requests(),
        requests + 1,
        "an index with embeddings is reused; only the query is requested again"
    );
}

#[test]
fn skills_are_embedded_again_after_a_change_of_dimensions() {
    let is_shortened = Arc::new(AtomicUsize::new(0));
    let switch = Arc::clone(&is_shortened);
    let server = Server::start(move |_, request| {
        let dimensions = DIMENSIONS - switch.load(Ordering::Relaxed);
        let items = inputs(request).into_iter().enumerate().map(|(index, text)| {
            let (mut values, rest) = (embedding(&text), embedding(&text).split_off(dimensions));
            values.truncate(dimensions);
            values.iter_mut().zip(rest).for_each(|(value, rest)| *value += rest);
            json!({ "index": index, "embedding": values })
        });
        Reply::of(200, json!({ "data": items.collect::<Vec<_>>() }).to_string())
    });
    let directory = tempfile::tempdir().unwrap();
    let library = || {
        let options = HttpEmbedderOptions { rest: Duration::ZERO, retries: 0, ..server.options() };
        let search = SearchOptions {
            embedder: Some(Arc::new(HttpEmbedder::new(options).unwrap())),
            file: Some(directory.path().join("test.index")),
            ..SearchOptions::default()
        };
        // Only embeddings find them: the words of the query are not forms of theirs.
        let skills = vec![
            SkillDefinition::new("deploy", "Deployer.", "# Deploy\n"),
            SkillDefinition::new("formatter", "Formatters.", "# Formatters\n"),
        ];
        let provider = Arc::new(MemoryProvider::new("test", skills));
        block_on(Library::builder().provider(provider).searcher(SkillSearch::new(search)).open()).unwrap()
    };
    let found = |library: &Library| {
        let request = SearchRequest::new("formalities", 5);
        block_on(library.search(&library.snapshot(), &request, Visibility::All)).len()
    };
    let first = library();
    assert_eq!(found(&first), 1);
    block_on(first.save());
    is_shortened.store(7, Ordering::Relaxed);
    let requests = server.requests();
    // A new process, which only has the stored index.
    let next = library();
    assert_eq!(found(&next), 1);
    assert_eq!(server.requests(), requests + 2, "the query and the skills");
    assert_eq!(found(&next), 1);
    assert_eq!(server.requests(), requests + 2, "embedded again only once");
}
