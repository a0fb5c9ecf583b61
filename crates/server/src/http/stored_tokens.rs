//! The tokens of a store, read anew every few seconds while requests use them.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use repertoire::store::{LazyStore, TokenRecord};
use repertoire_model::Digest;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

/// The time after which the tokens are read again, and so the longest time that a revoked token is accepted.
const FRESH: Duration = Duration::from_secs(2);

/// The least time between two readings. A request with an unknown token waits for the next one, so that a new token works at once
/// and guessing does not load the store.
const PAUSE: Duration = Duration::from_millis(250);

/// The longest time that tokens are accepted while the store is away.
const STALE: Duration = Duration::from_secs(5 * 60);

/// The tokens as they were at one time. A store has a bounded number of them.
#[derive(Clone, Default)]
struct TokenSnapshot {
    tokens: Arc<HashMap<Digest, Arc<TokenRecord>>>,
    /// The time of the last reading that went well.
    read: Option<Instant>,
    /// The time of the last reading.
    tried: Option<Instant>,
}

impl TokenSnapshot {
    /// Returns `true` if the last reading was less than `time` ago.
    fn is_newer_than(&self, time: Duration) -> bool {
        self.tried.is_some_and(|tried| tried.elapsed() < time)
    }
}

/// The store does not answer, so that nobody knows if a token is still valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoreAway;

/// The tokens of a store.
pub(super) struct StoredTokens {
    store: LazyStore,
    newest: RwLock<TokenSnapshot>,
    /// Held by the request that reads the tokens anew.
    refresh: Mutex<()>,
}

impl StoredTokens {
    /// Returns the tokens of `store`, which is not read yet.
    pub(super) fn new(store: LazyStore) -> Self {
        Self { store, newest: RwLock::default(), refresh: Mutex::default() }
    }

    /// Returns the token with this digest, if there is one that is neither revoked nor has ended.
    pub(super) async fn find(&self, digest: &Digest) -> Result<Option<Arc<TokenRecord>>, StoreAway> {
        let reading = self.newest();
        let known = reading.tokens.get(digest).filter(|_| reading.is_newer_than(FRESH));
        let found = match known {
            Some(token) => Some(Arc::clone(token)),
            None => self.newer_than(&reading).await?.tokens.get(digest).cloned(),
        };
        Ok(found.filter(|token| token.is_valid(SystemTime::now())))
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
        let mut newest = self.newest.write().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut newest.tokens).remove(&digest);
        Ok(is_revoked)
    }

    fn newest(&self) -> TokenSnapshot {
        self.newest.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns a reading that began after `before` did.
    async fn newer_than(&self, before: &TokenSnapshot) -> Result<TokenSnapshot, StoreAway> {
        let _refreshing = self.refresh.lock().await;
        let newest = self.newest();
        let mut reading = newest.clone();
        if newest.tried == before.tried {
            if let Some(tried) = newest.tried.filter(|_| newest.is_newer_than(PAUSE)) {
                sleep_until(tried + PAUSE).await;
            }
            reading.tried = Some(Instant::now());
            let store = self.store.clone();
            let read =
                tokio::task::spawn_blocking(move || store.get()?.active_tokens(SystemTime::now())).await;
            if let Ok(Ok(tokens)) = read {
                let tokens = tokens.into_iter().map(|token| (token.digest, Arc::new(token)));
                reading.tokens = Arc::new(tokens.collect());
                reading.read = reading.tried;
            }
            *self.newest.write().unwrap_or_else(PoisonError::into_inner) = reading.clone();
        }
        if reading.read.is_some_and(|read| read.elapsed() < STALE) { Ok(reading) } else { Err(StoreAway) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use repertoire::store::{MemoryStore, Role, Store, Tokens as _};
    use repertoire::{Error, ErrorKind};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    /// A store in memory that may be away, and the number of times that it was opened.
    #[derive(Default)]
    struct Setting {
        store: Arc<MemoryStore>,
        is_away: Arc<AtomicBool>,
        readings: Arc<AtomicUsize>,
    }

    impl Setting {
        fn tokens(&self) -> StoredTokens {
            let (store, is_away) = (Arc::clone(&self.store), Arc::clone(&self.is_away));
            let readings = Arc::clone(&self.readings);
            // A memory store cannot fail; one that is opened for each reading can.
            StoredTokens::new(LazyStore::new(move || {
                readings.fetch_add(1, Ordering::Relaxed);
                if is_away.load(Ordering::Relaxed) {
                    return Err(Error::new(ErrorKind::Store));
                }
                Ok(Arc::clone(&store) as Arc<dyn Store>)
            }))
        }

        fn add(&self, secret: &str) -> Digest {
            let token = TokenRecord::new(secret, "ann", Role::Reader, SystemTime::now());
            self.store.add_token(&token).unwrap();
            token.digest
        }
    }

    #[tokio::test(start_paused = true)]
    async fn new_tokens_work_at_once_and_revoked_ones_end_within_seconds() {
        let setting = Setting::default();
        let tokens = setting.tokens();
        let first = setting.add("rep_1");
        assert!(tokens.find(&first).await.unwrap().is_some());
        let second = setting.add("rep_2");
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
        let digest = setting.add("rep_1");
        assert_eq!(tokens.find(&digest).await, Err(StoreAway));
        setting.is_away.store(false, Ordering::Relaxed);
        assert!(tokens.find(&digest).await.unwrap().is_some());
        assert_eq!(setting.readings.load(Ordering::Relaxed), 2);
    }
}
