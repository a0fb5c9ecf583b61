//! Which directories are watched, and for whom.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::batch::Batch;
use super::notice::{Happening, Notice, WatchId, Weight, is_manifest, weigh};
use super::state::PollReason;
use super::system::{Doorbell, Events, Refusal};
use crate::provider::{Changes, Subject, WatchPoint};

/// How long the thread rests where nothing but noise came: it is read in one go then.
const REST: Duration = Duration::from_millis(10);
/// How long a source to which the system refused watches is not tried again: thousands of them may be made and ended in vain.
const RETRY: Duration = Duration::from_secs(600);

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
    /// What is watched for each source, in order: most of it stays, however often it is set.
    held: HashMap<usize, Vec<WatchPoint>>,
    /// Whether the last events were nothing but noise.
    is_noisy: bool,
    /// Why there are no events at all.
    refusal: Option<Refusal>,
    /// The sources to which the system refused watches, when and why.
    refused: HashMap<usize, (Instant, PollReason)>,
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
        let (held, refused) = (HashMap::new(), HashMap::new());
        Ok((Self { events, budget, uses, numbers, held, is_noisy: false, refusal, refused }, bell))
    }

    /// Watches `points` for `provider` and nothing else, and returns what is watched now and was not before.
    ///
    /// Where not all of them can be watched none are.
    pub(super) fn set(&mut self, provider: usize, points: Vec<WatchPoint>) -> Result<Changes, PollReason> {
        if let Some(refusal) = &self.refusal {
            return Err(PollReason::refused(refusal));
        }
        if let Some((when, reason)) = self.refused.get(&provider)
            && when.elapsed() < RETRY
        {
            return Err(reason.clone());
        }
        let mut points = points;
        // A stable sort takes what is in order already as it is, and most of it is.
        points.sort_by(in_order);
        points.dedup_by(|a, b| in_order(a, b).is_eq());
        let held = self.held.remove(&provider).unwrap_or_default();
        let (kept, ended, added) = compare(held, points);
        self.held.insert(provider, kept);
        self.release(provider, &ended);
        let set = match self.room_for(provider, &added) {
            Ok(()) => self.extend(provider, added),
            Err(reason) => Err(reason),
        };
        if set.is_err() {
            self.clear(provider);
        }
        match &set {
            Err(reason @ PollReason::Refused(_)) => {
                self.refused.insert(provider, (Instant::now(), reason.clone()))
            }
            _ => self.refused.remove(&provider),
        };
        set
    }

    /// Watches nothing for `provider` any longer.
    pub(super) fn clear(&mut self, provider: usize) {
        let held = self.held.remove(&provider).unwrap_or_default();
        self.release(provider, &held);
    }

    /// Returns why there is no room for `points` of `provider` as well, if so.
    ///
    /// It is found out before the first is watched: a watch that ends is told of, and tens of thousands that are made and
    /// ended for nothing would fill the queue of events, which means to look at everything again.
    fn room_for(&self, provider: usize, points: &[WatchPoint]) -> Result<(), PollReason> {
        let directories = points.iter().map(|point| &*point.directory);
        let new: HashSet<&Path> = directories.filter(|path| !self.numbers.contains_key(*path)).collect();
        let needed = self.held.get(&provider).map_or(0, Vec::len) + points.len();
        match self.uses.len() + new.len() > self.budget {
            true => Err(PollReason::Budget { needed, budget: self.budget }),
            false => Ok(()),
        }
    }

    /// Watches `points`, none of which is watched for `provider`, as well.
    fn extend(&mut self, provider: usize, points: Vec<WatchPoint>) -> Result<Changes, PollReason> {
        let mut new = Changes::default();
        let mut added = Vec::with_capacity(points.len());
        let mut outcome = Ok(());
        // Tables that grow step by step leave as much behind as they take.
        self.numbers.reserve(points.len());
        self.uses.reserve(points.len());
        for point in points {
            let directory = Arc::clone(&point.directory);
            let known = self.numbers.get(&directory).copied();
            let watch = match known.map_or_else(|| self.events.add(&directory), Ok) {
                Ok(watch) => watch,
                // It went since it was listed, and is told of by what lies above it.
                Err(Refusal::Absent) => continue,
                Err(refusal) => {
                    outcome = Err(PollReason::refused(&refusal));
                    break;
                }
            };
            new.merge(changes_of(&point.subject));
            self.numbers.insert(Arc::clone(&directory), watch);
            let subject = point.subject.clone();
            // Hardly ever more than one.
            let uses = self.uses.entry(watch).or_insert_with(|| Vec::with_capacity(1));
            uses.push(Use { provider, subject, directory });
            added.push(point);
        }
        let held = self.held.entry(provider).or_default();
        held.extend(added);
        held.sort_by(in_order);
        outcome.map(|()| new)
    }

    /// Watches `points` no longer for `provider`.
    fn release(&mut self, provider: usize, points: &[WatchPoint]) {
        for WatchPoint { directory, subject } in points {
            let Some(watch) = self.numbers.get(directory).copied() else { continue };
            let Some(uses) = self.uses.get_mut(&watch) else { continue };
            let is_it = |used: &Use| {
                used.provider == provider && used.subject == *subject && used.directory == *directory
            };
            uses.retain(|used| !is_it(used));
            if !uses.iter().any(|used| used.directory == *directory) {
                self.numbers.remove(directory);
            }
            if uses.is_empty() {
                self.uses.remove(&watch);
                self.events.remove(watch);
            }
        }
    }

    /// Forgets watches that ended, or whose directories are somewhere else by now.
    fn forget(&mut self, gone: &[WatchId]) {
        let mut lost: HashMap<usize, BTreeSet<OsString>> = HashMap::new();
        for watch in gone {
            for used in self.uses.remove(watch).into_iter().flatten() {
                self.numbers.remove(&used.directory);
                lost.entry(used.provider).or_default().insert(used.directory.as_os_str().to_owned());
            }
            self.events.remove(*watch);
        }
        for (provider, directories) in lost {
            if let Some(held) = self.held.get_mut(&provider) {
                held.retain(|point| !directories.contains(point.directory.as_os_str()));
            }
        }
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
                // What is under way goes on: it is one batch all the same.
                told.batch.happened(*time.get_or_insert_with(Instant::now));
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
                    told.batch.add(used.provider, changes_told(&notice, &used.subject), weight, now);
                }
                if is_gone {
                    told.stale.insert(used.provider);
                }
            }
        });
        self.forget(&gone);
        self.is_noisy = heard && !meant && !told.lost;
        all
    }
}

