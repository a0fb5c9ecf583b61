//! The tokens of a store, read in the background while requests use them.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, SystemTime};

use repertoire::Error;
use repertoire::store::{LazyStore, TokenRecord};
use repertoire_model::Digest;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout, timeout_at};

/// The time between readings, and so the longest that a revoked token is accepted while the store answers.
const FRESH: Duration = Duration::from_secs(2);

/// The least time between two readings. A request with an unknown token waits for the next one, so that a new
/// token works at once and guessing does not load the store.
const PAUSE: Duration = Duration::from_millis(250);

/// The time that a reading may take before known tokens are accepted without it.
const LATE: Duration = Duration::from_millis(250);

/// The longest wait for a reading that may have an unknown token.
const WAIT: Duration = Duration::from_secs(1);

/// The longest time that tokens are accepted while the store is away.
const STALE: Duration = Duration::from_secs(5 * 60);

type ReadTokens = dyn Fn() -> Result<Vec<TokenRecord>, Error> + Send + Sync;

/// The tokens at one time. A store has a bounded number of them. Times are those at which readings began.
#[derive(Clone, Default)]
struct TokenSnapshot {
    tokens: Arc<HashMap<Digest, Arc<TokenRecord>>>,
    /// The last reading that went well.
    read: Option<Instant>,
    /// The last reading that has ended.
    tried: Option<Instant>,
    /// The last reading.
    begun: Option<Instant>,
}

impl TokenSnapshot {
    /// Returns `true` if no newer reading is to be waited for: the last one is new, or the next one is late.
    fn is_newest(&self) -> bool {
        self.tried.is_some_and(|tried| tried.elapsed() < FRESH)
            || self.begun.is_some_and(|begun| begun.elapsed() >= LATE)
    }

    /// Returns `true` if the tokens are not too old to be accepted.
    fn is_usable(&self) -> bool {
        self.read.is_some_and(|read| read.elapsed() < STALE)
    }
}

/// The store does not answer, so that nobody knows if a token is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoreAway;

pub(super) struct StoredTokens {
    store: LazyStore,
    shared: Arc<SharedTokens>,
    /// Set once the tokens are read, which begins with the first question about them.
    is_read: OnceLock<()>,
}

/// State that requests share with the task that reads the tokens.
struct SharedTokens {
    read: Arc<ReadTokens>,
    newest: watch::Sender<TokenSnapshot>,
    /// Signalled by requests that wait for the next reading.
    wanted: Arc<Notify>,
}

impl StoredTokens {
    /// Returns the tokens of `store`, which is not read yet.
    pub(super) fn new(store: LazyStore) -> Self {
        let read = store.clone();
        Self::read_by(store, move || read.get()?.active_tokens(SystemTime::now()))
    }

    fn read_by(
        store: LazyStore,
        read: impl Fn() -> Result<Vec<TokenRecord>, Error> + Send + Sync + 'static,
    ) -> Self {
        let shared =
            SharedTokens { read: Arc::new(read), newest: watch::Sender::default(), wanted: Arc::default() };
        Self { store, shared: Arc::new(shared), is_read: OnceLock::new() }
    }

    /// Returns the token with this digest, if there is one that is neither revoked nor has ended.
    ///
    /// The wait is bounded where the store does not answer: a known token is accepted from the last reading,
    /// and the wait for an unknown one is short.
    pub(super) async fn find(&self, digest: &Digest) -> Result<Option<Arc<TokenRecord>>, StoreAway> {
        let asked = Instant::now();
        let mut readings = self.readings();
        let newest = loop {
            let newest = readings.borrow_and_update().clone();
            let (is_enough, deadline) = if newest.tokens.contains_key(digest) {
                (newest.is_newest(), newest.begun.unwrap_or(asked) + LATE)
            } else {
                (newest.tried >= Some(asked), asked + WAIT)
            };
            if is_enough {
                break newest;
            }
            self.shared.wanted.notify_one();
            if timeout_at(deadline, readings.changed()).await.is_err() {
                break newest;
            }
        };
        match newest.tokens.get(digest) {
            Some(token) if newest.is_usable() => {
                Ok(Some(Arc::clone(token)).filter(|token| token.is_valid(SystemTime::now())))
            }
            None if newest.read >= Some(asked) => Ok(None),
            _ => Err(StoreAway),
        }
    }

