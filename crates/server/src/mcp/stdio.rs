//! MCP over standard input and output, or any other two streams: one JSON-RPC message per line.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, GetMeta as _, JsonRpcMessage, ProtocolVersion,
};
use rmcp::service::{RxJsonRpcMessage, ServiceExt as _, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::io::stdio_pipes;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, BufReader};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Handler;
use super::decode::{self, Decoded};
use super::output::Output;
use super::outstanding::{Outstanding, Refusal};
use crate::{Error, Server, Stop};

/// The longest line that is read; a longer one is answered with an error.
pub const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;

/// Why a subscription is refused.
const TOO_MANY: &str = "there are too many subscriptions; end one first";

/// Why a handshake is refused after requests that did without one: rmcp would go on to ask each request for what they say.
const TOO_LATE: &str = "a handshake comes first; this client has asked without one, so it goes on to put `_meta` into each request";

/// How long answers to what was asked before the end of the input may take.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// How long calls may take to end that nobody waits for any more.
const LAST_ENDS: Duration = Duration::from_secs(2);

impl Server {
    /// Serves standard input and output for the agent called `agent`, or for one that may see everything, until the input
    /// ends or `stop`.
    pub fn serve_stdio_blocking(&self, agent: Option<&str>, stop: &Stop) -> Result<(), Error> {
        // One client, whose calls wait for files elsewhere: one thread is quickest.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let served = runtime.block_on(async {
            let (reader, writer) = stdio_pipes();
            self.serve_streams(reader, writer, agent, stop).await
        });
        // Whoever still waits for a file or for the terminal must not keep the process.
        runtime.shutdown_background();
        served
    }

    /// Serves the messages of `reader`, answering on `writer`, until the input ends or `stop`.
    ///
    /// What the calls of this client still run then is cancelled, and waited for until all it made was looked at.
    pub async fn serve_streams(
        &self,
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        agent: Option<&str>,
        stop: &Stop,
    ) -> Result<(), Error> {
        let audience = self.audience(agent).await?;
        let closing = stop.token().child_token();
        // It ends with this set, also where whoever serves is not waited for.
        let mut followers = JoinSet::new();
        followers.spawn(Arc::clone(&audience).follow());
        let handler = Handler::new(audience, &closing);
        let transport = Lines::new(reader, writer, Outstanding::default(), closing);
        let abandoned = transport.abandoned.clone();
        let handler = handler.until(abandoned.clone());
        // A client that goes before it said anything has done no wrong.
        if let Ok(running) = handler.serve(transport).await {
            let _ = running.waiting().await;
        }
        // However it came to an end, nobody is left to run anything for.
        abandoned.cancel();
        self.settled().await;
        Ok(())
    }
}

/// Messages as lines of two streams.
struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    is_skipping: bool,
    /// How the client speaks, once that is settled.
    begun: Option<Manner>,
    output: Output,
    outstanding: Arc<Outstanding>,
    /// When answers are no longer waited for, once the input has ended.
    last_answers: Option<Instant>,
    /// Is cancelled at the end of the input, so that open subscriptions do not keep the server.
    closing: CancellationToken,
    /// Is cancelled a while after that: whatever still runs then, runs for nobody.
    abandoned: CancellationToken,
}

/// What was read.
enum Line {
    Whole,
    TooLong,
    End,
}

impl<R: AsyncRead + Send + Unpin> Lines<R> {
    fn new(
        reader: R,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        outstanding: Outstanding,
        closing: CancellationToken,
    ) -> Self {
        let outstanding = Arc::new(outstanding);
        Self {
            reader: BufReader::new(reader),
            line: Vec::new(),
            is_skipping: false,
            begun: None,
            output: Output::new(writer, &outstanding, closing.clone()),
            outstanding,
            last_answers: None,
            closing,
            abandoned: CancellationToken::new(),
        }
    }

