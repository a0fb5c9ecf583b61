//! The HTTP server: MCP at `/mcp`, the well-known index, and health checks.

mod options;
mod access;
mod guard;
mod cookie;
mod reply;
mod unread;
mod body;
mod media;
mod session;
mod sessions;
mod skill_query;
mod endpoint;
mod quota;
mod counted_body;
mod access_log;
mod stored_tokens;
mod principals;
mod app;
mod refusals;
mod refuse_access;
mod signed_in_tokens;
mod sign_in;
mod provider_sign_in;
mod router;
mod control;
mod serve;

pub use access::Token;
pub use access_log::{AccessLog, AddressRange};
pub use control::HttpControl;
pub use options::{DEFAULT_ADDRESS, HttpAccess, HttpLimits, HttpOptions};
pub use quota::PrincipalLimits;
pub(crate) use quota::RunLimit;
pub use serve::HttpServer;
pub(crate) use unread::UnreadLimit;
