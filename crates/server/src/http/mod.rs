//! The HTTP server: MCP at `/mcp`, the well-known index, and health checks.

mod options;
mod access;
mod guard;
mod reply;
mod unread;
mod body;
mod media;
mod session;
mod sessions;
mod skill_query;
mod endpoint;
mod stored_tokens;
mod principals;
mod app;
mod refusals;
mod router;
mod control;
mod serve;

pub use access::Token;
pub use control::HttpControl;
pub use options::{DEFAULT_ADDRESS, HttpLimits, HttpOptions};
pub use principals::HttpAccess;
pub use serve::HttpServer;
pub(crate) use unread::UnreadLimit;
