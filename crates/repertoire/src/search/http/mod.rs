//! Meanings from a server that speaks the protocol of OpenAI's embeddings.
//!
//! `POST {url}/embeddings` with a model and texts gives one direction for each. Answers are kept in files, so that a text costs one
//! request ever. A server that fails is left alone for a while; meanwhile skills are found by their words.

mod options;
mod wire;
mod cache;
mod embedder;
#[cfg(test)]
mod tests;

pub use embedder::HttpEmbedder;
pub use options::{HttpOptions, HttpRefusal, Notice};
