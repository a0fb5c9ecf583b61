//! The HTTP server: MCP at `/mcp`, the well-known index, and health checks.

mod options;
mod access;
mod guard;
mod reply;
mod unread;
mod body;
mod media;
mod session;
mod portable_session;
mod sessions;
mod skill_query;
mod endpoint;
mod quota;
mod counted_body;
mod access_log;
mod stored_tokens;
mod principals;
mod request_metrics;
mod app;
mod refusals;
mod router;
mod control;
mod serve;

pub use access::Token;
pub use access_log::{AccessLog, AddressRange};
pub use control::HttpControl;
pub use options::{DEFAULT_ADDRESS, HttpAccess, HttpLimits, HttpOptions};
pub use quota::PrincipalLimits;
pub(crate) use quota::RunLimit;
pub(crate) use request_metrics::RequestMetrics;
pub use serve::HttpServer;
pub(crate) use unread::UnreadLimit;
