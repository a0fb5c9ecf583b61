//! The access log: one line of JSON for each request, without queries, headers and bodies.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Instant, SystemTime};

use axum::http::uri::Authority;
use axum::http::{HeaderMap, Request, header};
use repertoire::event::jsonl::rfc3339;
use repertoire::store::TOKEN_PREFIX;
use repertoire_model::text::shorten;
use serde_json::json;
use tower::Service;

use super::url_token;

/// The header in which proxies name the clients that they forward requests of.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// The header in which proxies name the scheme of the requests that they forward.
const FORWARDED_PROTO: &str = "x-forwarded-proto";

/// Maximum characters of a path in a line.
const MAX_PATH: usize = 512;

/// The least characters behind the prefix of a token that are taken for its secret.
const MIN_SECRET: usize = 32;

/// Receives the lines of the access log. It is called on threads that must not block for long.
#[derive(Clone)]
pub struct AccessLog(Arc<dyn Fn(&str) + Send + Sync>);

impl AccessLog {
    /// Returns a log that hands each line, without its end, to `write`.
    pub fn new(write: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(write))
    }
}

/// A range of addresses: `10.0.0.7`, `10.0.0.0/8`, `fd00::/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressRange {
    address: u128,
    bits: u32,
    is_v4: bool,
}

impl AddressRange {
    /// Returns the range that `text` names; `None` if it names none.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.trim().split_once('/').map_or((text.trim(), None), |(a, b)| (a, Some(b)));
        let address: IpAddr = address.parse().ok()?;
        let (number, width) = number(address);
        let bits = bits.map_or(Some(width), |bits| bits.parse().ok()).filter(|bits| *bits <= width)?;
        Some(Self { address: number, bits, is_v4: address.is_ipv4() })
    }

    fn contains(&self, address: IpAddr) -> bool {
        let (number, width) = number(address);
        let rest = width - self.bits.min(width);
        let prefix = |number: u128| number.checked_shr(rest).unwrap_or(0);
        self.is_v4 == address.is_ipv4() && prefix(number) == prefix(self.address)
    }
}

/// Returns the address as a number, and its width in bits.
fn number(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(address) => (u128::from(u32::from(address)), 32),
        IpAddr::V6(address) => (u128::from(address), 128),
    }
}

/// The address that a connection came from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) SocketAddr);

fn is_in(address: IpAddr, ranges: &[AddressRange]) -> bool {
    ranges.iter().any(|range| range.contains(address))
}

/// Returns `true` if a trusted proxy says that it got the request over https.
pub(super) fn is_https(peer: Option<Peer>, headers: &HeaderMap, proxies: &[AddressRange]) -> bool {
    let scheme = headers.get_all(FORWARDED_PROTO).iter().next_back().and_then(|value| value.to_str().ok());
    // The nearest proxy adds its word at the end.
    let is_said =
        scheme.and_then(|schemes| schemes.rsplit(',').next()).is_some_and(|last| last.trim() == "https");
    is_said && peer.is_some_and(|peer| is_in(peer.0.ip().to_canonical(), proxies))
}

/// Returns the client address of a request: that of the connection, or the one that a trusted proxy names.
pub(super) fn client(peer: Option<Peer>, headers: &HeaderMap, proxies: &[AddressRange]) -> Option<IpAddr> {
    let mut client = peer?.0.ip().to_canonical();
    let lines = headers.get_all(FORWARDED_FOR).iter().rev();
    let named = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.rsplit(','));
    // Each proxy adds the address that it got the request from at the end; those before it may be made up.
    for address in named {
        let Some(address) = address.trim().parse::<IpAddr>().ok().filter(|_| is_in(client, proxies)) else {
            break;
        };
        client = address.to_canonical();
    }
    Some(client)
}

/// The scheme, host and port by which clients reach the server, as in `https://skills.example.com`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PublicOrigin(pub(crate) String);

/// Returns the origin by which a client asked: the request's host, and the scheme that a trusted proxy names.
pub(super) fn public_origin(
    peer: Option<Peer>,
    headers: &HeaderMap,
    proxies: &[AddressRange],
) -> Option<PublicOrigin> {
    let scheme = if is_https(peer, headers, proxies) { "https" } else { "http" };
    let host = headers.get(header::HOST)?.to_str().ok()?;
    let is_host = host.parse::<Authority>().is_ok_and(|host| !host.as_str().contains('@'));
    is_host.then(|| PublicOrigin(format!("{scheme}://{host}")))
}

/// A request whose response is on its way. The line is written when it is dropped.
pub(super) struct LoggedRequest {
    pub(super) log: AccessLog,
    pub(super) started: Instant,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) client: Option<IpAddr>,
    pub(super) principal: Option<Arc<str>>,
    pub(super) status: u16,
    pub(super) bytes: u64,
}

impl Drop for LoggedRequest {
    fn drop(&mut self) {
        let line = json!({
            "time": rfc3339(SystemTime::now()),
            "client": self.client.map(|client| client.to_string()),
            "principal": self.principal.as_deref(),
            "method": self.method,
            "path": shorten(&without_tokens(&self.path), MAX_PATH),
            "status": self.status,
            "bytes": self.bytes,
            "ms": self.started.elapsed().as_millis() as u64,
        });
        (self.log.0)(&line.to_string());
    }
}

