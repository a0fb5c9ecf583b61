//! Records versions in the background while a library is open.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use pollster::block_on;
use repertoire_model::{Digest, RuleId, State};

use super::capture::{capture, identity, record};
use crate::provider::store::LABEL;
use crate::registry::{Entry, Registry, Snapshot, Subscription};
use crate::store::{Origin, Store};
use crate::{Error, ErrorKind, clock};

/// The longest time between two looks at whether the recorder shall stop.
const PATIENCE: Duration = Duration::from_millis(200);

/// A thread that records every change of a skill that a registry publishes.
///
/// It is best effort: a version that cannot be recorded is tried again with the next change, and skills are served all the same. Dropping
/// it stops the thread after the skill at hand.
pub struct Recorder {
    stop: Arc<AtomicBool>,
    /// The thread waits for changes.
    is_idle: Arc<AtomicBool>,
    last_error: Arc<Mutex<Option<Error>>>,
    thread: Option<JoinHandle<()>>,
}

/// The state of the thread.
struct Recording {
    registry: Registry,
    /// The store, once it could be opened.
    store: Option<Arc<dyn Store>>,
    stop: Arc<AtomicBool>,
    is_idle: Arc<AtomicBool>,
    /// The newest recorded digest of each skill.
    recorded: HashMap<String, Digest>,
}

impl Recorder {
    /// Starts recording the skills of `registry`: first all that changed since the last time, then every change.
    ///
    /// `open` opens the store on the thread, so that the caller does not wait for it; if it fails, the next change tries again.
    pub fn start(
        registry: &Registry,
        open: impl Fn() -> Result<Arc<dyn Store>, Error> + Send + 'static,
    ) -> Self {
        let (stop, last_error) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None)));
        let (mut changes, registry) = (registry.subscribe(), registry.clone());
        let (is_stopped, error) = (Arc::clone(&stop), Arc::clone(&last_error));
        let is_idle = Arc::new(AtomicBool::new(false));
        let waits = Arc::clone(&is_idle);
        let thread = thread::Builder::new().name("versions".to_owned()).spawn(move || {
            let mut recording = Recording {
                registry,
                store: None,
                stop: is_stopped,
                is_idle: waits,
                recorded: HashMap::new(),
            };
            recording.run(&open, &mut changes, &error);
        });
        Self { stop, is_idle, last_error, thread: thread.ok() }
    }

    /// Returns the last error and forgets it.
    pub fn take_error(&self) -> Option<Error> {
        self.last_error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
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

impl Recording {
    fn run(
        &mut self,
        open: &dyn Fn() -> Result<Arc<dyn Store>, Error>,
        changes: &mut Subscription,
        error: &Mutex<Option<Error>>,
    ) {
        let mut snapshot = Some(self.registry.snapshot());
        while !self.is_stopped() {
            if let Some(snapshot) = snapshot.take()
                && let Err(failed) = self.store(open).and_then(|store| self.record_all(&*store, &snapshot))
            {
                *error.lock().unwrap_or_else(PoisonError::into_inner) = Some(failed);
            }
            if self.is_stopped() {
                break;
            }
            self.is_idle.store(true, Ordering::SeqCst);
            snapshot = changes.next_within(PATIENCE).map(|change| change.after);
            self.is_idle.store(false, Ordering::SeqCst);
        }
    }

    /// Returns the store, which is opened first if it was not.
    fn store(&mut self, open: &dyn Fn() -> Result<Arc<dyn Store>, Error>) -> Result<Arc<dyn Store>, Error> {
        if let Some(store) = &self.store {
            return Ok(Arc::clone(store));
        }
        let store = open()?;
        self.recorded = store.latest_digests()?.into_iter().collect();
        Ok(Arc::clone(self.store.insert(store)))
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Records the skills of `snapshot` that changed. Returns the first error of the store; skills that cannot be read are left out.
    fn record_all(&mut self, store: &dyn Store, snapshot: &Snapshot) -> Result<(), Error> {
        let mut outcome = Ok(());
        for entry in snapshot.entries().iter().filter(|entry| is_recordable(entry)) {
            if self.is_stopped() {
                break;
            }
            if let Err(error) = self.record(store, entry)
                && matches!(error.kind(), ErrorKind::Store | ErrorKind::Corrupt)
            {
                outcome = outcome.and(Err(error));
            }
        }
        outcome
    }

    fn record(&mut self, store: &dyn Store, entry: &Entry) -> Result<(), Error> {
        let skill = identity(entry);
        let digest = block_on(self.registry.digest(entry))?;
        if self.recorded.get(&skill) == Some(&digest) {
            return Ok(());
        }
        let (files, digest) = block_on(capture(&self.registry, entry))?;
        let names = (skill.as_str(), entry.name().as_str());
        record(store, names, &files, Origin::Edit, None, clock::now())?;
        self.recorded.insert(skill, digest);
        Ok(())
    }
}

/// Returns `true` for a skill whose files are a version: it is valid as it is on disk.
fn is_recordable(entry: &Entry) -> bool {
    let is_replaced = entry.document.diagnostics.iter().any(|found| found.rule == RuleId::LastGood);
    // What is served from a store was recorded when it was published.
    let is_published = entry.source.starts_with(LABEL);
    entry.state != State::Quarantined && !is_replaced && !is_published
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
        let identity = identity(library.snapshot().active().next().unwrap());
        let store: Arc<MemoryStore> = Arc::new(MemoryStore::new());
        let opened = Arc::clone(&store);
        let recorder = Recorder::start(library.registry(), move || Ok(Arc::clone(&opened) as Arc<dyn Store>));
        let wait_for = |number: usize| {
            while store.versions(&identity).unwrap().len() < number {
                assert!(recorder.take_error().is_none());
                thread::yield_now();
            }
        };
        wait_for(1);
        for (number, body) in [(2, "# Number two\n"), (3, "# One\n")] {
            write(body);
            block_on(library.reload());
            wait_for(number);
        }
        // A broken file is no version.
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
    fn a_store_that_cannot_be_opened_is_reported() {
        let library = block_on(Library::builder().open()).unwrap();
        let recorder = Recorder::start(library.registry(), || Err(Error::new(ErrorKind::Store)));
        while recorder.take_error().is_none_or(|error| error.kind() != ErrorKind::Store) {
            thread::yield_now();
        }
    }
}
