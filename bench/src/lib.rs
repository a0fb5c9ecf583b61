//! How well and how fast skills are found: what the programs in `bin/` share.

#![allow(clippy::print_stdout, clippy::print_stderr)]

pub mod figures;
pub mod pool;
pub mod ranker;
