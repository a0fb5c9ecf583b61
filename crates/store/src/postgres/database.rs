//! A PostgreSQL database.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use repertoire::certificates::Certificates;
use repertoire::{Error, ErrorKind};
use tokio::runtime::{Builder, Runtime};

use super::address::{APPLICATION, Address, READ};
use super::client::{Driver, TimedClient};
use super::connection::{PostgresConnection, RELEASES};
use super::pool::Pool;
use super::pulse::Pulse;
use crate::SqlStore;
use crate::database::{Connection, Database, Durability, TransactionLock, poll};
use crate::migrations;
use crate::value::SqlValue;

/// The longest time between two looks for releases, for notifications may get lost.
const POLL: Duration = Duration::from_millis(500);

/// The longest time of a statement of a change on the server; it may wait for that of another process.
const WRITE: Duration = Duration::from_secs(5 * 60);

/// The longest time that the server works on a statement that changes the tables.
const MIGRATION: Duration = Duration::from_secs(60 * 60);

/// The time after these limits in which the server may still say that it gave up.
const GRACE: Duration = Duration::from_secs(5);

/// A store in a PostgreSQL database, in a schema named `repertoire`.
///
/// Connections are opened on demand, at most eight and one that waits for releases. Broken connections are
/// replaced; an operation that met a broken one is repeated if it cannot have had an effect. No statement is
/// waited for without limit: 35 seconds for a query, five minutes for a change, an hour for one of the
/// tables.
pub type PostgresStore = SqlStore<PostgresDatabase>;

impl PostgresStore {
    /// Opens the store in the database at `url`, and makes its tables if they are missing. `certificates`
    /// verify the server, unless `url` names others.
    pub fn open(url: &str, certificates: &Certificates) -> Result<Self, Error> {
        Self::open_with(url, certificates, |_, _| None)
    }

    /// Opens the store like [`PostgresStore::open`], for requests of others: a database that answers nobody
    /// for a second is not waited for, but by a change that is being committed. One more connection is kept,
    /// by which that is noticed.
    pub fn open_to_serve(url: &str, certificates: &Certificates) -> Result<Self, Error> {
        Self::open_with(url, certificates, |runtime, address| {
            Some(Pulse::start(runtime.handle(), Arc::clone(address)))
        })
    }

    fn open_with(
        url: &str,
        certificates: &Certificates,
        pulse: impl FnOnce(&Runtime, &Arc<Address>) -> Option<Arc<Pulse>>,
    ) -> Result<Self, Error> {
        let address = Arc::new(Address::parse(url, certificates)?);
        // The threads of callers only wait.
        let runtime =
            Builder::new_multi_thread().worker_threads(1).thread_name("postgres").enable_all().build();
        let runtime =
            runtime.map_err(|error| Error::new(ErrorKind::Store).about(address.shown()).because(error))?;
        let driver = Driver::new(runtime.handle(), pulse(&runtime, &address));
        let (pool, listener) = (Pool::default(), Mutex::new(None));
        let database = PostgresDatabase { address, pool, listener, driver, runtime: Some(runtime) };
        database.migrate()?;
        Ok(Self { database })
    }
}

/// A PostgreSQL database with its connections.
pub struct PostgresDatabase {
    address: Arc<Address>,
    pool: Pool,
    /// The connection that is told of releases. It is opened by the first who waits.
    listener: Mutex<Option<TimedClient>>,
    driver: Driver,
    /// Drives the connections, until this is dropped.
    runtime: Option<Runtime>,
}

impl fmt::Debug for PostgresDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PostgresDatabase").field(&self.address.shown()).finish()
    }
}

impl Drop for PostgresDatabase {
    fn drop(&mut self) {
        // A store may be dropped by asynchronous code, which must not block.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
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
        self.transaction(MIGRATION, |connection| {
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
            let mut pooled = self.pool.take(&self.address, &self.driver)?;
            let was_idle = pooled.was_idle;
            let Some(client) = pooled.client() else { continue };
            let mut connection = self.connection(client);
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

    fn connection<'a>(&'a self, client: &'a mut TimedClient) -> PostgresConnection<'a> {
        PostgresConnection { client, shown: self.address.shown(), limit: READ + GRACE, is_broken: false }
    }

    /// Runs `work` in one transaction, whose statements may each take as long as `limit`.
    fn transaction<T>(
        &self,
        limit: Duration,
        mut work: impl FnMut(&mut dyn Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let begin = format!("BEGIN; SET LOCAL statement_timeout = '{}s'", limit.as_secs());
        self.run(|connection| {
            connection.script(&begin).map_err(Failure::Before)?;
            connection.limit = limit + GRACE;
            match work(connection) {
                Ok(value) => connection.commit().map(|()| value).map_err(Failure::Committing),
                Err(error) => {
                    if !connection.is_broken {
                        // The first error is reported; a failure here marks the connection as broken.
                        connection.is_broken = connection.script("ROLLBACK").is_err();
                    }
                    Err(Failure::Before(error))
                }
            }
        })
    }

    /// Waits on `client` for a notification of a release, at most for `timeout`.
    fn listen(
        &self,
        client: &mut TimedClient,
        after: u64,
        timeout: Duration,
        newest: impl Fn(&mut dyn Connection) -> Result<u64, Error>,
    ) -> Result<u64, Error> {
        let end = Instant::now().checked_add(timeout);
        let mut connection = self.connection(client);
        connection.script(&format!("LISTEN {RELEASES}"))?;
        loop {
            let found = newest(&mut connection)?;
            let left = end.map_or(POLL, |end| end.saturating_duration_since(Instant::now()));
            if found > after || left.is_zero() {
                return Ok(found);
            }
            connection.client.wait_for_notification(left.min(POLL));
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
        work: impl FnMut(&mut dyn Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.transaction(WRITE, work)
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
        let mut client = TimedClient::connect(&self.driver, &self.address)?;
        let left = timeout.saturating_sub(start.elapsed());
        let found = self.listen(&mut client, after, left, newest)?;
        *listener = Some(client);
        Ok(found)
    }
}
