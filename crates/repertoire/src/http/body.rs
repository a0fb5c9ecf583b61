//! Answers of servers.

use std::io::{self, Read};

use ureq::http::HeaderMap;
use ureq::{Body, BodyReader};

use super::error::{HttpError, HttpErrorKind};

/// The answer to a request, whose body is read by one of its methods.
#[derive(Debug)]
pub struct HttpResponse {
    status: u16,
    headers: HeaderMap,
    body: Body,
}

impl HttpResponse {
    pub(super) fn new(response: ureq::http::Response<Body>) -> Self {
        let (head, body) = response.into_parts();
        Self { status: head.status.as_u16(), headers: head.headers, body }
    }

    /// Returns the status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Returns whether the status is one of success.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Returns this answer, or an error if its status is not one of success.
    pub fn expect_success(self) -> Result<Self, HttpError> {
        if self.is_success() {
            return Ok(self);
        }
        Err(HttpError::new(HttpErrorKind::Status(self.status), format!("http status: {}", self.status)))
    }

    /// Returns the value of the header `name`, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the body; fails if it has more than `limit` bytes.
    pub fn body(mut self, limit: u64) -> Result<Vec<u8>, HttpError> {
        let body = self.body.with_config().limit(limit).read_to_vec();
        body.map_err(|error| HttpError::of(&error, ""))
    }

    /// Returns the start of the body: at most `limit` bytes, and less if the connection breaks.
    pub fn start(self, limit: u64) -> Vec<u8> {
        let mut start = Vec::new();
        // A part is better than nothing, for a message.
        let _ = self.into_reader().take(limit).read_to_end(&mut start);
        start
    }

    /// Returns a reader of the body, without a limit of size.
    pub fn into_reader(self) -> HttpBody {
        HttpBody(self.body.into_reader())
    }
}

/// A reader of a body as it arrives. [`io::ErrorKind::TimedOut`] says that the time of the request is over.
pub struct HttpBody(BodyReader<'static>);

impl Read for HttpBody {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| {
            let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<ureq::Error>());
            if matches!(inner, Some(ureq::Error::Timeout(_))) {
                return io::Error::new(io::ErrorKind::TimedOut, error);
            }
            error
        })
    }
}