/// Compares letters, not parts of paths: only that it is always the same order matters.
fn in_order(a: &WatchPoint, b: &WatchPoint) -> Ordering {
    let by_directory = a.directory.as_os_str().cmp(b.directory.as_os_str());
    by_directory.then_with(|| a.subject.cmp(&b.subject))
}

/// Returns which points are in both of `before` and `after`, which only in the one, and which only in the other, all in order.
fn compare(
    before: Vec<WatchPoint>,
    after: Vec<WatchPoint>,
) -> (Vec<WatchPoint>, Vec<WatchPoint>, Vec<WatchPoint>) {
    let (mut both, mut ended, mut added) = (Vec::with_capacity(before.len()), Vec::new(), Vec::new());
    let mut before = before.into_iter().peekable();
    for point in after {
        while let Some(earlier) = before.next_if(|earlier| in_order(earlier, &point).is_lt()) {
            ended.push(earlier);
        }
        match before.next_if(|earlier| in_order(earlier, &point).is_eq()) {
            Some(earlier) => both.push(earlier),
            None => added.push(point),
        }
    }
    ended.extend(before);
    (both, ended, added)
}

/// Returns what may have changed by what `notice` tells of what is watched as `subject`.
fn changes_told(notice: &Notice<'_>, subject: &Subject) -> Changes {
    match (subject, notice.name.and_then(OsStr::to_str)) {
        // A source that has a `SKILL.md` of its own is another as a whole.
        (Subject::Root, Some(name)) if !is_manifest(OsStr::new(name)) => {
            Changes { entries: [name.to_owned()].into(), ..Changes::default() }
        }
        _ => changes_of(subject),
    }
}

