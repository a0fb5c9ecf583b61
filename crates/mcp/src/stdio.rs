//! MCP over standard input and output, or any other two streams: one JSON-RPC message per line.
//!
//! The transport of rmcp 3.8 silently skips lines that are too long or not JSON, and a last line without a
//! newline. This one answers them with an error or handles them.

use std::sync::Arc;
use std::time::Duration;

use repertoire::serve::Stop;
use repertoire::{Error, ErrorKind};
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

use super::decode::{self, DecodedMessage};
use super::handler::Handler;
use super::in_flight::{InFlight, RequestRefusal};
use super::output::OutputQueue;
use super::protocol::ProtocolFamily;
use crate::Server;

/// Maximum bytes of a line; a longer one is answered with an error.
pub const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;

const TOO_MANY_SUBSCRIPTIONS: &str = "too many subscriptions; cancel one first";

/// The error for a late handshake. rmcp would accept it and still require `_meta` in each request.
const LATE_INITIALIZE: &str = "initialize must come first; this client has sent requests without a handshake, so each request needs `_meta`";

/// Maximum time for requests in flight to finish after the end of input. Calls that still run are cancelled.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

impl Server {
    /// Serves standard input and output for `agent`, or without restriction, until the input ends or `stop`.
    pub fn serve_stdio_blocking(&self, agent: Option<&str>, stop: &Stop) -> Result<(), Error> {
        // Files are read on other threads, so one thread is enough for one client, and quickest.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Error::new(ErrorKind::Io).because(error))?;
        let served = runtime.block_on(async {
            let (reader, writer) = stdio_pipes();
            self.serve_streams(reader, writer, agent, stop).await
        });
        // A blocked read of a file or of the terminal must not keep the process alive.
        runtime.shutdown_background();
        served
    }

    /// Serves the messages of `reader`, answering on `writer`, until the input ends or `stop`.
    ///
    /// Requests in flight then have five seconds to finish. Tools that still run are cancelled, and it waits
    /// until they have been cleaned up.
    pub async fn serve_streams(
        &self,
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        agent: Option<&str>,
        stop: &Stop,
    ) -> Result<(), Error> {
        let view = self.view(agent).await?;
        let closing = stop.token().child_token();
        // Dropping the set ends the task, also if this future is dropped.
        let mut followers = JoinSet::new();
        followers.spawn(view.follow());
        let transport = LineTransport::new(reader, writer, InFlight::default(), closing.clone());
        let abandoned = transport.abandoned.clone();
        let handler = Handler::new(view, Arc::clone(self.options()), &closing, abandoned.clone());
        // A client that disconnects before it sends anything is not an error.
        if let Ok(running) = handler.serve(transport).await {
            let _ = running.waiting().await;
        }
        abandoned.cancel();
        self.settled().await;
        Ok(())
    }
}

/// A transport of one message per line.
struct LineTransport<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// True while the rest of a line that is too long is skipped.
    is_skipping: bool,
    /// The protocol family, once a request has settled it.
    family: Option<ProtocolFamily>,
    output: OutputQueue,
    in_flight: Arc<InFlight>,
    /// Cancelled at the end of the input, which ends subscriptions.
    closing: CancellationToken,
    /// The end of [`LAST_ANSWERS`], once the input has ended.
    deadline: Option<Instant>,
    /// Cancelled at the deadline, which ends running calls.
    abandoned: CancellationToken,
}

enum ReadResult {
    Line,
    TooLong,
    End,
}

impl<R: AsyncRead + Send + Unpin> LineTransport<R> {
    fn new(
        reader: R,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        in_flight: InFlight,
        closing: CancellationToken,
    ) -> Self {
        let in_flight = Arc::new(in_flight);
        Self {
            reader: BufReader::new(reader),
            line: Vec::new(),
            is_skipping: false,
            family: None,
            output: OutputQueue::new(writer, &in_flight, closing.clone()),
            in_flight,
            closing,
            deadline: None,
            abandoned: CancellationToken::new(),
        }
    }

    /// Returns the message if rmcp should handle it, none if it is skipped, or the error response.
    fn check(&mut self, message: ClientJsonRpcMessage) -> Result<Option<ClientJsonRpcMessage>, Value> {
        let family = settled_family(&message);
        let is_late =
            (self.family, family) == (Some(ProtocolFamily::Stateless), Some(ProtocolFamily::Handshake));
        self.family = self.family.or(family);
        let JsonRpcMessage::Request(request) = &message else {
            // rmcp would hang up on a notification before the first request.
            let is_accepted = self.family.is_some() && self.in_flight.receive(&message).is_ok();
            return Ok(is_accepted.then_some(message));
        };
        let reason = if is_late {
            LATE_INITIALIZE
        } else {
            match self.in_flight.receive(&message) {
                Ok(()) => return Ok(Some(message)),
                Err(RequestRefusal::IdInUse) => return Err(decode::id_in_use(&request.id)),
                Err(RequestRefusal::TooManySubscriptions) => TOO_MANY_SUBSCRIPTIONS,
            }
        };
        let id = request.id.clone().into_json_value();
        Err(decode::error(&id, ErrorData::invalid_request(reason, None)))
    }

    /// Ends subscriptions, and waits for responses to requests in flight. It may be dropped and called again.
    async fn finish(&mut self) {
        self.closing.cancel();
        let deadline = *self.deadline.get_or_insert_with(|| Instant::now() + LAST_ANSWERS);
        let _ = tokio::time::timeout_at(deadline, self.in_flight.idle()).await;
        self.abandoned.cancel();
    }

