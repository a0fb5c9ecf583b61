//! The thread that follows a library.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use super::inbox::{Message, Wake, wait};
use super::options::{ReloadMode, ReloadOptions};
use super::state::{FollowMethod, PollReason, SourceState, WatcherState};
use super::watch_set::WatchSet;
use crate::registry::Registry;

/// The interval at which a watched library is reloaded without events, in case one was lost.
const SWEEP: Duration = Duration::from_secs(60);
/// The most successive reloads that are caused by newly found directories.
const MAX_ROUNDS: usize = 4;

pub(super) struct Follower {
    pub(super) registry: Registry,
    pub(super) options: ReloadOptions,
    /// `None` in [`ReloadMode::Poll`].
    pub(super) watches: Option<WatchSet>,
    /// Adds to the inbox.
    pub(super) sender: Sender<Message>,
    pub(super) inbox: Receiver<Message>,
    pub(super) pace: Pace,
    /// The state that it reports.
    pub(super) state: Arc<WatcherState>,
}

impl Follower {
    /// Follows the library until the watcher is dropped.
    pub(super) fn run(mut self) {
        self.update_watches();
        if self.options.mode == ReloadMode::Watch {
            // Changes before the watch began caused no event.
            self.reload();
        }
        self.state.ready();
        loop {
            match wait(&self.inbox, self.options.debounce, self.pace.due()) {
                Wake::Events(ended) => {
                    if let Some(watches) = &mut self.watches {
                        watches.forget(&ended);
                    }
                    self.reload();
                }
                Wake::Timeout => self.reload(),
                Wake::Over => return,
            }
        }
    }

    /// Reloads the library and watches the directories that it has then.
    fn reload(&mut self) {
        for _ in 0..MAX_ROUNDS {
            let started = Instant::now();
            pollster::block_on(self.registry.reload());
            self.pace.done(Instant::now(), started.elapsed());
            if !self.update_watches() {
                return;
            }
        }
        // More may have changed in the meantime; it is part of the next batch.
        let _ = self.sender.send(Message::Event(None));
    }

    /// Watches the directories that the library has now; returns whether some were not watched before.
    fn update_watches(&mut self) -> bool {
        let providers = self.registry.providers();
        let (states, has_new, has_unreadable) = match &mut self.watches {
            None => {
                let polling = FollowMethod::Polling(PollReason::Chosen);
                (vec![polling; providers.len()], false, false)
            }
            Some(watches) => {
                let points = providers.iter().map(|provider| provider.watch_points()).collect();
                let outcome = watches.set(points);
                let states = outcome.sources.into_iter().map(|watched| match watched {
                    Ok(count) => FollowMethod::Watching(count),
                    Err(reason) => FollowMethod::Polling(reason),
                });
                (states.collect(), outcome.has_new, outcome.has_unreadable)
            }
        };
        // An unreadable directory that is opened causes no event unless the one above it is watched.
        if has_unreadable || states.iter().any(|following| matches!(following, FollowMethod::Polling(_))) {
            self.pace.set_interval(self.options.poll, POLL_SHARE);
        } else {
            self.pace.set_interval(SWEEP, SWEEP_SHARE);
        }
        let sources = providers
            .iter()
            .zip(states)
            .map(|(provider, following)| SourceState { source: provider.label().into(), following })
            .collect();
        self.state.post(sources, self.watches.as_ref().map_or(0, WatchSet::len));
        has_new
    }
}

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
    /// Returns a pace of a reload every `interval`, fewer if one takes more than one `share`th of it.
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
