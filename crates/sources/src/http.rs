//! Requests to servers: encrypted or to this machine, within limits of size and time.

use std::time::Duration;

use repertoire::http::{HttpClient, HttpError, HttpErrorKind, HttpRequest, has_host, origin};

use crate::source::is_loopback;
use crate::{Error, ErrorKind};

/// The longest that a request may take.
const TIMEOUT: Duration = Duration::from_secs(120);
/// The longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// The most redirects of a request.
const MAX_REDIRECTS: u32 = 5;

/// A client of the servers that skills come from.
#[derive(Debug)]
pub(crate) struct SourceClient {
    http: HttpClient,
    /// True if it may ask servers of this machine.
    is_local: bool,
    /// The server that the token is sent to, and the token.
    token: Option<(String, String)>,
}

impl SourceClient {
    /// Returns a client for `url`, which sends `token` to the host of `url` and to no other.
    pub(crate) fn new(url: &str, token: Option<&str>, http: &HttpClient) -> Self {
        let token = token.map(|token| (origin(url).to_owned(), token.to_owned()));
        Self { http: http.clone(), is_local: is_loopback(url), token }
    }

    /// Returns the body of `url`, at most `most` bytes; `None` if there is nothing at that address.
    pub(crate) fn get(&self, url: &str, most: u64) -> Result<Option<Vec<u8>>, Error> {
        let failed =
            |error: HttpError| Error::new(ErrorKind::Network, format!("cannot fetch {url}")).because(error);
        // A redirect from this machine could lead anywhere.
        let redirects = if self.is_local { 0 } else { MAX_REDIRECTS };
        let response = self.prepared(url, self.http.get(url))?.redirects(redirects).call();
        let response = response.map_err(failed)?;
        match response.status() {
            200 => {}
            404 | 410 => return Ok(None),
            401 | 403 => {
                return Err(Error::new(
                    ErrorKind::Unauthorized,
                    format!("{url} needs a token, or another one"),
                ));
            }
            status => {
                return Err(Error::new(ErrorKind::Network, format!("{url} answered with status {status}")));
            }
        }
        match response.body(most) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == HttpErrorKind::TooLarge => {
                Err(Error::new(ErrorKind::Refused, format!("{url} has more than {} MiB", most >> 20)))
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Sends `body` to `url`, and returns the status and the answer, of which at most `most` bytes are read.
    pub(crate) fn put(
        &self,
        url: &str,
        media_type: &str,
        body: &[u8],
        most: u64,
    ) -> Result<(u16, Vec<u8>), Error> {
        let request = self.prepared(url, self.http.put(url))?.header("Content-Type", media_type);
        let answer = request.send(body).and_then(|response| Ok((response.status(), response.body(most)?)));
        answer.map_err(|error| Error::new(ErrorKind::Network, format!("cannot send to {url}")).because(error))
    }

    /// Returns `request` with limits of time, and with the token if it is for the server of `url`.
    fn prepared(&self, url: &str, request: HttpRequest) -> Result<HttpRequest, Error> {
        // Another machine does not lead to servers of this one that are not encrypted.
        let is_allowed = if self.is_local { is_encrypted_or_local(url) } else { url.starts_with("https://") };
        if !is_allowed {
            return Err(Error::new(ErrorKind::Refused, format!("{url} is not encrypted")));
        }
        let request = request.timeout(TIMEOUT).connect_timeout(CONNECT_TIMEOUT);
        Ok(match self.token.as_ref().filter(|(of, _)| of == origin(url)) {
            Some((_, token)) => request.header("Authorization", &format!("Bearer {token}")),
            None => request,
        })
    }
}

fn is_encrypted_or_local(url: &str) -> bool {
    url.starts_with("https://") || (url.starts_with("http://") && is_loopback(url))
}

/// Returns `true` if `url` is an address that can be asked: well-formed, and encrypted or of this machine.
pub(crate) fn is_valid(url: &str) -> bool {
    is_encrypted_or_local(url) && has_host(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_machine_does_not_lead_to_servers_of_this_one_that_are_not_encrypted() {
        let kind = |client: &str, url: &str| {
            SourceClient::new(client, None, &HttpClient::default()).get(url, 1).unwrap_err().kind()
        };
        assert_eq!(kind("https://a.example", "http://127.0.0.1:1/x"), ErrorKind::Refused);
        assert_eq!(kind("http://127.0.0.1:1", "http://127.0.0.1:1/x"), ErrorKind::Network);
        assert_eq!(kind("http://127.0.0.1:1", "http://a.example/x"), ErrorKind::Refused);
    }
}
