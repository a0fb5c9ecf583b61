//! Records versions in the background while a library is open.

use std::collections::HashMap;
#[cfg(feature = "fs")]
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pollster::block_on;
use repertoire_model::{Digest, RuleId};

use super::capture::{capture, record};
#[cfg(feature = "fs")]
use super::skill_lock::try_lock_skill;
use crate::provider::store::LABEL;
use crate::registry::{Entry, Registry, Snapshot, Subscription};
use crate::store::{LazyStore, Origin, Store};
use crate::{Error, ErrorKind, clock};

/// The longest time between two looks at whether the recorder shall stop.
const STOP_INTERVAL: Duration = Duration::from_millis(200);

/// The longest that a recorder waits at its end until the newest snapshot is recorded.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// The pause between two looks at that.
const DRAIN_PAUSE: Duration = Duration::from_millis(2);

/// The pause after an error of the store.
const RETRY_PAUSE: Duration = Duration::from_secs(5);

/// The pause between two looks at all files. Only changes of a `SKILL.md` make a registry publish a snapshot.
const PASS_PAUSE: Duration = Duration::from_secs(60);

/// The number of times that a pause between two looks at all files is as long as the look at least, so that
/// large libraries cost little.
const PAUSE_FACTOR: u32 = 50;

/// A thread that records each change of a skill that a registry publishes, and of other files once a minute.
///
/// It is best effort: a version that cannot be recorded is tried again with the next change and every few
/// seconds, and skills are served all the same. Dropping it stops the thread once the newest snapshot is
/// recorded, or after two seconds; the next one goes on from there.
pub struct Recorder {
    registry: Registry,
    stop: Arc<AtomicBool>,
    /// The number of the last snapshot that was gone through.
    last_snapshot: Arc<AtomicU64>,
    /// The thread waits for changes.
    is_idle: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The skills of a snapshot that are recorded.
enum RecordingOutcome {
    All,
    /// Another process keeps directories of skills locked; they are tried again later.
    #[cfg_attr(not(feature = "fs"), expect(dead_code, reason = "only files are locked"))]
    AllButLocked,
}

struct RecorderThread {
    registry: Registry,
    store: LazyStore,
    stop: Arc<AtomicBool>,
    is_idle: Arc<AtomicBool>,
    /// The number of the last snapshot that was gone through.
    last_snapshot: Arc<AtomicU64>,
    /// The newest recorded digest of each skill, once they were read.
    recorded: Option<HashMap<String, Digest>>,
    /// The least pause between two looks at all files.
    pass_pause: Duration,
}

impl Recorder {
    /// Starts recording the skills of `registry`: first all changes since the last time, then each change.
    ///
    /// The store is opened on the thread, so that the caller does not wait for it. `on_failure` is called
    /// with the first error of the store.
    pub fn start(
        registry: &Registry,
        store: LazyStore,
        on_failure: impl FnOnce(&Error) + Send + 'static,
    ) -> Self {
        Self::start_with(registry, store, PASS_PAUSE, on_failure)
    }

