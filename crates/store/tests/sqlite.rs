//! Tests of the SQLite store.

use std::sync::Arc;

use repertoire::testing::store;
use repertoire_store::SqliteStore;

#[test]
fn the_sqlite_store_passes_the_conformance_suite() {
    let directory = tempfile::tempdir().unwrap();
    let number = std::cell::Cell::new(0);
    store::check(&|| {
        number.set(number.get() + 1);
        Arc::new(SqliteStore::open(directory.path().join(format!("{}.db", number.get()))).unwrap())
    });
}