    /// Returns whether tokens are accepted, after a short wait for the first reading.
    pub(super) async fn are_usable(&self) -> bool {
        let mut readings = self.readings();
        // Without an answer they are not.
        let _ = timeout(WAIT, readings.wait_for(|newest| newest.tried.is_some())).await;
        readings.borrow().is_usable()
    }

    /// Adds a token to the store. The text of an error is for people.
    pub(super) async fn add(&self, token: TokenRecord) -> Result<(), String> {
        let store = self.store.clone();
        let added = tokio::task::spawn_blocking(move || store.get()?.add_token(&token)).await;
        added.map_err(|error| error.to_string())?.map_err(|error| error.chain())
    }

    /// Revokes a token, which is not accepted by this server from now on.
    pub(super) async fn revoke(&self, digest: Digest) -> Result<bool, StoreAway> {
        let store = self.store.clone();
        let revoke = move || store.get()?.revoke_token(&digest, SystemTime::now());
        let is_revoked =
            tokio::task::spawn_blocking(revoke).await.ok().and_then(Result::ok).ok_or(StoreAway)?;
        self.shared.newest.send_modify(|newest| {
            Arc::make_mut(&mut newest.tokens).remove(&digest);
            // A reading in progress may have seen the token as it was.
            newest.begun = None;
        });
        Ok(is_revoked)
    }

    /// Returns the readings from now on, and starts them if nobody asked before.
    fn readings(&self) -> watch::Receiver<TokenSnapshot> {
        self.is_read.get_or_init(|| drop(tokio::spawn(keep_reading(Arc::downgrade(&self.shared)))));
        self.shared.newest.subscribe()
    }
}

/// Reads the tokens, one reading after the other, for as long as somebody has them.
async fn keep_reading(tokens: Weak<SharedTokens>) {
    while let Some(shared) = tokens.upgrade() {
        shared.read().await;
        let wanted = Arc::clone(&shared.wanted);
        drop(shared);
        sleep(PAUSE).await;
        // Without a request that waits, it is time all the same.
        let _ = timeout(FRESH - PAUSE, wanted.notified()).await;
    }
}

