//! The tests of the sources, in one binary so that it is linked once.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests look at files")]

mod origin;
mod packages;
