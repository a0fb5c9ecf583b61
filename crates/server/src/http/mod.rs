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
mod app;
mod refusals;
mod router;
mod serve;

pub use access::Token;
pub use options::{DEFAULT_ADDRESS, HttpLimits, HttpOptions};
pub use serve::HttpServer;
pub(crate) use unread::UnreadLimit;
