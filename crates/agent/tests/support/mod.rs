//! A server that answers with a script, and a library of two skills.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use repertoire::{BoxFuture, Library, MemoryProvider, Session, SkillDefinition};
use repertoire_agent::{
    Block, Cancellation, Client, ClientError, Message, ModelApi, ModelClient, ModelClientOptions, Observer,
    Progress, Request, Response, Role, StopReason, TokenUsage,
};
use serde_json::{Value, json};

/// An answer of the server.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// Events, each of them the data of one.
    Events(Vec<String>),
    /// Events, and then the connection is closed in the middle of one.
    Cut(Vec<String>),
    /// Events, and then the connection stays open.
    Open(Vec<String>),
    /// A status, headers and a body.
    Status(u16, &'static str, String),
    /// The connection stays open, and nothing is sent.
    Silence,
}

/// A request that the server got.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    /// The first line.
    pub(crate) line: String,
    /// The headers in lower case.
    pub(crate) headers: Vec<String>,
    /// The body.
    pub(crate) body: String,
}

/// A server on a free port of the loopback address.
pub(crate) struct Server {
    /// Its address.
    pub(crate) url: String,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
    /// The connections, which are closed with the server.
    _open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Server {
    /// Starts a server that gives these answers in turn.
    pub(crate) fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let open = Arc::new(Mutex::new(Vec::new()));
        let (seen, kept) = (Arc::clone(&received), Arc::clone(&open));
        thread::spawn(move || {
            for answer in answers {
                let Ok((stream, _)) = listener.accept() else { return };
                let stream = serve(stream, answer, &seen);
                kept.lock().unwrap().push(stream);
            }
        });
        Self { url, received, _open: open }
    }

    /// Returns the requests so far.
    pub(crate) fn received(&self) -> Vec<ReceivedRequest> {
        self.received.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, answer: Answer, seen: &Mutex<Vec<ReceivedRequest>>) -> TcpStream {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    let headers: Vec<String> = lines[1..].iter().map(|line| line.to_lowercase()).collect();
    let length = headers.iter().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let body = String::from_utf8(body).unwrap();
    seen.lock().unwrap().push(ReceivedRequest { line: lines[0].clone(), headers, body });
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let data =
        |events: Vec<String>| events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>();
    // The client may have gone.
    let _ = match answer {
        Answer::Events(events) => write!(stream, "{head}{}", data(events)),
        Answer::Open(events) => {
            let _ = write!(stream, "{head}{}", data(events));
            return stream;
        }
        Answer::Cut(events) => write!(stream, "{head}{}data: {{\"ty", data(events)),
        Answer::Status(status, header, body) => write!(
            stream,
            "HTTP/1.1 {status} Status\r\n{header}content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        ),
        Answer::Silence => return stream,
    };
    let _ = stream.shutdown(std::net::Shutdown::Write);
    stream
}

/// Returns the events of an answer of Anthropic's API with a text and calls.
pub(crate) fn anthropic(text: &str, calls: &[(&str, &str, Value)], usage: Value) -> Answer {
    let mut events = vec![json!({"type": "message_start", "message": {"usage": usage}})];
    let mut index = 0;
    if !text.is_empty() {
        events.push(
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        );
        let (start, end) = text.split_at(text.len() / 2);
        for part in [start, end] {
            events.push(json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": part}}));
        }
        events.push(json!({"type": "content_block_stop", "index": 0}));
        index = 1;
    }
    for (id, name, input) in calls {
        let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
        events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        let input = input.to_string();
        let (start, end) = input.split_at(input.len() / 2);
        for part in [start, end] {
            let delta = json!({"type": "input_json_delta", "partial_json": part});
            events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
        index += 1;
    }
    let reason = if calls.is_empty() { "end_turn" } else { "tool_use" };
    events.push(
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 7}}),
    );
    events.push(json!({"type": "message_stop"}));
    Answer::Events(events.iter().map(Value::to_string).collect())
}

/// Returns the events of an answer of the Chat Completions API with a text and calls.
pub(crate) fn chat(text: &str, calls: &[(&str, &str, Value)]) -> Answer {
    let chunk = |delta: Value, finish: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    let mut events = vec![chunk(json!({"role": "assistant", "content": text}), Value::Null)];
    for (index, (id, name, input)) in calls.iter().enumerate() {
        let function = json!({"name": name, "arguments": ""});
        let start = json!({"index": index, "id": id, "type": "function", "function": function});
        events.push(chunk(json!({"tool_calls": [start]}), Value::Null));
        let input = input.to_string();
        let (first, second) = input.split_at(input.len() / 2);
        for part in [first, second] {
            let delta = json!({"tool_calls": [{"index": index, "function": {"arguments": part}}]});
            events.push(chunk(delta, Value::Null));
        }
    }
    events.push(chunk(json!({}), json!(if calls.is_empty() { "stop" } else { "tool_calls" })));
    let usage =
        json!({"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}});
    events.push(json!({"choices": [], "usage": usage}));
    let mut events: Vec<String> = events.iter().map(Value::to_string).collect();
    events.push("[DONE]".to_owned());
    Answer::Events(events)
}

/// Returns the events of an answer of the Responses API with a text and calls, after some reasoning.
pub(crate) fn responses(text: &str, calls: &[(&str, &str, Value)]) -> Answer {
    let item = |item: Value| json!({"type": "response.output_item.done", "item": item});
    let mut events = vec![
        json!({"type": "response.created", "response": {"status": "in_progress"}}),
        item(json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VjcmV0"})),
    ];
    if !text.is_empty() {
        events.push(json!({"type": "response.output_text.delta", "delta": text}));
        let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
        events.push(item(json!({"type": "message", "id": "msg_1", "role": "assistant", "content": content})));
    }
    for (id, name, input) in calls {
        let arguments = input.to_string();
        events.push(item(
            json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments}),
        ));
    }
    let usage =
        json!({"input_tokens": 100, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 60}});
    events.push(json!({"type": "response.completed", "response": {"usage": usage}}));
    Answer::Events(events.iter().map(Value::to_string).collect())
}

/// Returns a library of two skills.
pub(crate) fn library() -> Library {
    let greet =
        SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "# Greet\n\nBe warm.\n");
    let count = SkillDefinition::new("count", "Counts things. Use for numbers.", "# Count\n\nCount twice.\n");
    let provider = MemoryProvider::new("builtin", vec![greet, count]);
    pollster::block_on(Library::builder().provider(provider).open()).unwrap()
}

