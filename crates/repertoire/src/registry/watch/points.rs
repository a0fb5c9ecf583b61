//! Which directories are watched, and for whom.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::batch::Batch;
use super::notice::{Happening, WatchId, Weight, weigh};
use super::state::PollReason;
use super::system::{Doorbell, Events, Refusal};
use crate::provider::{Changes, Subject, WatchPoint};

/// How long the thread rests where nothing but noise came: it is read in one go then.
const REST: Duration = Duration::from_millis(10);

/// Whom a watch is for.
#[derive(Debug)]
struct Use {
    provider: usize,
    subject: Subject,
    directory: Arc<Path>,
}

/// The directories that are watched.
pub(super) struct Points {
    events: Events,
    budget: usize,
    uses: HashMap<WatchId, Vec<Use>>,
    numbers: HashMap<Arc<Path>, WatchId>,
    /// Whether the last events were nothing but noise.
    is_noisy: bool,
    /// Why there are no events at all.
    refusal: Option<Refusal>,
}

/// What was told since the last look.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) batch: Batch,
    /// The sources whose directories to watch must be asked for again.
    pub(super) stale: BTreeSet<usize>,
    /// Whether events were lost, so that anything may have happened.
    pub(super) lost: bool,
}

impl Points {
    /// Returns no directories; at most `budget` are watched, none where that is 0.
    pub(super) fn new(budget: usize) -> io::Result<(Self, Doorbell)> {
        let (events, bell, refusal) = if budget == 0 {
            let (events, bell) = Events::none()?;
            (events, bell, None)
        } else {
            Events::new()?
        };
        let (uses, numbers) = (HashMap::new(), HashMap::new());
        Ok((Self { events, budget, uses, numbers, is_noisy: false, refusal }, bell))
    }

    /// Watches `points` for `provider` and nothing else, and returns what is watched now and was not before.
    ///
    /// Where not all of them can be watched none are.
    pub(super) fn set(&mut self, provider: usize, points: Vec<WatchPoint>) -> Result<Changes, PollReason> {
        if let Some(refusal) = &self.refusal {
            return Err(PollReason::refused(refusal));
        }
        self.retain(provider, &points);
        let set = self.extend(provider, points);
        if set.is_err() {
            self.retain(provider, &[]);
        }
        set
    }

    fn extend(&mut self, provider: usize, points: Vec<WatchPoint>) -> Result<Changes, PollReason> {
        let mut new = Changes::default();
        let needed = points.len();
        for WatchPoint { directory, subject } in points {
            let directory: Arc<Path> = directory.into();
            let known = self.numbers.get(&directory).copied();
            let is_used =
                |uses: &[Use]| uses.iter().any(|used| used.provider == provider && used.subject == subject);
            if known.is_some_and(|watch| is_used(&self.uses[&watch])) {
                continue;
            }
            if known.is_none() && self.uses.len() >= self.budget {
                return Err(PollReason::Budget { needed, budget: self.budget });
            }
            let watch = match known.map_or_else(|| self.events.add(&directory), Ok) {
                Ok(watch) => watch,
                // It went since it was listed, and is told of by what lies above it.
                Err(Refusal::Absent) => continue,
                Err(refusal) => return Err(PollReason::refused(&refusal)),
            };
            new.merge(changes_of(&subject));
            self.numbers.insert(Arc::clone(&directory), watch);
            self.uses.entry(watch).or_default().push(Use { provider, subject, directory });
        }
        Ok(new)
    }

    /// Ends all watches for `provider` but those for `points`.
    fn retain(&mut self, provider: usize, points: &[WatchPoint]) {
        let wanted: HashSet<(&Path, &Subject)> =
            points.iter().map(|point| (point.directory.as_path(), &point.subject)).collect();
        let (events, numbers) = (&mut self.events, &mut self.numbers);
        self.uses.retain(|watch, uses| {
            let is_wanted =
                |used: &Use| used.provider != provider || wanted.contains(&(&*used.directory, &used.subject));
            if uses.iter().all(is_wanted) {
                return true;
            }
            for used in uses.extract_if(.., |used| !is_wanted(used)) {
                numbers.remove(&used.directory);
            }
            // Another source may come by the same way.
            numbers.extend(uses.iter().map(|used| (Arc::clone(&used.directory), *watch)));
            if uses.is_empty() {
                events.remove(*watch);
            }
            !uses.is_empty()
        });
    }

    /// Returns how many directories are watched.
    pub(super) fn total(&self) -> usize {
        self.uses.len()
    }

    /// Returns how many directories are watched for `provider`.
    pub(super) fn count(&self, provider: usize) -> usize {
        self.uses.values().filter(|uses| uses.iter().any(|used| used.provider == provider)).count()
    }

    /// Waits until something happens, the bell rings or `timeout` has passed, and adds what matters to `told`.
    /// Returns whether all that happened so far is told.
    pub(super) fn wait(&mut self, timeout: Option<Duration>, told: &mut Told) -> bool {
        if self.is_noisy {
            self.is_noisy = false;
            self.events.rest(timeout.map_or(REST, |timeout| timeout.min(REST)));
        }
        let (mut heard, mut meant) = (false, false);
        let mut gone: Vec<WatchId> = Vec::new();
        // It is the time when they are heard, not when somebody began to listen.
        let mut time = None;
        let all = self.events.wait(timeout, |notice| {
            heard = true;
            let Some(notice) = notice else {
                told.lost = true;
                return;
            };
            // What is no longer watched may still be told of.
            let uses = self.uses.get(&notice.watch).map(Vec::as_slice).unwrap_or_default();
            let is_gone = matches!(notice.happening, Happening::Moved | Happening::Ended);
            if is_gone {
                gone.push(notice.watch);
            }
            for used in uses {
                let weight = weigh(&notice, &used.subject);
                if weight != Weight::None {
                    meant = true;
                    let now = *time.get_or_insert_with(Instant::now);
                    told.batch.add(used.provider, changes_of(&used.subject), weight, now);
                }
                if is_gone {
                    told.stale.insert(used.provider);
                }
            }
        });
        for watch in gone {
            for used in self.uses.remove(&watch).into_iter().flatten() {
                self.numbers.remove(&used.directory);
            }
            self.events.remove(watch);
        }
        self.is_noisy = heard && !meant && !told.lost;
        all
    }
}

/// Returns what may have changed where something happened to what is watched as `subject`.
fn changes_of(subject: &Subject) -> Changes {
    match subject {
        Subject::Root | Subject::Above => Changes { root: true, ..Changes::default() },
        Subject::Skill(locator) => Changes { root: false, skills: [locator.clone()].into() },
    }
}
