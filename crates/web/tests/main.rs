//! The server as clients meet it over HTTP, with MCP mounted: bytes in, bytes out.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    missing_docs,
    unreachable_pub,
    reason = "a test that fails says where"
)]

#[path = "../../repertoire/tests/support/memory_store.rs"]
mod memory_store;
#[path = "../../repertoire/tests/support/word_searcher.rs"]
mod word_searcher;
mod world;
mod skill_tools;
mod http;
mod replicas;
mod well_known;
mod scope;
mod scope_leaks;
mod principals;
mod events;
mod mcp_client;
mod metrics;
mod api;
mod pages;
mod open_pages;
mod sign_in;
mod provider;
mod oidc;
