//! The thread that follows a library.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use super::inbox::{Message, Wake, wait};
use super::options::{ReloadMode, ReloadOptions};
use super::pace::{POLL_SHARE, Pace, SWEEP_SHARE};
use super::state::{FollowMethod, PollReason, SourceState, WatcherState};
use super::watch_set::WatchSet;
use crate::registry::Registry;

/// The interval at which a watched library is reloaded without events, in case one was lost.
const SWEEP: Duration = Duration::from_secs(60);
/// The most successive reloads that are caused by newly found directories.
const MAX_ROUNDS: usize = 4;

/// Follows a library.
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

    /// Watches the directories that the library has now; returns whether some of them were not watched before.
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
        // An unreadable directory that is opened causes no event where the one above it is not watched either.
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
