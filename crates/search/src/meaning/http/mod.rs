//! Embeddings from a server with an OpenAI-compatible API.
//!
//! `POST {url}/embeddings` with a model and texts returns one vector per text. Vectors are cached in files,
//! so that each text is sent once. After a failure no requests are sent for a while; words find skills then.

mod options;
mod wire;
mod cache;
mod embedder;
#[cfg(test)]
mod tests;

pub use embedder::HttpEmbedder;
pub use options::{HttpEmbedderOptions, HttpEmbedderOptionsError, Notice};
