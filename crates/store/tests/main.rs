//! Both databases under the conformance suite and under failures.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and start servers"
)]

mod sqlite;
