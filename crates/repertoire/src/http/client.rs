//! The client that all requests go out through.

use std::fmt;
use std::sync::Arc;

use super::agents::Agents;
use super::proxy::Proxy;
use super::request::HttpRequest;
use crate::certificates::Certificates;

/// A client of HTTP servers. Clones share connections; two clients are equal if they are clones.
///
/// Time, redirects and sizes are limited by each request.
///
/// ```no_run
/// use repertoire::certificates::Certificates;
/// use repertoire::http::{HttpClient, Proxy};
/// # fn system_certificates() -> Result<Vec<Vec<u8>>, String> { Ok(Vec::new()) }
///
/// let certificates = Certificates::new("install the certificate of the company", system_certificates);
/// let client = HttpClient::new(certificates, Some(Proxy::new("http://proxy.example:3128", ".corp.example")?));
/// let page = client.get("https://example.com/").call()?.body(1024 * 1024)?;
/// # Ok::<(), repertoire::http::HttpError>(())
/// ```
#[derive(Clone, Default)]
pub struct HttpClient(Arc<Agents>);

impl HttpClient {
    /// Returns a client that trusts servers with `certificates`, and asks other machines through `proxy`.
    pub fn new(certificates: Certificates, proxy: Option<Proxy>) -> Self {
        Self(Arc::new(Agents::new(certificates, proxy)))
    }

    /// Returns the certificates that are trusted.
    pub fn certificates(&self) -> &Certificates {
        &self.0.certificates
    }

    /// Returns a request with the method `GET`.
    pub fn get(&self, url: &str) -> HttpRequest {
        HttpRequest::new(&self.0, "GET", url)
    }

    /// Returns a request with the method `POST`.
    pub fn post(&self, url: &str) -> HttpRequest {
        HttpRequest::new(&self.0, "POST", url)
    }

    /// Returns a request with the method `PUT`.
    pub fn put(&self, url: &str) -> HttpRequest {
        HttpRequest::new(&self.0, "PUT", url)
    }

    /// Returns a request with the method `DELETE`.
    pub fn delete(&self, url: &str) -> HttpRequest {
        HttpRequest::new(&self.0, "DELETE", url)
    }
}

impl PartialEq for HttpClient {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for HttpClient {}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::TcpListener;

    use super::super::body::HttpResponse;
    use super::super::error::HttpErrorKind;
    use super::*;

    /// Starts a server: `/end` returns the request, `/loop` redirects to itself, and others to `/end`.
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
