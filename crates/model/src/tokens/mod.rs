//! Token counts: exact ones of the vocabulary `o200k_base`, and approximate ones that need no vocabulary.

mod approximate;
mod split;
mod tokenizer;
mod vocabulary;

pub use approximate::approximate;
pub(crate) use approximate::is_clearly_within;
pub use tokenizer::Tokenizer;