    /// Takes a message in; none where it is passed over, and the answer where it is refused.
    fn take(&mut self, message: ClientJsonRpcMessage) -> Result<Option<ClientJsonRpcMessage>, Value> {
        let manner = Manner::settled_by(&message);
        let is_late = (self.begun, manner) == (Some(Manner::EachRequest), Some(Manner::Handshake));
        self.begun = self.begun.or(manner);
        match &message {
            JsonRpcMessage::Request(request) if is_late => {
                let id = request.id.clone().into_json_value();
                Err(decode::error(&id, ErrorData::invalid_request(TOO_LATE, None)))
            }
            JsonRpcMessage::Request(request) => match self.outstanding.received(&message) {
                Ok(()) => Ok(Some(message)),
                Err(Refusal::IdInUse) => Err(decode::id_in_use(&request.id)),
                Err(Refusal::TooMany) => {
                    let id = request.id.clone().into_json_value();
                    Err(decode::error(&id, ErrorData::invalid_request(TOO_MANY, None)))
                }
            },
            // Before that there is nothing that a notification could be about, and rmcp would hang up.
            _ if self.begun.is_none() => Ok(None),
            _ => Ok(self.outstanding.received(&message).is_ok().then_some(message)),
        }
    }

    /// Waits for what was asked to be answered, no longer than is allowed however often it begins anew; subscriptions end by
    /// themselves.
    async fn settle(&mut self) {
        self.closing.cancel();
        let last = *self.last_answers.get_or_insert_with(|| Instant::now() + LAST_ANSWERS);
        let _ = tokio::time::timeout_at(last, self.outstanding.all_settled()).await;
        self.abandoned.cancel();
        // Whatever they run is ended before the process is.
        let _ = tokio::time::timeout_at(last + LAST_ENDS, self.outstanding.all_settled()).await;
    }

    /// Reads the next line; what was read of it so far survives being cancelled.
    async fn read_line(&mut self) -> Line {
        loop {
            let Ok(available) = self.reader.fill_buf().await else { return Line::End };
            if available.is_empty() {
                // The last line need not be ended.
                let is_line = !self.is_skipping && !self.line.is_empty();
                return if is_line { Line::Whole } else { Line::End };
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |end| end + 1);
            if !self.is_skipping && self.line.len() + taken <= MAX_LINE_BYTES {
                self.line.extend_from_slice(&available[..taken]);
            } else {
                self.is_skipping = true;
                self.line = Vec::new();
            }
            self.reader.consume(taken);
            match (end, self.is_skipping) {
                (None, _) => {}
                (Some(_), false) => return Line::Whole,
                (Some(_), true) => {
                    self.is_skipping = false;
                    return Line::TooLong;
                }
            }
        }
    }
}

/// How a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// It shook hands.
    Handshake,
    /// It says with every request what others say once.
    EachRequest,
}

impl Manner {
    /// Returns the manner that a message settles, as rmcp sees it: a handshake does, and a request that says all that one without a
    /// handshake must say; a ping and a question for what the server is do not.
    fn settled_by(message: &ClientJsonRpcMessage) -> Option<Self> {
        let JsonRpcMessage::Request(request) = message else { return None };
        match &request.request {
            ClientRequest::InitializeRequest(_) => Some(Self::Handshake),
            ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => None,
            other => {
                let meta = other.get_meta();
                let is_whole = meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty();
                let version = meta.protocol_version().filter(|_| is_whole)?;
                ProtocolVersion::KNOWN_VERSIONS.contains(&version).then_some(Self::EachRequest)
            }
        }
    }
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for Lines<R> {
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let lines = self.output.lines().clone();
        async move { lines.send(&message) }
    }

