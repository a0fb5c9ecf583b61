//! Benchmarks of the quality and speed of search: code shared by the programs in `bin/`.

#![allow(clippy::print_stdout, clippy::print_stderr)]
// A pool is a tree of files, not a library: equal names stay apart, and nothing is resolved.
#![allow(clippy::disallowed_methods)]

pub mod figures;
pub mod memory;
pub mod pool;
pub mod ranker;
pub mod small;
