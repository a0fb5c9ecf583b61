//! Sends requests over HTTP and reads their answers as they arrive.

use std::io::{self, BufReader, Read};
use std::pin::pin;
use std::time::Duration;

use async_channel::Sender;
use futures_util::future::{Either, select};
use repertoire::BoxFuture;
use repertoire::http::{HttpClient, HttpError, HttpErrorKind, HttpResponse};
use repertoire_model::text::public_address;
use serde_json::Value;

use super::sse::Events;
use super::{Client, ClientError, ClientErrorKind, ModelApi, Response, wire};
use crate::cancel::Cancellation;
use crate::progress::{Observer, Progress};
use crate::request::Request;

/// The longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

const MAX_ANSWER_BYTES: u64 = 64 * 1024 * 1024;

/// The most bytes of a refusal that are read.
const MAX_REFUSAL_BYTES: u64 = 64 * 1024;

/// The most characters of a service's message that are repeated.
const MAX_MESSAGE_CHARACTERS: usize = 500;

/// The longest pause before a request is sent again.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// The pieces of text that may wait for a slow observer.
const MAX_PIECES: usize = 256;

repertoire_model::options! {
    /// The options of an [`ModelClient`].
    #[derive(Debug, Clone)]
    #[non_exhaustive]
    pub struct ModelClientOptions {
        /// The client that requests go through. That of the default trusts no certificates, so that it
        /// reaches local servers only.
        pub http: HttpClient,
        /// The address of the service; `None` for that of the provider itself.
        pub base_url: Option<String>,
        /// The key; local servers need none.
        pub key: Option<String>,
        /// The longest that an answer may take.
        pub timeout: Duration = Duration::from_secs(600),
        /// The most retries of a request after transient errors.
        pub retries: u32 = 4,
        /// The pause before it is sent again for the first time; it doubles each time.
        pub first_pause: Duration = Duration::from_secs(1),
    }
}

/// A client of a service over HTTP.
#[derive(Debug, Clone)]
pub struct ModelClient {
    provider: ModelApi,
    url: String,
    /// The address as people are shown it.
    shown: String,
    options: ModelClientOptions,
}

impl ModelClient {
    /// Returns a client of `provider`, or of a server that speaks the same API.
    pub fn new(provider: ModelApi, options: ModelClientOptions) -> Self {
        let url = wire::url(provider, options.base_url.as_deref().unwrap_or(provider.base_url()));
        Self { provider, shown: public_address(&url), url, options }
    }

    /// Sends the request once. Returns the answer, and whether a part of it was reported.
    async fn attempt(
        &self,
        body: &str,
        observer: Observer<'_>,
        cancellation: &Cancellation,
    ) -> (Result<Response, ClientError>, bool) {
        let (sender, pieces) = async_channel::bounded(MAX_PIECES);
        let (client, body) = (self.clone(), body.to_owned());
        // The thread ends at the first piece that nobody waits for any more.
        let task = blocking::unblock(move || client.exchange(&body, &sender));
        let mut is_reported = false;
        loop {
            match select(pin!(pieces.recv()), pin!(cancellation.cancelled())).await {
                Either::Left((Ok(piece), _)) => {
                    is_reported = true;
                    observer(Progress::Text(&piece));
                }
                Either::Left((Err(_), _)) => return (task.await, is_reported),
                Either::Right(_) => {
                    let error = ClientError::new(ClientErrorKind::Cancelled, "the request was cancelled");
                    return (Err(error), is_reported);
                }
            }
        }
    }

    /// Sends the request and reads the answer, on a thread that may block.
    fn exchange(&self, body: &str, pieces: &Sender<String>) -> Result<Response, ClientError> {
        // Redirects are not followed: the new address would get the key of the user.
        let mut request = self.options.http.post(&self.url).header("content-type", "application/json");
        request = request.header("accept", "text/event-stream");
        request = request.timeout(self.options.timeout);
        request = request.connect_timeout(self.options.timeout.min(CONNECT_TIMEOUT));
        for (name, value) in wire::headers(self.provider, self.options.key.as_deref()) {
            request = request.header(name, &value);
        }
        let response = request.send(body).map_err(|error| self.unreachable(&error))?;
        if !response.is_success() {
            return Err(self.refusal(response));
        }
        let kind = response.header("content-type").unwrap_or_default();
        if !kind.starts_with("text/event-stream") {
            let message = format!("{} answered with `{kind}` and not with a stream of events", self.shown);
            return Err(ClientError::new(ClientErrorKind::Malformed, message));
        }
        self.read(response.into_reader(), pieces)
    }

