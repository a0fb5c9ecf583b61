//! The handle of a library that is followed.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use repertoire_model::RuleId;
use repertoire_model::validate::Reporter;

use super::follow::Follower;
use super::follow::{POLL_SHARE, Pace};
use super::inbox::Message;
use super::options::{ReloadMode, ReloadOptions};
use super::state::{FollowMethod, SourceState, WatcherState};
use super::watch_set::WatchSet;
use super::watch_set::watch_budget;
use crate::provider::Problem;
use crate::registry::Registry;
use crate::{Error, ErrorKind};

/// Follows the library of a registry until it is dropped, which ends its thread and all its watches.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use repertoire::{FsOptions, FsProvider, Policy, Registry, ReloadOptions};
/// let provider = Arc::new(FsProvider::new(FsOptions::new("project:.agents/skills", ".agents/skills")));
/// let registry = pollster::block_on(Registry::open(vec![provider], Policy::default()))?;
/// let watcher = registry.watch(ReloadOptions::default())?;
/// let mut changes = registry.subscribe();
/// assert!(changes.next_within(Duration::ZERO).is_none(), "nothing changed");
/// assert_eq!(watcher.options(), ReloadOptions::default());
/// # Ok::<(), repertoire::Error>(())
/// ```
pub struct Watcher {
    registry: Registry,
    options: ReloadOptions,
    state: Arc<WatcherState>,
    /// The thread that follows the library, if there is one, and its inbox.
    thread: Option<(JoinHandle<()>, Sender<Message>)>,
}

impl Registry {
    /// Follows the library with `options` until the watcher is dropped.
    ///
    /// A new watcher replaces an earlier one. Fails with [`ErrorKind::Io`] if no thread can be started; too
    /// few watches are not a failure, see [`Watcher::state`].
    pub fn watch(&self, options: ReloadOptions) -> Result<Watcher, Error> {
        let state = Arc::new(WatcherState::default());
        let thread = match options.mode {
            ReloadMode::Watch | ReloadMode::Poll => Some(start(self, options, Arc::clone(&state))?),
            ReloadMode::Lazy | ReloadMode::Off => {
                let is_lazy = options.mode == ReloadMode::Lazy;
                let following = if is_lazy { FollowMethod::OnUse } else { FollowMethod::Not };
                let labels = self.providers().iter().map(|provider| provider.label().into());
                let sources = labels.map(|source| SourceState { source, following: following.clone() });
                state.post(sources.collect(), 0);
                state.ready();
                None
            }
        };
        *self.watcher() = Some((options, Arc::clone(&state)));
        Ok(Watcher { registry: self.clone(), options, state, thread })
    }
}

/// Starts the thread that follows the library.
fn start(
    registry: &Registry,
    options: ReloadOptions,
    state: Arc<WatcherState>,
) -> Result<(JoinHandle<()>, Sender<Message>), Error> {
    let (sender, inbox) = channel();
    let watches = (options.mode == ReloadMode::Watch)
        .then(|| WatchSet::new(watch_budget(options.max_watches), sender.clone()));
    let pace = Pace::new(options.poll, POLL_SHARE, Instant::now());
    let (registry, own) = (registry.clone(), sender.clone());
    let follower = Follower { registry, options, watches, sender: own, inbox, pace, state };
    let thread = std::thread::Builder::new()
        .name("repertoire-watch".to_owned())
        .spawn(move || follower.run())
        .map_err(|error| Error::new(ErrorKind::Io).because(error))?;
    Ok((thread, sender))
}

impl Watcher {
    /// Returns the options of following the library.
    pub fn options(&self) -> ReloadOptions {
        self.options
    }

    /// Returns the state of each source, in order of precedence; empty before the watcher is ready.
    pub fn state(&self) -> Vec<SourceState> {
        self.state.sources()
    }

    /// Returns the number of watched directories; one that several sources share counts once.
    pub fn watches(&self) -> usize {
        self.state.watches()
    }

    /// Waits until changes are no longer missed, at most for `timeout`; returns whether it is so.
    pub fn wait_ready(&self, timeout: Duration) -> bool {
        self.state.wait_ready(timeout)
    }

    /// Returns the sources that are polled because watches are lacking.
    pub fn problems(&self) -> Vec<Problem> {
        let problem = |state: &SourceState| match &state.following {
            FollowMethod::Polling(reason) if reason.is_limit() => {
                let mut reporter = Reporter::new(self.registry.policy());
                let message = format!("source `{}` is polled, not watched: {reason}", state.source);
                let help = "raise the system's limit of watches, or set `reload.mode` to \"poll\"";
                reporter.report(RuleId::WatchLimited, message).help(help);
                let diagnostic = reporter.finish().pop()?;
                Some(Problem { path: state.source.to_string(), diagnostic })
            }
            _ => None,
        };
        self.state().iter().filter_map(problem).collect()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        {
            let mut current = self.registry.watcher();
            if current.as_ref().is_some_and(|(_, state)| Arc::ptr_eq(state, &self.state)) {
                *current = None;
            }
        }
        if let Some((thread, inbox)) = self.thread.take() {
            // A thread that panicked receives nothing and has nothing left to report.
            let _ = inbox.send(Message::Close);
            let _ = thread.join();
        }
    }
}
