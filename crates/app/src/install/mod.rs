//! The newest versions of added skills.

mod newest;

pub use newest::{check_of, checks, named, newest_in_words, short, word};
