//! A connection that stays open between requests.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use memchr::memmem;

use crate::request::Request;

/// A response.
pub struct Response {
    pub status: u16,
    pub body: Vec<u8>,
}

/// A connection to one server, and the request under way.
pub struct Connection {
    pub server: usize,
    address: String,
    pub stream: TcpStream,
    /// The request, and the time from which its latency counts.
    pub pending: Option<(Request, Instant)>,
    written: usize,
    answer: Vec<u8>,
}

impl Connection {
    pub fn open(server: usize, address: &str) -> Self {
        let stream = connect(address).expect("the server listens");
        Self { server, address: address.to_owned(), stream, pending: None, written: 0, answer: Vec::with_capacity(64 << 10) }
    }

    /// Begins a request. An idle connection that the server closed is opened again.
    pub fn send(&mut self, request: Request, since: Instant) -> Result<(), String> {
        self.answer.clear();
        self.written = 0;
        let is_closed = matches!(self.stream.peek(&mut [0]), Ok(0));
        if is_closed {
            self.stream = connect(&self.address)?;
        }
        self.pending = Some((request, since));
        self.write()
    }

    /// Returns whether bytes of the request wait to be written.
    pub fn is_writing(&self) -> bool {
        self.pending.as_ref().is_some_and(|(request, _)| self.written < request.bytes.len())
    }

    /// Writes what the socket takes.
    pub fn write(&mut self) -> Result<(), String> {
        let Some((request, _)) = &self.pending else { return Ok(()) };
        while self.written < request.bytes.len() {
            match self.stream.write(&request.bytes[self.written..]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(format!("cannot write: {error}")),
            }
        }
        Ok(())
    }

    /// Reads the available bytes, and returns the response once it is complete.
    pub fn receive(&mut self) -> Result<Option<Response>, String> {
        let mut buffer = [0; 64 << 10];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err("the server closed the connection".to_owned()),
                Ok(count) => self.answer.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(format!("cannot read: {error}")),
            }
            if let Some(response) = parse(&self.answer) {
                return Ok(Some(response));
            }
        }
    }

    /// Replaces the connection after an error.
    pub fn reopen(&mut self) -> Result<(), String> {
        self.pending = None;
        self.stream = connect(&self.address)?;
        Ok(())
    }
}

fn connect(address: &str) -> Result<TcpStream, String> {
    let stream = TcpStream::connect(address).map_err(|error| format!("cannot connect: {error}"))?;
    let set = stream.set_nodelay(true).and_then(|()| stream.set_nonblocking(true));
    set.map_err(|error| error.to_string())?;
    Ok(stream)
}

/// Returns the response in `bytes`, if it is complete.
fn parse(bytes: &[u8]) -> Option<Response> {
    let head = memmem::find(bytes, b"\r\n\r\n")?;
    let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let body = &bytes[head + 4..];
    let mut lines = text.lines().filter_map(|line| line.split_once(": "));
    let body = match lines.find(|(name, _)| *name == "content-length") {
        Some((_, length)) => {
            let length = length.trim().parse().ok()?;
            (body.len() >= length).then(|| body[..length].to_vec())?
        }
        // In chunks, of which the last is empty. They are checked as they are: a name is never torn apart by
        // a server that writes whole answers.
        None => body.ends_with(b"0\r\n\r\n").then(|| body.to_vec())?,
    };
    Some(Response { status, body })
}
