//! Tests against a server of our own on this machine.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pollster::block_on;
use repertoire::{Library, MemoryProvider, SearchRequest, SkillDefinition, Visibility};
use serde_json::{Value, json};

use super::{HttpEmbedder, HttpOptions};
use crate::meaning::{Embedder, Vector};
use crate::options::SearchOptions;
use crate::skill_search::SkillSearch;
use crate::skill_text::SkillText;
use crate::testing;

/// The dimensions of what the server says.
const DIMENSIONS: usize = 64;

/// What a client sent.
#[derive(Debug, Clone)]
struct Asked {
    head: String,
    body: Value,
}

/// What the server answers.
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

/// A server that counts what it is asked.
struct Server {
    url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    /// Starts a server that answers the request with this number, from 0, as `reply` says.
    fn start(reply: impl Fn(usize, &Asked) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1/", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (reply, log) = (Arc::new(reply), Arc::clone(&asked));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (reply, log) = (Arc::clone(&reply), Arc::clone(&log));
                std::thread::spawn(move || {
                    let Some(asked) = read(&stream) else { return };
                    let number = {
                        let mut log = log.lock().unwrap();
                        log.push(asked.clone());
                        log.len() - 1
                    };
                    let reply = reply(number, &asked);
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
        Self { url, asked }
    }

    /// Starts a server that does what it should.
    fn sound() -> Self {
        Self::start(|_, asked| Reply::of(200, answer(&inputs(asked)).to_string()))
    }

    fn requests(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    fn options(&self) -> HttpOptions {
        HttpOptions {
            timeout: Duration::from_secs(10),
            backoff: Duration::from_millis(1),
            ..HttpOptions::new(&self.url, "test-model")
        }
    }

    fn embedder(&self) -> HttpEmbedder {
        HttpEmbedder::new(self.options()).unwrap()
    }
}

fn read(stream: &TcpStream) -> Option<Asked> {
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
    Some(Asked { head, body: serde_json::from_slice(&body).ok()? })
}

fn inputs(asked: &Asked) -> Vec<String> {
    asked.body["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// Returns what a sound server says to `texts`, last ones first.
fn answer(texts: &[String]) -> Value {
    let item = |(index, text): (usize, &String)| json!({ "index": index, "embedding": embedding(text) });
    json!({ "object": "list", "data": texts.iter().enumerate().rev().map(item).collect::<Vec<_>>() })
}

/// Returns a direction by the words of `text`: those that share words are near.
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

/// Fails a query of a server that answers as `reply` says, and returns why and how often it was asked.
fn failure(reply: impl Fn(usize, &Asked) -> Reply + Send + Sync + 'static) -> (String, usize) {
    let server = Server::start(reply);
    let message = query(&server.embedder(), "text").unwrap_err();
    (message.replace(&server.url, "URL/"), server.requests())
}

#[test]
fn the_embedder_suite_holds() {
    let server = Server::sound();
    block_on(testing::embedder_suite(&server.embedder()));
}

#[test]
fn a_request_is_what_the_protocol_says() {
    let server = Server::sound();
    let options = HttpOptions { key: Some("secret".to_owned()), ..server.options() };
    let embedder = HttpEmbedder::new(options).unwrap();
    assert_eq!(query(&embedder, "fill a form").unwrap(), Vector::of(&embedding("fill a form")));
    let asked = server.asked.lock().unwrap()[0].clone();
    assert!(asked.head.starts_with("POST /v1/embeddings HTTP/1.1\r\n"), "{}", asked.head);
    assert!(asked.head.to_lowercase().contains("\r\nauthorization: bearer secret\r\n"), "{}", asked.head);
    assert_eq!(
        asked.body,
        json!({ "model": "test-model", "input": ["fill a form"], "encoding_format": "float" })
    );
}

#[test]
fn many_texts_are_asked_in_batches_and_come_back_in_order() {
    let server = Server::sound();
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
    assert_eq!(server.requests(), 3, "what is known is not asked again");
}

#[test]
fn answers_are_kept_between_runs() {
    let server = Server::sound();
    let directory = tempfile::tempdir().unwrap();
    let open = |directory: &Path, model: &str| {
        let cache = Some(directory.to_owned());
        HttpEmbedder::new(HttpOptions { cache, model: model.to_owned(), ..server.options() }).unwrap()
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
fn passing_failures_are_tried_again() {
    let server = Server::start(|number, asked| match number {
        0 => Reply { headers: "Retry-After: 0\r\n", ..Reply::of(429, "slow down") },
        1 => Reply::of(503, ""),
        _ => Reply::of(200, answer(&inputs(asked)).to_string()),
    });
    assert!(query(&server.embedder(), "text").unwrap().is_some());
    assert_eq!(server.requests(), 3);
    assert_eq!(
        failure(|_, _| Reply::of(500, "")),
        ("input or output failed: URL/embeddings: status 500".to_owned(), 4)
    );
}

#[test]
fn lasting_failures_are_not() {
    let check = |status: u16, body: &'static str, expected: &str| {
        let (message, requests) = failure(move |_, _| Reply::of(status, body));
        let message = message.strip_prefix("input or output failed: URL/embeddings: ").unwrap().to_owned();
        assert_eq!((message.as_str(), requests), (expected, 1), "{status} {body}");
    };
    check(401, "{\"error\":\n \"no key\"}", "status 401: {\"error\": \"no key\"}");
    check(302, "", "status 302");
    check(200, "hello", "the answer is not JSON: expected value at line 1 column 1");
    check(200, "{}", "the answer has no `data`");
    check(200, r#"{"data": []}"#, "the answer has 0 directions for 1 texts");
    check(200, r#"{"data": [{}]}"#, "the answer has no `embedding`");
    check(200, r#"{"data": [{"embedding": []}]}"#, "a direction has 0 dimensions, not 1 to 4096");
    check(200, r#"{"data": [{"embedding": ["x"]}]}"#, "a direction holds what is no number");
    let index = r#"{"data": [{"index": 7, "embedding": [1]}]}"#;
    check(200, index, "the answer has no text of its own for each direction");
}

#[test]
fn a_server_that_failed_is_left_alone_and_told_of_once() {
    let server = Server::start(|_, _| Reply::of(400, ""));
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    let notice = move |_: &str| {
        count.fetch_add(1, Ordering::Relaxed);
    };
    let rest = Duration::from_secs(3600);
    let options = HttpOptions { rest, notice: Some(Arc::new(notice)), ..server.options() };
    let embedder = HttpEmbedder::new(options).unwrap();
    assert_eq!(query(&embedder, "a"), query(&embedder, "b"));
    assert_eq!((server.requests(), told.load(Ordering::Relaxed)), (1, 1));
    let options = HttpOptions { rest: Duration::ZERO, ..server.options() };
    let embedder = HttpEmbedder::new(options).unwrap();
    assert!(query(&embedder, "a").is_err() && query(&embedder, "b").is_err());
    assert_eq!(server.requests(), 3);
}

#[test]
fn a_server_that_is_slow_or_gone_is_a_failure() {
    let server = Server::start(|_, _| Reply { delay: Duration::from_secs(60), ..Reply::of(200, "") });
    let options = HttpOptions { timeout: Duration::from_millis(50), retries: 1, ..server.options() };
    assert!(query(&HttpEmbedder::new(options).unwrap(), "text").unwrap_err().contains("timeout"));
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let options = HttpOptions { url: format!("http://{closed}"), retries: 0, ..server.options() };
    assert!(query(&HttpEmbedder::new(options).unwrap(), "text").is_err());
}

#[test]
fn directions_of_other_dimensions_are_refused() {
    let server = Server::start(|number, asked| {
        let values = vec![1.0; if number == 0 { 2 } else { 3 }];
        let data: Vec<Value> = inputs(asked).iter().map(|_| json!({ "embedding": values })).collect();
        Reply::of(200, json!({ "data": data }).to_string())
    });
    let embedder = HttpEmbedder::new(HttpOptions { rest: Duration::ZERO, ..server.options() }).unwrap();
    assert!(query(&embedder, "a").is_ok());
    assert!(query(&embedder, "b").unwrap_err().ends_with("directions have 3 dimensions now, not 2"));
    assert_eq!(query(&embedder, "b").unwrap().unwrap().dimensions(), 3, "from now on these are right");
}

#[test]
fn searches_do_not_fail_with_the_server() {
    let is_up = Arc::new(AtomicUsize::new(0));
    let switch = Arc::clone(&is_up);
    let server = Server::start(move |_, asked| match switch.load(Ordering::Relaxed) {
        0 => Reply::of(500, ""),
        _ => Reply::of(200, answer(&inputs(asked)).to_string()),
    });
    let directory = tempfile::tempdir().unwrap();
    let found = || {
        let skills = vec![
            SkillDefinition::new("deploy", "Deploys services to Kubernetes.", "# Deploy\n"),
            SkillDefinition::new("pdf-forms", "Fills PDF forms.", "# Forms\n"),
        ];
        let options = HttpOptions { retries: 0, ..server.options() };
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
        assert_eq!(snapshot.entries()[found[0].entry].name().as_str(), "pdf-forms");
        found[0].score
    };
    let by_words = found();
    is_up.store(1, Ordering::Relaxed);
    assert_ne!(found(), by_words, "an index without meanings is not kept");
    let requests = server.requests();
    found();
    assert_eq!(server.requests(), requests + 1, "one with them is; only the query is asked again");
}

#[test]
fn where_directions_have_other_dimensions_skills_are_found_by_them_again() {
    let is_shortened = Arc::new(AtomicUsize::new(0));
    let switch = Arc::clone(&is_shortened);
    let server = Server::start(move |_, asked| {
        let dimensions = DIMENSIONS - switch.load(Ordering::Relaxed);
        let items = inputs(asked).into_iter().enumerate().map(|(index, text)| {
            let (mut values, rest) = (embedding(&text), embedding(&text).split_off(dimensions));
            values.truncate(dimensions);
            values.iter_mut().zip(rest).for_each(|(value, rest)| *value += rest);
            json!({ "index": index, "embedding": values })
        });
        Reply::of(200, json!({ "data": items.collect::<Vec<_>>() }).to_string())
    });
    let directory = tempfile::tempdir().unwrap();
    let library = || {
        let options = HttpOptions { rest: Duration::ZERO, retries: 0, ..server.options() };
        let search = SearchOptions {
            embedder: Some(Arc::new(HttpEmbedder::new(options).unwrap())),
            file: Some(directory.path().join("test.index")),
            ..SearchOptions::default()
        };
        // Nothing but their meaning: their words are forms that are not known for one another.
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
    // A process of its own, which only knows the index that was kept.
    let next = library();
    assert_eq!(found(&next), 1);
    assert_eq!(server.requests(), requests + 2, "the query and the skills");
    assert_eq!(found(&next), 1);
    assert_eq!(server.requests(), requests + 2, "made anew once");
}
