//! A SQLite file.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use repertoire::{Error, ErrorKind};
use rusqlite::{OpenFlags, ffi};

use super::connection::{SqliteConnection, failure};
use super::file;
use crate::SqlStore;
use crate::database::{Connection, Database, Durability};
use crate::migrations;

/// The longest wait for another process that is writing.
const BUSY: Duration = Duration::from_secs(5);

/// The time between two looks at a file that others may have written to.
const POLL: Duration = Duration::from_millis(100);

/// A store in a SQLite file.
///
/// The file is in WAL mode. Events are written without waiting for the disk: a power cut may lose the last ones, and nothing else.
pub type SqliteStore = SqlStore<SqliteDatabase>;

impl SqliteStore {
    /// Opens the store in the file at `path`, and makes it, readable by its owner alone, if there is none.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        // The file stays the same if the working directory changes, and no name means something else to SQLite.
        let path = std::path::absolute(path.as_ref()).map_err(|error| {
            Error::new(ErrorKind::Store)
                .at(path.as_ref())
                .because(format!("not the path of a file ({error})"))
        })?;
        file::create(&path)?;
        let durable = Mutex::new(connect(&path, Durability::Full)?);
        let database = SqliteDatabase { path, durable, relaxed: Mutex::new(None) };
        database.migrate()?;
        Ok(Self { database })
    }
}

/// A SQLite file with its connections.
#[derive(Debug)]
pub struct SqliteDatabase {
    path: PathBuf,
    /// For everything but new events.
    durable: Mutex<rusqlite::Connection>,
    /// For events. It is opened by the first one.
    relaxed: Mutex<Option<rusqlite::Connection>>,
}

impl SqliteDatabase {
    fn migrate(&self) -> Result<(), Error> {
        let tables = self.read(|connection| {
            connection.query_first(
                "SELECT count(*), count(CASE WHEN name = 'schema' THEN 1 END) FROM sqlite_schema",
                &[],
            )
        })?;
        let (all, own) = match tables {
            Some(mut row) => (row.number()?, row.number()?),
            None => (0, 0),
        };
        if own == 0 && all > 0 {
            let connection = lock(&self.durable);
            let connection = SqliteConnection { connection: &connection, path: &self.path };
            return Err(connection.error("the file belongs to another program"));
        }
        let is_current =
            own > 0 && self.read(|connection| migrations::is_current(connection, migrations::SQLITE))?;
        if is_current {
            return Ok(());
        }
        self.write(Durability::Full, |connection| migrations::migrate(connection, migrations::SQLITE))
    }
}

/// Returns the value of `mutex`; every operation leaves it usable.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens a connection to the file at `path`.
fn connect(path: &Path, durability: Durability) -> Result<rusqlite::Connection, Error> {
    let failure = |error| failure(path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = rusqlite::Connection::open_with_flags(path, flags).map_err(failure)?;
    connection.busy_timeout(BUSY).map_err(failure)?;
    set_wal_mode(&connection).map_err(failure)?;
    connection
        .execute_batch(match durability {
            Durability::Full => "PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 16777216",
            Durability::Relaxed => "PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 16777216",
        })
        .map_err(failure)?;
    Ok(connection)
}

/// Puts a new file into WAL mode. SQLite itself does not wait for others that do the same.
fn set_wal_mode(connection: &rusqlite::Connection) -> rusqlite::Result<()> {
    let end = Instant::now() + BUSY;
    loop {
        match connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())) {
            Err(error)
                if error.sqlite_error_code() == Some(ffi::ErrorCode::DatabaseBusy)
                    && Instant::now() < end =>
            {
                thread::sleep(Duration::from_millis(2));
            }
            other => return other,
        }
    }
}

impl Database for SqliteDatabase {
    fn location(&self) -> String {
        self.path.display().to_string()
    }

    fn read<T>(&self, mut work: impl FnMut(&mut dyn Connection) -> Result<T, Error>) -> Result<T, Error> {
        work(&mut SqliteConnection { connection: &lock(&self.durable), path: &self.path })
    }

    fn write<T>(
        &self,
        durability: Durability,
        work: impl FnMut(&mut dyn Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match durability {
            Durability::Full => transaction(&lock(&self.durable), &self.path, work),
            Durability::Relaxed => {
                let mut relaxed = lock(&self.relaxed);
                let connection = match relaxed.take() {
                    Some(connection) => connection,
                    None => connect(&self.path, durability)?,
                };
                transaction(relaxed.insert(connection), &self.path, work)
            }
        }
    }

    fn wait(
        &self,
        after: u64,
        timeout: Duration,
        newest: impl Fn(&mut dyn Connection) -> Result<u64, Error>,
    ) -> Result<u64, Error> {
        let end = Instant::now().checked_add(timeout);
        loop {
            let found = self.read(&newest)?;
            let left = end.map_or(POLL, |end| end.saturating_duration_since(Instant::now()));
            if found > after || left.is_zero() {
                return Ok(found);
            }
            thread::sleep(left.min(POLL));
        }
    }
}

/// Runs `work` in a transaction that is the only one that writes.
fn transaction<T>(
    connection: &rusqlite::Connection,
    path: &Path,
    mut work: impl FnMut(&mut dyn Connection) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut transaction = SqliteConnection { connection, path };
    if !connection.is_autocommit() {
        // A panic left a transaction behind.
        transaction.script("ROLLBACK")?;
    }
    transaction.script("BEGIN IMMEDIATE")?;
    let result = work(&mut transaction).and_then(|value| transaction.script("COMMIT").map(|()| value));
    if result.is_err() && !connection.is_autocommit() {
        // The first error is the one to report.
        let _ = transaction.script("ROLLBACK");
    }
    result
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::SystemTime;

    use repertoire::event::{Event, EventKind};
    use repertoire::store::{Blob, EventQuery, Journal as _, Versions as _};

    use super::*;

    #[test]
    fn a_full_disk_is_a_clear_error_and_loses_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path().join("store.db")).unwrap();
        let small = Blob::new(b"small".to_vec());
        store.put_blobs(std::slice::from_ref(&small)).unwrap();
        lock(&store.database.durable).execute_batch("PRAGMA max_page_count = 40").unwrap();
        let large = Blob::new(vec![7; 1_000_000]);
        let error = store.put_blobs(&[Blob::new(b"other".to_vec()), large.clone()]).unwrap_err().chain();
        assert!(error.contains("the disk is full") && error.contains("store.db"), "{error}");
        assert_eq!(store.missing_blobs(&[small.digest]).unwrap(), []);
        assert_eq!(store.missing_blobs(&[Blob::new(b"other".to_vec()).digest]).unwrap().len(), 1);
        lock(&store.database.durable).execute_batch("PRAGMA max_page_count = 1000000").unwrap();
        store.put_blobs(&[large]).unwrap();
    }

    #[test]
    fn a_panic_within_a_transaction_leaves_a_usable_store() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path().join("store.db")).unwrap();
        let event = Event::new(EventKind::SkillsListed, "list_skills", "s1", SystemTime::now());
        store.append(std::slice::from_ref(&event)).unwrap();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            store.database.write(Durability::Relaxed, |connection| -> Result<(), Error> {
                connection.execute("DELETE FROM events", &[])?;
                panic!("a panic of a test")
            })
        }));
        assert!(panicked.is_err());
        store.append(&[event]).unwrap();
        assert_eq!(store.events(&EventQuery::default()).unwrap().len(), 2);
    }
}
