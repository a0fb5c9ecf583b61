//! The proxy, and the hosts that are asked without it.

use std::net::IpAddr;

use super::error::{HttpError, HttpErrorKind};

/// The proxy of requests, which those to this machine never go through.
#[derive(Debug, Clone)]
pub struct Proxy {
    proxy: ureq::Proxy,
    exceptions: Vec<Exception>,
}

/// A host that is asked without the proxy, with all below it; every host if it is `*`.
#[derive(Debug, Clone)]
struct Exception {
    host: String,
    port: Option<u16>,
}

impl Proxy {
    /// Returns the proxy at `url`, such as `http://user:password@proxy.example:3128`.
    ///
    /// `exceptions` are the hosts that are asked without it, written as in the variable `NO_PROXY`: names,
    /// with all names below them, and addresses, each with a port or without one; `*` is every host.
    pub fn new(url: &str, exceptions: &str) -> Result<Self, HttpError> {
        // The address may have a password.
        let invalid = |_| HttpError::new(HttpErrorKind::Other, "the address of the proxy is not valid");
        let proxy = ureq::Proxy::new(url).map_err(invalid)?;
        let entries = exceptions.split(|c: char| c == ',' || c.is_whitespace()).map(str::trim);
        let exceptions = entries.filter(|entry| !entry.is_empty()).map(Exception::parse).collect();
        Ok(Self { proxy, exceptions })
    }

    /// Returns the proxy for `host`, which may be an address in brackets; `None` if it is asked directly.
    pub(super) fn for_host(&self, host: &str, port: u16) -> Option<&ureq::Proxy> {
        let host = plain(host);
        let is_direct = is_this_machine(&host) || self.exceptions.iter().any(|entry| entry.has(&host, port));
        Some(&self.proxy).filter(|_| !is_direct)
    }
}

impl Exception {
    fn parse(entry: &str) -> Self {
        let has_port = |host: &str| !host.contains(':') || (host.starts_with('[') && host.ends_with(']'));
        let (host, port) = match entry.rsplit_once(':') {
            Some((host, port)) if has_port(host) => (host, port.parse().ok()),
            _ => (entry, None),
        };
        let host = if host == "*" { host } else { host.trim_start_matches("*.").trim_start_matches('.') };
        Self { host: plain(host), port }
    }

    fn has(&self, host: &str, port: u16) -> bool {
        if self.port.is_some_and(|own| own != port) {
            return false;
        }
        let is_below = |host: &str| {
            host.strip_suffix(&self.host).is_some_and(|rest| rest.ends_with('.')) && !is_address(host)
        };
        self.host == "*" || self.host == host || is_below(host)
    }
}

/// Returns `host` in lower case, without brackets and without a dot at its end.
fn plain(host: &str) -> String {
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

fn is_address(host: &str) -> bool {
    host.parse::<IpAddr>().is_ok()
}

fn is_this_machine(host: &str) -> bool {
    let is_loopback = |address: IpAddr| address.to_canonical().is_loopback();
    host == "localhost" || host.ends_with(".localhost") || host.parse().is_ok_and(is_loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_no_proxy_and_loopback_are_asked_without_the_proxy() {
        let check = |exceptions: &str, direct: &[&str], proxied: &[&str]| {
            let proxy = Proxy::new("http://proxy.example:3128", exceptions).unwrap();
            for (hosts, expect) in [(direct, false), (proxied, true)] {
                for address in hosts {
                    let uri: ureq::http::Uri = format!("https://{address}/").parse().unwrap();
                    let port = uri.port_u16().unwrap_or(443);
                    let found = proxy.for_host(uri.host().unwrap(), port).is_some();
                    assert_eq!(found, expect, "`{exceptions}`: {address}");
                }
            }
        };
        let local = [
            "localhost",
            "LOCALHOST:8080",
            "a.localhost",
            "127.0.0.1",
            "127.9.9.9:1",
            "[::1]",
            "[::ffff:127.0.0.1]",
        ];
        check(
            "",
            &local,
            &["example.com", "0.0.0.0", "[2001:db8::1]", "localhost.example", "127.0.0.1.example"],
        );
        check("*", &["example.com", "10.0.0.1"], &[]);
        for entry in
            ["corp.example", ".corp.example", "*.corp.example", "CORP.example.", " x, corp.example ,y"]
        {
            check(
                entry,
                &["corp.example", "git.corp.example", "a.b.Corp.Example:8443", "corp.example."],
                &["notcorp.example", "corp.example.org", "example"],
            );
        }
        check("a.example b.example", &["a.example", "b.example"], &["c.example"]);
        check("corp.example:8443", &["corp.example:8443", "git.corp.example:8443"], &["corp.example"]);
        check("10.0.0.1,[2001:db8::1]:99", &["10.0.0.1", "[2001:db8::1]:99"], &["10.0.0.2", "[2001:db8::1]"]);
        check("2001:db8::1", &["[2001:db8::1]", "[2001:db8::1]:99"], &["[2001:db8::2]"]);
        check("0.0.1", &[], &["10.0.0.1"]);
        check(",. ,", &[], &["example.com"]);
        assert!(Proxy::new("", "").is_err() && Proxy::new("http://", "").is_err());
    }
}
