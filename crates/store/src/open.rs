//! Opens the store at a location.

use std::sync::Arc;

use repertoire::certificates::Certificates;
use repertoire::store::Store;
use repertoire::{Error, ErrorKind};

use crate::{PostgresStore, SqliteStore};

/// Opens the store at `location`, and makes it if there is not one.
///
/// A location is an address like `postgres://user:password@host:5432/database`, or the path of a SQLite file.
/// A database on another host is verified by `certificates`, unless the address names others.
pub fn open(location: &str, certificates: &Certificates) -> Result<Arc<dyn Store>, Error> {
    open_with(location, certificates, PostgresStore::open)
}

/// Opens the store at `location` as [`open`] does, for requests of others, which must not wait for a database
/// that does not answer: see [`PostgresStore::open_to_serve`].
pub fn open_to_serve(location: &str, certificates: &Certificates) -> Result<Arc<dyn Store>, Error> {
    open_with(location, certificates, PostgresStore::open_to_serve)
}

fn open_with(
    location: &str,
    certificates: &Certificates,
    open_postgres: fn(&str, &Certificates) -> Result<PostgresStore, Error>,
) -> Result<Arc<dyn Store>, Error> {
    match location.split_once("://") {
        Some(("postgres" | "postgresql", _)) => Ok(Arc::new(open_postgres(location, certificates)?)),
        Some((scheme, _)) => Err(Error::new(ErrorKind::Store).because(format!(
            "`{scheme}` is not a kind of store; give the path of a file, or postgres://user:password@host/database"
        ))),
        None => Ok(Arc::new(SqliteStore::open(location)?)),
    }
}
