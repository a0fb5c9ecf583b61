//! What a host may choose about HTTP.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::access::Token;

/// Where a server listens unless somebody says otherwise.
pub const DEFAULT_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7437);

/// The most requests that are worked on at a time, for each processor. More would be no quicker, and each takes about 150 KB.
const REQUESTS_PER_PROCESSOR: usize = 4;

/// How much others may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of a request's body.
    pub body_bytes: usize,
    /// The most bytes of the bodies of all requests at a time, beyond the first 64 KiB of each; more are turned away.
    pub all_body_bytes: usize,
    /// How long a request's body may take to arrive.
    pub body_time: Duration,
    /// How long a request's head may take to arrive; a connection that asks nothing is closed after as long.
    pub head_time: Duration,
    /// How long a client may read nothing of an answer that waits for it; its connection is ended then.
    pub write_time: Duration,
    /// The most connections at a time; more are turned away, unless they ask how the server is.
    pub connections: usize,
    /// The most requests that are worked on at a time; more wait.
    pub requests: usize,
    /// The most calls at a time that run something of a skill, which are none of these; more wait.
    pub runs: usize,
    /// The most streams that wait for changes at a time; more are turned away.
    pub streams: usize,
    /// The most conversations of clients that shake hands, each with its own state; one more ends the longest idle.
    pub sessions: usize,
    /// How long a conversation is kept that nobody says anything in.
    pub session_time: Duration,
    /// How long calls under way may take to finish when the server is stopped.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 4 * 1024 * 1024,
            all_body_bytes: 64 * 1024 * 1024,
            body_time: Duration::from_secs(30),
            head_time: Duration::from_secs(15),
            write_time: Duration::from_secs(60),
            connections: 1_024,
            requests: REQUESTS_PER_PROCESSOR * std::thread::available_parallelism().map_or(1, usize::from),
            runs: 64,
            streams: 512,
            sessions: 1_024,
            session_time: Duration::from_secs(30 * 60),
            grace: Duration::from_secs(10),
        }
    }
}

/// What a host may choose about HTTP.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// Where to listen; port 0 for any that is free.
    pub address: SocketAddr,
    /// Names that the server goes by in `Host`, beside those of the machine itself: `example.com`, `example.com:8080`.
    pub allowed_hosts: Vec<String>,
    /// Pages that may talk to the server: `https://app.example.com`, `http://localhost:*`.
    pub allowed_origins: Vec<String>,
    /// The agent that is served where there are no tokens.
    pub agent: Option<String>,
    /// Who may ask; everybody where there are none, which is for addresses of the machine itself only.
    pub tokens: Vec<Token>,
    /// How much others may ask for.
    pub limits: Limits,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            address: DEFAULT_ADDRESS,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            agent: None,
            tokens: Vec::new(),
            limits: Limits::default(),
        }
    }
}
