//! Requests that are refused: counted, and recorded. Of those without a valid token, and those over a limit,
//! a bounded number is recorded.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use repertoire::event::{Event, Surface};
use repertoire::{EventKind, Library, Outcome};

/// Maximum events in a period without a principal, and over the limits of each: they cannot fill a journal.
const MAX_EVENTS: u32 = 10;

const PERIOD: Duration = Duration::from_secs(60);

/// Notes in a response that its refusal was recorded already.
#[derive(Clone)]
pub(crate) struct RecordedRefusal;

/// The code of an error, noted in its response.
#[derive(Clone)]
pub(crate) struct RefusalCode(pub(crate) &'static str);

/// Counts refused requests.
#[derive(Default)]
pub(super) struct Refusals {
    total: AtomicU64,
    /// The current period of each principal. There are no more of these than tokens.
    periods: Mutex<HashMap<Option<Arc<str>>, Period>>,
}

/// The begin of a period, and the events in it.
struct Period {
    begin: Instant,
    events: u32,
}

/// A request that is refused.
pub(super) struct Refusal<'a> {
    /// The name of the token, if it is valid.
    pub(super) principal: Option<&'a Arc<str>>,
    pub(super) route: &'a str,
    pub(super) reason: &'a str,
}

impl Refusals {
    /// Counts a refused request, and records it in `library`.
    pub(super) fn refused(&self, library: &Library, refusal: &Refusal<'_>) {
        self.total.fetch_add(1, Ordering::Relaxed);
        let mut event = Event::new(EventKind::AccessRefused, refusal.route, "", SystemTime::now());
        event.surface = Surface::Http;
        event.principal = refusal.principal.map(ToString::to_string);
        (event.outcome, event.error) = (Outcome::Denied, Some(refusal.reason.to_owned()));
        library.emit(&event);
    }

    /// Counts a refused request, and records it in `library` unless there were too many of late.
    pub(super) fn refused_often(&self, library: &Library, refusal: &Refusal<'_>) {
        if self.is_recorded(refusal.principal, Instant::now()) {
            self.refused(library, refusal);
        } else {
            self.total.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the number of refused requests.
    pub(super) fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    fn is_recorded(&self, principal: Option<&Arc<str>>, now: Instant) -> bool {
        let mut periods = self.periods.lock().unwrap_or_else(PoisonError::into_inner);
        let period = periods.entry(principal.cloned()).or_insert(Period { begin: now, events: 0 });
        if now.duration_since(period.begin) >= PERIOD {
            *period = Period { begin: now, events: 0 };
        }
        period.events = period.events.saturating_add(1);
        period.events <= MAX_EVENTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_requests_are_recorded_ten_times_a_minute() {
        let (refusals, now) = (Refusals::default(), Instant::now());
        let recorded = |now| (0..30).filter(|_| refusals.is_recorded(None, now)).count();
        assert_eq!(recorded(now), 10);
        assert!(refusals.is_recorded(Some(&Arc::from("ann")), now), "a principal has a limit of its own");
        assert_eq!(recorded(now + Duration::from_secs(59)), 0);
        assert_eq!(recorded(now + Duration::from_secs(60)), 10);
    }
}
