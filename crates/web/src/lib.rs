//! Serves a library over HTTP: the well-known index, the dashboard, and an MCP service that the host mounts.
//!
//! This is the only crate that knows axum and HTML. It never prints, exits or reads the environment.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

#[cfg(test)]
#[path = "../../repertoire/tests/support/memory_store.rs"]
mod memory_store;
mod error;
pub mod dashboard;
mod options;
mod metrics_text;
mod metrics;
mod server_state;
mod server;
pub mod oidc;
pub mod http;
mod well_known;
mod api;
mod web;
pub mod publish;

pub use error::{Error, ErrorKind};
pub use metrics::MetricsSink;
pub use options::{Probe, ServerOptions};
pub use server::Server;
pub use well_known::pack_files;
