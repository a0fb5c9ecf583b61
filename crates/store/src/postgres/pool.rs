//! The connections to a PostgreSQL database.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use repertoire::{Error, ErrorKind};

use super::address::Address;
use super::client::{ClientError, Driver, TimedClient};

/// The most connections of one process, besides the one that waits for releases.
const MAX_CONNECTIONS: usize = 8;

/// The longest wait for a connection that is in use.
const WAIT: Duration = Duration::from_secs(30);

/// The time between two looks whether the server is silent, while all connections are in use.
const LOOK: Duration = Duration::from_millis(250);

/// Connections that are opened on demand and kept.
#[derive(Default)]
pub(super) struct Pool {
    state: Mutex<PoolState>,
    /// Signalled when a connection is given back or closed.
    returned: Condvar,
}

#[derive(Default)]
struct PoolState {
    idle: Vec<TimedClient>,
    /// The number of connections, in use or not.
    open: usize,
}

/// A connection that is in use. It is closed when it is dropped, unless it is given back.
pub(super) struct PooledClient<'a> {
    pool: &'a Pool,
    client: Option<TimedClient>,
    /// True if it was used before, so that it may have been broken since.
    pub(super) was_idle: bool,
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns an idle connection, or a new one while there are not too many.
    pub(super) fn take(&self, address: &Address, driver: &Driver) -> Result<PooledClient<'_>, Error> {
        let end = Instant::now() + WAIT;
        let mut state = self.lock();
        while state.idle.is_empty() && state.open >= MAX_CONNECTIONS {
            // All of them may be committing, which waits for a silent server.
            if driver.is_silent() {
                return Err(address.failure(ClientError::Silence));
            }
            if Instant::now() >= end {
                let why = format!("all {MAX_CONNECTIONS} connections are in use");
                return Err(Error::new(ErrorKind::Store).about(address.shown()).because(why));
            }
            state = self.returned.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        if let Some(client) = state.idle.pop() {
            return Ok(PooledClient { pool: self, client: Some(client), was_idle: true });
        }
        state.open += 1;
        drop(state);
        // From here on its drop counts it as closed.
        let mut place = PooledClient { pool: self, client: None, was_idle: false };
        place.client = Some(TimedClient::connect(driver, address)?);
        Ok(place)
    }

    /// Closes the idle connections: where one is broken, all are.
    pub(super) fn clear(&self) {
        let mut state = self.lock();
        let idle = std::mem::take(&mut state.idle);
        state.open -= idle.len();
        drop(state);
        self.returned.notify_all();
        drop(idle);
    }
}

impl PooledClient<'_> {
    pub(super) fn client(&mut self) -> Option<&mut TimedClient> {
        self.client.as_mut()
    }

    pub(super) fn give_back(mut self) {
        if let Some(client) = self.client.take() {
            let mut state = self.pool.lock();
            state.idle.push(client);
            // The drop of this value counts it as closed.
            state.open += 1;
        }
    }
}

impl Drop for PooledClient<'_> {
    fn drop(&mut self) {
        drop(self.client.take());
        self.pool.lock().open -= 1;
        self.pool.returned.notify_one();
    }
}
