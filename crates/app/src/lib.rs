//! The application between the engine and its faces: what a user does with skills on a machine, without
//! printing. The command line, the HTTP API and an embedder call the same functions and get the same
//! [views](view).

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

#[cfg(test)]
#[path = "../../repertoire/tests/support/memory_store.rs"]
mod memory_store;
pub mod approvals;
pub mod clients;
mod docs;
pub mod doctor;
pub mod error;
pub mod explain;
pub mod hook;
pub mod install;
pub mod installation;
pub mod listing;
pub mod origin;
pub mod review;
pub mod stats;
pub mod switch;
pub mod token_counter;
pub mod undo;
pub mod view;
pub mod workspace;

pub use docs::docs;
pub use error::{Error, ErrorKind};
