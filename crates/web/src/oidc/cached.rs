//! Documents of a provider, fetched anew after a while.

use std::future::Future;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use super::fault::OidcFault;

/// The time after which a document is fetched anew.
const FRESH: Duration = Duration::from_secs(60 * 60);

/// The time for which a provider that does not answer is not asked again.
const RETRY: Duration = Duration::from_secs(1);

/// The least time between two requests for a newer document than a fresh one, so that tokens with made-up
/// keys do not load the provider.
const PAUSE: Duration = Duration::from_secs(10);

pub(super) struct CachedDocument<T> {
    newest: RwLock<Option<(Arc<T>, Instant)>>,
    /// Held by the request that fetches the document.
    refresh: Mutex<Attempts>,
}

#[derive(Default)]
struct Attempts {
    /// The last attempt, if it failed.
    failed: Option<(Instant, OidcFault)>,
    /// The last attempt to get a newer document than a fresh one.
    forced: Option<Instant>,
}

impl<T> Default for CachedDocument<T> {
    fn default() -> Self {
        Self { newest: RwLock::default(), refresh: Mutex::default() }
    }
}

impl<T> CachedDocument<T> {
    /// Returns the document; the last one for as long as the provider is away.
    pub(super) async fn get<F>(&self, fetch: impl FnOnce() -> F) -> Result<Arc<T>, OidcFault>
    where
        F: Future<Output = Result<T, OidcFault>>,
    {
        if let Some((document, _)) = self.newest().filter(|(_, fetched)| fetched.elapsed() < FRESH) {
            return Ok(document);
        }
        let mut attempts = self.refresh.lock().await;
        let newest = self.newest();
        if let Some((document, _)) = newest.as_ref().filter(|(_, fetched)| fetched.elapsed() < FRESH) {
            return Ok(Arc::clone(document));
        }
        let fault = match &attempts.failed {
            Some((time, fault)) if time.elapsed() < RETRY => fault.clone(),
            _ => match self.replace(&mut attempts, fetch).await {
                Ok(document) => return Ok(document),
                Err(fault) => fault,
            },
        };
        newest.map(|(document, _)| document).ok_or(fault)
    }

    /// Returns a newer document than `seen`, unless one was asked for a moment ago.
    pub(super) async fn newer<F>(&self, seen: &Arc<T>, fetch: impl FnOnce() -> F) -> Option<Arc<T>>
    where
        F: Future<Output = Result<T, OidcFault>>,
    {
        let mut attempts = self.refresh.lock().await;
        if let Some((document, _)) = self.newest().filter(|(document, _)| !Arc::ptr_eq(document, seen)) {
            return Some(document);
        }
        if attempts.forced.is_some_and(|time| time.elapsed() < PAUSE) {
            return None;
        }
        attempts.forced = Some(Instant::now());
        self.replace(&mut attempts, fetch).await.ok()
    }

    async fn replace<F>(
        &self,
        attempts: &mut Attempts,
        fetch: impl FnOnce() -> F,
    ) -> Result<Arc<T>, OidcFault>
    where
        F: Future<Output = Result<T, OidcFault>>,
    {
        match fetch().await {
            Ok(document) => {
                let document = Arc::new(document);
                let newest = Some((Arc::clone(&document), Instant::now()));
                *self.newest.write().unwrap_or_else(PoisonError::into_inner) = newest;
                attempts.failed = None;
                Ok(document)
            }
            Err(fault) => {
                attempts.failed = Some((Instant::now(), fault.clone()));
                Err(fault)
            }
        }
    }

    fn newest(&self) -> Option<(Arc<T>, Instant)> {
        self.newest.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn away() -> Result<u32, OidcFault> {
        Err(OidcFault::Provider("away".to_owned()))
    }

    #[tokio::test(start_paused = true)]
    async fn a_document_is_fetched_hourly_and_kept_while_the_provider_is_away() {
        let cached = CachedDocument::default();
        assert!(cached.get(away).await.is_err());
        assert!(cached.get(async || Ok(1)).await.is_err(), "it is not asked again at once");
        tokio::time::advance(RETRY).await;
        assert_eq!(cached.get(async || Ok(1)).await.map(|it| *it), Ok(1));
        assert_eq!(cached.get(async || Ok(2)).await.map(|it| *it), Ok(1));
        tokio::time::advance(FRESH).await;
        assert_eq!(cached.get(away).await.map(|it| *it), Ok(1));
        tokio::time::advance(RETRY).await;
        assert_eq!(cached.get(async || Ok(2)).await.map(|it| *it), Ok(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_newer_document_is_asked_for_with_pauses() {
        let cached = CachedDocument::default();
        let first = cached.get(async || Ok(1)).await.unwrap();
        let second = cached.newer(&first, async || Ok(2)).await.unwrap();
        assert_eq!(*second, 2);
        assert_eq!(cached.newer(&first, async || Ok(3)).await.map(|it| *it), Some(2), "it is newer already");
        assert_eq!(cached.newer(&second, async || Ok(3)).await, None);
        tokio::time::advance(PAUSE).await;
        assert_eq!(cached.newer(&second, async || Ok(3)).await.map(|it| *it), Some(3));
    }
}