    /// Whoever waits for a message may stop at any time, so nothing that was taken in is given up while something is waited for.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let (closing, outstanding) = (self.closing.clone(), Arc::clone(&self.outstanding));
            let next = async {
                outstanding.has_room().await;
                self.read_line().await
            };
            // A server that is stopped reads no more, as if the input had ended.
            let line = tokio::select! {
                line = next => line,
                () = closing.cancelled() => Line::End,
            };
            match line {
                Line::End => {
                    self.settle().await;
                    return None;
                }
                Line::TooLong => {
                    let message = format!("a message has at most {MAX_LINE_BYTES} bytes");
                    let error = ErrorData::invalid_request(message, None);
                    self.output.lines().refuse(&decode::error(&Value::Null, error));
                }
                Line::Whole => {
                    let decoded = decode::decode(&self.line);
                    self.line.clear();
                    match decoded {
                        Decoded::Message(message) => match self.take(*message) {
                            Ok(Some(message)) => return Some(message),
                            Ok(None) => {}
                            Err(answer) => self.output.lines().refuse(&answer),
                        },
                        Decoded::Nothing => {}
                        Decoded::Refused(answer) | Decoded::BadParams(answer) => {
                            self.output.lines().refuse(&answer);
                        }
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.closing.cancel();
        self.output.close().await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::outstanding::Room;
    use super::*;
    use crate::ServerOptions;
    use repertoire::{Library, MemoryProvider, SkillDefinition};
    use serde_json::json;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    fn server() -> Server {
        let skill = SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "# Greet\n");
        let provider = Arc::new(MemoryProvider::new("builtin", vec![skill]));
        Server::new(Library::builder().provider(provider).open_blocking().unwrap(), ServerOptions::default())
    }

    #[tokio::test]
    async fn a_call_that_is_cancelled_leaves_nothing_behind() {
        let audience = server().audience(None).await.unwrap();
        let free = audience.calls.available_permits();
        let (mut ours, theirs) = tokio::io::duplex(1024 * 1024);
        let (reader, writer) = tokio::io::split(theirs);
        let closing = CancellationToken::new();
        let transport = Lines::new(reader, writer, Outstanding::default(), closing.clone());
        let outstanding = Arc::clone(&transport.outstanding);
        let handler = Handler::new(Arc::clone(&audience), &closing);
        let served = tokio::spawn(async move { handler.serve(transport).await.unwrap().waiting().await });
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        let mut lines = vec![
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        ];
        for id in 1000..1100 {
            let params = json!({"name": "load_skill", "arguments": {"name": "greet"}});
            lines.push(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
            let params = json!({"requestId": id});
            lines.push(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
        }
        lines.push(json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}));
        for line in lines {
            ours.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        }
        let (mut seen, mut buffer) = (String::new(), [0; 4096]);
        while !seen.contains("\"id\":2,") {
            let read = ours.read(&mut buffer).await.unwrap();
            assert_ne!(read, 0, "the server is gone");
            seen.push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
        tokio::time::timeout(LAST_ANSWERS, outstanding.all_settled()).await.unwrap();
        assert_eq!(outstanding.counts(), (0, 0));
        drop(ours);
        served.await.unwrap().unwrap();
        assert_eq!(audience.calls.available_permits(), free);
    }

    #[tokio::test]
    async fn a_second_request_under_an_open_id_is_refused_and_holds_nothing_up() {
        let server = server();
        let (mut ours, theirs) = tokio::io::duplex(1024 * 1024);
        let (reader, writer) = tokio::io::split(theirs);
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
        let listen = json!({"jsonrpc": "2.0", "id": "c", "method": "subscriptions/listen", "params": params});
        let last = json!({"jsonrpc": "2.0", "id": "d", "method": "skills/list", "params": {"_meta": meta}});
        ours.write_all(format!("{listen}\n{listen}\n{last}\n").as_bytes()).await.unwrap();
        ours.shutdown().await.unwrap();
        let stop = Stop::new();
        let serving = server.serve_streams(reader, writer, None, &stop);
        let mut answers = String::new();
        let (served, read) = tokio::join!(serving, ours.read_to_string(&mut answers));
        served.unwrap();
        read.unwrap();
        let refused = answers.lines().filter(|line| line.contains("is not answered yet")).count();
        assert_eq!(refused, 1, "{answers}");
        assert!(answers.contains("\"id\":\"d\""), "{answers}");
        // Both have their answer, so nobody was waited for at the end.
        assert_eq!(answers.lines().filter(|line| line.contains("\"id\":\"c\"")).count(), 2, "{answers}");
    }

    #[tokio::test]
    async fn whoever_takes_no_answers_is_not_listened_to() {
        let audience = server().audience(None).await.unwrap();
        let (mut asking, asked) = tokio::io::duplex(1024 * 1024);
        // There is no room for even one answer.
        let (answers, mut read) = tokio::io::duplex(16);
        let closing = CancellationToken::new();
        let room = Room { open: 3, lines: 3, ..Room::default() };
        let transport = Lines::new(asked, answers, Outstanding::within(room), closing.clone());
        let outstanding = Arc::clone(&transport.outstanding);
        let handler = Handler::new(audience, &closing);
        let served = tokio::spawn(async move { handler.serve(transport).await.unwrap().waiting().await });
        for id in 0..100 {
            let params = match id {
                0 => {
                    json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
                }
                _ => json!({}),
            };
            let method = if id == 0 { "initialize" } else { "ping" };
            let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
            asking.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        }
        let (mut seen, mut buffer) = (Vec::new(), [0; 512]);
        while seen.iter().filter(|byte| **byte == b'\n').count() < 100 {
            for _ in 0..20 {
                tokio::task::yield_now().await;
                let (open, lines) = outstanding.counts();
                // What is worked on when the room is full still has its answers.
                assert!(open <= 3 && lines <= 6, "{open} {lines}");
            }
            let length = read.read(&mut buffer).await.unwrap();
            assert_ne!(length, 0, "the server is gone");
            seen.extend_from_slice(&buffer[..length]);
        }
        drop((asking, read));
        served.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn refusals_among_answers_are_whole_and_all_there() {
        let server = server();
        let (mut asking, asked) = tokio::io::duplex(1024 * 1024);
        let (answers, mut read) = tokio::io::duplex(16);
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        for id in 0..200 {
            let params = if id % 2 == 0 { json!({"_meta": meta}) } else { json!([]) };
            let line = json!({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": params});
            asking.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        }
        asking.shutdown().await.unwrap();
        let stop = Stop::new();
        let serving = server.serve_streams(asked, answers, None, &stop);
        let mut told = String::new();
        let (served, read) = tokio::join!(serving, read.read_to_string(&mut told));
        served.unwrap();
        read.unwrap();
        let id = |line: &str| serde_json::from_str::<Value>(line).unwrap()["id"].as_u64().unwrap();
        let mut ids: Vec<u64> = told.lines().map(id).collect();
        ids.sort_unstable();
        assert_eq!(ids, (0..200).collect::<Vec<u64>>());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_nothing_does_not_keep_the_server() {
        let server = server();
        for is_refused in [false, true] {
            let (mut asking, asked) = tokio::io::duplex(1024 * 1024);
            let (answers, _read) = tokio::io::duplex(16);
            for id in 0..100 {
                let method = if is_refused { "nonsense" } else { "ping" };
                let params = if is_refused { json!([]) } else { json!({}) };
                let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
                asking.write_all(format!("{line}\n").as_bytes()).await.unwrap();
            }
            let stop = Stop::new();
            let serving = server.serve_streams(asked, answers, None, &stop);
            let stopping = async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                stop.stop();
            };
            let (served, ()) = tokio::join!(serving, stopping);
            served.unwrap();
        }
    }

    #[tokio::test]
    async fn whoever_stops_waiting_stops_the_follower() {
        let server = server();
        let (_ours, theirs) = tokio::io::duplex(1024);
        let (reader, writer) = tokio::io::split(theirs);
        let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let stop = Stop::new();
        let served = server.serve_streams(reader, writer, None, &stop);
        assert!(tokio::time::timeout(Duration::from_millis(50), served).await.is_err());
        for _ in 0..100 {
            tokio::time::sleep(Duration::from_millis(10)).await;
            if tokio::runtime::Handle::current().metrics().num_alive_tasks() <= before {
                return;
            }
        }
        panic!("a task is left");
    }
}
