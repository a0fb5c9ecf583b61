//! The registry: providers in, snapshots out, files on request.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use repertoire_model::validate::Reporter;
use repertoire_model::{Bundle, LineRange, Policy, RuleId, SkillPath, Standing};

use super::listings::{Incoming, Listings};
use super::snapshot::{Entry, Snapshot};
use super::watch::Attention;
use crate::provider::{
    BoxFuture, Changes, FileContent, FileListing, Listed, Listing, OpenedSkill, Problem, Provider, Skill,
    differences,
};
use crate::{Error, ErrorKind};

/// Merges providers by precedence under a policy, and publishes snapshots.
///
/// Readers hold an immutable [`Snapshot`]; [`Registry::reload`] publishes a new one and disturbs nobody.
///
/// ```
/// # pollster::block_on(async {
/// use std::sync::Arc;
/// use repertoire::{LineRange, MemoryProvider, Policy, Registry, SkillDefinition, SkillPath};
/// let skill = SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "# Greet\n")
///     .with_resource("references/tone.md", "Be warm.\n");
/// let provider = Arc::new(MemoryProvider::new("builtin", vec![skill]));
/// let registry = Registry::open(vec![provider], Policy::default()).await?;
/// let snapshot = registry.snapshot();
/// let entry = &snapshot.entries()[0];
/// assert_eq!(registry.get(entry).await?.body(), "# Greet\n");
/// let tone = SkillPath::new("references/tone.md")?;
/// assert_eq!(registry.read(entry, &tone, LineRange::default()).await?.bytes, b"Be warm.\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It is a handle: clones share one library.
#[derive(Clone)]
pub struct Registry {
    shared: Arc<Shared>,
}

/// State that all clones of a registry share.
struct Shared {
    providers: Vec<Arc<dyn Provider>>,
    options: RegistryOptions,
    listings: Listings,
    current: RwLock<Current>,
    /// When the last look at the library ended, and how long it took.
    pace: Mutex<Option<(Instant, Duration)>>,
    /// How it is followed, and who wants to know of changes.
    attention: Attention,
}

/// The options of a registry.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RegistryOptions {
    /// The policy that skills are judged by.
    pub policy: Policy,
    /// Names that no skill may have, such as those of tools; skills with such a name are quarantined.
    pub reserved_names: BTreeSet<String>,
}

/// How many times as long as the last look at the library took the next one waits at least, where nobody insists on it.
const PACE: u32 = 10;
/// A look that takes no longer than this is not worth waiting for.
const CHEAP: Duration = Duration::from_millis(50);

/// The newest snapshot.
struct Current {
    snapshot: Arc<Snapshot>,
    /// The version of the listings that was last found to be so.
    as_of: u64,
}

impl Registry {
    /// Opens a registry over `providers`, first ones first, and takes the first snapshot.
    ///
    /// Fails with [`ErrorKind::Refused`] where the policy wants the whole library refused.
    pub async fn open(providers: Vec<Arc<dyn Provider>>, policy: Policy) -> Result<Self, Error> {
        let registry = Self::open_for_inspection(providers, policy).await;
        registry.snapshot().accepted()?;
        Ok(registry)
    }

    /// Opens a registry like [`Registry::open`], and leaves it to the caller to ask [`Snapshot::accepted`].
    ///
    /// It is for tools that tell a person what is wrong and must not go blind at the first fault.
    pub async fn open_for_inspection(providers: Vec<Arc<dyn Provider>>, policy: Policy) -> Self {
        Self::open_with(providers, RegistryOptions { policy, ..RegistryOptions::default() }).await
    }

    /// Opens a registry like [`Registry::open_for_inspection`], with all options given.
    pub async fn open_with(providers: Vec<Arc<dyn Provider>>, options: RegistryOptions) -> Self {
        let snapshot = Arc::new(Snapshot::merge(&[], &options.policy));
        let current = RwLock::new(Current { snapshot, as_of: 0 });
        let listings = Listings::new(providers.len());
        let (pace, attention) = (Mutex::new(None), Attention::default());
        let shared = Shared { providers, options, listings, current, pace, attention };
        let registry = Self { shared: Arc::new(shared) };
        registry.reload().await;
        registry
    }

    /// Returns the providers, in order of precedence.
    pub(crate) fn providers(&self) -> &[Arc<dyn Provider>] {
        &self.shared.providers
    }

    pub(super) fn attention(&self) -> &Attention {
        &self.shared.attention
    }

