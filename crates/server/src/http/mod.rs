//! HTTP: MCP at `/mcp`, the well-known index, and whether the server is well.

mod options;
mod access;
mod guard;
mod bodies;
mod limits;
mod health;
mod standalone;
mod conversation;
mod conversations;
mod media;
mod endpoint;
mod router;
mod patience;
mod serve;

pub use access::Token;
pub use options::{DEFAULT_ADDRESS, HttpOptions, Limits};
pub use serve::HttpServer;
