//! The store over a database.

use repertoire::Error;
use repertoire::store::Store;

use crate::database::Database;
use crate::migrations;

/// A store in a database: a [`crate::SqliteStore`] or a [`crate::PostgresStore`].
#[derive(Debug)]
pub struct SqlStore<D> {
    pub(crate) database: D,
}

impl<D: Database> Store for SqlStore<D> {
    fn location(&self) -> String {
        self.database.location()
    }

    fn schema_version(&self) -> Result<u32, Error> {
        self.database.read(migrations::applied)
    }

    fn processes(&self) -> Result<Option<u64>, Error> {
        self.database.processes()
    }

    fn check(&self) -> Result<(), Error> {
        self.database.check()
    }

    fn check_fully(&self) -> Result<(), Error> {
        self.database.check_fully()
    }
}
