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

mod model;
#[cfg(unix)]
mod postgres;
mod schema;
mod sqlite;
#[cfg(unix)]
mod tls;
