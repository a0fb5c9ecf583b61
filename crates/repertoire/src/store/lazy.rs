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
}

impl LazyStore {
    /// Returns the store that `open` opens.
    pub fn new(open: impl Fn() -> Result<Arc<dyn Store>, Error> + Send + Sync + 'static) -> Self {
        Self { open: Arc::new(open), opened: Arc::default() }
    }

    /// Returns the store, and opens it if that was not done before.
    pub fn get(&self) -> Result<Arc<dyn Store>, Error> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        match &*opened {
            Some(store) => Ok(Arc::clone(store)),
            None => {
                let store = (self.open)()?;
                *opened = Some(Arc::clone(&store));
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
