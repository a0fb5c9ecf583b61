//! Requests that are refused for their tokens: counted, and recorded a bounded number of times.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use repertoire::event::{Event, Surface};
use repertoire::{EventKind, Library, Outcome};

/// Maximum events in one period, so that nobody can fill a journal without a token.
const MAX_EVENTS: u32 = 10;

/// The period.
const PERIOD: Duration = Duration::from_secs(60);

/// Counts refused requests.
#[derive(Default)]
pub(super) struct Refusals {
    total: AtomicU64,
    /// The begin of the current period, and the events in it.
    period: Mutex<Option<(Instant, u32)>>,
}

impl Refusals {
    /// Counts a refused request, and records it in `library` unless there were too many of late.
    pub(super) fn refused(&self, library: &Library, error: &str) {
        self.refused_to(library, None, error);
    }

    /// Counts a refused request of `principal`, and records it in `library` unless there were too many of late.
    pub(super) fn refused_to(&self, library: &Library, principal: Option<&str>, error: &str) {
        self.total.fetch_add(1, Ordering::Relaxed);
        if self.is_recorded(Instant::now()) {
            let mut event = Event::new(EventKind::AccessRefused, "http", "", SystemTime::now());
            event.surface = Surface::Http;
            event.principal = principal.map(str::to_owned);
            (event.outcome, event.error) = (Outcome::Denied, Some(error.to_owned()));
            library.emit(&event);
        }
    }

    /// Returns the number of refused requests.
    pub(super) fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    fn is_recorded(&self, now: Instant) -> bool {
        let mut period = self.period.lock().unwrap_or_else(PoisonError::into_inner);
        let (begin, events) =
            period.filter(|(begin, _)| now.duration_since(*begin) < PERIOD).unwrap_or((now, 0));
        *period = Some((begin, events.saturating_add(1)));
        events < MAX_EVENTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_requests_are_recorded_ten_times_a_minute() {
        let (refusals, now) = (Refusals::default(), Instant::now());
        let recorded = |now| (0..30).filter(|_| refusals.is_recorded(now)).count();
        assert_eq!(recorded(now), 10);
        assert_eq!(recorded(now + Duration::from_secs(59)), 0);
        assert_eq!(recorded(now + Duration::from_secs(60)), 10);
    }
}
