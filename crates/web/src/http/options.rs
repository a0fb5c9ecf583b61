//! Options of the HTTP server.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use repertoire::Agent;
use repertoire::store::LazyStore;
use repertoire_model::scope::Pattern;

use super::access::Token;
use super::access_log::{AccessLog, AddressRange};
use super::page_secret::PageSecret;
use super::quota::PrincipalLimits;
use crate::oidc::OidcOptions;

/// The default address.
pub const DEFAULT_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7437);

repertoire_model::options! {
    /// Limits on what clients can make the HTTP server hold or do.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct HttpLimits {
        /// Maximum bytes of a request body.
        pub body_bytes: usize = 4 * 1024 * 1024,
        /// Maximum time for a request body to arrive.
        pub body_time: Duration = Duration::from_secs(30),
        /// Maximum time for a request head to arrive. An idle connection is closed after the same time.
        pub head_time: Duration = Duration::from_secs(15),
        /// Maximum time that a client may leave a response unread before its connection is closed.
        pub write_time: Duration = Duration::from_secs(60),
        /// Maximum bytes of responses that clients have not read yet, of all connections together. More large
        /// responses get 503, and an event stream with a large event ends.
        pub unread_bytes: usize = 128 * 1024 * 1024,
        /// Maximum open connections. More get 503, except for health checks.
        pub connections: usize = 1_024,
        /// Maximum open event streams that wait for changes. More get 503.
        pub streams: usize = 512,
        /// Time between the call to stop and the stop, in which requests are served and `/readyz` answers
        /// 503: proxies send requests elsewhere meanwhile. Zero for none.
        pub drain: Duration,
        /// Maximum time for requests in flight to finish when the server stops.
        pub grace: Duration = Duration::from_secs(10),
    }
}

/// The part of the options that can be replaced while the server runs.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct HttpAccess {
    /// Accepted tokens, beside those of a store.
    pub tokens: Vec<Token>,
    /// The agents, if they differ from those of the library.
    pub agents: Option<Vec<Agent>>,
    /// The skills of each kit that tokens may name.
    pub kits: BTreeMap<String, Vec<Pattern>>,
    /// The provider that people sign in at, whose tokens are accepted. With one, every request needs a token.
    pub oidc: Option<OidcOptions>,
}

repertoire_model::options! {
    /// Options of the HTTP server.
    #[derive(Clone)]
    #[non_exhaustive]
    pub struct HttpOptions {
        /// The address to listen on; port 0 chooses a free one.
        pub address: SocketAddr = DEFAULT_ADDRESS,
        /// Allowed values of `Host` besides the machine's own names: `example.com`, `example.com:8080`.
        pub allowed_hosts: Vec<String>,
        /// Origins of web pages that may use the server: `https://app.example.com`, `http://localhost:*`.
        pub allowed_origins: Vec<String>,
        /// The address that people reach, if a proxy is in front of the server: `https://skills.example.com`.
        pub public_url: Option<String>,
        /// The agent that is served if there are no tokens.
        pub agent: Option<String>,
        /// Accepted tokens, and the agents and kits that tokens name. Without any token, all clients are
        /// served, which only loopback addresses allow.
        pub access: HttpAccess,
        /// True if every request needs a token, also where there are only those of the store.
        pub needs_token: bool,
        /// The secret of the one person that the server is for. With it, the server answers with the
        /// dashboard alone, and only a browser that opened one of the secret's paths.
        pub page_secret: Option<PageSecret>,
        /// The store whose tokens are accepted, too.
        pub store: Option<LazyStore>,
        /// Limits on clients.
        pub limits: HttpLimits,
        /// Limits for each principal.
        pub principal_limits: PrincipalLimits,
        /// Receives a line for each request.
        pub access_log: Option<AccessLog>,
        /// The proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed.
        pub trusted_proxies: Vec<AddressRange>,
    }
}
