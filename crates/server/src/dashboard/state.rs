//! State that all requests of the dashboard share.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use repertoire::store::{DailyLoads, UsageCount};
use repertoire::{Entry, Snapshot};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::host::Cost;

/// The time that usage is kept for, so that a page that asks for it several times reads it once.
const USAGE_TIME: Duration = Duration::from_secs(2);

/// The usage of skills in some time.
#[derive(Debug, Default)]
pub(crate) struct UsageCounts {
    /// The calls.
    pub(crate) usage: Vec<UsageCount>,
    /// The loads per day.
    pub(crate) daily: Vec<DailyLoads>,
}

/// The tokens of skills in a catalog, by the index of their entries.
pub(crate) type EntryTokenCounts = Arc<Vec<u64>>;

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

/// The limits of streams of notices.
#[derive(Clone)]
pub(crate) struct Streams {
    /// Cancelled when the server begins to stop.
    pub(crate) stopping: CancellationToken,
}

/// State that all requests of the dashboard share.
pub(crate) struct DashboardState {
    /// The token that forms of the pages carry.
    pub(crate) csrf: String,
    usage: Mutex<HashMap<u64, (Instant, Arc<UsageCounts>)>>,
    /// A snapshot, and the tokens of its entries.
    tokens: Mutex<Option<(Arc<Snapshot>, EntryTokenCounts)>>,
    /// Held while the cost of a session is measured.
    pub(crate) measuring: tokio::sync::Mutex<()>,
    cost: Mutex<HashMap<(u64, u32), Result<Cost, String>>>,
    /// The task that looks for changes, while somebody waits for them.
    pub(crate) changes: Mutex<Weak<ChangesSender>>,
}

impl Default for DashboardState {
    fn default() -> Self {
        // Keyed hashes of a secret key from the operating system cannot be guessed.
        let seed = RandomState::new();
        let csrf = (0..4_u8).map(|part| format!("{:016x}", seed.hash_one(part))).collect();
        Self {
            csrf,
            usage: Mutex::default(),
            tokens: Mutex::default(),
            measuring: tokio::sync::Mutex::default(),
            cost: Mutex::default(),
            changes: Mutex::default(),
        }
    }
}

impl DashboardState {
    /// Returns the usage of the last `days` days if it was read a moment ago.
    pub(crate) fn usage(&self, days: u64) -> Option<Arc<UsageCounts>> {
        let usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        let (read, counts) = usage.get(&days)?;
        (read.elapsed() < USAGE_TIME).then(|| Arc::clone(counts))
    }

    /// Keeps the usage of the last `days` days.
    pub(crate) fn keep_usage(&self, days: u64, counts: Arc<UsageCounts>) {
        let mut usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        usage.retain(|_, (read, _)| read.elapsed() < USAGE_TIME);
        usage.insert(days, (Instant::now(), counts));
    }

    /// Returns the tokens of the entries of `snapshot`, counted by `count` for entries that the snapshot before did not have.
    pub(crate) fn entry_tokens(
        &self,
        snapshot: &Arc<Snapshot>,
        count: impl Fn(&Entry) -> u64,
    ) -> EntryTokenCounts {
        let before = self.tokens.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, counts)) = before.as_ref().filter(|(of, _)| Arc::ptr_eq(of, snapshot)) {
            return Arc::clone(counts);
        }
        // Snapshots share what did not change, and the one before is still there, so that no address is used twice.
        let key = |entry: &Entry| (Arc::as_ptr(&entry.document).addr(), entry.path.as_ptr().addr());
        let known: HashMap<(usize, usize), u64> = match &before {
            Some((of, counts)) => of.entries().iter().map(key).zip(counts.iter().copied()).collect(),
            None => HashMap::new(),
        };
        let counted = |entry: &Entry| known.get(&key(entry)).copied().unwrap_or_else(|| count(entry));
        let counts = Arc::new(snapshot.entries().iter().map(counted).collect());
        let mut newest = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if newest.as_ref().is_none_or(|(of, _)| of.number() <= snapshot.number()) {
            *newest = Some((Arc::clone(snapshot), Arc::clone(&counts)));
        }
        counts
    }

    /// Returns the cost of a session with the snapshot `number`, if it is known.
    pub(crate) fn cost(&self, number: u64, turns: u32) -> Option<Result<Cost, String>> {
        self.cost.lock().unwrap_or_else(PoisonError::into_inner).get(&(number, turns)).cloned()
    }

    /// Keeps the cost of a session with the snapshot `number`, and gives up those of earlier ones.
    pub(crate) fn keep_cost(&self, number: u64, turns: u32, cost: Result<Cost, String>) {
        let mut costs = self.cost.lock().unwrap_or_else(PoisonError::into_inner);
        costs.retain(|(of, _), _| *of == number);
        costs.insert((number, turns), cost);
    }
}
