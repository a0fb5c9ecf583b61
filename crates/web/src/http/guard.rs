//! Checks `Host` and `Origin`, so that web pages of other sites cannot use a visitor's browser to read skills
//! (CSRF and DNS rebinding).

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};

use super::options::HttpOptions;
use crate::{Error, ErrorKind};

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The header in which browsers name the site of the page that made the request.
const FETCH_SITE: &str = "sec-fetch-site";

/// The allowed hosts and origins.
#[derive(Debug)]
pub(super) struct Guard {
    /// Allowed lower-case hosts, with or without a port; none if all are allowed.
    hosts: Option<Vec<String>>,
    /// Allowed lower-case origins.
    origins: Vec<String>,
    /// The lower-case origin of the address that people reach the server at, if it is configured.
    public: Option<String>,
}

/// The treatment of links of other sites: requests by which a person goes to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ForeignLinks {
    /// They are refused, because the server answers anyone.
    Refused,
    /// They are accepted, because the server answers nobody without a token.
    Accepted,
}

/// The status and reason of a refusal.
pub(super) type HttpRefusal = (StatusCode, &'static str);

impl Guard {
    /// Returns the guard for `options` of a server that listens on `bound`.
    pub(super) fn new(options: &HttpOptions, bound: SocketAddr) -> Result<Self, Error> {
        let is_local = bound.ip().is_loopback();
        let lower = |text: &String| text.trim().to_ascii_lowercase();
        let mut hosts: Vec<String> =
            options.allowed_hosts.iter().map(|host| with_brackets(lower(host))).collect();
        let mut origins: Vec<String> = options.allowed_origins.iter().map(lower).collect();
        let mut hosts_of_public = Vec::new();
        let bad = |text: &str| Error::new(ErrorKind::BadOrigin).about(text);
        if let Some(host) = hosts.iter().find(|host| !is_authority(host)) {
            return Err(bad(host));
        }
        if let Some(origin) = origins.iter().find(|origin| !is_origin(origin)) {
            return Err(bad(origin));
        }
        let public = options.public_url.as_ref().map(|url| lower(url).trim_end_matches('/').to_owned());
        if let Some(public) = &public {
            let authority = authority(public).filter(|_| is_origin(public) && !public.ends_with(":*"));
            hosts_of_public.push(authority.ok_or_else(|| bad(public))?.to_owned());
        }
        let own: Vec<String> = if is_local { LOOPBACK.map(str::to_owned).to_vec() } else { Vec::new() };
        origins.extend(own.iter().map(|name| format!("http://{name}:{}", bound.port())));
        // A public address needs a token, which pages do not have.
        let is_any = !is_local && hosts.is_empty();
        hosts.extend(own);
        hosts.extend(hosts_of_public);
        hosts.push(match bound.ip() {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        });
        Ok(Self { hosts: (!is_any).then_some(hosts), origins, public })
    }

    /// Returns the origin of the address that people reach the server at, if it is configured.
    pub(super) fn public(&self) -> Option<&str> {
        self.public.as_deref()
    }

    /// Refuses a request with a foreign host or origin. Links of others reach pages only if `links` permits.
    pub(super) fn check(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        links: ForeignLinks,
    ) -> Result<(), HttpRefusal> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(_), Some(_)) => None,
            // The host of the request line takes precedence (RFC 9112, 3.2.2).
            (host, None) => match uri.authority() {
                Some(authority) => Some(authority.as_str()),
                None => host.and_then(|host| host.to_str().ok()),
            },
            (None, Some(_)) => None,
        };
        let host = host.filter(|host| is_authority(host));
        let host = host.ok_or((StatusCode::BAD_REQUEST, "missing or invalid Host"))?;
        if !self.is_allowed_host(&host.to_ascii_lowercase()) {
            return Err((StatusCode::FORBIDDEN, "Host not allowed; see `http.allow_hosts`"));
        }
        match headers.get(header::ORIGIN) {
            Some(_) if self.allowed_origin(headers).is_some() || self.has_own_origin(headers) => Ok(()),
            Some(_) => Err((StatusCode::FORBIDDEN, "Origin not allowed; see `http.allow_origins`")),
            None if links == ForeignLinks::Accepted && is_navigation(headers) => Ok(()),
            None if is_cross_site(headers) => {
                Err((StatusCode::FORBIDDEN, "cross-site request not allowed; see `http.allow_origins`"))
            }
            None => Ok(()),
        }
    }

    pub(super) fn allowed_origin<'h>(&self, headers: &'h HeaderMap) -> Option<&'h HeaderValue> {
        let mut values = headers.get_all(header::ORIGIN).iter();
        let value = values.next().filter(|_| values.next().is_none())?;
        let origin = value.to_str().ok()?.to_ascii_lowercase();
        let is_allowed = |allowed: &String| match allowed.strip_suffix(":*") {
            Some(any_port) => {
                let rest = origin.strip_prefix(any_port);
                let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
                rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port))
            }
            None => *allowed == origin,
        };
        self.origins.iter().any(is_allowed).then_some(value)
    }

    /// Returns `true` if the request comes from a page of another origin than the server's own.
    pub(super) fn is_foreign(&self, headers: &HeaderMap) -> bool {
        let sites = headers.get_all(FETCH_SITE).iter();
        headers.contains_key(header::ORIGIN) && !self.has_own_origin(headers)
            || sites.into_iter().any(|site| site != "same-origin")
    }

    /// Returns `true` if the request's origin is this server, by its public address or the requested host.
    ///
    /// Browsers name the host that they connect to, so that no page of another one has the two the same.
    fn has_own_origin(&self, headers: &HeaderMap) -> bool {
        let text = |name| {
            let mut values = headers.get_all(name).iter();
            let value = values.next().filter(|_| values.next().is_none())?;
            Some(value.to_str().ok()?.to_ascii_lowercase())
        };
        let (Some(origin), Some(host)) = (text(header::ORIGIN), text(header::HOST)) else { return false };
        let Some(origin_host) = authority(&origin) else { return false };
        match &self.public {
            // The scheme counts where it is known.
            Some(public) if authority(public) == Some(origin_host) => *public == origin,
            _ => origin_host == host,
        }
    }

    fn is_allowed_host(&self, host: &str) -> bool {
        let Some(hosts) = &self.hosts else { return true };
        // An allowed host without a port matches any port.
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        hosts.iter().any(|allowed| allowed == host || allowed == name)
    }
}

