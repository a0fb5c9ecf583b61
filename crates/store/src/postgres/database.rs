//! A PostgreSQL database.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use postgres::Client;
use postgres::fallible_iterator::FallibleIterator as _;
use repertoire::{Error, ErrorKind};

use super::address::{APPLICATION, Address};
use super::connection::{PostgresConnection, RELEASES};
use super::pool::{Pool, close};
use crate::SqlStore;
use crate::database::{Connection, Database, Durability, TransactionLock, poll};
use crate::migrations;
use crate::value::SqlValue;

/// The longest time between two looks for releases, for notifications may get lost.
const POLL: Duration = Duration::from_millis(500);

/// A store in a PostgreSQL database, in a schema named `repertoire`.
///
/// Connections are opened on demand, at most eight and one that waits for releases. Those that break are replaced; an operation
/// that met a broken one is repeated if it cannot have had an effect.
pub type PostgresStore = SqlStore<PostgresDatabase>;

impl PostgresStore {
    /// Opens the store in the database at `url`, and makes its tables if they are missing.
    pub fn open(url: &str) -> Result<Self, Error> {
        let address = Address::parse(url)?;
        let database = PostgresDatabase { address, pool: Pool::default(), listener: Mutex::new(None) };
        database.migrate()?;
        Ok(Self { database })
    }
}

/// A PostgreSQL database with its connections.
pub struct PostgresDatabase {
    address: Address,
    pool: Pool,
    /// The connection that is told of releases. It is opened by the first who waits.
    listener: Mutex<Option<Client>>,
}

impl fmt::Debug for PostgresDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PostgresDatabase").field(&self.address.shown()).finish()
    }
}

impl Drop for PostgresDatabase {
    fn drop(&mut self) {
        let listener = self.listener.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        close(listener.into_iter().collect());
    }
}

/// The moment at which an operation failed.
enum Failure {
    /// Before it can have had an effect.
    Before(Error),
    /// While it was being committed.
    Committing(Error),
}

impl PostgresDatabase {
    fn migrate(&self) -> Result<(), Error> {
        let is_current = self.read(|connection| {
            let found = connection.query_number("SELECT count(to_regclass('repertoire.schema'))", &[])?;
            Ok(found > 0 && migrations::is_current(connection, migrations::POSTGRES)?)
        })?;
        if is_current {
            return Ok(());
        }
        self.write(Durability::Full, |connection| {
            connection.script("SET LOCAL statement_timeout = 0")?;
            connection.lock(TransactionLock::Schema)?;
            let encoding = connection.query_first("SHOW server_encoding", &[])?.map(|mut row| row.text());
            if encoding.transpose()?.is_some_and(|encoding| encoding != "UTF8") {
                return Err(connection.error("the encoding of the database must be UTF8"));
            }
            // With the schema there, no permission to make one is needed.
            let sql = "SELECT count(*) FROM pg_namespace WHERE nspname = 'repertoire'";
            if connection.query_number(sql, &[])? == 0 {
                connection.script("CREATE SCHEMA repertoire")?;
            }
            migrations::migrate(connection, migrations::POSTGRES)
        })
    }

    /// Runs `work` with a connection, and once more with a new one if the connection turns out to be broken.
    fn run<T>(
        &self,
        mut work: impl FnMut(&mut PostgresConnection<'_>) -> Result<T, Failure>,
    ) -> Result<T, Error> {
        loop {
            let mut pooled = self.pool.take(&self.address)?;
            let was_idle = pooled.was_idle;
            let Some(client) = pooled.client() else { continue };
            let mut connection = PostgresConnection { client, shown: self.address.shown(), is_broken: false };
            let result = work(&mut connection);
            let is_broken = connection.is_broken;
            if !is_broken {
                pooled.give_back();
            } else {
                drop(pooled);
                self.pool.clear();
            }
            match result {
                Ok(value) => return Ok(value),
                Err(Failure::Before(_)) if is_broken && was_idle => {}
                Err(Failure::Before(error)) => return Err(error),
                Err(Failure::Committing(error)) if is_broken => {
                    let why = format!(
                        "the connection broke while a change was made, which may or may not be there ({})",
                        error.chain()
                    );
                    return Err(Error::new(ErrorKind::Store).about(self.address.shown()).because(why));
                }
                Err(Failure::Committing(error)) => return Err(error),
            }
        }
    }

    /// Waits on `client` for a notification of a release, at most for `timeout`.
    fn listen(
        &self,
        client: &mut Client,
        after: u64,
        timeout: Duration,
        newest: impl Fn(&mut dyn Connection) -> Result<u64, Error>,
    ) -> Result<u64, Error> {
        let end = Instant::now().checked_add(timeout);
        let mut connection = PostgresConnection { client, shown: self.address.shown(), is_broken: false };
        connection.script(&format!("LISTEN {RELEASES}"))?;
        loop {
            let found = newest(&mut connection)?;
            let left = end.map_or(POLL, |end| end.saturating_duration_since(Instant::now()));
            if found > after || left.is_zero() {
                return Ok(found);
            }
            let told = connection.client.notifications().timeout_iter(left.min(POLL)).next();
            told.map_err(|error| connection.failure(error))?;
        }
    }
}

impl Database for PostgresDatabase {
    fn location(&self) -> String {
        self.address.shown().to_owned()
    }

    fn processes(&self) -> Result<Option<u64>, Error> {
        self.read(|connection| {
            let rows = connection.query(
                "SELECT count(DISTINCT application_name) FROM pg_stat_activity \
                 WHERE datname = current_database() AND application_name LIKE $1",
                &[SqlValue::from(format!("{APPLICATION} %").as_str())],
            )?;
            let count = rows.into_iter().next().map(|mut row| row.int()).transpose()?;
            // None are found if the address names the application.
            Ok(count.and_then(|count| u64::try_from(count).ok()).filter(|count| *count > 0))
        })
    }

    fn read<T>(&self, mut work: impl FnMut(&mut dyn Connection) -> Result<T, Error>) -> Result<T, Error> {
        self.run(|connection| work(connection).map_err(Failure::Before))
    }

    fn write<T>(
        &self,
        _: Durability,
        mut work: impl FnMut(&mut dyn Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.run(|connection| {
            connection.script("BEGIN").map_err(Failure::Before)?;
            match work(connection) {
                Ok(value) => connection.script("COMMIT").map(|()| value).map_err(Failure::Committing),
                Err(error) => {
                    if !connection.is_broken {
                        // The first error is the one to report; a failure here marks the connection as broken.
                        connection.is_broken = connection.script("ROLLBACK").is_err();
                    }
                    Err(Failure::Before(error))
                }
            }
        })
    }

    fn wait(
        &self,
        after: u64,
        timeout: Duration,
        newest: impl Fn(&mut dyn Connection) -> Result<u64, Error>,
    ) -> Result<u64, Error> {
        let Ok(mut listener) = self.listener.try_lock() else {
            // Another thread is told; this one looks.
            return poll(self, POLL, after, timeout, newest);
        };
        let start = Instant::now();
        if let Some(client) = listener.as_mut() {
            match self.listen(client, after, timeout, &newest) {
                Ok(found) => return Ok(found),
                // It may have been broken since the last wait.
                Err(_) => *listener = None,
            }
        }
        let mut client = self.address.connect()?;
        let left = timeout.saturating_sub(start.elapsed());
        let found = self.listen(&mut client, after, left, newest)?;
        *listener = Some(client);
        Ok(found)
    }
}
