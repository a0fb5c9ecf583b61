//! State that all requests of the dashboard share.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime};

use repertoire::store::{DailyLoads, UsageCount};
use repertoire::{Entry, Snapshot};
use repertoire_app::doctor::HealthItem;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The time that usage is kept for, so that a page that asks for it several times reads it once.
const USAGE_TIME: Duration = Duration::from_secs(2);

/// The usage of skills in some time.
#[derive(Debug, Default)]
pub(crate) struct UsageCounts {
    pub(crate) usage: Vec<UsageCount>,
    /// The loads per day.
    pub(crate) daily: Vec<DailyLoads>,
}

/// The tokens of skills in a catalog, by the index of their entries.
pub(crate) type EntryTokenCounts = Arc<Vec<u64>>;

/// The tokens of the entries that were counted last.
#[derive(Default)]
struct CountedEntries {
    snapshot: Option<u64>,
    counts: EntryTokenCounts,
    /// The tokens by a hash of the text of an entry.
    by_text: HashMap<u64, u64>,
    hasher: RandomState,
}

/// Numbers that change with the skills, the proposals and the events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// The number of the snapshot.
    pub(crate) skills: u64,
    /// A digest of the proposals that wait for a decision.
    pub(crate) proposals: u64,
    /// The number of the newest event.
    pub(crate) events: u64,
    /// True once the store was looked at.
    pub(crate) is_known: bool,
}

/// Tells of changes.
pub(crate) type ChangesSender = watch::Sender<Changes>;

/// The answer of the source of a skill.
#[derive(Debug, Clone)]
pub(crate) struct KnownUpdate {
    /// The word for the newest version, and that in words; `None` if the skill was not added from a source.
    pub(crate) newest: Option<(&'static str, Option<String>)>,
    pub(crate) time: SystemTime,
}

/// The limits of streams of notices.
#[derive(Clone)]
pub(crate) struct Streams {
    /// Cancelled when the server begins to stop.
    pub(crate) stopping: CancellationToken,
}

repertoire_model::options! {
    /// State that all requests of the dashboard share.
    pub(crate) struct DashboardState {
        /// The token that forms of the pages carry.
        pub(crate) csrf: String = csrf_token(),
        usage: Mutex<HashMap<u64, (Instant, Arc<UsageCounts>)>>,
        tokens: Mutex<CountedEntries>,
        /// Held while the source of a skill is asked.
        pub(crate) asking: tokio::sync::Mutex<()>,
        updates: Mutex<HashMap<String, KnownUpdate>>,
        /// The sandbox that is used, once it was looked for.
        pub(crate) sandbox: OnceLock<HealthItem>,
        /// The task that looks for changes, while somebody waits for them.
        pub(crate) changes: Mutex<Weak<ChangesSender>>,
    }
}

fn csrf_token() -> String {
    // Keyed hashes of a secret key from the operating system cannot be guessed.
    let seed = RandomState::new();
    (0..4_u8).map(|part| format!("{:016x}", seed.hash_one(part))).collect()
}

impl DashboardState {
    /// Returns the usage of the last `days` days if it was read a moment ago.
    pub(crate) fn usage(&self, days: u64) -> Option<Arc<UsageCounts>> {
        let usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        let (read, counts) = usage.get(&days)?;
        (read.elapsed() < USAGE_TIME).then(|| Arc::clone(counts))
    }

    /// Returns the usage of the last `days` days that was read last, if it is still there.
    pub(crate) fn last_usage(&self, days: u64) -> Option<Arc<UsageCounts>> {
        let usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        usage.get(&days).map(|(_, counts)| Arc::clone(counts))
    }

    pub(crate) fn keep_usage(&self, days: u64, counts: Arc<UsageCounts>) {
        let mut usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        usage.retain(|_, (read, _)| read.elapsed() < USAGE_TIME);
        usage.insert(days, (Instant::now(), counts));
    }

    /// Gives up the usage that was read, because there are new events.
    pub(crate) fn forget_usage(&self) {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Returns the tokens of the entries of `snapshot`; `count` is called for texts not counted before.
    pub(crate) fn entry_tokens(
        &self,
        snapshot: &Snapshot,
        count: impl Fn(&Entry) -> u64,
    ) -> EntryTokenCounts {
        let mut known = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if known.snapshot == Some(snapshot.number()) {
            return Arc::clone(&known.counts);
        }
        // A large library takes long to count, and an edit changes one skill of it.
        let mut by_text = HashMap::with_capacity(snapshot.entries().len());
        let counts = snapshot.entries().iter().map(|entry| {
            let text = (entry.name().as_str(), &*entry.document.description, entry.location());
            let key = known.hasher.hash_one((text, entry.allows_models()));
            let tokens = known.by_text.get(&key).copied().unwrap_or_else(|| count(entry));
            by_text.insert(key, tokens);
            tokens
        });
        let counts: EntryTokenCounts = Arc::new(counts.collect());
        (known.snapshot, known.counts, known.by_text) =
            (Some(snapshot.number()), Arc::clone(&counts), by_text);
        counts
    }

    /// Returns the answer of the source of the skill with the qualified name `skill`, if it was asked.
    pub(crate) fn update(&self, skill: &str) -> Option<KnownUpdate> {
        self.updates.lock().unwrap_or_else(PoisonError::into_inner).get(skill).cloned()
    }

    /// Keeps the answer of the source of a skill.
    pub(crate) fn keep_update(&self, skill: String, update: KnownUpdate) {
        self.updates.lock().unwrap_or_else(PoisonError::into_inner).insert(skill, update);
    }
}