    /// Reads the next line into `self.line`. A partly read line survives if the future is dropped.
    async fn read_line(&mut self) -> ReadResult {
        loop {
            let Ok(available) = self.reader.fill_buf().await else { return ReadResult::End };
            if available.is_empty() {
                // The last line may lack a newline.
                let is_line = !self.is_skipping && !self.line.is_empty();
                return if is_line { ReadResult::Line } else { ReadResult::End };
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
                (Some(_), false) => return ReadResult::Line,
                (Some(_), true) => {
                    self.is_skipping = false;
                    return ReadResult::TooLong;
                }
            }
        }
    }
}

/// Returns the protocol family that a message settles in rmcp: `initialize`, or a request with all the
/// `_meta` that stateless requests need. `ping` and `server/discover` settle nothing.
fn settled_family(message: &ClientJsonRpcMessage) -> Option<ProtocolFamily> {
    let JsonRpcMessage::Request(request) = message else { return None };
    match &request.request {
        ClientRequest::InitializeRequest(_) => Some(ProtocolFamily::Handshake),
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => None,
        other => {
            let meta = other.get_meta();
            let is_complete = meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty();
            let version = meta.protocol_version().filter(|_| is_complete)?;
            ProtocolVersion::KNOWN_VERSIONS.contains(&version).then_some(ProtocolFamily::Stateless)
        }
    }
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for LineTransport<R> {
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let sender = self.output.sender().clone();
        async move { sender.send(&message) }
    }

    /// Returns the next message. rmcp may drop the future at any await, so no message is held across one.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let (closing, in_flight) = (self.closing.clone(), Arc::clone(&self.in_flight));
            let next = async {
                in_flight.below_limits().await;
                self.read_line().await
            };
            // A stop counts as the end of the input.
            let read = tokio::select! {
                read = next => read,
                () = closing.cancelled() => ReadResult::End,
            };
            let decoded = match read {
                ReadResult::End => {
                    self.finish().await;
                    return None;
                }
                ReadResult::TooLong => {
                    let message = format!("a message has at most {MAX_LINE_BYTES} bytes");
                    DecodedMessage::Refused(decode::error(
                        &Value::Null,
                        ErrorData::invalid_request(message, None),
                    ))
                }
                ReadResult::Line => {
                    let decoded = decode::decode(&self.line);
                    self.line.clear();
                    decoded
                }
            };
            let checked = match decoded {
                DecodedMessage::Message(message) => self.check(*message),
                DecodedMessage::Nothing => Ok(None),
                DecodedMessage::Refused(response) | DecodedMessage::BadParams(response) => Err(response),
            };
            match checked {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(response) => self.output.sender().refuse(&response),
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
    use super::super::in_flight::InFlightLimits;
    use super::*;
    use crate::McpOptions;
    use repertoire::serve::{Notices, ServedLibrary};
    use repertoire::{Library, MemoryProvider, SkillDefinition};
    use serde_json::json;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    fn server() -> Server {
        let skill = SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "# Greet\n");
        let provider = Arc::new(MemoryProvider::new("builtin", vec![skill]));
        let library = pollster::block_on(Library::builder().provider(provider).open()).unwrap();
        Server::new(ServedLibrary::new(library, Notices::default()), McpOptions::default())
    }

    #[tokio::test]
    async fn a_cancelled_call_frees_its_id_and_its_permit() {
        let (server, options) = (server(), Arc::default());
        let view = server.view(None).await.unwrap();
        let free = view.calls.available_permits();
        let (mut ours, theirs) = tokio::io::duplex(1024 * 1024);
        let (reader, writer) = tokio::io::split(theirs);
        let closing = CancellationToken::new();
        let transport = LineTransport::new(reader, writer, InFlight::default(), closing.clone());
        let in_flight = Arc::clone(&transport.in_flight);
        let handler = Handler::new(Arc::clone(&view), options, &closing, CancellationToken::new());
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
        tokio::time::timeout(LAST_ANSWERS, in_flight.idle()).await.unwrap();
        assert_eq!(in_flight.requests_and_lines(), (0, 0));
        drop(ours);
        served.await.unwrap().unwrap();
        assert_eq!(view.calls.available_permits(), free);
    }

    #[tokio::test]
    async fn a_second_request_with_an_id_in_flight_is_refused() {
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
        // Both have their answer, so there was no wait at the end.
        assert_eq!(answers.lines().filter(|line| line.contains("\"id\":\"c\"")).count(), 2, "{answers}");
    }

    #[tokio::test]
    async fn requests_are_not_read_from_a_client_that_reads_no_responses() {
        let (server, options) = (server(), Arc::default());
        let view = server.view(None).await.unwrap();
        let (mut asking, asked) = tokio::io::duplex(1024 * 1024);
        // Too small for one response.
        let (answers, mut read) = tokio::io::duplex(16);
        let closing = CancellationToken::new();
        let limits = InFlightLimits { requests: 3, lines: 3, ..InFlightLimits::default() };
        let transport = LineTransport::new(asked, answers, InFlight::with_limits(limits), closing.clone());
        let in_flight = Arc::clone(&transport.in_flight);
        let handler = Handler::new(view, options, &closing, CancellationToken::new());
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
                let (open, lines) = in_flight.requests_and_lines();
                // Requests in flight when the limit is reached still get responses.
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
    async fn error_responses_and_results_are_all_written_whole() {
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
    async fn shutdown_does_not_wait_for_a_client_that_does_not_read() {
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
    async fn dropping_the_server_future_ends_its_tasks() {
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
