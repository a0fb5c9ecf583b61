//! The interface that both databases implement.

use std::thread;
use std::time::{Duration, Instant};

use repertoire::Error;

use crate::value::{Row, SqlValue};

/// The most parameters of a statement that inserts rows. SQLite looks each up by name among the others.
const MAX_PARAMETERS: usize = 256;

/// A lock that writers hold until their transaction ends, so that numbers become visible in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionLock {
    /// For a change of the tables.
    Schema = 1,
    /// For new events.
    Events = 2,
    /// For new proposals.
    Proposals = 3,
    /// For new releases.
    Releases = 4,
    /// For new tokens.
    Tokens = 5,
}

/// The data that must outlive a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Every committed transaction.
    Full,
    /// The last transactions may be lost, as with events; the database stays whole.
    Relaxed,
}

/// An open connection to a database.
///
/// Statements are written for both: parameters are `$1`, `$2`, … and first appear in this order.
pub trait Connection {
    /// Runs a statement. Returns the number of rows that it changed.
    fn execute(&mut self, sql: &str, values: &[SqlValue]) -> Result<u64, Error>;

    /// Returns the rows of a query.
    fn query(&mut self, sql: &str, values: &[SqlValue]) -> Result<Vec<Row>, Error>;

    /// Runs several statements without parameters.
    fn script(&mut self, sql: &str) -> Result<(), Error>;

    /// Takes a lock until the transaction ends.
    fn lock(&mut self, lock: TransactionLock) -> Result<(), Error>;

    /// Wakes those who wait for a release once the transaction has ended.
    fn notify(&mut self) -> Result<(), Error>;

    /// Returns an error about the database.
    fn error(&self, why: &str) -> Error;

    /// Returns an error about damage to the data.
    fn damage(&self, what: &str) -> Error {
        self.error(&format!("the data is damaged ({what})"))
    }

    fn query_first(&mut self, sql: &str, values: &[SqlValue]) -> Result<Option<Row>, Error> {
        Ok(self.query(sql, values)?.into_iter().next())
    }

    /// Returns the number that a query returns, 0 if it returns none.
    fn query_number(&mut self, sql: &str, values: &[SqlValue]) -> Result<u64, Error> {
        self.query_first(sql, values)?.map_or(Ok(0), |mut row| row.number())
    }
}

/// A database.
pub trait Database: Send + Sync {
    /// Returns where it is, for people.
    fn location(&self) -> String;

    /// Returns the number of connected processes, this one among them; `None` where that is not known.
    fn processes(&self) -> Result<Option<u64>, Error> {
        Ok(None)
    }

    /// Looks for damage to the data, where that does not take long.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Looks for damage to the data, however long that takes.
    fn check_fully(&self) -> Result<(), Error> {
        self.check()
    }

    /// Runs queries. They may be run again if a connection breaks.
    fn read<T>(&self, work: impl FnMut(&mut dyn Connection) -> Result<T, Error>) -> Result<T, Error>;

    /// Runs statements in one transaction. They may run again if a connection breaks before it ends.
    fn write<T>(
        &self,
        durability: Durability,
        work: impl FnMut(&mut dyn Connection) -> Result<T, Error>,
    ) -> Result<T, Error>;

    /// Waits until `newest` returns more than `after`, at most for `timeout`. Returns what it returned last.
    fn wait(
        &self,
        after: u64,
        timeout: Duration,
        newest: impl Fn(&mut dyn Connection) -> Result<u64, Error>,
    ) -> Result<u64, Error>;
}

/// Waits as [`Database::wait`] does, by reading every `pause`.
pub(crate) fn poll(
    database: &impl Database,
    pause: Duration,
    after: u64,
    timeout: Duration,
    newest: impl Fn(&mut dyn Connection) -> Result<u64, Error>,
) -> Result<u64, Error> {
    let end = Instant::now().checked_add(timeout);
    loop {
        let found = database.read(&newest)?;
        let left = end.map_or(pause, |end| end.saturating_duration_since(Instant::now()));
        if found > after || left.is_zero() {
            return Ok(found);
        }
        thread::sleep(left.min(pause));
    }
}

/// Inserts `rows` with statements that begin with `head` (`INSERT INTO … (…)`) and end with `tail`.
pub(crate) fn insert<const N: usize>(
    connection: &mut dyn Connection,
    head: &str,
    rows: &[[SqlValue; N]],
    tail: &str,
) -> Result<(), Error> {
    for some in rows.chunks(MAX_PARAMETERS / N) {
        let mut sql = format!("{head} VALUES ");
        for row in 0..some.len() {
            sql.push_str(if row == 0 { "(" } else { ", (" });
            sql.push_str(&parameters(row * N + 1, N));
            sql.push(')');
        }
        sql.push(' ');
        sql.push_str(tail);
        connection.execute(&sql, some.as_flattened())?;
    }
    Ok(())
}

/// Returns `count` parameters from number `first`, with commas between them.
pub(crate) fn parameters(first: usize, count: usize) -> String {
    let numbers: Vec<String> = (first..first + count).map(|number| format!("${number}")).collect();
    numbers.join(", ")
}
