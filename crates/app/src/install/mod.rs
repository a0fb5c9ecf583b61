//! Adds skills from their sources and keeps them up to date.

mod newest;

pub use newest::{check_of, checks, named, newest_in_words, short, word};
