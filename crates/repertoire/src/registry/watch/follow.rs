//! The thread that follows a library.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::{Duration, Instant};

use super::attention::Request;
use super::notice::Weight;
use super::options::{ReloadMode, ReloadOptions};
use super::pace::{Meter, POLL_SHARE, Pace, SWEEP_SHARE};
use super::points::{Points, Told};
use super::state::{Board, Following, PollReason, SourceState};
use super::system;
use crate::provider::{Changes, Locator, Subject};
use crate::registry::{Registry, Snapshot};

/// How often what is watched is looked at all the same, in case an event was missed.
const SWEEP: Duration = Duration::from_secs(60);
/// How many times what was found leads to another look at once; what is left then waits for the next batch.
const MAX_ROUNDS: usize = 4;

/// A source that is followed.
struct Source {
    following: Following,
    pace: Pace,
}

/// Follows a library.
pub(super) struct Follower {
    registry: Registry,
    options: ReloadOptions,
    points: Points,
    told: Told,
    sources: Vec<Source>,
    /// When the last look at something that was told of ended, and how long it took.
    looked: Option<(Instant, Duration)>,
    board: Arc<Board>,
}

impl Follower {
    /// Returns what follows `registry` and tells of it on `board`.
    pub(super) fn new(registry: Registry, options: ReloadOptions, points: Points, board: Arc<Board>) -> Self {
        Self { registry, options, points, told: Told::default(), sources: Vec::new(), looked: None, board }
    }

    /// Follows until it is told to end.
    pub(super) fn run(mut self, requests: &Receiver<Request>) {
        self.begin();
        loop {
            let now = Instant::now();
            let timeout = self.next_due().map(|due| due.saturating_duration_since(now));
            self.points.wait(timeout, &mut self.told);
            let Some(waiting) = asked(requests) else { return };
            if waiting.is_empty() {
                let due = self.batch_due();
                if due.is_some_and(|due| due <= Instant::now()) {
                    // What comes to light by that is a batch of its own: it may be the beginning of more.
                    self.look_once();
                }
            } else {
                // Whatever happened before they asked is told by now; it is only to be listened to.
                while !self.points.wait(Some(Duration::ZERO), &mut self.told) {}
                self.settle();
                self.look_at_polled();
                for waiting in waiting {
                    // Who does not wait any longer need not be told.
                    let _ = waiting.send(());
                }
            }
            self.look_where_due();
        }
    }

    /// Watches what there is, and looks once more at what may have changed before it was watched.
    fn begin(&mut self) {
        let now = Instant::now();
        let source = || Source { following: Following::Not, pace: Pace::new(SWEEP, SWEEP_SHARE, now) };
        self.sources = self.registry.providers().iter().map(|_| source()).collect();
        self.told.stale = (0..self.sources.len()).collect();
        self.point();
        // What is watched for the first time is looked at as a whole.
        self.told.batch.take();
        if self.options.mode == ReloadMode::Watch {
            self.look_at_all();
            self.settle();
        }
        self.board.ready();
    }

    fn batch_due(&self) -> Option<Instant> {
        if self.told.batch.is_empty() && !self.told.stale.is_empty() {
            return Some(Instant::now());
        }
        self.told.batch.due(self.options.debounce, self.looked)
    }

    fn next_due(&self) -> Option<Instant> {
        self.sources.iter().map(|source| source.pace.due()).chain(self.batch_due()).min()
    }

    /// Looks at what was told of, and at what comes to light by that.
    fn settle(&mut self) {
        for _ in 0..MAX_ROUNDS {
            if !self.told.lost && self.told.batch.is_empty() && self.told.stale.is_empty() {
                return;
            }
            self.look_once();
        }
    }

    /// Looks at what was told of, and watches what there is now.
    fn look_once(&mut self) {
        if std::mem::take(&mut self.told.lost) {
            self.told.batch.take();
            self.look_at_all();
        } else if !self.told.batch.is_empty() {
            let changes = self.told.batch.take();
            self.look_at(&changes);
        }
        self.point();
    }

    /// Looks at what may have changed.
    fn look_at(&mut self, changes: &[(usize, Changes)]) {
        let started = Instant::now();
        let before = self.registry.snapshot();
        let after = pollster::block_on(self.registry.reload_changed(changes));
        self.looked = Some((Instant::now(), started.elapsed()));
        let moved = |(provider, changes): &&(usize, Changes)| {
            changes.root || skills_of(&before, *provider, changes) != skills_of(&after, *provider, changes)
        };
        self.told.stale.extend(changes.iter().filter(moved).map(|(provider, _)| *provider));
    }

