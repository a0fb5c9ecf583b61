//! Embeddings of texts: texts of similar meaning have vectors of similar direction.

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
