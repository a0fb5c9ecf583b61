//! The thread that follows a library.

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
use crate::provider::{Changes, Subject};
use crate::registry::Registry;

/// How often what is watched is looked at all the same, in case an event was missed.
const SWEEP: Duration = Duration::from_secs(60);
/// How many times what was found leads to another look at once; what is left then waits for the next batch.
const MAX_ROUNDS: usize = 4;

/// A source that is followed.
struct Source {
    following: Following,
    pace: Pace,
    /// What the provider said of its directories when they were last pointed at.
    epoch: Option<u64>,
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
        let mut asked_since = Vec::new();
        loop {
            let now = Instant::now();
            let timeout = match asked_since.is_empty() {
                true => self.next_due().map(|due| due.saturating_duration_since(now)),
                false => Some(Duration::ZERO),
            };
            self.points.wait(timeout, &mut self.told);
            let mut waiting = std::mem::take(&mut asked_since);
            let Some(others) = asked(requests) else { return };
            waiting.extend(others);
            if waiting.is_empty() {
                let due = self.batch_due();
                if due.is_some_and(|due| due <= Instant::now()) {
                    // What comes to light by that is a batch of its own: it may be the beginning of more.
                    self.look_once();
                }
            } else {
                // Whatever happened before they asked is told by now; it is only to be listened to.
                while !self.points.wait(Some(Duration::ZERO), &mut self.told) {}
                // That may have silenced the bell of others, whose turn is next.
                let Some(others) = asked(requests) else { return };
                asked_since = others;
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
        let source =
            || Source { following: Following::Not, pace: Pace::new(SWEEP, SWEEP_SHARE, now), epoch: None };
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
        pollster::block_on(self.registry.reload_changed(changes));
        self.looked = Some((Instant::now(), started.elapsed()));
        let moved = |(provider, changes): &&(usize, Changes)| changes.root || self.has_moved(*provider);
        let moved: Vec<usize> = changes.iter().filter(moved).map(|(provider, _)| *provider).collect();
        self.told.stale.extend(moved);
    }

    /// Returns whether a source may have other directories than when they were last pointed at.
    fn has_moved(&self, position: usize) -> bool {
        let epoch = self.registry.providers()[position].watch_epoch();
        epoch.is_none() || epoch != self.sources[position].epoch
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
            pollster::block_on(self.registry.reload_sources([*position]));
            self.looked = Some((Instant::now(), started.elapsed()));
            // What the system refused at the time it may grant by now.
            let following = &self.sources[*position].following;
            let is_refused = matches!(following, Following::Polling(PollReason::Refused(_)));
            if is_refused || self.has_moved(*position) {
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
            // Before they are asked for: what changes in between is told by the next look.
            let epoch = self.registry.providers()[provider].watch_epoch();
            let following = self.watched(provider);
            let source = &mut self.sources[provider];
            source.epoch = epoch;
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
            self.points.clear(provider);
            return Following::Polling(PollReason::NoEvents);
        };
        let ways = points.iter().filter(|point| !matches!(point.subject, Subject::Skill(_)));
        if let Some(kind) = ways.map(|point| system::remote(&point.directory)).find_map(|kind| kind) {
            self.points.clear(provider);
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
