//! A SQLite file.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use repertoire::{Error, ErrorKind};
use rusqlite::config::DbConfig;
use rusqlite::{OpenFlags, ffi};

use super::connection::{SqliteConnection, failure};
use super::file::{self, FileIdentity};
use crate::SqlStore;
use crate::database::{Connection, Database, Durability, poll};
use crate::migrations;

/// The longest wait for another process that is writing.
const BUSY: Duration = Duration::from_secs(5);

/// The time between two looks at a file that others may have written to.
const POLL: Duration = Duration::from_millis(100);

/// The largest file that each command reads as a whole to look for damage.
const MAX_CHECKED_BYTES: u64 = 64 * 1024 * 1024;

/// A store in a SQLite file.
///
/// The file is in WAL mode. Events are written without waiting for the disk: a power cut may lose the last
/// ones, and nothing else.
pub type SqliteStore = SqlStore<SqliteDatabase>;

impl SqliteStore {
    /// Opens the store in the file at `path`, and makes it, readable by its owner alone, if there is not one.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        // The file stays the same if the working directory changes, and no name is special to SQLite.
        let path = std::path::absolute(path.as_ref()).map_err(|error| {
            Error::new(ErrorKind::Store)
                .at(path.as_ref())
                .because(format!("not the path of a file ({error})"))
        })?;
        let database = SqliteDatabase {
            path,
            opened: Mutex::default(),
            durable: Mutex::default(),
            relaxed: Mutex::default(),
        };
        database.read(|_| Ok(()))?;
        Ok(Self { database })
    }
}

/// A SQLite file with its connections.
///
/// Both are opened when they are needed. They are closed after an error, and when the file was moved away, so
/// that the next use opens the file that is there by then, or makes a new one.
#[derive(Debug)]
pub struct SqliteDatabase {
    path: PathBuf,
    /// The file that the connections are to.
    opened: Mutex<Option<FileIdentity>>,
    /// For everything but new events.
    durable: Mutex<Option<rusqlite::Connection>>,
    /// For events.
    relaxed: Mutex<Option<rusqlite::Connection>>,
}

