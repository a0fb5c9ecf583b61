//! Embeddings of texts: texts that mean the same have vectors of the same direction.

mod embedded;
mod embedder;
#[cfg(feature = "http-embedder")]
pub mod http;
mod pieces;
mod table;
mod vector;

pub use embedded::{EmbeddedModel, embedded_table};
pub use embedder::Embedder;
pub use table::EmbeddingTable;
pub use vector::Vector;
