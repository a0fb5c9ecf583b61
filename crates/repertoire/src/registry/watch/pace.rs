//! Intervals between reloads, so that they stay cheap however large the library is.

use std::time::{Duration, Instant};

/// The share of a core that polling may take: a 600th, or 0.17 %.
pub(super) const POLL_SHARE: u32 = 600;
/// The share for sweeps, which only find events that were lost: a 1,000th, or 0.1 %.
pub(super) const SWEEP_SHARE: u32 = 1_000;
/// The number of past reloads that count: on a busy machine a single one may seem more expensive than it is.
const REMEMBERED: usize = 4;

/// The time of the next reload, so that reloads take no more than a share of the time.
#[derive(Debug, Clone)]
pub(super) struct Pace {
    interval: Duration,
    share: u32,
    costs: Vec<Duration>,
    last: Instant,
}

impl Pace {
    /// Returns a pace of one reload every `interval`, or fewer where a reload costs more than one `share`th of it.
    pub(super) fn new(interval: Duration, share: u32, now: Instant) -> Self {
        Self { interval, share, costs: Vec::new(), last: now }
    }

    /// Changes the interval and the share.
    pub(super) fn set_interval(&mut self, interval: Duration, share: u32) {
        (self.interval, self.share) = (interval, share);
    }

    /// Returns the time at which the next reload is due.
    pub(super) fn due(&self) -> Instant {
        let cost = self.costs.iter().min().copied().unwrap_or_default();
        self.last + self.interval.max(cost.saturating_mul(self.share))
    }

    /// Notes that a reload ended at `now` and took `cost`.
    pub(super) fn done(&mut self, now: Instant, cost: Duration) {
        if self.costs.len() == REMEMBERED {
            self.costs.remove(0);
        }
        self.costs.push(cost);
        self.last = now;
    }
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
                pace.done(now, cost);
            }
            let share = spent.as_secs_f64() / (pace.due() - start).as_secs_f64();
            assert!(share <= 1.0 / 600.0, "{cost:?}: {share}");
            assert_eq!(pace.due() - now, ms(5_000).max(cost * POLL_SHARE));
        }
    }

    #[test]
    fn one_expensive_reload_does_not_slow_polling_down() {
        let start = Instant::now();
        let mut pace = Pace::new(ms(5_000), POLL_SHARE, start);
        pace.done(start, ms(20));
        pace.done(start, ms(4_000));
        assert_eq!(pace.due() - start, ms(12_000));
        (0..REMEMBERED).for_each(|_| pace.done(start, ms(40)));
        assert_eq!(pace.due() - start, ms(24_000));
        (0..REMEMBERED).for_each(|_| pace.done(start, ms(1)));
        assert_eq!(pace.due() - start, ms(5_000), "it gets faster again as well");
    }
}
