//! Embeddings from a server that speaks the protocol of OpenAI's embeddings.
//!
//! `POST {url}/embeddings` with a model and texts returns one vector for each. They are cached in files, so that each text is sent
//! once. After a failure the server is not asked for a while; meanwhile skills are found by words.

mod options;
mod wire;
mod cache;
mod embedder;
#[cfg(test)]
mod tests;

pub use embedder::HttpEmbedder;
pub use options::{HttpOptions, HttpOptionsError, Notice};
