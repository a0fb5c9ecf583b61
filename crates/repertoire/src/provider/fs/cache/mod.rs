//! What a scan found, kept for the next one.
//!
//! One file for each root and policy holds every document of the last scan with the stamp of its `SKILL.md`, and what
//! lay directly below the root. A skill whose stamp is the same is not read again, and a root whose stamp is the same is
//! not listed again. A process reads it for its first listing only. The file is a convenience: whatever is wrong with it, down to one bit, it is ignored and written
//! anew, and deleting it is always safe. It is replaced as a whole, so processes that share it see the old one or the
//! new one.

mod codec;
mod document;
mod facts;
mod file;
mod head;
mod contents;
#[cfg(test)]
mod tests;

pub(crate) use contents::{Builder, Cache, is_settled, key, now};
pub(crate) use facts::Facts;
pub(crate) use file::CacheFile;