impl SqliteDatabase {
    /// Runs `work` with the connection for `durability`.
    fn connected<T>(
        &self,
        durability: Durability,
        work: impl FnOnce(&rusqlite::Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut slot = lock(match durability {
            Durability::Full => &self.durable,
            Durability::Relaxed => &self.relaxed,
        });
        let connection = match slot.take() {
            Some(connection) => connection,
            None => self.open(durability)?,
        };
        let result = work(&connection);
        if result.is_ok() {
            *slot = Some(connection);
        } else {
            self.close(connection);
        }
        result
    }

    fn open(&self, durability: Durability) -> Result<rusqlite::Connection, Error> {
        file::create(&self.path)?;
        *lock(&self.opened) = file::identity(&self.path);
        let connection = connect(&self.path, durability)?;
        migrate(&connection, &self.path)?;
        Ok(connection)
    }

    /// Closes the connections if their file is no longer at the path; a new one is made then. All of them are
    /// closed before the other file is opened, since SQLite finds the files beside it by their names.
    ///
    /// Fails if there is not one at the path and skills are served from the old one, which can still be read:
    /// a new one would have no skills.
    fn close_if_replaced(&self) -> Result<(), Error> {
        let is_replaced =
            || lock(&self.opened).is_some_and(|opened| file::identity(&self.path) != Some(opened));
        if is_replaced() {
            let (mut durable, mut relaxed) = (lock(&self.durable), lock(&self.relaxed));
            if is_replaced() {
                let is_gone = file::identity(&self.path).is_none();
                if is_gone && durable.as_ref().or(relaxed.as_ref()).is_some_and(has_releases) {
                    let error = "its file was moved away, and skills are served from it; put it back, or restart the server";
                    return Err(Error::new(ErrorKind::Store).at(&self.path).because(error));
                }
                durable
                    .take()
                    .into_iter()
                    .chain(relaxed.take())
                    .for_each(|connection| self.close(connection));
            }
        }
        Ok(())
    }

    fn close(&self, connection: rusqlite::Connection) {
        if file::identity(&self.path) != *lock(&self.opened) {
            // The log beside the file goes into the file, or it would be lost, or end up in another database.
            let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            // SQLite would remove the files beside another database, which have the same names.
            let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        }
        drop(connection);
    }
}

/// Returns whether skills were published to the database.
fn has_releases(connection: &rusqlite::Connection) -> bool {
    connection.query_row("SELECT EXISTS (SELECT 1 FROM releases)", [], |row| row.get(0)).unwrap_or(false)
}

/// Makes the tables that are missing.
fn migrate(connection: &rusqlite::Connection, path: &Path) -> Result<(), Error> {
    let mut reader = SqliteConnection { connection, path };
    let tables = reader.query_first(
        "SELECT count(*), count(CASE WHEN name = 'schema' THEN 1 END) FROM sqlite_schema",
        &[],
    )?;
    let (all, own) = match tables {
        Some(mut row) => (row.number()?, row.number()?),
        None => (0, 0),
    };
    if own == 0 && all > 0 {
        return Err(reader.error("the file belongs to another program"));
    }
    if own > 0 && migrations::is_current(&mut reader, migrations::SQLITE)? {
        return Ok(());
    }
    transaction(connection, path, |connection| migrations::migrate(connection, migrations::SQLITE))
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

    fn check(&self) -> Result<(), Error> {
        if self.path.metadata().map_or(0, |metadata| metadata.len()) > MAX_CHECKED_BYTES {
            return Ok(());
        }
        self.check_fully()
    }

    fn check_fully(&self) -> Result<(), Error> {
        self.read(|connection| {
            let found = connection.query_first("PRAGMA quick_check(1)", &[])?;
            match found.map(|mut row| row.text()).transpose()? {
                Some(found) if found != "ok" => Err(connection.damage(&found)),
                _ => Ok(()),
            }
        })
    }

    fn read<T>(&self, mut work: impl FnMut(&mut dyn Connection) -> Result<T, Error>) -> Result<T, Error> {
        // The old file can still be read while there is not one.
        if file::identity(&self.path).is_some() {
            self.close_if_replaced()?;
        }
        self.connected(Durability::Full, |connection| {
            work(&mut SqliteConnection { connection, path: &self.path })
        })
    }

    fn write<T>(
        &self,
        durability: Durability,
        work: impl FnMut(&mut dyn Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.close_if_replaced()?;
        self.connected(durability, |connection| transaction(connection, &self.path, work))
    }

    fn wait(
        &self,
        after: u64,
        timeout: Duration,
        newest: impl Fn(&mut dyn Connection) -> Result<u64, Error>,
    ) -> Result<u64, Error> {
        poll(self, POLL, after, timeout, newest)
    }
}

/// Runs `work` in a transaction that is the only one that writes.
fn transaction<T>(
    connection: &rusqlite::Connection,
    path: &Path,
    mut work: impl FnMut(&mut dyn Connection) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut transaction = SqliteConnection { connection, path };
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
        let limit = |connection: &rusqlite::Connection| {
            connection.execute_batch("PRAGMA max_page_count = 40").unwrap();
            Ok(())
        };
        store.database.connected(Durability::Full, limit).unwrap();
        let large = Blob::new(vec![7; 1_000_000]);
        let error = store.put_blobs(&[Blob::new(b"other".to_vec()), large.clone()]).unwrap_err().chain();
        assert!(error.contains("the disk is full") && error.contains("store.db"), "{error}");
        assert_eq!(store.missing_blobs(&[small.digest]).unwrap(), []);
        assert_eq!(store.missing_blobs(&[Blob::new(b"other".to_vec()).digest]).unwrap().len(), 1);
        // The connection with the limit was closed after the error.
        store.put_blobs(&[large]).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_was_moved_away_is_made_anew_by_the_next_write() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        let store = SqliteStore::open(&path).unwrap();
        let event = || Event::new(EventKind::SkillsListed, "list_skills", "s1", SystemTime::now());
        let events = |store: &SqliteStore| store.events(&EventQuery::default()).unwrap().len();
        store.append(&[event(), event()]).unwrap();
        store.put_blobs(&[Blob::new(b"old".to_vec())]).unwrap();
        let moved = directory.path().join("moved.db");
        for end in ["", "-wal", "-shm"] {
            let name = |path: &Path| PathBuf::from(format!("{}{end}", path.display()));
            std::fs::rename(name(&path), name(&moved)).unwrap();
        }
        assert_eq!(events(&store), 2, "the old file can still be read");
        store.append(&[event()]).unwrap();
        assert_eq!(events(&store), 1);
        store.put_blobs(&[Blob::new(b"new".to_vec())]).unwrap();
        assert_eq!(store.missing_blobs(&[Blob::new(b"old".to_vec()).digest]).unwrap().len(), 1);
        assert_eq!(events(&SqliteStore::open(&path).unwrap()), 1, "another process sees the same file");
        assert_eq!(events(&SqliteStore::open(&moved).unwrap()), 2, "nothing was written to the moved file");
        // It is put back.
        drop(store);
        let store = SqliteStore::open(&path).unwrap();
        assert_eq!(events(&store), 1);
        std::fs::rename(&moved, &path).unwrap();
        assert_eq!(events(&store), 2);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_in_the_log_is_neither_lost_nor_given_to_another_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let event = || Event::new(EventKind::SkillsListed, "list_skills", "s1", SystemTime::now());
        let events = |store: &SqliteStore| store.events(&EventQuery::default()).unwrap().len();
        let backup = SqliteStore::open(path("backup.db")).unwrap();
        backup.append(&[event(), event(), event()]).unwrap();
        drop(backup);
        let store = SqliteStore::open(path("store.db")).unwrap();
        store.append(&[event()]).unwrap();
        // Only the file itself is moved; its log stays behind.
        std::fs::rename(path("store.db"), path("old.db")).unwrap();
        std::fs::rename(path("backup.db"), path("store.db")).unwrap();
        store.append(&[event()]).unwrap();
        assert_eq!(events(&store), 4, "the backup has what it had, and the new event");
        assert_eq!(events(&SqliteStore::open(path("old.db")).unwrap()), 1);
        // Without another file in its place.
        std::fs::rename(path("store.db"), path("older.db")).unwrap();
        store.append(&[event()]).unwrap();
        assert_eq!(events(&store), 1);
        assert_eq!(events(&SqliteStore::open(path("older.db")).unwrap()), 4);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_skills_are_served_from_is_not_made_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        let store = SqliteStore::open(&path).unwrap();
        let event = || Event::new(EventKind::SkillsListed, "list_skills", "s1", SystemTime::now());
        let insert = "INSERT INTO releases (channel, time_ms) VALUES ('stable', 0)";
        let released = store.database.write(Durability::Full, |connection| connection.script(insert));
        released.unwrap();
        std::fs::rename(&path, directory.path().join("moved.db")).unwrap();
        let error = store.append(&[event()]).unwrap_err().chain();
        assert!(error.contains("moved away"), "{error}");
        assert!(!path.try_exists().unwrap());
        assert!(store.events(&EventQuery::default()).is_ok(), "it can still be read");
        std::fs::rename(directory.path().join("moved.db"), &path).unwrap();
        store.append(&[event()]).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_is_damaged_and_moved_away_is_made_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        let store = SqliteStore::open(&path).unwrap();
        let event = Event::new(EventKind::SkillsListed, "list_skills", "s1", SystemTime::now());
        store.append(std::slice::from_ref(&event)).unwrap();
        drop(store);
        let store = SqliteStore::open(&path).unwrap();
        std::fs::write(&path, vec![b'x'; 8192]).unwrap();
        let error = store.append(std::slice::from_ref(&event)).unwrap_err().chain();
        assert!(error.contains("move it away"), "{error}");
        std::fs::rename(&path, directory.path().join("damaged.db")).unwrap();
        store.append(&[event]).unwrap();
        assert_eq!(store.events(&EventQuery::default()).unwrap().len(), 1);
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
