//! A store that is opened when it is needed first.

use std::sync::{Arc, Mutex, PoisonError};

use super::Store;
use crate::Error;

/// Opens a store.
type Open = dyn Fn() -> Result<Arc<dyn Store>, Error> + Send + Sync;

/// A store that is opened when it is needed first. Copies share it.
///
/// If opening fails it is tried again the next time, so that a database that was away for a while is found again.
#[derive(Clone)]
pub struct LazyStore {
    open: Arc<Open>,
    opened: Arc<Mutex<Option<Arc<dyn Store>>>>,
    /// False if it is opened for every use, as tests of stores that are away need it.
    is_kept: bool,
}

impl LazyStore {
    /// Returns the store that `open` opens.
    pub fn new(open: impl Fn() -> Result<Arc<dyn Store>, Error> + Send + Sync + 'static) -> Self {
        Self { open: Arc::new(open), opened: Arc::default(), is_kept: true }
    }

    /// Returns the store that `open` opens for every use.
    #[cfg(test)]
    pub(crate) fn uncached(open: impl Fn() -> Result<Arc<dyn Store>, Error> + Send + Sync + 'static) -> Self {
        Self { is_kept: false, ..Self::new(open) }
    }

    /// Returns the store, and opens it if that was not done before.
    pub fn get(&self) -> Result<Arc<dyn Store>, Error> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        match &*opened {
            Some(store) => Ok(Arc::clone(store)),
            None => {
                let store = (self.open)()?;
                *opened = self.is_kept.then(|| Arc::clone(&store));
                Ok(store)
            }
        }
    }
}

impl From<Arc<dyn Store>> for LazyStore {
    fn from(store: Arc<dyn Store>) -> Self {
        Self::new(move || Ok(Arc::clone(&store)))
    }
}
