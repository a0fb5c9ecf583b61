//! Many clients of a server, in one thread, so that it takes as little from the server as it can.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use serde_json::json;

use crate::calls::{Calls, print, print_percentiles};

const VERSION: &str = "2026-07-28";
/// The time at the start during which answers are not counted.
const WARM_UP: Duration = Duration::from_secs(1);
/// The grace period for a server beyond the requested time.
const PATIENCE: Duration = Duration::from_secs(20);

pub fn measure(calls: &Calls, url: &str, count: usize, seconds: u64) {
    let (host, path) =
        url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("http://HOST/PATH");
    // Requests are made before anything is measured.
    let requests: Vec<Vec<u8>> =
        (0..calls.skills()).map(|number| request(calls, host, path, number)).collect();
    let mut connections: Vec<Connection> = (0..count).map(|_| Connection::open(host)).collect();
    let mut next = 0;
    let mut following = || {
        next += 1;
        &requests[next % requests.len()]
    };
    connections.iter_mut().for_each(|connection| connection.send(following()));
    let start = Instant::now();
    let (begin, end) = (start + WARM_UP, start + WARM_UP + Duration::from_secs(seconds));
    let mut wall_ms = Vec::new();
    // A slow server gets the time for one answer on every connection.
    while Instant::now() < end || (wall_ms.len() < count && Instant::now() < end + PATIENCE) {
        let ready: Vec<usize> = wait(&connections);
        for index in ready {
            let connection = &mut connections[index];
            if connection.receive() {
                let now = Instant::now();
                calls.check(&connection.answer);
                if now > begin {
                    wall_ms.push((now - connection.sent).as_secs_f64() * 1e3);
                }
                connection.send(following());
            }
        }
    }
    assert!(!wall_ms.is_empty(), "the server answered nothing");
    print("requests per second", wall_ms.len() as f64 / begin.elapsed().as_secs_f64());
    print_percentiles("request", wall_ms);
}

fn request(calls: &Calls, host: &str, path: &str, number: usize) -> Vec<u8> {
    let client = json!({"name": "mcp-load", "version": "0"});
    let prefix = "io.modelcontextprotocol";
    let meta = json!({
        format!("{prefix}/protocolVersion"): VERSION,
        format!("{prefix}/clientCapabilities"): {},
        format!("{prefix}/clientInfo"): client,
    });
    let (body, name) = calls.request(number, Some(meta));
    let method = calls.method();
    format!(
        "POST /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {VERSION}\r\nMcp-Method: {method}\r\n\
         Mcp-Name: {name}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Waits until there is something to be read, and returns by which connections.
fn wait(connections: &[Connection]) -> Vec<usize> {
    let mut polled: Vec<PollFd<'_>> =
        connections.iter().map(|connection| PollFd::new(&connection.stream, PollFlags::IN)).collect();
    let timeout = rustix::event::Timespec { tv_sec: 30, tv_nsec: 0 };
    let found = poll(&mut polled, Some(&timeout)).expect("sockets can be waited for");
    assert!(found > 0, "the server is silent");
    polled.iter().enumerate().filter(|(_, one)| !one.revents().is_empty()).map(|(index, _)| index).collect()
}

struct Connection {
    stream: TcpStream,
    answer: Vec<u8>,
    sent: Instant,
}

impl Connection {
    fn open(host: &str) -> Self {
        let stream = TcpStream::connect(host).expect("the server listens");
        stream.set_nodelay(true).expect("the socket is there");
        stream.set_nonblocking(true).expect("the socket is there");
        Self { stream, answer: Vec::with_capacity(16 << 10), sent: Instant::now() }
    }

    fn send(&mut self, request: &[u8]) {
        self.answer.clear();
        self.sent = Instant::now();
        // A request is small; where it does not fit at once, the server does not read.
        self.stream.write_all(request).expect("the server reads");
    }

    /// Reads the available bytes, and returns whether the answer is complete.
    fn receive(&mut self) -> bool {
        let mut buffer = [0; 16 << 10];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => panic!("the server hung up: {}", String::from_utf8_lossy(&self.answer)),
                Ok(count) => self.answer.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return self.is_whole(),
                Err(error) => panic!("{error}"),
            }
            if self.is_whole() {
                return true;
            }
        }
    }

    fn is_whole(&self) -> bool {
        let Some(head) = memchr::memmem::find(&self.answer, b"\r\n\r\n") else { return false };
        let text = std::str::from_utf8(&self.answer[..head]).expect("a head is text");
        assert!(text.starts_with("HTTP/1.1 200"), "{}", String::from_utf8_lossy(&self.answer));
        let mut lines = text.lines().filter_map(|line| line.split_once(": "));
        match lines.find(|(name, _)| name.eq_ignore_ascii_case("content-length")) {
            Some((_, length)) => self.answer.len() >= head + 4 + length.parse::<usize>().expect("a length"),
            // In chunks, of which the last is empty.
            None => self.answer.ends_with(b"\r\n0\r\n\r\n"),
        }
    }
}
