//! What a registry knows of being followed, and how it looks at its library because of that.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::options::{ReloadMode, ReloadOptions};
use super::state::Board;
use super::system::Doorbell;
use crate::registry::signals::Signals;
use crate::registry::{Registry, Snapshot};
use crate::unblock;

/// The longest that anybody waits for the thread to catch up.
const CATCH_UP: Duration = Duration::from_secs(2);

/// What the thread is asked for.
#[derive(Debug)]
pub(super) enum Request {
    /// To act on everything that happened so far, and then to say so.
    CatchUp(Sender<()>),
    /// To end.
    End,
}

/// The way to the thread that follows the library.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) requests: Sender<Request>,
    pub(super) bell: Doorbell,
}

impl Line {
    /// Asks for something; returns whether anybody is there to do it.
    pub(super) fn ask(&self, request: Request) -> bool {
        let is_sent = self.requests.send(request).is_ok();
        self.bell.ring();
        is_sent
    }

    /// Waits until everything that happened so far is acted upon; returns whether it is.
    fn catch_up(&self) -> bool {
        let (sender, receiver) = mpsc::channel();
        self.ask(Request::CatchUp(sender)) && receiver.recv_timeout(CATCH_UP).is_ok()
    }
}

/// How a registry is followed, and who wants to know of changes.
#[derive(Default)]
pub(in crate::registry) struct Attention {
    attending: Mutex<Option<Attending>>,
    pub(in crate::registry) signals: Signals,
}

struct Attending {
    options: ReloadOptions,
    line: Option<Line>,
    /// Tells one watcher from another.
    board: Arc<Board>,
    /// When somebody last looked because the library was used.
    looked: Instant,
}

impl Attention {
    /// Begins to be followed, in place of whatever was before.
    pub(super) fn begin(&self, options: ReloadOptions, line: Option<Line>, board: Arc<Board>) {
        let attending = Attending { options, line, board, looked: Instant::now() };
        *self.attending.lock().unwrap_or_else(PoisonError::into_inner) = Some(attending);
    }

    /// Is no longer followed by the watcher with `board`.
    pub(super) fn end(&self, board: &Arc<Board>) {
        let mut attending = self.attending.lock().unwrap_or_else(PoisonError::into_inner);
        if attending.as_ref().is_some_and(|attending| Arc::ptr_eq(&attending.board, board)) {
            *attending = None;
        }
    }

    fn mode(&self) -> Option<(ReloadMode, Option<Line>)> {
        let attending = self.attending.lock().unwrap_or_else(PoisonError::into_inner);
        attending.as_ref().map(|attending| (attending.options.mode, attending.line.clone()))
    }

    /// Returns whether whoever uses a lazy library is to look at it now; nobody else is told so within the cooldown.
    fn claim(&self, now: Instant) -> bool {
        let mut attending = self.attending.lock().unwrap_or_else(PoisonError::into_inner);
        match attending.as_mut() {
            Some(attending) if attending.options.mode == ReloadMode::Lazy => {
                let is_due = now.saturating_duration_since(attending.looked) >= attending.options.cooldown;
                if is_due {
                    attending.looked = now;
                }
                is_due
            }
            _ => false,
        }
    }
}

impl Registry {
    /// Tells the registry that it is used: in [`ReloadMode::Lazy`] it looks at its library then, at most once per
    /// cooldown. Returns the newest snapshot.
    pub async fn touch(&self) -> Arc<Snapshot> {
        if self.attention().claim(Instant::now()) { self.reload().await } else { self.snapshot() }
    }

    /// Returns the newest snapshot, having looked at the library where that has to be done to be sure of it.
    ///
    /// Without a [`super::Watcher`] and in [`ReloadMode::Poll`] it looks; in [`ReloadMode::Watch`] it waits until all
    /// events so far are acted upon, which takes no time where there are none; in [`ReloadMode::Lazy`] it looks after
    /// the cooldown, and in [`ReloadMode::Off`] never.
    pub async fn newest(&self) -> Arc<Snapshot> {
        match self.attended().await {
            Some(snapshot) => snapshot,
            // Where nobody follows as promised, it is looked at here.
            None if self.attention().mode().is_some() => self.reload_unless_dear().await,
            None => self.reload().await,
        }
    }

    /// Returns the newest snapshot where whoever follows the library decides when it is looked at.
    pub(in crate::registry) async fn attended(&self) -> Option<Arc<Snapshot>> {
        match self.attention().mode()? {
            (ReloadMode::Off, _) => Some(self.snapshot()),
            (ReloadMode::Lazy, _) => Some(self.touch().await),
            (ReloadMode::Watch, Some(line)) => {
                let has_caught_up = unblock::with_others(move || line.catch_up()).await;
                has_caught_up.then(|| self.snapshot())
            }
            (ReloadMode::Watch | ReloadMode::Poll, _) => None,
        }
    }
}
