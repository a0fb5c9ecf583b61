//! What a host may choose about search.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use repertoire_model::search::Weights;
use repertoire_model::{Digest, Policy};

use super::builtin::BuiltinEmbedder;
use super::embedder::Embedder;

/// How the names of files end in which an index is kept.
pub(super) const SUFFIX: &str = ".index";

/// How many hexadecimal digits of a digest name such a file.
const NAME_DIGITS: usize = 32;

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

impl SearchOptions {
    /// Returns the file in `directory` for the index of a library of these sources, by label and place, as `policy` judges them.
    ///
    /// Indices of other libraries lie beside it; those that were written last are kept.
    pub fn file_in<'a>(
        directory: &Path,
        policy: &Policy,
        sources: impl IntoIterator<Item = (&'a str, &'a Path)>,
    ) -> PathBuf {
        // Names and descriptions depend on the policy.
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
