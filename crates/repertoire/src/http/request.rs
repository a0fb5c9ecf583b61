//! Requests, with their limits.

use std::time::{Duration, Instant};

use ureq::http::{Request, Uri};

use super::address::join;
use super::body::HttpResponse;
use super::client::HttpClient;
use super::error::{HttpError, HttpErrorKind};

/// The longest that a request takes unless it says otherwise.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A request to a server. It blocks the thread that sends it.
#[derive(Debug, Clone)]
#[must_use = "a request is sent by `call` or `send`"]
pub struct HttpRequest {
    client: HttpClient,
    method: &'static str,
    url: String,
    headers: Vec<(String, String)>,
    timeout: Duration,
    connect_timeout: Option<Duration>,
    redirects: u32,
}

impl HttpRequest {
    pub(super) fn new(client: &HttpClient, method: &'static str, url: &str) -> Self {
        Self {
            client: client.clone(),
            method,
            url: url.to_owned(),
            headers: Vec::new(),
            timeout: TIMEOUT,
            connect_timeout: None,
            redirects: 0,
        }
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Limits the time until the answer is read to its end.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Limits the time until there is a connection.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = Some(timeout);
        self
    }

    /// Follows at most `most` redirects of a request without a body; by default none is followed, and the answer is the redirect.
    ///
    /// Redirects do not lead from an encrypted address to one that is not, and are not sent `Authorization`.
    pub fn redirects(mut self, most: u32) -> Self {
        self.redirects = most;
        self
    }

    /// Sends the request without a body, and returns the answer, whatever its status.
    pub fn call(mut self) -> Result<HttpResponse, HttpError> {
        let end = Instant::now().checked_add(self.timeout);
        loop {
            let response = self.exchange(())?;
            if self.redirects == 0 || !matches!(response.status(), 301 | 302 | 303 | 307 | 308) {
                return Ok(response);
            }
            let Some(next) = response.header("location").and_then(|to| join(&self.url, to)) else {
                return Ok(response);
            };
            if self.url.starts_with("https://") && !next.starts_with("https://") {
                let message = format!("it redirects to {next}, which is not encrypted");
                return Err(HttpError::new(HttpErrorKind::Other, message));
            }
            self.url = next;
            self.redirects -= 1;
            self.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("authorization"));
            self.timeout = end.map_or(self.timeout, |end| end.saturating_duration_since(Instant::now()));
        }
    }

    /// Sends the request with `body`, and returns the answer, whatever its status.
    pub fn send(self, body: impl AsRef<[u8]>) -> Result<HttpResponse, HttpError> {
        self.exchange(body.as_ref())
    }

    fn exchange(&self, body: impl ureq::AsSendBody) -> Result<HttpResponse, HttpError> {
        let invalid = |error: &dyn std::fmt::Display| HttpError::new(HttpErrorKind::Other, error.to_string());
        let uri: Uri = self.url.parse().map_err(|error| invalid(&error))?;
        let is_encrypted = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if is_encrypted { 443 } else { 80 });
        let proxy = self.client.proxy().and_then(|proxy| proxy.for_host(uri.host()?, port));
        // The proxy itself may be asked encrypted.
        let agent =
            if is_encrypted || proxy.is_some() { self.client.encrypted()? } else { self.client.plain() };
        let mut request = Request::builder().method(self.method).uri(uri);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.body(body).map_err(|error| invalid(&error))?;
        let request = agent
            .configure_request(request)
            .timeout_global(Some(self.timeout))
            .timeout_connect(self.connect_timeout)
            .proxy(proxy.cloned())
            .build();
        agent.run(request).map(HttpResponse::new).map_err(|error| {
            let error = HttpError::of(&error, self.client.certificates().help());
            match proxy {
                Some(proxy) => error.with(&format!(" (through the proxy {}:{})", proxy.host(), proxy.port())),
                None => error,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::TcpListener;

    use super::*;

    /// Starts a server that answers `/end` with its request, `/loop` with a redirect to itself, and others with one to `/end`.
    fn server() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut stream = BufReader::new(stream);
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") && stream.read_line(&mut head).unwrap() > 0 {}
                let path = head.split(' ').nth(1).unwrap();
                let answer = match path {
                    "/end" => format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n", head.len()),
                    "/upwards" => "HTTP/1.1 302 Found\r\nLocation: ../x\r\nContent-Length: 0\r\n".to_owned(),
                    "/loop" => "HTTP/1.1 302 Found\r\nLocation: loop\r\nContent-Length: 0\r\n".to_owned(),
                    _ => "HTTP/1.1 307 Go\r\nLocation: /end\r\nContent-Length: 0\r\n".to_owned(),
                };
                let body = if path == "/end" { head.as_str() } else { "" };
                write!(stream.get_mut(), "{answer}Connection: close\r\n\r\n{body}").unwrap();
            }
        });
        url
    }

    #[test]
    fn redirects_are_followed_as_far_as_allowed_and_without_the_token() {
        let (url, client) = (server(), HttpClient::default());
        let get = |path: &str, redirects: u32| {
            let request = client.get(&format!("{url}{path}")).header("Authorization", "Bearer secret");
            request.header("X-Other", "kept").redirects(redirects).call().unwrap()
        };
        let text = |response: HttpResponse| String::from_utf8(response.body(10_000).unwrap()).unwrap();
        assert_eq!(get("/start", 0).status(), 307);
        let end = text(get("/start", 1)).to_lowercase();
        assert!(end.contains("x-other: kept") && !end.contains("secret"), "{end}");
        assert!(text(get("/end", 1)).contains("Bearer secret"));
        assert_eq!((get("/loop", 5).status(), get("/upwards", 5).status()), (302, 302));
        // A request with a body is not sent on.
        assert_eq!(client.post(&format!("{url}/start")).redirects(5).send("x").unwrap().status(), 307);
    }

    #[test]
    fn limits_of_size_and_errors_have_kinds() {
        let (url, client) = (server(), HttpClient::default());
        let response = || client.get(&format!("{url}/end")).call().unwrap();
        assert_eq!(response().body(10).unwrap_err().kind(), HttpErrorKind::TooLarge);
        assert_eq!(response().start(3), b"GET");
        let redirect = client.get(&format!("{url}/start")).call().and_then(HttpResponse::expect_success);
        assert_eq!(redirect.unwrap_err().kind(), HttpErrorKind::Status(307));
        let kind = |url: &str| client.get(url).call().unwrap_err().kind();
        assert_eq!(kind("http://127.0.0.1:1/"), HttpErrorKind::Refused);
        // Nothing is trusted without certificates.
        assert_eq!(kind("https://127.0.0.1:1/"), HttpErrorKind::Untrusted);
        assert_eq!(kind("no address"), HttpErrorKind::Other);
    }
}