/// Returns `path` without the secrets of tokens: a path that is not quite a URL with a token still has it.
fn without_tokens(path: &str) -> String {
    let part = |part: &str| match part.split_once(TOKEN_PREFIX) {
        Some((before, secret)) if secret.len() >= MIN_SECRET => format!("{before}{TOKEN_PREFIX}…"),
        _ => part.to_owned(),
    };
    path.split('/').map(part).collect::<Vec<String>>().join("/")
}

/// A service that notes the address of its connection in each request, and takes tokens out of its URL.
#[derive(Clone)]
pub(super) struct WithPeer<S> {
    pub(super) inner: S,
    pub(super) peer: Option<Peer>,
}

impl<S: Service<Request<B>>, B> Service<Request<B>> for WithPeer<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> S::Future {
        if let Some(peer) = self.peer {
            request.extensions_mut().insert(peer);
        }
        url_token::take(&mut request);
        self.inner.call(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_logged_without_tokens() {
        let token = format!("rep_{}", "0123456789abcdef".repeat(4));
        assert_eq!(without_tokens(&format!("//token/{token}/.well-known/x")), "//token/rep_…/.well-known/x");
        assert_eq!(without_tokens(&format!("/%74oken/x{token}")), "/%74oken/xrep_…");
        assert_eq!(
            without_tokens("/skills/report/scripts/prep_data.py"),
            "/skills/report/scripts/prep_data.py"
        );
    }

    #[test]
    fn forwarded_addresses_count_only_from_trusted_proxies() {
        let ranges: Vec<AddressRange> =
            ["127.0.0.1", "10.0.0.0/8", "fd00::/8"].map(|text| AddressRange::parse(text).unwrap()).to_vec();
        let check = |peer: &str, lines: &[&str], expect: &str| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(FORWARDED_FOR, line.parse().unwrap());
            }
            let peer = Some(Peer(SocketAddr::new(peer.parse().unwrap(), 1)));
            assert_eq!(client(peer, &headers, &ranges).unwrap().to_string(), expect, "{lines:?}");
        };
        check("192.0.2.1", &["203.0.113.9"], "192.0.2.1");
        check("127.0.0.1", &[], "127.0.0.1");
        check("127.0.0.1", &["203.0.113.9"], "203.0.113.9");
        check("127.0.0.1", &["6.6.6.6, 203.0.113.9, 10.1.2.3"], "203.0.113.9");
        check("127.0.0.1", &["6.6.6.6", "203.0.113.9"], "203.0.113.9");
        check("127.0.0.1", &["203.0.113.9, nonsense"], "127.0.0.1");
        check("fd00::1", &["2001:db8::1"], "2001:db8::1");
        check("::ffff:10.0.0.1", &["203.0.113.9"], "203.0.113.9");
    }

    #[test]
    fn the_scheme_counts_only_from_trusted_proxies() {
        let ranges = [AddressRange::parse("10.0.0.0/8").unwrap()];
        for (peer, scheme, expect) in [
            ("10.0.0.1", Some("https"), true),
            ("10.0.0.1", Some("http, https"), true),
            ("10.0.0.1", Some("https, http"), false),
            ("10.0.0.1", None, false),
            ("192.0.2.1", Some("https"), false),
        ] {
            let headers = scheme.map(|scheme| (FORWARDED_PROTO.parse().unwrap(), scheme.parse().unwrap()));
            let peer = Some(Peer(SocketAddr::new(peer.parse().unwrap(), 1)));
            let headers: HeaderMap = headers.into_iter().collect();
            assert_eq!(is_https(peer, &headers, &ranges), expect, "{scheme:?}");
        }
    }

    #[test]
    fn the_origin_is_that_of_the_request_unless_a_trusted_proxy_names_another() {
        let ranges = [AddressRange::parse("127.0.0.1").unwrap()];
        let check = |peer: &str, lines: &[(&'static str, &str)], expect: Option<&str>| {
            let mut headers = HeaderMap::new();
            for (name, value) in lines {
                headers.insert(*name, value.parse().unwrap());
            }
            let peer = Some(Peer(SocketAddr::new(peer.parse().unwrap(), 1)));
            let found = public_origin(peer, &headers, &ranges).map(|origin| origin.0);
            assert_eq!(found.as_deref(), expect, "{lines:?}");
        };
        let (host, proto) = (("host", "a.example:8080"), (FORWARDED_PROTO, "https"));
        check("127.0.0.1", &[host], Some("http://a.example:8080"));
        check("127.0.0.1", &[host, proto], Some("https://a.example:8080"));
        check("192.0.2.1", &[host, proto], Some("http://a.example:8080"));
        check("127.0.0.1", &[("host", "u@a.example")], None);
        check("127.0.0.1", &[], None);
    }

    #[test]
    fn ranges_of_addresses() {
        for bad in ["", "host", "10.0.0.0/33", "10.0.0.0/x", "10.0.0"] {
            assert_eq!(AddressRange::parse(bad), None, "{bad}");
        }
        let all = AddressRange::parse("0.0.0.0/0").unwrap();
        assert!(all.contains("1.2.3.4".parse().unwrap()) && !all.contains("::1".parse().unwrap()));
    }
}
