//! MCP: skills as tools, prompts, resources and through the Skills extension, and tools of other MCP servers.
//!
//! This is the only crate that knows rmcp. It listens nowhere: it serves standard input and output, and
//! answers requests over HTTP that a host gives to an [`Endpoint`]. It never prints, exits or reads the
//! environment.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod options;
mod instructions;
mod decode;
mod protocol;
mod cursor;
mod uri;
mod skills;
mod tools;
mod prompts;
mod resources;
mod notify;
mod roots;
mod handler;
mod in_flight;
mod output;
mod server;
pub mod stdio;
mod http;
pub mod client;

pub use self::http::{Endpoint, EndpointResponse};
pub use handler::methods;
pub use options::{INSTRUCTIONS_TOKENS, McpOptions, OwnFiles};
pub use server::Server;
