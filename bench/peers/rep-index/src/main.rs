//! Measures Repertoire's crates inside one process: index, index again, catalog.
//!
//! The operation is what every host does: open a registry over a directory. It includes the whole of parsing,
//! validation and resolution.

use std::path::Path;
use std::sync::Arc;

use pollster::block_on;
use repertoire::provider::fs::{FsOptions, FsProvider};
use repertoire::{Provider, Registry};
use repertoire_model::Policy;
use repertoire_model::catalog::{CatalogEntry, CatalogOptions, render};
use stopwatch::Task;

fn main() {
    let task = Task::from_args();
    task.measure("cold", || {
        let registry = open(&task.library);
        (registry.snapshot().active().count(), registry)
    });
    if task.repeat > 1 {
        let registry = open(&task.library);
        task.measure("catalog", || catalog(&registry));
    }
}

fn open(library: &Path) -> Registry {
    let provider: Arc<dyn Provider> = Arc::new(FsProvider::new(FsOptions::new("library", library)));
    block_on(Registry::open(vec![provider], Policy::default())).expect("the library is accepted")
}

/// Renders the default catalog from a snapshot, without a budget and so without counting tokens.
fn catalog(registry: &Registry) -> (usize, String) {
    let snapshot = registry.snapshot();
    let entries: Vec<CatalogEntry<'_>> = snapshot
        .active()
        .filter(|entry| entry.is_in_catalog())
        .map(|entry| CatalogEntry {
            name: entry.name().as_str(),
            description: &entry.document.description,
            location: None,
        })
        .collect();
    let catalog = render(&entries, &CatalogOptions::default()).expect("the usual options are sound");
    (entries.len(), catalog.text)
}
