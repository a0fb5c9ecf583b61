//! A store that is opened when it is needed first.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::Store;
use crate::Error;

type Open = dyn Fn() -> Result<Arc<dyn Store>, Error> + Send + Sync;

/// The store once it is opened, and until then the last error.
#[derive(Default)]
struct OpenedStore {
    store: Option<Arc<dyn Store>>,
    error: Option<Error>,
}

/// A store that is opened when it is needed first. Copies share it.
///
/// If opening fails it is tried again the next time, so that a database that was away is found again.
#[derive(Clone)]
pub struct LazyStore {
    open: Arc<Open>,
    opened: Arc<Mutex<OpenedStore>>,
    /// The number of times that it could not be opened.
    failures: Arc<AtomicU64>,
    /// False if it is opened for every use, as tests of stores that are away need it.
    is_kept: bool,
}

impl LazyStore {
    /// Returns the store that `open` opens.
    pub fn new(open: impl Fn() -> Result<Arc<dyn Store>, Error> + Send + Sync + 'static) -> Self {
        Self { open: Arc::new(open), opened: Arc::default(), failures: Arc::default(), is_kept: true }
    }

    /// Returns the store that `open` opens for every use.
    #[cfg(test)]
    pub(crate) fn uncached(open: impl Fn() -> Result<Arc<dyn Store>, Error> + Send + Sync + 'static) -> Self {
        Self { is_kept: false, ..Self::new(open) }
    }

    /// Returns the store, and opens it if that was not done before.
    ///
    /// Threads that come meanwhile share one attempt, which may take long if a database does not answer.
    pub fn get(&self) -> Result<Arc<dyn Store>, Error> {
        let failures = self.failures.load(Ordering::SeqCst);
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = &opened.store {
            return Ok(Arc::clone(store));
        }
        if self.failures.load(Ordering::SeqCst) != failures
            && let Some(error) = &opened.error
        {
            return Err(copy(error));
        }
        let outcome = (self.open)();
        match &outcome {
            Ok(store) => opened.store = self.is_kept.then(|| Arc::clone(store)),
            Err(error) => {
                opened.error = Some(copy(error));
                self.failures.fetch_add(1, Ordering::SeqCst);
            }
        }
        outcome
    }
}

/// Returns an error that reads like `error`, whose cause belongs to one thread.
fn copy(error: &Error) -> Error {
    let (own, chain) = (error.to_string(), error.chain());
    let mut copy = Error::new(error.kind());
    if let Some(subject) = error.subject() {
        copy = copy.about(subject);
    }
    if let Some(path) = error.path() {
        copy = copy.at(path);
    }
    match chain.strip_prefix(&format!("{own}: ")) {
        Some(cause) => copy.because(cause),
        None => copy,
    }
}

impl From<Arc<dyn Store>> for LazyStore {
    fn from(store: Arc<dyn Store>) -> Self {
        Self::new(move || Ok(Arc::clone(&store)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    #[test]
    fn threads_that_come_meanwhile_share_an_attempt() {
        let (asking, attempts) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (others, tries) = (Arc::clone(&asking), Arc::clone(&attempts));
        let store = LazyStore::new(move || {
            tries.fetch_add(1, Ordering::SeqCst);
            while others.load(Ordering::SeqCst) < 16 {
                thread::yield_now();
            }
            Err(Error::new(ErrorKind::Store).about("postgres://db").because("it does not answer"))
        });
        thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    asking.fetch_add(1, Ordering::SeqCst);
                    let error = store.get().err().unwrap().chain();
                    assert_eq!(error, "the store is not available: postgres://db: it does not answer");
                });
            }
        });
        assert!(attempts.load(Ordering::SeqCst) < 16);
    }
}
