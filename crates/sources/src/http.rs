//! Requests to servers: encrypted or to this machine, within limits of size and time.

use std::time::Duration;

use ureq::Proxy;
use ureq::http::Uri;
use ureq::tls::{RootCerts, TlsConfig};

use crate::source::is_loopback;
use crate::{Error, ErrorKind};

/// The longest that a request may take.
const TIMEOUT: Duration = Duration::from_secs(120);
/// The longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// The most redirects of a request.
const MAX_REDIRECTS: u32 = 5;

/// A client of servers.
#[derive(Debug)]
pub(crate) struct HttpClient {
    agent: ureq::Agent,
    /// The host that the token is sent to, and the token.
    token: Option<(String, String)>,
}

impl HttpClient {
    /// Returns a client for `url`, which sends `token` to the host of `url` and to no other, through `proxy` unless the host is this machine.
    pub(crate) fn new(url: &str, token: Option<&str>, proxy: Option<&Proxy>) -> Self {
        let is_local = is_loopback(url);
        // A company's own certificates are those of the system.
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .http_status_as_error(false)
            .https_only(!is_local)
            // A redirect from this machine could lead anywhere, unencrypted.
            .max_redirects(if is_local { 0 } else { MAX_REDIRECTS })
            .max_redirects_will_error(false)
            .tls_config(tls)
            .proxy(proxy.filter(|_| !is_local).cloned())
            .user_agent("repertoire")
            .build()
            .new_agent();
        let token = token.map(|token| (origin(url).to_owned(), token.to_owned()));
        Self { agent, token }
    }

    /// Returns the body of `url`, at most `most` bytes; `None` if there is nothing at that address.
    pub(crate) fn get(&self, url: &str, most: u64) -> Result<Option<Vec<u8>>, Error> {
        if !is_encrypted_or_local(url) {
            return Err(Error::new(ErrorKind::Refused, format!("{url} is not encrypted")));
        }
        let mut request = self.agent.get(url);
        if let Some(bearer) = self.bearer(url) {
            request = request.header("Authorization", bearer);
        }
        let failed =
            |error: ureq::Error| Error::new(ErrorKind::Network, format!("cannot fetch {url}")).because(error);
        let mut response = request.call().map_err(failed)?;
        match response.status().as_u16() {
            200 => {}
            404 | 410 => return Ok(None),
            401 | 403 => {
                return Err(Error::new(ErrorKind::NotFound, format!("{url} needs a token, or another one"))
                    .hint("pass a file with the token with `--token-file`"));
            }
            status => {
                return Err(Error::new(ErrorKind::Network, format!("{url} answered with status {status}")));
            }
        }
        match response.body_mut().with_config().limit(most).read_to_vec() {
            Ok(bytes) => Ok(Some(bytes)),
            Err(ureq::Error::BodyExceedsLimit(_)) => {
                Err(Error::new(ErrorKind::Refused, format!("{url} has more than {} MiB", most >> 20)))
            }
            Err(error) => Err(failed(error)),
        }
    }
}

impl HttpClient {
    /// Sends `body` to `url`, and returns the status and the answer, of which at most `most` bytes are read.
    pub(crate) fn put(
        &self,
        url: &str,
        media_type: &str,
        body: &[u8],
        most: u64,
    ) -> Result<(u16, Vec<u8>), Error> {
        if !is_encrypted_or_local(url) {
            return Err(Error::new(ErrorKind::Refused, format!("{url} is not encrypted")));
        }
        let mut request = self.agent.put(url).header("Content-Type", media_type);
        if let Some(bearer) = self.bearer(url) {
            request = request.header("Authorization", bearer);
        }
        let failed = |error: ureq::Error| {
            Error::new(ErrorKind::Network, format!("cannot send to {url}")).because(error)
        };
        let mut response = request.send(body).map_err(failed)?;
        let status = response.status().as_u16();
        let answer = response.body_mut().with_config().limit(most).read_to_vec().map_err(failed)?;
        Ok((status, answer))
    }

    /// Returns the value of `Authorization` for `url`, if the token is for its server.
    fn bearer(&self, url: &str) -> Option<String> {
        let (_, token) = self.token.as_ref().filter(|(of, _)| of == origin(url))?;
        Some(format!("Bearer {token}"))
    }
}

fn is_encrypted_or_local(url: &str) -> bool {
    url.starts_with("https://") || (url.starts_with("http://") && is_loopback(url))
}

/// Returns `true` if `url` is an address that can be asked: well-formed, and encrypted or of this machine.
pub(crate) fn is_valid(url: &str) -> bool {
    let has_host = |uri: Uri| uri.host().is_some_and(|host| !host.is_empty());
    is_encrypted_or_local(url) && url.parse().is_ok_and(has_host)
}

/// Returns the scheme, host and port of `url`.
fn origin(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..].find(['/', '?', '#']).map_or(url.len(), |at| start + at);
    &url[..end]
}

/// Returns the address that `reference` stands for on the page `base`; `None` if it leads upwards or to another scheme.
pub(crate) fn join(base: &str, reference: &str) -> Option<String> {
    if reference.split(['/', '?', '#']).any(|part| part == "..") || reference.chars().any(char::is_control) {
        return None;
    }
    if reference.starts_with("https://") || reference.starts_with("http://") {
        return Some(reference.to_owned());
    }
    if let Some(rest) = reference.strip_prefix("//") {
        return Some(format!("{}://{rest}", base.split("://").next()?));
    }
    // Another scheme.
    if reference.split(['/', '?', '#']).next().is_some_and(|start| start.contains(':')) {
        return None;
    }
    if reference.starts_with('/') {
        return Some(format!("{}{reference}", origin(base)));
    }
    let page = base.split(['?', '#']).next()?;
    let directory = &page[..=page.rfind('/')?];
    Some(format!("{directory}{}", reference.strip_prefix("./").unwrap_or(reference)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_resolved_against_the_page_that_names_them() {
        let base = "https://a.example/.well-known/agent-skills/index.json?x=/y";
        for (reference, expect) in [
            ("pdf.tar.gz", Some("https://a.example/.well-known/agent-skills/pdf.tar.gz")),
            ("./pdf/SKILL.md", Some("https://a.example/.well-known/agent-skills/pdf/SKILL.md")),
            ("/x.zip", Some("https://a.example/x.zip")),
            ("//b.example/x.zip", Some("https://b.example/x.zip")),
            ("https://b.example/x.zip", Some("https://b.example/x.zip")),
            ("../../x.zip", None),
            ("file:///etc/passwd", None),
        ] {
            assert_eq!(join(base, reference).as_deref(), expect, "{reference}");
        }
    }
}