    /// Reads the events of an answer.
    fn read(
        &self,
        body: impl Read + Send + 'static,
        pieces: &Sender<String>,
    ) -> Result<Response, ClientError> {
        let mut events = Events::new(BufReader::new(body.take(MAX_ANSWER_BYTES)));
        let mut decoder = wire::decoder(self.provider);
        let mut received = 0;
        loop {
            let event = match events.next() {
                Ok(Some(event)) => event,
                Ok(None) if decoder.is_complete() => return Ok(decoder.response()),
                Ok(None) => return Err(self.cut(received, "the connection was closed")),
                Err(_) if decoder.is_complete() => return Ok(decoder.response()),
                Err(error) if error.kind() == io::ErrorKind::TimedOut => return Err(self.late()),
                Err(error) => return Err(self.cut(received, &error.to_string())),
            };
            if let Some(text) = decoder.event(&event)? {
                received += text.chars().count();
                if pieces.send_blocking(text).is_err() {
                    return Err(ClientError::new(ClientErrorKind::Cancelled, "the request was cancelled"));
                }
            }
            if decoder.has_ended() {
                // A service may keep the stream open. The connection is reusable once it is read to its end.
                std::thread::spawn(move || while let Ok(Some(_)) = events.next() {});
                return Ok(decoder.response());
            }
        }
    }

    /// Returns the outcome with no key in its message: a server may repeat what it was sent.
    fn without_key(&self, outcome: Result<Response, ClientError>) -> Result<Response, ClientError> {
        let Some(key) = self.options.key.as_deref().filter(|key| !key.is_empty()) else { return outcome };
        outcome.map_err(|error| {
            let message = error.to_string().replace(key, "[key]");
            ClientError::new(error.kind(), message).retry_after(error.pause())
        })
    }

    fn cut(&self, received: usize, why: &str) -> ClientError {
        let message = format!("the answer of {} was cut off after {received} characters: {why}", self.shown);
        ClientError::new(ClientErrorKind::Cut, message)
    }

    fn late(&self) -> ClientError {
        let seconds = self.options.timeout.as_secs();
        let message = format!("{} gave no complete answer within {seconds} seconds", self.shown);
        ClientError::new(ClientErrorKind::Timeout, message)
    }

    fn unreachable(&self, error: &HttpError) -> ClientError {
        match error.kind() {
            HttpErrorKind::Timeout => self.late(),
            HttpErrorKind::Interrupted => self.cut(0, &error.to_string()),
            _ => {
                let message = format!("{} cannot be reached: {error}", self.shown);
                ClientError::new(ClientErrorKind::Connection, message)
            }
        }
    }

    /// Returns the error of an answer with a status other than success.
    fn refusal(&self, response: HttpResponse) -> ClientError {
        use ClientErrorKind::{NotFound, Overloaded, Rejected, Server, Unauthorized};
        let (status, pause) = (response.status(), retry_after(&response));
        let text = response.start(MAX_REFUSAL_BYTES);
        let text = String::from_utf8_lossy(&text);
        let json: Value = serde_json::from_str(&text).unwrap_or_default();
        let said =
            json.pointer("/error/message").or_else(|| json.get("message")).or_else(|| json.get("error"));
        let said = said.and_then(Value::as_str).unwrap_or(text.trim());
        let said: String = said.chars().take(MAX_MESSAGE_CHARACTERS).collect();
        let code = ["/error/code", "/error/type"].iter().find_map(|key| json.pointer(key)?.as_str());
        let kind = match status {
            // The account has no money left, which does not change within seconds.
            429 if code == Some("insufficient_quota") => Rejected,
            401 | 403 => Unauthorized,
            404 => NotFound,
            408 | 409 | 429 | 503 | 529 => Overloaded,
            500.. => Server,
            _ => Rejected,
        };
        let message = format!("{} answered with status {status}: {said}", self.shown);
        ClientError::new(kind, message).retry_after(pause)
    }
}

/// Returns the time that a service wants to be left alone for, in seconds.
fn retry_after(response: &HttpResponse) -> Option<Duration> {
    let seconds: f64 = response.header("retry-after")?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

impl Client for ModelClient {
    fn send<'a>(
        &'a self,
        request: &'a Request<'a>,
        observer: Observer<'a>,
        cancellation: &'a Cancellation,
    ) -> BoxFuture<'a, Result<Response, ClientError>> {
        Box::pin(async move {
            let body = wire::body(self.provider, request).to_string();
            let mut pause = self.options.first_pause;
            for _ in 0..self.options.retries {
                let (outcome, is_reported) = self.attempt(&body, observer, cancellation).await;
                let outcome = self.without_key(outcome);
                let error = match outcome {
                    // A text that people have seen is not taken back.
                    Err(error) if error.is_transient() && !is_reported => error,
                    outcome => return outcome,
                };
                let wait = error.pause().unwrap_or(pause).min(MAX_PAUSE);
                observer(Progress::Retry { error: &error, pause: wait });
                cancellation.pause(wait).await;
                pause *= 2;
            }
            let outcome = self.attempt(&body, observer, cancellation).await.0;
            self.without_key(outcome)
        })
    }

    fn body(&self, request: &Request<'_>) -> Option<String> {
        Some(wire::body(self.provider, request).to_string())
    }
}
