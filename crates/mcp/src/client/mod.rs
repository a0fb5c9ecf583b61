//! Tools of MCP servers for the sessions of a library: the other end of the protocol.

mod connection;
mod http;
mod tool;

pub use connection::{McpServer, ToolServers};
pub use tool::ServerTool;
