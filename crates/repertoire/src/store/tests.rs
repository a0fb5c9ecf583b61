//! The store in memory that tests use behaves as the others do.

use std::sync::Arc;

use super::MemoryStore;

#[path = "../../tests/support/store_suite.rs"]
mod suite;

#[test]
fn the_memory_store_passes_the_conformance_suite() {
    suite::check(&|| Arc::new(MemoryStore::new()));
}
