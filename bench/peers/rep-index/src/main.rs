//! Measures Repertoire's crates inside one process: index, reload without a change, catalog.
//!
//! The operation is what every host does: open a registry over a directory. It includes the whole of parsing,
//! validation and resolution.

use std::path::Path;
use std::sync::Arc;

use pollster::block_on;
use repertoire::provider::fs::{FsOptions, FsProvider};
use repertoire::{Provider, Registry};
use repertoire_model::Policy;
use repertoire_model::catalog::CatalogOptions;
use stopwatch::Task;

fn main() {
    let task = Task::from_args();
    task.measure("cold", || index(&task.library));
    let (_, registry) = index(&task.library);
    task.measure("reload", || (block_on(registry.reload()).active().count(), ()));
    task.measure("catalog", || catalog(&registry));
}

fn index(library: &Path) -> (usize, Registry) {
    let registry = open(library);
    (registry.snapshot().active().count(), registry)
}

fn open(library: &Path) -> Registry {
    let provider: Arc<dyn Provider> = Arc::new(FsProvider::new(FsOptions::new("library", library)));
    block_on(Registry::open(vec![provider], Policy::default())).expect("the library is accepted")
}

/// Renders the default catalog from a snapshot, without a budget and so without counting tokens.
fn catalog(registry: &Registry) -> (usize, String) {
    let catalog =
        registry.snapshot().catalog(&CatalogOptions::default()).expect("the usual options are sound");
    (catalog.report.tiers.len(), catalog.text)
}