/// Returns what may have changed where anything happened to what is watched as `subject`.
fn changes_of(subject: &Subject) -> Changes {
    match subject {
        Subject::Root | Subject::Above => Changes { root: true, ..Changes::default() },
        Subject::Skill(locator) => Changes { skills: [locator.clone()].into(), ..Changes::default() },
    }
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::disallowed_methods, reason = "tests make the directories that are watched")]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use super::super::notice::EntryKind;
    use super::*;
    use crate::provider::Locator;

    fn points(root: &Path, names: &[&str]) -> Vec<WatchPoint> {
        let point = |name: &&str| {
            let directory: Arc<Path> = root.join(name).into();
            std::fs::create_dir_all(&directory).unwrap();
            WatchPoint { directory, subject: Subject::Skill(Locator::new(*name)) }
        };
        names.iter().map(point).collect()
    }

    #[test]
    fn what_came_or_went_is_told_by_name_where_that_says_all() {
        let check = |subject: &Subject, name: Option<&OsStr>, expect: Changes| {
            let (happening, kind) = (Happening::Appeared, EntryKind::Directory);
            let notice = Notice { watch: 1, happening, name, kind };
            assert_eq!(changes_told(&notice, subject), expect, "{notice:?} {subject:?}");
        };
        let root = || Changes { root: true, ..Changes::default() };
        let skill = Subject::Skill(Locator::new("a"));
        let entries = Changes { entries: ["new".to_owned()].into(), ..Changes::default() };
        check(&Subject::Root, Some(OsStr::new("new")), entries);
        check(&Subject::Root, Some(OsStr::new("Skill.md")), root());
        check(&Subject::Root, Some(OsStr::from_bytes(b"\xff")), root());
        check(&Subject::Root, None, root());
        check(&Subject::Above, Some(OsStr::new("new")), root());
        let skills = Changes { skills: [Locator::new("a")].into(), ..Changes::default() };
        check(&skill, Some(OsStr::new("scripts")), skills);
    }

    /// Making and ending them would fill the queue of events, and then everything was looked at again, without end.
    #[test]
    fn what_there_is_no_room_for_is_not_watched_for_a_moment() {
        let directory = tempfile::tempdir().unwrap();
        let (mut watched, _bell) = Points::new(3).unwrap();
        let mut told = Told::default();
        let few = points(directory.path(), &["a", "b"]);
        assert_eq!(watched.set(0, few.clone()).unwrap().skills.len(), 2);
        for _ in 0..2 {
            let many = points(directory.path(), &["c", "d", "e"]);
            let budget = PollReason::Budget { needed: 3, budget: 3 };
            assert_eq!(watched.set(1, many).unwrap_err(), budget);
        }
        assert!(watched.wait(Some(Duration::ZERO), &mut told));
        assert!(!watched.is_noisy && told.batch.is_empty() && !told.lost, "not a single watch ended");
        assert_eq!((watched.total(), watched.count(0), watched.count(1)), (2, 2, 0));
        // What is watched already needs no room, and what is no longer wanted makes some.
        assert!(watched.set(0, few).unwrap().is_empty());
        assert_eq!(watched.set(1, points(directory.path(), &["b", "c"])).unwrap().skills.len(), 2);
        assert!(watched.set(0, Vec::new()).unwrap().is_empty());
        assert_eq!(watched.set(1, points(directory.path(), &["b", "c", "d"])).unwrap().skills.len(), 1);
    }
}
