//! What one snapshot has that another has not, and those who want to know.

use std::future::poll_fn;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use repertoire_model::{Document, SkillName};

use super::{Entry, Registry, Snapshot};

/// What is different about a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Aspect {
    /// What agents choose it by.
    Description,
    /// What it tells agents to do.
    Instructions,
    /// Another field of its frontmatter.
    Frontmatter,
    /// What is wrong with it.
    Diagnostics,
    /// Where it comes from.
    Source,
}

impl Aspect {
    /// Returns the aspect's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Description => "description",
            Self::Instructions => "instructions",
            Self::Frontmatter => "frontmatter",
            Self::Diagnostics => "diagnostics",
            Self::Source => "source",
        }
    }
}

/// What a new snapshot changed.
#[derive(Debug, Clone)]
pub struct Change {
    /// The snapshot before.
    pub before: Arc<Snapshot>,
    /// The snapshot that was published.
    pub after: Arc<Snapshot>,
    /// The skills that hold their name now and did not.
    pub added: Vec<SkillName>,
    /// The skills that held their name and do so no more.
    pub removed: Vec<SkillName>,
    /// The skills that hold their name and are different.
    pub changed: Vec<(SkillName, Vec<Aspect>)>,
    /// How long it took to find out.
    pub took: Duration,
}

impl Change {
    /// Returns what `after` changed.
    pub fn between(before: Arc<Snapshot>, after: Arc<Snapshot>, took: Duration) -> Self {
        let (mut added, mut removed, mut changed) = (Vec::new(), Vec::new(), Vec::new());
        {
            // Both are sorted by name, and no name is held twice.
            let mut old = before.active().peekable();
            for new in after.active() {
                let is_earlier = |old: &&Entry| !is_same(old, new) && old.name() < new.name();
                while let Some(old) = old.next_if(is_earlier) {
                    removed.push(old.name().clone());
                }
                match old.next_if(|old| is_same(old, new) || old.name() == new.name()) {
                    None => added.push(new.name().clone()),
                    Some(old) if is_same(old, new) => {}
                    Some(old) => {
                        let aspects = aspects(old, new);
                        if !aspects.is_empty() {
                            changed.push((new.name().clone(), aspects));
                        }
                    }
                }
            }
            removed.extend(old.map(|old| old.name().clone()));
        }
        Self { before, after, added, removed, changed, took }
    }

    /// Returns whether what agents choose from is different: a name or a description.
    pub fn is_of_catalog(&self) -> bool {
        let described = |(_, aspects): &(SkillName, Vec<Aspect>)| aspects.contains(&Aspect::Description);
        !self.added.is_empty() || !self.removed.is_empty() || self.changed.iter().any(described)
    }
}

/// Returns whether two entries share the skill and tell the same of it, which is seen without touching the skill.
fn is_same(before: &Entry, after: &Entry) -> bool {
    Arc::ptr_eq(&before.listed, &after.listed)
        && before.collision == after.collision
        && before.source == after.source
}

fn aspects(before: &Entry, after: &Entry) -> Vec<Aspect> {
    let mut aspects = Vec::new();
    let (old, new) = (&before.document, &after.document);
    // Documents are shared while they are the same, so most need not be compared.
    if !Arc::ptr_eq(old, new) {
        aspects.extend((old.description != new.description).then_some(Aspect::Description));
        // Where they stand is another matter.
        let instructions = |document: &Document| (document.body.length, document.body.checksum);
        aspects.extend((instructions(old) != instructions(new)).then_some(Aspect::Instructions));
        aspects.extend(
            (old.head_checksum != new.head_checksum && old.description == new.description)
                .then_some(Aspect::Frontmatter),
        );
    }
    let is_same = before.diagnostics().eq(after.diagnostics());
    aspects.extend((!is_same).then_some(Aspect::Diagnostics));
    let is_moved = before.source != after.source || before.path != after.path;
    aspects.extend(is_moved.then_some(Aspect::Source));
    aspects
}

/// Those who want to know of changes.
#[derive(Default)]
pub(super) struct Signals(Mutex<Vec<Weak<Signal>>>);

impl Signals {
    /// Tells everybody that a snapshot was published, which took `took` to put together.
    pub(super) fn published(&self, took: Duration) {
        let mut signals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        signals.retain(|signal| match signal.upgrade() {
            Some(signal) => {
                signal.raise(took);
                true
            }
            None => false,
        });
    }

    fn add(&self) -> Arc<Signal> {
        let signal = Arc::new(Signal::default());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&signal));
        signal
    }
}

/// That there is something new.
#[derive(Default)]
struct Signal {
    raised: Mutex<Raised>,
    changed: Condvar,
}

#[derive(Default)]
struct Raised {
    took: Option<Duration>,
    waker: Option<Waker>,
}

impl Signal {
    fn raised(&self) -> MutexGuard<'_, Raised> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn raise(&self, took: Duration) {
        let mut raised = self.raised();
        raised.took = Some(took);
        self.changed.notify_all();
        if let Some(waker) = raised.waker.take() {
            waker.wake();
        }
    }
}

/// Tells of every snapshot that a registry publishes.
///
/// Who does not ask for a while is told of all changes since in one: nothing piles up.
pub struct Subscription {
    registry: Registry,
    last: Arc<Snapshot>,
    signal: Arc<Signal>,
}

impl Registry {
    /// Returns what tells of every snapshot from now on.
    pub fn subscribe(&self) -> Subscription {
        // The signal comes first: what is published in between is told of rather than missed.
        let signal = self.attention().signals.add();
        Subscription { registry: self.clone(), last: self.snapshot(), signal }
    }
}

impl Subscription {
    /// Waits for the next change, no longer than `timeout`.
    pub fn next_within(&mut self, timeout: Duration) -> Option<Change> {
        let deadline = Instant::now() + timeout;
        loop {
            let took = {
                let mut raised = self.signal.raised();
                loop {
                    if let Some(took) = raised.took.take() {
                        break took;
                    }
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return None;
                    }
                    let waited = self.signal.changed.wait_timeout(raised, left);
                    raised = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            };
            if let Some(change) = self.change(took) {
                return Some(change);
            }
        }
    }

    /// Waits for the next change.
    pub async fn next(&mut self) -> Change {
        loop {
            let took = poll_fn(|context| {
                let mut raised = self.signal.raised();
                match raised.took.take() {
                    Some(took) => Poll::Ready(took),
                    None => {
                        raised.waker = Some(context.waker().clone());
                        Poll::Pending
                    }
                }
            })
            .await;
            if let Some(change) = self.change(took) {
                return change;
            }
        }
    }

    fn change(&mut self, took: Duration) -> Option<Change> {
        let newest = self.registry.snapshot();
        if Arc::ptr_eq(&newest, &self.last) {
            return None;
        }
        let before = std::mem::replace(&mut self.last, Arc::clone(&newest));
        Some(Change::between(before, newest, took))
    }
}
