//! The store: events and versions.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use repertoire::certificates::Certificates;
use repertoire::config::CatalogPreference;
use repertoire::event::{JournalOptions, JournalSink};
use repertoire::history::Recorder;
use repertoire::provider::fs::{PastManifest, PastVersions};
use repertoire::provider::store::StoreProvider;
use repertoire::registry::ReleaseFollower;
use repertoire::store::{self, LazyStore, Store};
use repertoire::usage::most_loaded_first;
use repertoire::{ErrorKind, Library, Provider, Registry};
use repertoire_store::SqliteStore;

use super::environment::Env;
use super::handle::Workspace;
use super::unreadable_state::{STORE_FILE, UnreadableState};
use crate::error::Error;

/// The most versions that are looked at to find a valid one.
const MAX_PAST: usize = 3;
/// The time in which loads count for `catalog.prefer`.
const PREFERENCE_TIME: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// A function that opens the store at a location.
type OpenStore = fn(&str, &Certificates) -> Result<Arc<dyn Store>, repertoire::Error>;

impl Workspace {
    /// Returns the location of the store; `None` if there is neither a setting nor a state directory.
    pub fn store_location(&self) -> Option<String> {
        let configured = &self.settings.store_url;
        if !configured.is_empty() {
            return Some(self.resolved(configured));
        }
        Some(self.env.state_directory()?.join(STORE_FILE).display().to_string())
    }

    /// Returns `true` if the command began with the message that the store cannot be read.
    fn is_store_unreadable(&self) -> bool {
        let is_hidden = |state: UnreadableState| state.hides(STORE_FILE);
        self.settings.store_url.is_empty() && UnreadableState::find(&self.env).is_some_and(is_hidden)
    }

    /// Returns the channels of the store whose skills are served, in order of precedence.
    pub fn served_channels(&self) -> &[String] {
        &self.served
    }

    /// Returns `true` if there is a store, so that a look need not make one.
    pub fn has_store(&self) -> bool {
        self.store_location().is_some_and(|location| is_there(&location))
    }

    /// Returns the name under which the person at the terminal proposes and decides.
    pub fn person(&self) -> String {
        format!("user:{}", self.env.user_name().unwrap_or_else(|| "unknown".to_owned()))
    }

    /// Returns the store, which is opened when it is needed first, once for the whole command.
    pub fn lazy_store(&self) -> LazyStore {
        self.store.get_or_init(|| self.store_opened_by(repertoire_store::open)).clone()
    }

    /// Returns the store of this machine, with the files of added skills, wherever versions are recorded.
    pub fn content_store(&self) -> LazyStore {
        if self.settings.store_url.is_empty() { self.lazy_store() } else { local_store(&self.env) }
    }

    /// Returns the store, which `open` opens when it is needed first.
    pub(super) fn store_opened_by(&self, open: OpenStore) -> LazyStore {
        let (location, certificates) = (self.store_location(), self.env.http.certificates().clone());
        LazyStore::new(move || match &location {
            Some(location) => open(location, &certificates),
            None => Err(repertoire::Error::new(ErrorKind::Store).because("there is no state directory")),
        })
    }

    /// Opens the store for a command that needs it; a damaged one would have wrong answers.
    pub fn store(&self) -> Result<Arc<dyn Store>, Error> {
        self.lazy_store().get().and_then(|store| store.check().map(|()| store)).map_err(|error| {
            let error = Error::from(error);
            // The way to mend it is told already.
            if self.is_store_unreadable() {
                return error;
            }
            error
                .hint("set REPERTOIRE_STATE_DIR, or `store.url` in your user configuration, to another place")
        })
    }

    /// Opens the store at `location`, or that of the configuration; fails if there is not one at `location`.
    pub fn store_at(&self, location: Option<&str>) -> Result<Arc<dyn Store>, Error> {
        match location.map(|location| self.resolved(location)) {
            Some(location) if !is_there(&location) => Err(no_store(&location)),
            _ => self.store_to(location),
        }
    }

    /// Opens the store at `location`, or that of the configuration, and makes it if there is not one.
    pub fn store_to(&self, location: Option<&str>) -> Result<Arc<dyn Store>, Error> {
        match location {
            Some(location) => {
                Ok(repertoire_store::open(&self.resolved(location), self.env.http.certificates())?)
            }
            None => self.store(),
        }
    }

    /// Returns the option that names the store `given` on a command line, after a blank, with no password.
    pub fn store_option(given: Option<&str>, store: &dyn Store) -> String {
        match given {
            Some(address) if address.contains("://") => format!(" --store {}", store.location()),
            Some(path) => format!(" --store {path}"),
            None => String::new(),
        }
    }

    /// Returns an error if the skills of a store shall be served that does not exist.
    pub(super) fn expect_served_store(&self) -> Result<(), Error> {
        match self.store_location() {
            Some(location) if !self.served.is_empty() && !is_there(&location) => Err(no_store(&location)),
            _ => Ok(()),
        }
    }

    /// Returns `location` as an address or an absolute path.
    fn resolved(&self, location: &str) -> String {
        if location.contains("://") {
            location.to_owned()
        } else {
            self.env.working_directory().join(location).display().to_string()
        }
    }

    /// Returns the providers of the channels that are served.
    pub(super) fn channel_providers(&self) -> impl Iterator<Item = Arc<dyn Provider>> {
        let provider = |channel: &String| Arc::new(StoreProvider::new(self.lazy_store(), channel)) as Arc<_>;
        self.served.iter().map(provider)
    }

