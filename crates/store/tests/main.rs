//! Both databases under the conformance suite and under failures.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests fail by panicking, and start a server"
)]

#[cfg(unix)]
mod concurrency;
#[cfg(unix)]
#[allow(dead_code, reason = "the tests of the command line use all of it")]
mod server;

#[path = "../../repertoire/tests/support/memory_store.rs"]
mod memory_store;
mod model;
#[cfg(unix)]
mod postgres;
mod schema;
mod sqlite;
#[path = "../../repertoire/tests/support/store_suite.rs"]
mod store_suite;
#[cfg(unix)]
mod tls;
