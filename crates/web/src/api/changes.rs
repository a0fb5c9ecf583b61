//! `GET /api/v1/changes`: a stream of notices that skills, proposals or events changed.

use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use axum::Extension;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::{Stream, stream};
use repertoire::Registry;
use repertoire::proposal::review::Reviewer;
use repertoire::serve::AgentView;
use repertoire::store::{EventQuery, ProposalState, Store};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::dashboard::{Changes, ChangesSender, RequestContext, Streams};
use crate::server_state::ServerState;

/// The interval of looks at the store.
const INTERVAL: Duration = Duration::from_millis(700);

/// The interval of comments that keep a connection open.
const KEEP_ALIVE: Duration = Duration::from_secs(20);

/// The age at which a stream ends, so that the client connects again and its token is checked again.
const MAX_AGE: Duration = Duration::from_secs(5 * 60);

/// The interval of notices of proposals and events to clients that do not see the whole library: the time of
/// a change would tell of things that they may not see.
const NARROW_INTERVAL: Duration = Duration::from_secs(15);

/// The kind of a notice is the name of the event: `skills`, `proposals` or `events`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ChangeNotice {
    /// The number of the notice in this stream, from 1.
    pub(crate) number: u64,
}

pub(crate) async fn get(
    Extension(ctx): Extension<RequestContext>,
    Extension(streams): Extension<Streams>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let sender = sender(&ctx);
    let mut changes = sender.subscribe();
    let known = *changes.borrow_and_update();
    let end = Instant::now() + MAX_AGE;
    let view = (!ctx.sees_all()).then(|| NarrowView::new(&ctx));
    let pending = Vec::new();
    let state = StreamState { changes, known, pending, sent: 0, is_new: true, end, view, sender, streams };
    let notices = stream::unfold(state, |mut state| async move {
        let notice = state.next().await?;
        Some((Ok(notice), state))
    });
    Sse::new(notices).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}

struct StreamState {
    changes: watch::Receiver<Changes>,
    known: Changes,
    pending: Vec<&'static str>,
    /// The number of notices so far; those of the store would tell of things that the client may not see.
    sent: u64,
    is_new: bool,
    /// The time at which the stream ends.
    end: Instant,
    /// The view of a client that does not see the whole library.
    view: Option<NarrowView>,
    /// Keeps the task that looks for changes.
    sender: Arc<ChangesSender>,
    streams: Streams,
}

impl StreamState {
    /// Returns the next notice; `None` once the server stops or the stream is old.
    async fn next(&mut self) -> Option<Event> {
        // A client that connects again may have missed something. What changes from here on is told to it.
        if std::mem::take(&mut self.is_new) {
            let stopping = self.streams.stopping.clone();
            tokio::select! {
                () = stopping.cancelled() => return None,
                known = self.changes.wait_for(|changes| changes.is_known) => self.known = *known.ok()?,
            }
            return Some(Event::default().event("open").data("{}"));
        }
        while self.pending.is_empty() {
            let tick = self.view.as_ref().map_or(self.end, |view| view.tick.min(self.end));
            tokio::select! {
                () = self.streams.stopping.cancelled() => return None,
                () = sleep_until(tick) => {
                    if Instant::now() >= self.end {
                        return None;
                    }
                }
                changed = self.changes.changed() => changed.ok()?,
            }
            let now = *self.changes.borrow_and_update();
            if let Some(view) = &mut self.view {
                self.pending = view.notices(self.known.skills != now.skills);
                self.known = now;
                continue;
            }
            let rows = [
                ("skills", self.known.skills, now.skills),
                ("proposals", self.known.proposals, now.proposals),
                ("events", self.known.events, now.events),
            ];
            self.pending = rows.iter().filter(|row| row.1 != row.2).map(|row| row.0).collect();
            self.known = now;
        }
        let name = self.pending.remove(0);
        self.sent += 1;
        let _held = &self.sender;
        let data = serde_json::to_string(&ChangeNotice { number: self.sent }).unwrap_or_default();
        Some(Event::default().event(name).data(data))
    }
}