    /// Looks at everything, and makes one snapshot of it.
    fn look_at_all(&mut self) {
        let (meter, started) = (Meter::start(), Instant::now());
        pollster::block_on(self.registry.reload());
        let (now, cost) = (Instant::now(), meter.cost());
        self.looked = Some((now, started.elapsed()));
        self.told.stale.extend(0..self.sources.len());
        self.sources.iter_mut().for_each(|source| source.pace.looked(now, cost));
    }

    /// Looks at everything in these sources, and watches what there is now.
    fn look_at_sources(&mut self, positions: &[usize]) {
        for position in positions {
            let (meter, started) = (Meter::start(), Instant::now());
            let before = self.registry.snapshot();
            let after = pollster::block_on(self.registry.reload_sources([*position]));
            self.looked = Some((Instant::now(), started.elapsed()));
            // Why a library is polled holds until it is another, but for what the system refused at the time.
            let is_polled = matches!(
                &self.sources[*position].following,
                Following::Polling(reason) if !matches!(reason, PollReason::Refused(_))
            );
            if !is_polled || !Arc::ptr_eq(&before, &after) {
                self.told.stale.insert(*position);
                self.point();
            }
            self.sources[*position].pace.looked(Instant::now(), meter.cost());
        }
    }

    /// Looks at what is polled or swept, where that is due.
    fn look_where_due(&mut self) {
        let now = Instant::now();
        let is_due = |position: &usize| self.sources[*position].pace.due() <= now;
        let due: Vec<usize> = (0..self.sources.len()).filter(is_due).collect();
        self.look_at_sources(&due);
    }

    /// Looks at what is polled because somebody wants to know now, unless that was done a moment ago.
    fn look_at_polled(&mut self) {
        let now = Instant::now();
        let is_wanted = |position: &usize| {
            let source = &self.sources[*position];
            matches!(source.following, Following::Polling(_)) && source.pace.is_worth(now)
        };
        let wanted: Vec<usize> = (0..self.sources.len()).filter(is_wanted).collect();
        self.look_at_sources(&wanted);
    }

    /// Watches the directories that the sources whose directories changed have now.
    fn point(&mut self) {
        let stale = std::mem::take(&mut self.told.stale);
        if stale.is_empty() {
            return;
        }
        for provider in stale {
            let following = self.watched(provider);
            let source = &mut self.sources[provider];
            let is_watching = |following: &Following| matches!(following, Following::Watching(_));
            if source.following == Following::Not || is_watching(&source.following) != is_watching(&following)
            {
                let (interval, share) = match is_watching(&following) {
                    true => (SWEEP, SWEEP_SHARE),
                    false => (self.options.poll, POLL_SHARE),
                };
                source.pace = Pace::new(interval, share, Instant::now());
            }
            source.following = following;
        }
        let state = |(index, source): (usize, &Source)| SourceState {
            source: self.registry.providers()[index].label().into(),
            following: source.following.clone(),
        };
        self.board.post(self.sources.iter().enumerate().map(state).collect(), self.points.total());
    }

    /// Watches the directories of a source, where that can be done, and returns how it is followed now.
    fn watched(&mut self, provider: usize) -> Following {
        if self.options.mode != ReloadMode::Watch {
            return Following::Polling(PollReason::Chosen);
        }
        let Some(points) = self.registry.providers()[provider].watch_points() else {
            return Following::Polling(PollReason::NoEvents);
        };
        let ways = points.iter().filter(|point| !matches!(point.subject, Subject::Skill(_)));
        if let Some(kind) = ways.map(|point| system::remote(&point.directory)).find_map(|kind| kind) {
            return Following::Polling(PollReason::Remote(kind));
        }
        match self.points.set(provider, points) {
            Ok(new) if new.is_empty() => {}
            // What was written before it was watched was not told of.
            Ok(new) => self.told.batch.add(provider, new, Weight::Firm, Instant::now()),
            Err(reason) => return Following::Polling(reason),
        }
        Following::Watching(self.points.count(provider))
    }
}

/// Returns who waits for the thread to catch up; `None` where it is to end.
fn asked(requests: &Receiver<Request>) -> Option<Vec<Sender<()>>> {
    let mut waiting = Vec::new();
    loop {
        match requests.try_recv() {
            Ok(Request::CatchUp(sender)) => waiting.push(sender),
            Ok(Request::End) | Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => return Some(waiting),
        }
    }
}

/// Returns which of the skills of `changes` a snapshot has.
fn skills_of<'s>(snapshot: &'s Snapshot, provider: usize, changes: &Changes) -> HashSet<&'s Locator> {
    let entries = snapshot.entries().iter().filter(|entry| entry.provider == provider);
    entries.map(|entry| &entry.locator).filter(|locator| changes.skills.contains(*locator)).collect()
}
