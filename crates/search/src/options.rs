//! Options of search.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use repertoire_model::{Digest, Policy};

use crate::index::Weights;
use crate::meaning::{EmbeddedModel, Embedder};

/// The extension of index files.
pub(crate) const SUFFIX: &str = ".index";

/// The number of hexadecimal digits of a digest that name an index file.
const NAME_DIGITS: usize = 32;

/// Options of search.
#[derive(Clone)]
#[non_exhaustive]
pub struct SearchOptions {
    /// Computes embeddings; without it skills are found by words only.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// The weights of the ranking.
    pub weights: Weights,
    /// The index file; without it every process builds its own index.
    pub file: Option<PathBuf>,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self { embedder: Some(Arc::new(EmbeddedModel)), weights: Weights::default(), file: None }
    }
}

impl SearchOptions {
    /// Returns the index file in `directory` for a library with these sources (label, path) under `policy`.
    ///
    /// Index files of several libraries share the directory; the most recent ones are kept.
    pub fn file_in<'a>(
        directory: &Path,
        policy: &Policy,
        sources: impl IntoIterator<Item = (&'a str, &'a Path)>,
    ) -> PathBuf {
        // Names and descriptions depend on the policy, and not on the disabled skills.
        let mut policy = policy.clone();
        policy.disabled.clear();
        let mut key = format!("{policy:?}");
        for (label, path) in sources {
            key.push_str(&format!("\0{label}\0{}", path.display()));
        }
        let mut name = Digest::of(key.as_bytes()).to_hex();
        name.truncate(NAME_DIGITS);
        directory.join(name + SUFFIX)
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