    fn start_with(
        registry: &Registry,
        store: LazyStore,
        pass_pause: Duration,
        on_failure: impl FnOnce(&Error) + Send + 'static,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let mut changes = registry.subscribe();
        let (is_idle, last_snapshot) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let mut recording = RecorderThread {
            registry: registry.clone(),
            store,
            stop: Arc::clone(&stop),
            is_idle: Arc::clone(&is_idle),
            last_snapshot: Arc::clone(&last_snapshot),
            recorded: None,
            pass_pause,
        };
        let thread = thread::Builder::new()
            .name("versions".to_owned())
            .spawn(move || recording.run(&mut changes, on_failure));
        Self { registry: registry.clone(), stop, last_snapshot, is_idle, thread: thread.ok() }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let (newest, end) = (self.registry.snapshot().number(), Instant::now() + DRAIN_TIMEOUT);
        let is_open = || {
            self.last_snapshot.load(Ordering::SeqCst) < newest
                && self.thread.as_ref().is_some_and(|it| !it.is_finished())
        };
        while is_open() && Instant::now() < end {
            thread::sleep(DRAIN_PAUSE);
        }
        self.stop.store(true, Ordering::SeqCst);
        // A thread that waits writes nothing more; the end of a program need not wait for it.
        if let Some(thread) = self.thread.take()
            && !self.is_idle.load(Ordering::SeqCst)
        {
            // It can only have panicked, which hurts nobody else.
            let _ = thread.join();
        }
    }
}

impl RecorderThread {
    fn run(&mut self, changes: &mut Subscription, on_failure: impl FnOnce(&Error)) {
        let mut on_failure = Some(on_failure);
        let mut snapshot = Some(self.registry.snapshot());
        let (mut ended, mut pause) = (Instant::now(), RETRY_PAUSE);
        while !self.is_stopped() {
            if ended.elapsed() >= pause {
                snapshot = Some(self.registry.snapshot());
                // Another store may be in the place of the one that was read.
                self.recorded = None;
            }
            if let Some(snapshot) = snapshot.take() {
                let started = Instant::now();
                let outcome = self.record_all(&snapshot);
                self.last_snapshot.store(snapshot.number(), Ordering::SeqCst);
                ended = Instant::now();
                pause = match outcome {
                    Ok(RecordingOutcome::All) => {
                        self.pass_pause.max((ended - started).saturating_mul(PAUSE_FACTOR))
                    }
                    _ => RETRY_PAUSE,
                };
                if let Err(error) = outcome
                    && let Some(tell) = on_failure.take()
                {
                    tell(&error);
                }
            }
            if self.is_stopped() {
                break;
            }
            self.is_idle.store(true, Ordering::SeqCst);
            snapshot = changes.next_within(STOP_INTERVAL).map(|change| change.after);
            self.is_idle.store(false, Ordering::SeqCst);
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Records the skills of `snapshot` that changed. Returns the first error of the store; skills that
    /// cannot be read are left out.
    fn record_all(&mut self, snapshot: &Snapshot) -> Result<RecordingOutcome, Error> {
        let store = self.store.get()?;
        let mut recorded = match self.recorded.take() {
            Some(recorded) => recorded,
            None => store.latest_digests()?.into_iter().collect(),
        };
        let mut outcome = Ok(RecordingOutcome::All);
        for entry in snapshot.entries().iter().filter(|entry| is_recordable(entry)) {
            if self.is_stopped() {
                break;
            }
            match self.record(&*store, &mut recorded, entry) {
                Ok(RecordingOutcome::All) => {}
                Ok(RecordingOutcome::AllButLocked) => {
                    outcome = outcome.and(Ok(RecordingOutcome::AllButLocked))
                }
                Err(error) if matches!(error.kind(), ErrorKind::Store | ErrorKind::Corrupt) => {
                    outcome = outcome.and(Err(error));
                }
                Err(_) => {}
            }
        }
        self.recorded = Some(recorded);
        outcome
    }

    fn record(
        &self,
        store: &dyn Store,
        recorded: &mut HashMap<String, Digest>,
        entry: &Entry,
    ) -> Result<RecordingOutcome, Error> {
        let skill = entry.record_identity();
        let digest = block_on(self.registry.digest(entry))?;
        if recorded.get(&skill) == Some(&digest) {
            return Ok(RecordingOutcome::All);
        }
        // While an approval or a rollback writes the skill, it records the version itself, with its origin.
        #[cfg(feature = "fs")]
        let _lock = match entry.identity.as_deref().map(|directory| try_lock_skill(Path::new(directory))) {
            Some(None) => return Ok(RecordingOutcome::AllButLocked),
            lock => lock.flatten(),
        };
        let (files, _) = block_on(capture(&self.registry, entry))?;
        let names = (skill.as_str(), entry.name().as_str());
        record(store, names, &files, Origin::Edit, None, clock::now())?;
        recorded.insert(skill, digest);
        Ok(RecordingOutcome::All)
    }
}

/// Returns `true` for a skill whose files are a version: it is valid as it is on disk.
fn is_recordable(entry: &Entry) -> bool {
    let is_replaced = entry.document.diagnostics.iter().any(|found| found.rule == RuleId::LastGood);
    // Skills of a store were recorded when they were published.
    let is_published = entry.source.starts_with(LABEL);
    // Those of a program are versions of the program, and their files may be slow to load.
    let is_in_code = entry.path.strip_prefix(&*entry.source).is_some_and(|rest| rest.starts_with(':'));
    !entry.is_broken() && !is_replaced && !is_published && !is_in_code
}

#[cfg(all(test, feature = "fs"))]
mod tests {
    use std::fs;

    use super::*;
    use crate::library::Library;
    use crate::store::{MemoryStore, Versions, skill_files};

    #[test]
    fn every_change_becomes_a_version() {
        let root = tempfile::tempdir().unwrap();
        let skill = root.path().join("greet");
        fs::create_dir_all(skill.join("references")).unwrap();
        fs::write(skill.join("references/tone.md"), "Be warm.\n").unwrap();
        let write = |body: &str| {
            let head = "---\nname: greet\ndescription: Greets people. Use when someone says hello.\n---\n";
            fs::write(skill.join("SKILL.md"), format!("{head}{body}")).unwrap();
        };
        write("# One\n");
        let library = block_on(Library::builder().directory(root.path()).open()).unwrap();
        let identity = library.snapshot().active().next().unwrap().record_identity();
        let store: Arc<MemoryStore> = Arc::new(MemoryStore::new());
        let lazy = LazyStore::from(Arc::clone(&store) as Arc<dyn Store>);
        let (told, failures) = std::sync::mpsc::channel();
        let recorder =
            Recorder::start(library.registry(), lazy, move |error| told.send(error.to_string()).unwrap());
        let wait_for = |number: usize| {
            while store.versions(&identity).unwrap().len() < number {
                assert_eq!(failures.try_recv().ok(), None);
                thread::yield_now();
            }
        };
        wait_for(1);
        for (number, body) in [(2, "# Number two\n"), (3, "# One\n")] {
            write(body);
            block_on(library.reload());
            wait_for(number);
        }
        // A broken file is not a version.
        fs::write(skill.join("SKILL.md"), "---\nname: greet\n").unwrap();
        block_on(library.reload());
        drop(recorder);
        let versions = store.versions(&identity).unwrap();
        assert_eq!((versions[0].digest, versions[0].origin), (versions[2].digest, Origin::Edit));
        let files = skill_files(&*store, &versions[1].digest).unwrap();
        let texts: Vec<String> =
            files.values().map(|file| String::from_utf8_lossy(&file.bytes).into_owned()).collect();
        assert!(texts[0].ends_with("# Number two\n") && texts[1] == "Be warm.\n", "{texts:?}");
    }

    #[test]
    fn the_end_waits_for_the_newest_snapshot() {
        let root = tempfile::tempdir().unwrap();
        crate::testing::write_library(root.path()).unwrap();
        let library = block_on(Library::builder().directory(root.path()).open()).unwrap();
        let identity = library.snapshot().active().next().unwrap().record_identity();
        let store: Arc<MemoryStore> = Arc::new(MemoryStore::new());
        let start = || {
            let lazy = LazyStore::from(Arc::clone(&store) as Arc<dyn Store>);
            Recorder::start(library.registry(), lazy, |_| {})
        };
        drop(start());
        assert_eq!(store.versions(&identity).unwrap().len(), 1);
        let recorder = start();
        let manifest = fs::File::options().append(true).open(Path::new(&identity).join("SKILL.md"));
        std::io::Write::write_all(&mut manifest.unwrap(), b"One more line.\n").unwrap();
        block_on(library.reload());
        drop(recorder);
        assert_eq!(store.versions(&identity).unwrap().len(), 2);
    }

    #[test]
    fn a_directory_that_another_process_keeps_locked_is_not_waited_for() {
        let root = tempfile::tempdir().unwrap();
        crate::testing::write_library(root.path()).unwrap();
        let library = block_on(Library::builder().directory(root.path()).open()).unwrap();
        let store: Arc<MemoryStore> = Arc::new(MemoryStore::new());
        let stop = Arc::new(AtomicBool::new(false));
        let mut recording = RecorderThread {
            registry: library.registry().clone(),
            store: LazyStore::from(Arc::clone(&store) as Arc<dyn Store>),
            stop,
            is_idle: Arc::default(),
            last_snapshot: Arc::default(),
            recorded: None,
            pass_pause: PASS_PAUSE,
        };
        let lock = super::super::lock_skill(&root.path().join("alpha")).unwrap();
        let outcome = recording.record_all(&library.snapshot()).unwrap();
        assert!(
            matches!(outcome, RecordingOutcome::AllButLocked) && store.latest_digests().unwrap().is_empty()
        );
        drop(lock);
        assert!(matches!(recording.record_all(&library.snapshot()), Ok(RecordingOutcome::All)));
        assert!(!store.latest_digests().unwrap().is_empty());
    }

    #[test]
    fn changes_of_other_files_become_versions_without_a_new_snapshot() {
        let root = tempfile::tempdir().unwrap();
        crate::testing::write_library(root.path()).unwrap();
        let library = block_on(Library::builder().directory(root.path()).open()).unwrap();
        let identity = library.snapshot().active().next().unwrap().record_identity();
        let store: Arc<MemoryStore> = Arc::new(MemoryStore::new());
        let lazy = LazyStore::from(Arc::clone(&store) as Arc<dyn Store>);
        let recorder = Recorder::start_with(library.registry(), lazy, Duration::ZERO, |_| {});
        let number = library.registry().reloads();
        for text in ["one", "two"] {
            let before = store.versions(&identity).unwrap().len();
            fs::write(Path::new(&identity).join("added.md"), text).unwrap();
            while store.versions(&identity).unwrap().len() == before {
                thread::yield_now();
            }
        }
        assert_eq!(library.registry().reloads(), number);
        drop(recorder);
    }

    #[test]
    fn a_store_that_cannot_be_opened_at_first_is_reported_and_opened_again() {
        let root = tempfile::tempdir().unwrap();
        crate::testing::write_library(root.path()).unwrap();
        let library = block_on(Library::builder().directory(root.path()).open()).unwrap();
        let store: Arc<MemoryStore> = Arc::new(MemoryStore::new());
        let opened = Arc::clone(&store);
        let (back, is_back) = std::sync::mpsc::channel();
        let is_back = std::sync::Mutex::new(is_back);
        let lazy = LazyStore::new(move || match is_back.lock().unwrap().try_recv() {
            Ok(()) => Ok(Arc::clone(&opened) as Arc<dyn Store>),
            Err(_) => Err(Error::new(ErrorKind::Store)),
        });
        let (told, reasons) = std::sync::mpsc::channel();
        let recorder =
            Recorder::start(library.registry(), lazy, move |error| told.send(error.kind()).unwrap());
        assert_eq!(reasons.recv().unwrap(), ErrorKind::Store);
        back.send(()).unwrap();
        // The next change is an occasion to open it again.
        fs::remove_dir_all(root.path().join("beta")).unwrap();
        block_on(library.reload());
        while store.latest_digests().unwrap().is_empty() {
            thread::yield_now();
        }
        drop(recorder);
    }
}
