//! A client of PostgreSQL, each of whose calls ends in time.

use std::error::Error as StdError;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use repertoire::Error;
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::address::Address;
use super::open_connection::OpenConnection;
use super::pulse::Pulse;

/// The reason that a call failed.
#[derive(Debug)]
pub(super) enum ClientError {
    /// An error of the server, or of the way to it.
    Postgres(tokio_postgres::Error),
    /// The call took longer than this.
    Timeout(Duration),
    /// The server answers none of the calls in flight.
    Silence,
}

impl ClientError {
    /// Returns whether the server said so.
    fn is_answer(&self) -> bool {
        matches!(self, Self::Postgres(error) if error.as_db_error().is_some())
    }
}

impl From<ClientError> for Box<dyn StdError + Send + Sync> {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Postgres(error) => error.into(),
            ClientError::Timeout(limit) => {
                format!("the database does not answer; waited for {} s", limit.as_secs()).into()
            }
            ClientError::Silence => "the database does not answer".into(),
        }
    }
}

/// Runs the calls of the clients of one database.
#[derive(Clone)]
pub(super) struct Driver {
    runtime: Handle,
    /// Ends calls early once the server is silent.
    pulse: Option<Arc<Pulse>>,
}

impl Driver {
    /// Returns what runs calls on `runtime`.
    pub(super) fn new(runtime: &Handle, pulse: Option<Arc<Pulse>>) -> Self {
        Self { runtime: runtime.clone(), pulse }
    }

    /// Returns whether the server answers none of the calls in flight.
    pub(super) fn is_silent(&self) -> bool {
        self.pulse.as_ref().is_some_and(|pulse| pulse.is_silent())
    }

    /// Waits for `call`, at most for `limit`, and no longer than the server answers at all.
    fn wait<T>(
        &self,
        limit: Duration,
        call: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, ClientError> {
        let Some(pulse) = &self.pulse else { return self.wait_even_in_silence(limit, call) };
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                // No call is begun in silence.
                () = pulse.silence() => Err(ClientError::Silence),
                outcome = within(limit, call) => {
                    if outcome.as_ref().err().is_none_or(ClientError::is_answer) {
                        pulse.answered();
                    }
                    outcome
                }
            }
        })
    }

    fn wait_even_in_silence<T>(
        &self,
        limit: Duration,
        call: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, ClientError> {
        self.runtime.block_on(within(limit, call))
    }
}

async fn within<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, ClientError> {
    match timeout(limit, call).await {
        Ok(outcome) => outcome.map_err(ClientError::Postgres),
        Err(_) => Err(ClientError::Timeout(limit)),
    }
}

/// A client, which blocks.
pub(super) struct TimedClient {
    connection: OpenConnection,
    driver: Driver,
}

impl TimedClient {
    /// Opens a connection to the database at `address`.
    pub(super) fn connect(driver: &Driver, address: &Address) -> Result<Self, Error> {
        let opened = driver.wait(address.connect_limit(), OpenConnection::open(address));
        let connection = opened.map_err(|error| address.failure(error))?;
        Ok(Self { connection, driver: driver.clone() })
    }

    /// Runs a statement. Returns the number of rows that it changed.
    pub(super) fn execute(
        &mut self,
        limit: Duration,
        sql: &str,
        values: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<u64, ClientError> {
        self.driver.wait(limit, self.connection.client.execute_typed(sql, values))
    }

    pub(super) fn query(
        &mut self,
        limit: Duration,
        sql: &str,
        values: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<Row>, ClientError> {
        self.driver.wait(limit, self.connection.client.query_typed(sql, values))
    }

    /// Runs several statements without parameters.
    pub(super) fn script(&mut self, limit: Duration, sql: &str) -> Result<(), ClientError> {
        self.driver.wait(limit, self.connection.client.batch_execute(sql))
    }

    /// Commits. It waits for a silent server, which may have committed already.
    pub(super) fn commit(&mut self, limit: Duration) -> Result<(), ClientError> {
        self.driver.wait_even_in_silence(limit, self.connection.client.batch_execute("COMMIT"))
    }

    pub(super) fn wait_for_notification(&mut self, time: Duration) {
        let told = async { timeout(time, self.connection.told()).await };
        // Without one, the caller looks.
        let _ = self.driver.runtime.block_on(told);
    }
}
