//! Measures Repertoire's crates inside one process: index without a cache, index with a filled one, catalog.
//!
//! The operation is what every host does: open a registry over a directory. It includes the whole of parsing,
//! validation and resolution.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pollster::block_on;
use repertoire::provider::fs::{FsOptions, FsProvider};
use repertoire::{Provider, Registry};
use repertoire_model::Policy;
use repertoire_model::catalog::CatalogOptions;
use stopwatch::Task;

fn main() {
    let task = Task::from_args();
    task.measure("cold", || index(&task.library, None));
    let cache = std::env::var_os("REPERTOIRE_CACHE_DIR").map(PathBuf::from);
    // The first one fills the cache.
    let (_, registry) = index(&task.library, cache.clone());
    if cache.is_some() {
        task.measure("warm", || index(&task.library, cache.clone()));
    }
    task.measure("catalog", || catalog(&registry));
}

fn index(library: &Path, cache: Option<PathBuf>) -> (usize, Registry) {
    let registry = open(library, cache);
    (registry.snapshot().active().count(), registry)
}

fn open(library: &Path, cache: Option<PathBuf>) -> Registry {
    let options = FsOptions { cache, ..FsOptions::new("library", library) };
    let provider: Arc<dyn Provider> = Arc::new(FsProvider::new(options));
    block_on(Registry::open(vec![provider], Policy::default())).expect("the library is accepted")
}

/// Renders the default catalog from a snapshot, without a budget and so without counting tokens.
fn catalog(registry: &Registry) -> (usize, String) {
    let catalog =
        registry.snapshot().catalog(&CatalogOptions::default()).expect("the usual options are sound");
    (catalog.report.tiers.len(), catalog.text)
}