/// The view of a client that does not see the whole library.
struct NarrowView {
    view: Arc<AgentView>,
    /// The visible skills at the last notice.
    skills: u64,
    /// The time of the next notice of proposals and events.
    tick: Instant,
}

impl NarrowView {
    fn new(ctx: &RequestContext) -> Self {
        let view = Arc::clone(&ctx.view);
        Self { skills: fingerprint(&view), view, tick: Instant::now() + NARROW_INTERVAL }
    }

    /// Returns the notices that are due; `is_reloaded` says that the library has changed.
    fn notices(&mut self, is_reloaded: bool) -> Vec<&'static str> {
        let mut due = Vec::new();
        if is_reloaded {
            let skills = fingerprint(&self.view);
            if std::mem::replace(&mut self.skills, skills) != skills {
                due.push("skills");
            }
        }
        if Instant::now() >= self.tick {
            self.tick = Instant::now() + NARROW_INTERVAL;
            due.extend(["proposals", "events"]);
        }
        due
    }
}

/// Returns a number that changes with the skills that `view` sees.
fn fingerprint(view: &AgentView) -> u64 {
    let mut hasher = DefaultHasher::new();
    let snapshot = view.shared.registry.snapshot();
    for entry in snapshot.entries().iter().filter(|entry| view.sees(entry)) {
        let document = &entry.document;
        (entry.qualified_name(), entry.state.as_str()).hash(&mut hasher);
        (document.head_checksum, document.body.checksum).hash(&mut hasher);
    }
    hasher.finish()
}

/// Returns the sender of changes, and starts to look for them if nobody waited for any.
fn sender(ctx: &RequestContext) -> Arc<ChangesSender> {
    let shared = &ctx.server;
    let mut known = shared.dashboard.changes.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(sender) = known.upgrade() {
        return sender;
    }
    let first = Changes { skills: shared.served.registry.snapshot().number(), ..Changes::default() };
    let sender = Arc::new(watch::Sender::new(first));
    *known = Arc::downgrade(&sender);
    tokio::spawn(follow(Arc::downgrade(&sender), Arc::clone(shared)));
    sender
}

/// Looks for changes for as long as somebody waits for them.
async fn follow(sender: Weak<ChangesSender>, shared: Arc<ServerState>) {
    let (registry, store) = (shared.served.registry.clone(), shared.options.dashboard.store.clone());
    let mut changes = registry.subscribe();
    let mut skills = 0;
    loop {
        let (number, looked) = (registry.snapshot().number(), store.clone());
        let is_new = number != std::mem::replace(&mut skills, number);
        let of_skills = registry.clone();
        let look = move || looked.and_then(|store| look(&*store.get().ok()?, &of_skills, is_new));
        let found = tokio::task::spawn_blocking(look).await.ok().flatten();
        let Some(sender) = sender.upgrade() else { return };
        if found.is_some_and(|(_, events)| events != sender.borrow().events) {
            // Pages that ask again because of an event have to show it.
            shared.dashboard.forget_usage();
        }
        sender.send_if_modified(|known| {
            let (proposals, events) = found.unwrap_or((known.proposals, known.events));
            let now = Changes { skills: number, proposals, events, is_known: true };
            std::mem::replace(known, now) != now
        });
        drop(sender);
        let _ = tokio::time::timeout(INTERVAL, changes.next_snapshot()).await;
    }
}

/// Returns numbers that change with the proposals and with the events of `store`. Proposals about skills that
/// changed become stale.
fn look(store: &dyn Store, registry: &Registry, is_new: bool) -> Option<(u64, u64)> {
    if is_new {
        let time = SystemTime::now();
        let _ = Reviewer::new(store, registry, "", time).find_stale();
    }
    let mut newest = EventQuery::default();
    newest.limit = 1;
    let last = store.events(&newest).ok()?;
    let open = [ProposalState::Pending, ProposalState::Stale, ProposalState::Approved];
    let mut hasher = DefaultHasher::new();
    for proposal in store.proposals(&open).ok()? {
        (proposal.id, proposal.state.as_str()).hash(&mut hasher);
    }
    Some((hasher.finish(), last.last().map_or(0, |line| line.id)))
}
