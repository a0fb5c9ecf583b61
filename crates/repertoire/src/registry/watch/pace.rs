//! When a source is looked at next, so that looking stays cheap whatever a look costs.

use std::time::{Duration, Instant};

/// How many times as long as a look took the next one waits at least: polling takes no more than 0.17 % of a core.
pub(super) const POLL_SHARE: u32 = 600;
/// The same for sweeps, which only make sure that no event was missed: 0.1 %.
pub(super) const SWEEP_SHARE: u32 = 1_000;
/// The same for looks that somebody asks for.
const ASKED_SHARE: u32 = 10;
/// A look that takes no longer than this is not worth waiting for.
const CHEAP: Duration = Duration::from_millis(5);
/// How many of the last looks count: a busy process makes one of them look dearer than it is.
const REMEMBERED: usize = 4;

/// When something is done next that must not cost more than a share of the time.
#[derive(Debug, Clone)]
pub(super) struct Pace {
    interval: Duration,
    share: u32,
    costs: Vec<Duration>,
    looked: Option<Instant>,
    due: Instant,
}

impl Pace {
    /// Returns a pace of one look every `interval`, or less often where a look costs more than one `share`th of it.
    pub(super) fn new(interval: Duration, share: u32, now: Instant) -> Self {
        Self { interval, share, costs: Vec::new(), looked: None, due: now + interval }
    }

    /// Returns when the next look is due.
    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// Notes that a look ended at `now` and took `cost` of processor time.
    pub(super) fn looked(&mut self, now: Instant, cost: Duration) {
        if self.costs.len() == REMEMBERED {
            self.costs.remove(0);
        }
        self.costs.push(cost);
        self.looked = Some(now);
        self.due = now + self.interval();
    }

    /// Returns whether somebody who wants to know at `now` may have a look, so that no more than a tenth of the time goes
    /// into looking however often anybody wants to know.
    pub(super) fn is_worth(&self, now: Instant) -> bool {
        let cost = self.cost();
        cost <= CHEAP
            || self.looked.is_none_or(|looked| now.saturating_duration_since(looked) >= cost * ASKED_SHARE)
    }

    fn cost(&self) -> Duration {
        self.costs.iter().min().copied().unwrap_or_default()
    }

    /// Returns how long after a look the next one is.
    pub(super) fn interval(&self) -> Duration {
        self.interval.max(self.cost().saturating_mul(self.share))
    }
}

/// Measures how much processor time something takes.
#[derive(Debug)]
pub(super) struct Meter {
    started: Instant,
    processor: Option<Duration>,
}

impl Meter {
    /// Begins to measure.
    pub(super) fn start() -> Self {
        Self { started: Instant::now(), processor: processor_time() }
    }

    /// Returns how much processor time the process took since; where the system does not tell, how long it was.
    ///
    /// Other threads may have taken part of it, so it is never too little.
    pub(super) fn cost(&self) -> Duration {
        match (self.processor, processor_time()) {
            (Some(before), Some(after)) => after.saturating_sub(before),
            _ => self.started.elapsed(),
        }
    }
}

#[cfg(unix)]
fn processor_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
}

#[cfg(not(unix))]
fn processor_time() -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn polling_never_takes_more_than_its_share() {
        let start = Instant::now();
        for cost in [ms(0), ms(1), ms(9), ms(11), ms(40), ms(3_000)] {
            let mut pace = Pace::new(ms(5_000), POLL_SHARE, start);
            let (mut now, mut spent) = (start, Duration::ZERO);
            for _ in 0..100 {
                now = pace.due() + cost;
                spent += cost;
                pace.looked(now, cost);
            }
            let share = spent.as_secs_f64() / (pace.due() - start).as_secs_f64();
            assert!(share <= 1.0 / 600.0, "{cost:?}: {share}");
            assert_eq!(pace.due() - now, ms(5_000).max(cost * POLL_SHARE));
        }
    }

    #[test]
    fn whoever_asks_may_look_unless_that_is_dear() {
        let start = Instant::now();
        let mut pace = Pace::new(ms(5_000), POLL_SHARE, start);
        assert!(pace.is_worth(start));
        pace.looked(start, ms(5));
        assert!(pace.is_worth(start));
        (0..REMEMBERED).for_each(|_| pace.looked(start, ms(40)));
        assert!(!pace.is_worth(start + ms(399)));
        assert!(pace.is_worth(start + ms(400)));
    }

    #[test]
    fn one_look_that_seems_dear_does_not_count() {
        let start = Instant::now();
        let mut pace = Pace::new(ms(5_000), POLL_SHARE, start);
        pace.looked(start, ms(20));
        assert_eq!(pace.interval(), ms(12_000));
        pace.looked(start, ms(4_000));
        assert_eq!(pace.interval(), ms(12_000));
        (0..REMEMBERED).for_each(|_| pace.looked(start, ms(40)));
        assert_eq!(pace.interval(), ms(24_000));
        (0..REMEMBERED).for_each(|_| pace.looked(start, ms(1)));
        assert_eq!(pace.interval(), ms(5_000), "it gets faster again as well");
    }
}