/// Returns whether a browser says that another site sent it. Images, frames and links have no `Origin`.
fn is_cross_site(headers: &HeaderMap) -> bool {
    headers.get_all(FETCH_SITE).iter().any(|site| site != "same-origin" && site != "none")
}

/// Returns whether a browser says that a person goes to a page: that person sees the answer, not a script.
fn is_navigation(headers: &HeaderMap) -> bool {
    let is = |name: &str, expect: &str| headers.get(name).is_some_and(|value| value == expect);
    is("sec-fetch-mode", "navigate") && is("sec-fetch-dest", "document")
}

/// Returns the host and port of an origin.
fn authority(origin: &str) -> Option<&str> {
    origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"))
}

/// Returns `host` with brackets if it is an IPv6 address, as in `Host`.
fn with_brackets(host: String) -> String {
    match host.parse::<Ipv6Addr>() {
        Ok(address) => format!("[{address}]"),
        Err(_) => host,
    }
}

fn is_authority(text: &str) -> bool {
    !text.is_empty() && !text.contains('@') && text.parse::<axum::http::uri::Authority>().is_ok()
}

fn is_origin(text: &str) -> bool {
    authority(text)
        .is_some_and(|rest| is_authority(rest.strip_suffix(":*").unwrap_or(rest)) && !rest.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(bound: &str, hosts: &[&str], origins: &[&str]) -> Guard {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let options = HttpOptions {
            allowed_hosts: owned(hosts),
            allowed_origins: owned(origins),
            ..HttpOptions::default()
        };
        Guard::new(&options, bound.parse().unwrap()).unwrap()
    }

    fn status(guard: &Guard, host: Option<&str>, origin: Option<&str>) -> u16 {
        let mut headers = HeaderMap::new();
        headers.extend(host.map(|host| (header::HOST, host.parse().unwrap())));
        headers.extend(origin.map(|origin| (header::ORIGIN, origin.parse().unwrap())));
        guard
            .check(&Uri::from_static("/mcp"), &headers, ForeignLinks::Refused)
            .err()
            .map_or(200, |(status, _)| status.as_u16())
    }

    #[test]
    fn a_loopback_server_accepts_only_loopback_and_allowed_hosts() {
        let guard = guard("127.0.0.1:7437", &["skills.test"], &["http://app.test:*", "https://b.test"]);
        for host in
            ["localhost", "LOCALHOST:7437", "127.0.0.1:1", "[::1]:7437", "skills.test", "skills.test:80"]
        {
            assert_eq!(status(&guard, Some(host), None), 200, "{host}");
        }
        for host in ["evil.test", "localhost.evil.test", "127.0.0.1.evil.test:7437", "0.0.0.0"] {
            assert_eq!(status(&guard, Some(host), None), 403, "{host}");
        }
        for host in [None, Some(""), Some("a b"), Some("user@localhost")] {
            assert_eq!(status(&guard, host, None), 400, "{host:?}");
        }
        for origin in ["http://localhost:7437", "http://app.test", "http://app.test:3000", "https://b.test"] {
            assert_eq!(status(&guard, Some("localhost"), Some(origin)), 200, "{origin}");
        }
        for origin in [
            "null",
            "http://evil.test",
            "http://localhost",
            "http://localhost:7438",
            "http://app.test.evil.test",
            "https://b.test:8443",
            "http://app.test:80.evil.test",
            "ftp://localhost:7437",
            "",
        ] {
            assert_eq!(status(&guard, Some("localhost:7437"), Some(origin)), 403, "{origin}");
        }
    }

    #[test]
    fn a_public_server_accepts_any_host_unless_some_are_given() {
        let any = guard("0.0.0.0:80", &[], &[]);
        assert_eq!(status(&any, Some("skills.example.com"), None), 200);
        assert_eq!(status(&any, Some("skills.example.com"), Some("http://skills.example.com")), 200);
        assert_eq!(status(&any, Some("skills.example.com"), Some("http://evil.test")), 403);
        assert_eq!(status(&any, Some("skills.example.com"), Some("http://skills.example.com:81")), 403);
        let some = guard("0.0.0.0:80", &["skills.example.com"], &[]);
        assert_eq!(status(&some, Some("skills.example.com"), None), 200);
        assert_eq!(status(&some, Some("other.example.com"), None), 403);
    }

    #[test]
    fn cross_site_requests_without_origin_are_refused() {
        let guard = guard("127.0.0.1:7437", &[], &["https://b.test"]);
        let status = |site: &str, origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static("localhost:7437"));
            headers.insert(FETCH_SITE, site.parse().unwrap());
            headers.extend(origin.map(|origin| (header::ORIGIN, origin.parse().unwrap())));
            guard
                .check(&Uri::from_static("/mcp"), &headers, ForeignLinks::Refused)
                .err()
                .map_or(200, |(status, _)| status.as_u16())
        };
        for (site, origin, expect) in [
            ("none", None, 200),
            ("same-origin", None, 200),
            ("same-site", None, 403),
            ("cross-site", None, 403),
            ("anything", None, 403),
            ("cross-site", Some("https://b.test"), 200),
            ("cross-site", Some("https://c.test"), 403),
            ("same-origin", Some("https://c.test"), 403),
        ] {
            assert_eq!(status(site, origin), expect, "{site} {origin:?}");
        }
    }

    #[test]
    fn links_of_other_sites_lead_to_pages_where_a_token_is_needed() {
        let guard = guard("127.0.0.1:7437", &[], &[]);
        let status = |dest: &str, links: ForeignLinks| {
            let headers = [("host", "localhost:7437"), (FETCH_SITE, "cross-site")];
            let more = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", dest)];
            let headers = headers.into_iter().chain(more).map(|(name, value)| {
                (name.parse::<axum::http::HeaderName>().unwrap(), value.parse::<HeaderValue>().unwrap())
            });
            guard.check(&Uri::from_static("/"), &headers.collect(), links).is_ok()
        };
        assert!(status("document", ForeignLinks::Accepted));
        assert!(!status("iframe", ForeignLinks::Accepted));
        assert!(!status("document", ForeignLinks::Refused));
    }

    #[test]
    fn the_public_address_is_an_origin_of_the_server() {
        let options = |url: &str| HttpOptions { public_url: Some(url.to_owned()), ..HttpOptions::default() };
        let guard = Guard::new(&options("https://Skills.test/"), "127.0.0.1:7437".parse().unwrap()).unwrap();
        assert_eq!(guard.public(), Some("https://skills.test"));
        let foreign = |host: &str, origin: &str| {
            let headers = [(header::HOST, host), (header::ORIGIN, origin)];
            guard.is_foreign(
                &headers.map(|(name, value)| (name, value.parse().unwrap())).into_iter().collect(),
            )
        };
        for host in ["skills.test", "127.0.0.1:7437"] {
            assert_eq!(status(&guard, Some(host), Some("https://skills.test")), 200);
            assert!(!foreign(host, "https://skills.test"));
            assert_eq!(status(&guard, Some(host), Some("http://skills.test")), 403);
            assert!(foreign(host, "http://skills.test") && foreign(host, "https://evil.test"));
        }
        for bad in ["skills.test", "https://skills.test/x", "https://skills.test:*", ""] {
            assert!(Guard::new(&options(bad), "127.0.0.1:7437".parse().unwrap()).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_host_of_the_request_line_takes_precedence() {
        let guard = guard("127.0.0.1:7437", &[], &[]);
        let status = |target: &'static str, host: &'static str| {
            let headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]);
            guard
                .check(&Uri::from_static(target), &headers, ForeignLinks::Refused)
                .err()
                .map_or(200, |(status, _)| status.as_u16())
        };
        assert_eq!(status("http://evil.test/mcp", "localhost"), 403);
        assert_eq!(status("http://localhost:7437/mcp", "localhost:7437"), 200);
        assert_eq!(status("http://localhost:7437/mcp", "proxy.test"), 200);
        assert_eq!(status("http://user@localhost/mcp", "localhost"), 400);
    }

    #[test]
    fn ipv6_hosts_have_brackets() {
        let guard = guard("[fd00::7]:80", &["FD00::8"], &[]);
        for host in ["[fd00::7]", "[fd00::7]:80", "[fd00::8]:80"] {
            assert_eq!(status(&guard, Some(host), None), 200, "{host}");
        }
        assert_eq!(status(&guard, Some("[fd00::9]"), None), 403);
    }

    #[test]
    fn invalid_origins_are_refused_at_start() {
        for origin in ["*", "app.test", "ftp://x", "http://", "http://x/y", "null"] {
            let options = HttpOptions { allowed_origins: vec![origin.to_owned()], ..HttpOptions::default() };
            assert!(Guard::new(&options, options.address).is_err(), "{origin}");
        }
    }
}
