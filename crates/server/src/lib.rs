//! Serves a library of skills: MCP over standard input and output and over HTTP, and the well-known index.
//!
//! This is the only place that knows MCP and HTTP. It is given a registry and options, and never prints, exits or reads the
//! environment.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod error;
mod options;
mod server;
mod audience;
mod instructions;
mod shelf;
mod stop;
pub mod mcp;
pub mod http;
mod well_known;

pub use error::{Error, ErrorKind};
pub use options::{INSTRUCTIONS_TOKENS, Notice, Notices, ResultForm, ServerOptions, Switch};
pub use server::Server;
pub use stop::Stop;