    /// Warns of channels that are served and that nothing was published to yet.
    pub(super) fn warn_of_missing_channels(&self, library: &Library) {
        // A store that is away is reported in another way.
        if self.served.is_empty() || !library.snapshot().problems().is_empty() {
            return;
        }
        let Ok(store) = self.lazy_store().get() else { return };
        let is_missing = |channel: &&String| store.newest_names(channel).is_ok_and(|names| names.is_empty());
        for channel in self.served.iter().filter(is_missing) {
            let channels = store.channels().unwrap_or_default().join(", ");
            let others = if channels.is_empty() { "nothing is published" } else { "there are: " };
            self.reporter.note(&format!(
                "there is no channel {channel} in {} yet; {others}{channels}",
                store.location()
            ));
        }
    }

    /// Follows the releases of the store, if its skills are served.
    pub fn follow_releases(&self, registry: &Registry) -> Option<ReleaseFollower> {
        let is_served = !self.served.is_empty();
        is_served.then(|| ReleaseFollower::start(registry, self.lazy_store()))
    }

    /// Returns the identities of the skills whose descriptions a catalog over its budget keeps first; names
    /// for usage without one.
    ///
    /// A store that is not there, or that cannot be read, counts as no usage.
    pub(super) fn preferred_skills(&self) -> Vec<String> {
        if self.settings.catalog_prefer != CatalogPreference::Used || !self.has_store() {
            return Vec::new();
        }
        let since = SystemTime::now().checked_sub(PREFERENCE_TIME);
        let usage = self.lazy_store().get().and_then(|store| store.usage(since));
        most_loaded_first(&usage.unwrap_or_default())
    }

    /// Returns the sink that appends events to the store, unless it is turned off.
    pub fn journal(&self) -> Option<Arc<JournalSink>> {
        if !self.settings.events_journal || self.store_location().is_none() {
            return None;
        }
        Some(Arc::clone(self.journal.get_or_init(|| Arc::new(self.new_journal()))))
    }

    fn new_journal(&self) -> JournalSink {
        let store = self.lazy_store();
        let mut options = JournalOptions::default();
        options.retention.age = Duration::from_secs(self.settings.events_days as u64 * 24 * 60 * 60);
        let (is_told, reporter) = (self.is_store_unreadable(), Arc::clone(&self.reporter));
        options.on_failure = Some(Arc::new(move |error: &repertoire::Error| {
            let why = error.chain();
            if !is_told {
                reporter
                    .note(&format!("events are not recorded for now, skills are served all the same: {why}"));
            }
        }));
        JournalSink::new(move || Ok(store.get()? as Arc<_>), options)
    }

    /// Returns `true` if the store answers.
    pub fn is_store_ready(store: &LazyStore) -> bool {
        // A client of PostgreSQL must not be used on a thread of an asynchronous runtime.
        let asked = thread::scope(|scope| {
            scope.spawn(|| store.get().and_then(|store| store.schema_version()).is_ok()).join()
        });
        asked.unwrap_or(false)
    }

    /// Returns `true` if changes of skills are recorded as versions.
    pub fn records_versions(&self) -> bool {
        self.store_location().is_some()
    }

    /// Starts to record changes of skills as versions, if there is a store.
    pub fn recorder(&self, registry: &Registry) -> Option<Recorder> {
        let store = self.lazy_store();
        let (is_told, reporter) = (self.is_store_unreadable(), Arc::clone(&self.reporter));
        let report = move |error: &repertoire::Error| {
            let why = error.chain();
            if !is_told {
                reporter.note(&format!(
                    "changes of skills are not recorded as versions, skills are served all the same: {why}"
                ));
            }
        };
        self.records_versions().then(|| Recorder::start(registry, store, report))
    }

    /// Returns the recorded versions, which stay in force for skills that are broken on disk.
    pub fn past_versions(&self) -> Option<PastVersions> {
        let location = self.store_location()?;
        let store = self.lazy_store();
        Some(PastVersions::new(move |directory| {
            // Nothing is recorded in a store that does not exist, and a look makes none.
            let found =
                is_there(&location).then(|| past_manifests(&*store.get().ok()?, directory).ok()).flatten();
            found.unwrap_or_default()
        }))
    }
}

/// Returns the store in the state directory.
pub(super) fn local_store(env: &Env) -> LazyStore {
    let path = env.state_directory().map(|state| state.join(STORE_FILE));
    LazyStore::new(move || match &path {
        Some(path) => Ok(Arc::new(SqliteStore::open(path)?)),
        None => Err(repertoire::Error::new(ErrorKind::Store).because("there is no state directory")),
    })
}

fn no_store(location: &str) -> Error {
    Error::no(format!("there is no store at {location}"))
        .hint(format!("`rep publish DIR --to {location}` makes it"))
}

/// Returns `true` if `location` is the address of a server, or a file that exists as far as the user can see.
fn is_there(location: &str) -> bool {
    let is_missing = |error: std::io::Error| {
        matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
    };
    location.contains("://") || !Path::new(location).symlink_metadata().is_err_and(is_missing)
}

/// Returns the `SKILL.md` of the newest versions of the skill in `directory`, the newest first.
fn past_manifests(store: &dyn Store, directory: &str) -> Result<Vec<PastManifest>, repertoire::Error> {
    let mut manifests = Vec::new();
    for version in store.versions(directory)?.into_iter().take(MAX_PAST) {
        let bundle = store::bundle(store, &version.digest)?;
        let file = bundle.files().iter().find(|file| file.path.as_str().eq_ignore_ascii_case("SKILL.md"));
        let Some(file) = file else { continue };
        let text = String::from_utf8_lossy(&store::blob(store, &file.digest)?).into_owned();
        manifests.push(PastManifest { file_name: file.path.to_string(), text });
    }
    Ok(manifests)
}