/// Returns a session of [`library`].
pub(crate) fn session() -> Session {
    pollster::block_on(library().session()).unwrap()
}

/// Writes a skill into a directory of skills.
pub(crate) fn write_skill(directory: &Path, name: &str, body: &str) {
    let directory = directory.join(name);
    std::fs::create_dir_all(&directory).unwrap();
    let text = format!(
        "---\nname: {name}\ndescription: Helps with {name}. Use when it is about {name}.\n---\n{body}\n"
    );
    std::fs::write(directory.join("SKILL.md"), text).unwrap();
}

/// A function from the number of a request and the request to the answer.
type Answers = Box<dyn FnMut(usize, &Request<'_>) -> Message + Send>;

/// A client that gives answers of its script, and keeps the requests.
pub(crate) struct Script {
    answers: Mutex<Answers>,
    writer: ModelClient,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Script {
    /// Returns a client that answers request `n` with `answer(n, request)`, and the requests in Anthropic's
    /// form.
    pub(crate) fn new(
        answer: impl FnMut(usize, &Request<'_>) -> Message + Send + 'static,
    ) -> (Self, Arc<Mutex<Vec<Value>>>) {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let writer = ModelClient::new(ModelApi::Anthropic, ModelClientOptions::default());
        (Self { answers: Mutex::new(Box::new(answer)), writer, requests: Arc::clone(&requests) }, requests)
    }
}

impl Client for Script {
    fn send<'a>(
        &'a self,
        request: &'a Request<'a>,
        observer: Observer<'a>,
        _cancellation: &'a Cancellation,
    ) -> BoxFuture<'a, Result<Response, ClientError>> {
        Box::pin(async move {
            let body = self.writer.body(request).unwrap();
            let number = {
                let mut requests = self.requests.lock().unwrap();
                requests.push(serde_json::from_str(&body).unwrap());
                requests.len() - 1
            };
            let message = (self.answers.lock().unwrap())(number, request);
            observer(Progress::Text(&message.text()));
            let mut usage = TokenUsage::default();
            (usage.requests, usage.input, usage.output) = (1, body.len() as u64 / 4, 10);
            Ok(Response::new(message, StopReason::Done, usage))
        })
    }
}

/// Returns a message of the model with a text.
pub(crate) fn says(text: &str) -> Message {
    Message { role: Role::Assistant, content: vec![Block::text(text)] }
}

/// Returns a message of the model with a call.
pub(crate) fn calls(id: usize, name: &str, input: Value) -> Message {
    let call = Block::ToolUse { id: format!("call_{id}"), name: name.to_owned(), input };
    Message { role: Role::Assistant, content: vec![call] }
}
