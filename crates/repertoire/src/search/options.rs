//! What a host may choose about search.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use repertoire_model::search::Weights;

use super::builtin::BuiltinEmbedder;
use super::embedder::Embedder;

/// What a host may choose about search.
#[derive(Clone)]
pub struct SearchOptions {
    /// What says what texts mean; without it skills are found by their words alone.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// What counts how much.
    pub weights: Weights,
    /// The file in which the index is kept between runs; without it every run makes its own.
    pub file: Option<PathBuf>,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self { embedder: Some(Arc::new(BuiltinEmbedder)), weights: Weights::default(), file: None }
    }
}

impl fmt::Debug for SearchOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SearchOptions")
            .field("embedder", &self.embedder.as_ref().map(|embedder| embedder.id()))
            .field("weights", &self.weights)
            .field("file", &self.file)
            .finish()
    }
}