impl SharedTokens {
    async fn read(&self) {
        let begun = Instant::now();
        self.newest.send_modify(|newest| newest.begun = Some(begun));
        let read = Arc::clone(&self.read);
        let read = tokio::task::spawn_blocking(move || read()).await;
        self.newest.send_modify(|newest| {
            if newest.begun != Some(begun) {
                return;
            }
            (newest.begun, newest.tried) = (None, Some(begun));
            if let Ok(Ok(tokens)) = read {
                let tokens = tokens.into_iter().map(|token| (token.digest, Arc::new(token)));
                (newest.tokens, newest.read) = (Arc::new(tokens.collect()), Some(begun));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_store::MemoryStore;
    use repertoire::ErrorKind;
    use repertoire::store::{Role, Store, Tokens as _};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    /// A store in memory that may be away, or say nothing, and the number of readings that began.
    #[derive(Default)]
    struct Setting {
        store: Arc<MemoryStore>,
        is_away: Arc<AtomicBool>,
        is_silent: Arc<AtomicBool>,
        readings: Arc<AtomicUsize>,
    }

    impl Setting {
        fn tokens(&self) -> StoredTokens {
            let (store, is_away) = (Arc::clone(&self.store), Arc::clone(&self.is_away));
            let (is_silent, readings) = (Arc::clone(&self.is_silent), Arc::clone(&self.readings));
            let lazy = LazyStore::from(Arc::clone(&self.store) as Arc<dyn Store>);
            StoredTokens::read_by(lazy, move || {
                readings.fetch_add(1, Ordering::Relaxed);
                while is_silent.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                if is_away.load(Ordering::Relaxed) {
                    return Err(Error::new(ErrorKind::Store));
                }
                store.active_tokens(SystemTime::now())
            })
        }

        async fn add(&self, secret: &str) -> Digest {
            // A clock that stands still would have made it before the last reading.
            tokio::time::sleep(Duration::from_millis(1)).await;
            let token = TokenRecord::new(secret, "ann", Role::Reader, SystemTime::now());
            self.store.add_token(&token).unwrap();
            token.digest
        }
    }

    #[tokio::test(start_paused = true)]
    async fn new_tokens_work_at_once_and_revoked_ones_end_within_seconds() {
        let setting = Setting::default();
        let tokens = setting.tokens();
        let first = setting.add("rep_1").await;
        assert!(tokens.find(&first).await.unwrap().is_some());
        let second = setting.add("rep_2").await;
        assert!(tokens.find(&second).await.unwrap().is_some(), "an unknown token is looked up anew");
        assert!(setting.store.revoke_token(&first, SystemTime::now()).unwrap());
        tokio::time::sleep(FRESH).await;
        assert_eq!(tokens.find(&first).await.unwrap(), None);
        assert!(tokens.find(&second).await.unwrap().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_that_has_ended_is_not_accepted() {
        let setting = Setting::default();
        let mut token = TokenRecord::new("rep_1", "ann", Role::Admin, SystemTime::now());
        token.expires = Some(SystemTime::now());
        setting.store.add_token(&token).unwrap();
        assert_eq!(setting.tokens().find(&token.digest).await.unwrap(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_store_no_token_is_known() {
        let setting = Setting::default();
        setting.is_away.store(true, Ordering::Relaxed);
        let tokens = setting.tokens();
        let digest = setting.add("rep_1").await;
        assert_eq!(tokens.find(&digest).await, Err(StoreAway));
        setting.is_away.store(false, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(tokens.find(&digest).await.unwrap().is_some());
        assert_eq!(setting.readings.load(Ordering::Relaxed), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn known_tokens_are_accepted_for_five_minutes_without_the_store() {
        let setting = Setting::default();
        let (tokens, known) = (setting.tokens(), setting.add("rep_1").await);
        assert!(tokens.find(&known).await.unwrap().is_some() && tokens.are_usable().await);
        setting.is_away.store(true, Ordering::Relaxed);
        tokio::time::sleep(STALE - FRESH * 2).await;
        assert!(tokens.find(&known).await.unwrap().is_some() && tokens.are_usable().await);
        assert_eq!(tokens.find(&Digest::of(b"rep_2")).await, Err(StoreAway), "it may have been made since");
        tokio::time::sleep(FRESH * 2).await;
        assert_eq!(tokens.find(&known).await, Err(StoreAway));
        assert!(!tokens.are_usable().await);
        setting.is_away.store(false, Ordering::Relaxed);
        tokio::time::sleep(FRESH * 2).await;
        assert!(tokens.find(&known).await.unwrap().is_some() && tokens.are_usable().await);
    }

    #[tokio::test]
    async fn nobody_waits_for_a_store_that_says_nothing() {
        let setting = Setting::default();
        let (tokens, known) = (setting.tokens(), setting.add("rep_1").await);
        assert!(tokens.find(&known).await.unwrap().is_some());
        setting.is_silent.store(true, Ordering::Relaxed);
        let new = setting.add("rep_2").await;
        let readings = setting.readings.load(Ordering::Relaxed);
        for _ in 0..3 {
            assert_eq!(tokens.find(&new).await, Err(StoreAway));
            assert!(tokens.find(&known).await.unwrap().is_some() && tokens.are_usable().await);
        }
        assert_eq!(setting.readings.load(Ordering::Relaxed), readings + 1, "there is one at a time");
        setting.is_silent.store(false, Ordering::Relaxed);
        assert!(tokens.find(&new).await.unwrap().is_some());
    }
}
