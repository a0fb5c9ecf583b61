//! Serves a library of skills: MCP over standard input and output and over HTTP, and the well-known index.
//!
//! This is the only crate that knows MCP and HTTP. It never prints, exits or reads the environment.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod error;
pub mod dashboard;
mod options;
mod instructions;
mod metrics_text;
mod metrics;
mod server_state;
mod server;
pub mod mcp;
pub mod mcp_client;
pub mod oidc;
pub mod http;
mod well_known;
mod api;
mod web;
pub mod publish;

pub use error::{Error, ErrorKind};
pub use options::{INSTRUCTIONS_TOKENS, Probe, ResultForm, ServerOptions, Switch};
pub use server::Server;
pub use well_known::pack_files;
