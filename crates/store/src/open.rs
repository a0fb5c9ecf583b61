//! Opens the store at a location.

use std::sync::Arc;

use repertoire::store::Store;
use repertoire::{Error, ErrorKind};

use crate::{PostgresStore, SqliteStore};

/// Opens the store at `location`, and makes it if there is none.
///
/// A location is an address like `postgres://user:password@host:5432/database`, or the path of a SQLite file.
pub fn open(location: &str) -> Result<Arc<dyn Store>, Error> {
    match location.split_once("://") {
        Some(("postgres" | "postgresql", _)) => Ok(Arc::new(PostgresStore::open(location)?)),
        Some((scheme, _)) => Err(Error::new(ErrorKind::Store).because(format!(
            "`{scheme}` is no kind of store; give the path of a file, or postgres://user:password@host/database"
        ))),
        None => Ok(Arc::new(SqliteStore::open(location)?)),
    }
}
