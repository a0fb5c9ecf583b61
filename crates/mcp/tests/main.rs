//! MCP as clients meet it over two streams: bytes in, bytes out.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    missing_docs,
    unreachable_pub,
    reason = "a test that fails says where"
)]

#[path = "../../repertoire/tests/support/word_searcher.rs"]
mod word_searcher;
mod world;
mod server;
mod stdio;
mod roots;
mod skills;
mod reload;
mod bad_input;
mod mutations;
