//! Serves a library of skills: MCP over standard input and output and over HTTP, and the well-known index.
//!
//! This is the only crate that knows MCP and HTTP. It never prints, exits or reads the environment.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod error;
pub mod dashboard;
mod options;
mod instructions;
mod published_skills;
mod record;
mod metrics_text;
mod metrics;
mod server_state;
mod agent_view;
mod server;
mod stop;
pub mod mcp;
pub mod mcp_client;
pub mod oidc;
pub mod http;
mod well_known;
mod api;
mod web;
pub mod publish;

pub use error::{Error, ErrorKind};
pub use options::{INSTRUCTIONS_TOKENS, Notice, Notices, Probe, ResultForm, ServerOptions, Switch};
pub use server::Server;
pub use stop::Stop;
pub use well_known::pack_files;