    /// Returns the newest snapshot.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current().0
    }

    /// Returns the newest snapshot, and the version of the listings that was last found to be so.
    fn current(&self) -> (Arc<Snapshot>, u64) {
        let current = self.shared.current.read().unwrap_or_else(PoisonError::into_inner);
        (Arc::clone(&current.snapshot), current.as_of)
    }

    /// Lists every provider again and publishes what it found as a new snapshot, if that differs from the newest one.
    ///
    /// A provider that fails is reported as a problem and leaves the others alone. Of two reloads at once the one that
    /// began later stays, whichever finishes first. Returns the newest snapshot.
    pub async fn reload(&self) -> Arc<Snapshot> {
        let started = Instant::now();
        let snapshot = self.reload_sources(0..self.providers().len()).await;
        *self.shared.pace.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((Instant::now(), started.elapsed()));
        snapshot
    }

    /// Lists the providers at these positions again, and publishes what it found as [`Registry::reload`] does.
    pub(super) async fn reload_sources(&self, positions: impl IntoIterator<Item = usize>) -> Arc<Snapshot> {
        let started = Instant::now();
        let mut listings = Vec::new();
        for index in positions {
            if let Some(provider) = self.providers().get(index) {
                listings.push(self.listed(index, || provider.list()).await);
            }
        }
        self.publish(listings, started)
    }

    /// Looks again at what may have changed, by the position of its provider, and publishes what it found as
    /// [`Registry::reload`] does.
    ///
    /// Providers that are not named keep their last listing.
    pub async fn reload_changed(&self, changes: &[(usize, Changes)]) -> Arc<Snapshot> {
        let started = Instant::now();
        let mut listings = Vec::with_capacity(changes.len());
        for (index, changes) in changes.iter().filter(|(_, changes)| !changes.is_empty()) {
            if let Some(provider) = self.providers().get(*index) {
                listings.push(self.listed(*index, || provider.relist(changes)).await);
            }
        }
        if listings.is_empty() { self.snapshot() } else { self.publish(listings, started) }
    }

    /// Waits for the listing that `ask` asks the provider at `index` for; one that fails is reported as a problem.
    async fn listed<'a>(
        &'a self,
        index: usize,
        ask: impl FnOnce() -> BoxFuture<'a, Result<Listing, Error>>,
    ) -> Incoming {
        let (number, listing) = self.shared.listings.ask(ask);
        let label = self.providers().get(index).map(Provider::label).unwrap_or_default();
        let mut listing = listing.await.unwrap_or_else(|error| self.broken(label, &error));
        self.quarantine_reserved_names(&mut listing, &self.shared.listings.last(index));
        Incoming { provider: index, number, listing }
    }

    /// Publishes what `listings`, begun at `started`, make of the library as a new snapshot, if that differs from the newest one.
    fn publish(&self, listings: Vec<Incoming>, started: Instant) -> Arc<Snapshot> {
        let version = self.shared.listings.take_in(listings);
        if version.is_same && self.confirm(version.number) {
            return self.snapshot();
        }
        let labels = self.providers().iter().map(|provider| Arc::from(provider.label()));
        let listings: Vec<(Arc<str>, Arc<Listing>)> = labels.zip(version.listings).collect();
        // Readers wait while the lock is held, so whatever takes time is done before and after.
        let (before, as_of) = self.current();
        let amended = match as_of + 1 == version.number {
            true => before.amended(&version.before, &listings, self.policy()),
            false => None,
        };
        let mut snapshot = amended.unwrap_or_else(|| Snapshot::merge(&listings, self.policy()));
        let is_same_as_before = snapshot.is_same_as(&before);
        let mut current = self.shared.current.write().unwrap_or_else(PoisonError::into_inner);
        let mut replaced = None;
        if current.as_of < version.number {
            let is_same = match Arc::ptr_eq(&before, &current.snapshot) {
                true => is_same_as_before,
                false => snapshot.is_same_as(&current.snapshot),
            };
            if current.as_of == 0 || !is_same {
                snapshot.number = current.snapshot.number + 1;
                replaced = Some(std::mem::replace(&mut current.snapshot, Arc::new(snapshot)));
            }
            current.as_of = version.number;
        }
        let newest = Arc::clone(&current.snapshot);
        drop(current);
        if replaced.is_some() {
            self.attention().signals.published(started.elapsed());
        }
        drop(replaced);
        newest
    }

    /// Says that version `number` of the listings is the same as the one before, if that is what was published last.
    fn confirm(&self, number: u64) -> bool {
        let mut current = self.shared.current.write().unwrap_or_else(PoisonError::into_inner);
        let is_next = current.as_of + 1 == number;
        if is_next {
            current.as_of = number;
        }
        is_next
    }

    /// Looks at the library again unless that was done a moment ago, and returns the newest snapshot.
    ///
    /// However often it is called on a large library, no more than a tenth of the time goes into looking. Where a
    /// [`super::Watcher`] follows the library, that decides: in [`super::ReloadMode::Off`] nobody ever looks.
    pub async fn reload_if_due(&self) -> Arc<Snapshot> {
        match self.attended().await {
            Some(snapshot) => snapshot,
            None => self.reload_unless_dear().await,
        }
    }

    /// Looks at the library again unless that takes long and was done a moment ago.
    pub(super) async fn reload_unless_dear(&self) -> Arc<Snapshot> {
        let last = *self.shared.pace.lock().unwrap_or_else(PoisonError::into_inner);
        match last {
            Some((ended, cost)) if cost > CHEAP && ended.elapsed() < cost * PACE => self.snapshot(),
            _ => self.reload().await,
        }
    }

    /// Looks at the library again as [`Registry::reload`] does, and waits for it.
    pub fn reload_blocking(&self) -> Arc<Snapshot> {
        pollster::block_on(self.reload())
    }

    /// Quarantines skills with a reserved name, so that a call by that name is never ambiguous.
    ///
    /// `last` is an earlier listing of the same provider that went through this: its skills need no second check.
    fn quarantine_reserved_names(&self, listing: &mut Listing, last: &Listing) {
        let reserved = &self.shared.options.reserved_names;
        let clashes = |skill: &Arc<Listed>| {
            skill.document.standing == Standing::Sound && reserved.contains(skill.document.name.as_str())
        };
        if !differences(&last.skills, &listing.skills).any(|(_, new)| new.is_some_and(clashes)) {
            return;
        }
        for skill in listing.skills.iter_mut().filter(|skill| clashes(skill)) {
            let mut reporter = Reporter::new(self.policy());
            let message = format!("`{}` is the name of a tool that agents call", skill.document.name);
            reporter.report(RuleId::NameTool, message).help("give the skill another name");
            let document = Arc::make_mut(&mut Arc::make_mut(skill).document);
            document.standing = Standing::Quarantined;
            document.diagnostics.extend(reporter.finish());
        }
    }

    fn broken(&self, label: &str, error: &Error) -> Listing {
        let mut reporter = Reporter::new(self.policy());
        reporter.report(RuleId::SourceBroken, format!("source `{label}` cannot be read: {}", error.chain()));
        let problems = reporter
            .finish()
            .into_iter()
            .map(|diagnostic| Problem {
                path: error.path().map_or_else(|| label.to_owned(), |path| path.display().to_string()),
                diagnostic,
            })
            .collect();
        Listing { skills: Vec::new(), problems }
    }

    /// Returns the policy in force.
    pub fn policy(&self) -> &Policy {
        &self.shared.options.policy
    }

    pub(super) fn provider(&self, entry: &Entry) -> Result<&dyn Provider, Error> {
        // An entry of another registry's snapshot may point past the end.
        let missing = || Error::new(ErrorKind::SkillNotFound).about(entry.name().as_str());
        self.providers().get(entry.provider).map(AsRef::as_ref).ok_or_else(missing)
    }

    /// Returns the skill with its text, as it is now.
    pub async fn get(&self, entry: &Entry) -> Result<Skill, Error> {
        let gone = || Error::new(ErrorKind::SkillNotFound).about(entry.name().as_str()).at(&*entry.path);
        self.provider(entry)?.get(&entry.locator).await?.ok_or_else(gone)
    }

    /// Returns the skill with its text and its files, as it is now.
    pub async fn open_skill(&self, entry: &Entry) -> Result<OpenedSkill, Error> {
        let gone = || Error::new(ErrorKind::SkillNotFound).about(entry.name().as_str()).at(&*entry.path);
        self.provider(entry)?.open(&entry.locator).await?.ok_or_else(gone)
    }

    /// Returns the skill's files.
    pub async fn files(&self, entry: &Entry) -> Result<FileListing, Error> {
        self.provider(entry)?.files(&entry.locator).await
    }

    /// Returns the lines `lines` of the skill's file `path`.
    pub async fn read(
        &self,
        entry: &Entry,
        path: &SkillPath,
        lines: LineRange,
    ) -> Result<FileContent, Error> {
        self.provider(entry)?.read(&entry.locator, path, lines).await
    }

    /// Returns the skill's files with their digests.
    pub async fn bundle(&self, entry: &Entry) -> Result<Bundle, Error> {
        self.provider(entry)?.bundle(&entry.locator).await
    }
}
