//! Limits of what one principal may ask for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The period that requests and bytes are counted in.
const PERIOD: Duration = Duration::from_secs(60);

/// Limits for each principal; 0 means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrincipalLimits {
    /// Maximum requests in a minute. More get 429.
    pub requests: u64,
    /// Maximum bytes of requests and responses in a minute. Once they are reached, requests get 429.
    pub bytes: u64,
    /// Maximum tools and scripts of skills that run at a time. More are refused.
    pub runs: usize,
}

/// The requests and bytes of one principal in the current period.
#[derive(Clone, Copy)]
struct Counts {
    begin: Instant,
    requests: u64,
    bytes: u64,
}

/// Counts requests and bytes by principal. These are no more than tokens and people known to the provider.
pub(super) struct Quotas {
    limits: PrincipalLimits,
    counts: Mutex<HashMap<Option<Arc<str>>, Counts>>,
}

impl Quotas {
    pub(super) fn new(limits: PrincipalLimits) -> Self {
        Self { limits, counts: Mutex::default() }
    }

    pub(super) fn counts_bytes(&self) -> bool {
        self.limits.bytes > 0
    }

    /// Counts a request. Fails with the seconds until the next period if the principal has reached a limit.
    pub(super) fn request(&self, principal: &Option<Arc<str>>, now: Instant) -> Result<(), u32> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = counts.entry(principal.clone()).or_insert(Counts { begin: now, requests: 0, bytes: 0 });
        let elapsed = now.saturating_duration_since(counts.begin);
        if elapsed >= PERIOD {
            *counts = Counts { begin: now, requests: 0, bytes: 0 };
        }
        let is_over = |count: u64, limit: u64| limit > 0 && count >= limit;
        if is_over(counts.requests, self.limits.requests) || is_over(counts.bytes, self.limits.bytes) {
            let left = PERIOD.saturating_sub(elapsed).as_secs() + 1;
            return Err(u32::try_from(left).unwrap_or(1));
        }
        counts.requests += 1;
        Ok(())
    }

    /// Counts bytes of a request and its response.
    pub(super) fn add_bytes(&self, principal: &Option<Arc<str>>, bytes: u64) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(counts) = counts.get_mut(principal) {
            counts.bytes = counts.bytes.saturating_add(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_bytes_are_limited_by_the_minute_for_each_principal() {
        let limits = PrincipalLimits { requests: 2, bytes: 100, runs: 0 };
        let (quotas, now) = (Quotas::new(limits), Instant::now());
        let (ann, bob) = (Some(Arc::from("ann")), Some(Arc::from("bob")));
        let ask = |who: &Option<Arc<str>>, seconds| quotas.request(who, now + Duration::from_secs(seconds));
        assert_eq!((ask(&ann, 0), ask(&ann, 1), ask(&ann, 20)), (Ok(()), Ok(()), Err(41)));
        assert_eq!(ask(&bob, 20), Ok(()), "another principal is not held up");
        assert_eq!(ask(&ann, 60), Ok(()));
        quotas.add_bytes(&ann, 100);
        assert_eq!((ask(&ann, 61), ask(&ann, 120)), (Err(60), Ok(())));
    }

    #[test]
    fn without_limits_nobody_is_held_up() {
        let quotas = Quotas::new(PrincipalLimits::default());
        for _ in 0..1_000 {
            assert_eq!(quotas.request(&None, Instant::now()), Ok(()));
            quotas.add_bytes(&None, u64::MAX);
        }
    }
}
