//! The registry: providers in, snapshots out, files on request.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use repertoire_model::scope::Pattern;
use repertoire_model::validate::Reporter;
use repertoire_model::{Bundle, Digest, Document, LineRange, Policy, RuleId, SkillPath, Standing, checksum};

use super::signals::Signals;
use super::snapshot::{Entry, Snapshot};
use super::watch::{ReloadOptions, WatcherState};
use crate::clock::Instant;
use crate::provider::{
    FileContent, FileListing, ListedSkill, Listing, OpenedSkill, Problem, Provider, Skill,
};
use crate::{Error, ErrorKind};

/// Merges providers by precedence under a policy, and publishes snapshots.
///
/// Readers hold an immutable [`Snapshot`]; [`Registry::reload`] publishes a new one beside it.
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
    shared: Arc<RegistryState>,
}

/// State that all clones of a registry share.
struct RegistryState {
    providers: Vec<Arc<dyn Provider>>,
    options: RegistryOptions,
    /// The patterns of disabled skills in place of those of the policy, once they were changed.
    disabled: RwLock<Option<Vec<Pattern>>>,
    /// The number of reloads that began.
    reloads: AtomicU64,
    current: RwLock<Current>,
    /// The time at which the last reload ended, and its duration.
    last_reload: Mutex<(Instant, Duration)>,
    /// Serializes reloads of sources that tell changes, so that requests that wait share one.
    turn: async_lock::Mutex<()>,
    /// The options of the current watcher, and its state, by which it is recognised.
    watcher: Mutex<Option<(ReloadOptions, Arc<WatcherState>)>>,
    signals: Signals,
}

/// The behaviour of a request that finds another one reloading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BusyReload {
    Wait,
    KeepSnapshot,
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

/// The share of the time that reloads may take unless one is requested explicitly: a tenth.
const RELOAD_SHARE: u32 = 10;
/// A reload that takes no longer than this is never postponed.
const CHEAP: Duration = Duration::from_millis(50);
/// The number of skills up to which a library is small.
const SMALL: usize = 500;
/// The same as [`CHEAP`] for small libraries: their reload takes longer only while the machine is busy.
const CHEAP_IF_SMALL: Duration = Duration::from_secs(1);

/// The newest snapshot.
struct Current {
    snapshot: Arc<Snapshot>,
    /// The number of the last reload that found it; 0 before the first.
    reload: u64,
}

impl Registry {
    /// Opens a registry over `providers`, first ones first, and takes the first snapshot.
    ///
    /// Fails with [`ErrorKind::Refused`] where the policy wants the whole library refused.
    pub async fn open(providers: Vec<Arc<dyn Provider>>, policy: Policy) -> Result<Self, Error> {
        let registry = Self::open_for_inspection(providers, policy).await;
        registry.accepted().await?;
        Ok(registry)
    }

    /// Opens a registry like [`Registry::open`], and leaves [`Registry::accepted`] to the caller.
    ///
    /// It is for tools that report problems to people and must not fail at the first one.
    pub async fn open_for_inspection(providers: Vec<Arc<dyn Provider>>, policy: Policy) -> Self {
        Self::open_with(providers, RegistryOptions { policy, ..RegistryOptions::default() }).await
    }

    /// Opens a registry like [`Registry::open_for_inspection`], with all options given.
    pub async fn open_with(providers: Vec<Arc<dyn Provider>>, options: RegistryOptions) -> Self {
        let snapshot = Arc::new(Snapshot::merge(&[], &options.policy));
        let shared = RegistryState {
            providers,
            options,
            disabled: RwLock::default(),
            reloads: AtomicU64::new(0),
            current: RwLock::new(Current { snapshot, reload: 0 }),
            last_reload: Mutex::new((Instant::now(), Duration::ZERO)),
            turn: async_lock::Mutex::new(()),
            watcher: Mutex::default(),
            signals: Signals::default(),
        };
        let registry = Self { shared: Arc::new(shared) };
        registry.reload().await;
        registry
    }

    /// Returns the providers, in order of precedence.
    pub(crate) fn providers(&self) -> &[Arc<dyn Provider>] {
        &self.shared.providers
    }

    pub(super) fn signals(&self) -> &Signals {
        &self.shared.signals
    }

    /// Returns the options of the current watcher, and its state, by which it is recognised.
    pub(super) fn watcher(&self) -> MutexGuard<'_, Option<(ReloadOptions, Arc<WatcherState>)>> {
        self.shared.watcher.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the time at which the last reload ended, and its duration.
    pub(super) fn last_reload(&self) -> MutexGuard<'_, (Instant, Duration)> {
        self.shared.last_reload.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the newest snapshot.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        let current = self.shared.current.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current.snapshot)
    }

    /// Returns the number of reloads that began, the first one included.
    pub fn reloads(&self) -> u64 {
        self.shared.reloads.load(Ordering::SeqCst)
    }

    /// Lists every provider again and publishes a new snapshot, if it differs from the newest one.
    ///
    /// A provider that fails is reported as a problem and leaves the others alone. Of two reloads at once the
    /// one that began later stays, whichever finishes first. Returns the newest snapshot.
    pub async fn reload(&self) -> Arc<Snapshot> {
        let started = Instant::now();
        let number = self.shared.reloads.fetch_add(1, Ordering::SeqCst) + 1;
        let mut listings = Vec::with_capacity(self.providers().len());
        let mut unlisted = Vec::new();
        for provider in self.providers() {
            let listing = provider.list(self.policy()).await;
            let mut listing = listing.unwrap_or_else(|error| {
                unlisted.push(Arc::from(provider.label()));
                self.broken(provider.label(), &error)
            });
            self.quarantine_reserved_names(&mut listing);
            listings.push(listing);
        }
        let snapshot = self.publish(number, &listings, unlisted, started);
        *self.last_reload() = (Instant::now(), started.elapsed());
        snapshot
    }

    /// Disables the skills that `patterns` match instead of the policy's, and returns the newest snapshot.
    pub async fn set_disabled(&self, patterns: Vec<Pattern>) -> Arc<Snapshot> {
        *self.shared.disabled.write().unwrap_or_else(PoisonError::into_inner) = Some(patterns);
        self.reload().await
    }

    /// Publishes the result of reload `number`, begun at `started`, if it differs from the newest snapshot.
    fn publish(
        &self,
        number: u64,
        listings: &[Listing],
        unlisted: Vec<Arc<str>>,
        started: Instant,
    ) -> Arc<Snapshot> {
        // Readers wait while the lock is held, so the merge is done before.
        let labels = self.providers().iter().map(|provider| Arc::from(provider.label()));
        let sources: Vec<(Arc<str>, &Listing)> = labels.zip(listings).collect();
        let mut snapshot = match &*self.shared.disabled.read().unwrap_or_else(PoisonError::into_inner) {
            Some(disabled) => {
                let mut policy = self.policy().clone();
                policy.disabled.clone_from(disabled);
                Snapshot::merge(&sources, &policy)
            }
            None => Snapshot::merge(&sources, self.policy()),
        };
        snapshot.unlisted = unlisted;
        let mut current = self.shared.current.write().unwrap_or_else(PoisonError::into_inner);
        if current.reload > number {
            return Arc::clone(&current.snapshot);
        }
        let is_first = std::mem::replace(&mut current.reload, number) == 0;
        if !is_first && snapshot.is_same(&current.snapshot) {
            return Arc::clone(&current.snapshot);
        }
        snapshot.number = current.snapshot.number + 1;
        snapshot.took = started.elapsed();
        let newest = Arc::new(snapshot);
        let replaced = std::mem::replace(&mut current.snapshot, Arc::clone(&newest));
        drop(current);
        self.signals().announce();
        drop(replaced);
        newest
    }

    /// Returns `true` if the last reload ended `cooldown` ago; then the caller has to reload, and no other.
    pub(super) fn claim_reload(&self, cooldown: Duration) -> bool {
        let mut last = self.last_reload();
        let is_due = last.0.elapsed() >= cooldown;
        if is_due {
            last.0 = Instant::now();
        }
        is_due
    }

    /// Reloads unless that takes long and was done recently.
    pub(super) async fn reload_unless_costly(&self, busy: BusyReload) -> Arc<Snapshot> {
        let (ended, cost) = *self.last_reload();
        let cheap = if self.snapshot().entries().len() > SMALL { CHEAP } else { CHEAP_IF_SMALL };
        let is_costly = cost > cheap && ended.elapsed() < cost * RELOAD_SHARE;
        if is_costly { self.snapshot() } else { self.reload_if_changed(busy).await }
    }

    /// Reloads unless every source says that nothing has changed.
    ///
    /// Of sources that can say so, one request reloads and the others wait for it: a listing that each of
    /// many requests made would take longer than the requests come in.
    pub(super) async fn reload_if_changed(&self, busy: BusyReload) -> Arc<Snapshot> {
        if let Some(snapshot) = self.unchanged().await {
            return snapshot;
        }
        if !self.providers().iter().all(Provider::tells_changes) {
            return self.reload().await;
        }
        let begun = self.shared.reloads.load(Ordering::SeqCst);
        let _turn = match busy {
            BusyReload::Wait => self.shared.turn.lock().await,
            BusyReload::KeepSnapshot => match self.shared.turn.try_lock() {
                Some(turn) => turn,
                None => return self.snapshot(),
            },
        };
        // A reload that began since has listed everything that this request has to see.
        if let Some(snapshot) = self.published_after(begun) {
            return snapshot;
        }
        match self.unchanged().await {
            Some(snapshot) => snapshot,
            None => self.reload().await,
        }
    }

    /// Returns the newest snapshot if every source says that nothing has changed since it was listed.
    async fn unchanged(&self) -> Option<Arc<Snapshot>> {
        for provider in self.providers() {
            if !provider.is_unchanged(self.policy()).await {
                return None;
            }
        }
        self.settled()
    }

    /// Returns the newest snapshot if a reload that began after the reload number `begun` has ended.
    fn published_after(&self, begun: u64) -> Option<Arc<Snapshot>> {
        let current = self.shared.current.read().unwrap_or_else(PoisonError::into_inner);
        (current.reload > begun).then(|| Arc::clone(&current.snapshot))
    }

    /// Returns the newest snapshot, unless a reload is under way, which may have listed unpublished changes.
    fn settled(&self) -> Option<Arc<Snapshot>> {
        let begun = self.shared.reloads.load(Ordering::SeqCst);
        let current = self.shared.current.read().unwrap_or_else(PoisonError::into_inner);
        (begun > 0 && current.reload == begun).then(|| Arc::clone(&current.snapshot))
    }

    /// Quarantines skills with a reserved name, so that a call by that name is never ambiguous.
    fn quarantine_reserved_names(&self, listing: &mut Listing) {
        let reserved = &self.shared.options.reserved_names;
        let clashes = |skill: &Arc<ListedSkill>| {
            skill.document.standing == Standing::Sound && reserved.contains(skill.document.name.as_str())
        };
        for skill in listing.skills.iter_mut().filter(|skill| clashes(skill)) {
            let mut reporter = Reporter::new(self.policy());
            let message = format!("`{}` is the name of a tool that agents call", skill.document.name);
            reporter.report(RuleId::NameTool, message).help("give the skill another name");
            let document = Arc::make_mut(&mut Arc::make_mut(skill).document);
            document.standing = Standing::invalid(self.policy());
            document.diagnostics.extend(reporter.finish());
        }
    }

    fn broken(&self, label: &str, error: &Error) -> Listing {
        let path = error.path().map_or_else(|| label.to_owned(), |path| path.display().to_string());
        let message = format!("source `{label}` cannot be read: {}", error.chain());
        let problem = Problem::new(self.policy(), RuleId::SourceBroken, path, message);
        Listing { skills: Vec::new(), problems: problem.into_iter().collect() }
    }

    /// Returns the policy at opening. [`Registry::set_disabled`] takes the place of its disabled skills.
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
        self.provider(entry)?.get(&entry.locator, self.policy()).await?.ok_or_else(gone)
    }

    /// Returns the same as [`Registry::get`], but faster: a `SKILL.md` that did not change since the listing
    /// is not examined again.
    pub async fn get_listed(&self, entry: &Entry) -> Result<Skill, Error> {
        match self.listed_text(entry).await {
            Some(text) => Ok(Skill { document: Document::clone(&entry.document), text }),
            None => self.get(entry).await,
        }
    }

    /// Returns the text of the `SKILL.md`, if it is the listed version.
    async fn listed_text(&self, entry: &Entry) -> Option<String> {
        let path = SkillPath::new(&entry.manifest_file).ok()?;
        let bytes = self.read(entry, &path, LineRange::default()).await.ok()?.bytes;
        let Document { body, head_checksum, .. } = &*entry.document;
        let (head, rest) = bytes.split_at_checked(body.offset)?;
        let is_listed = checksum(head) == *head_checksum && checksum(rest) == body.checksum;
        String::from_utf8(bytes).ok().filter(|_| is_listed)
    }

    /// Returns the skill with its text and its files, as it is now.
    pub async fn open_skill(&self, entry: &Entry) -> Result<OpenedSkill, Error> {
        let gone = || Error::new(ErrorKind::SkillNotFound).about(entry.name().as_str()).at(&*entry.path);
        self.provider(entry)?.open(&entry.locator, self.policy()).await?.ok_or_else(gone)
    }

    /// Returns the digest of the skill's files; they are read only if one changed since the last time.
    pub async fn digest(&self, entry: &Entry) -> Result<Digest, Error> {
        self.provider(entry)?.digest(&entry.locator).await
    }

    /// Returns `true` if the bundle of the skill's files has this digest. That of a skill in code is made
    /// only where [`Registry::digest`], which does not cover lazy files, differs.
    pub async fn is_at(&self, entry: &Entry, digest: &Digest) -> Result<bool, Error> {
        Ok(self.digest(entry).await? == *digest || self.bundle(entry).await?.digest() == *digest)
    }

    /// Returns the skill's files.
    pub async fn files(&self, entry: &Entry) -> Result<FileListing, Error> {
        self.provider(entry)?.files(&entry.locator, self.policy()).await
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

    /// Returns the lines `lines` of the skill's file `path` as agents get them: of a `SKILL.md` that is
    /// broken on disk, the version in force.
    pub async fn read_in_force(
        &self,
        entry: &Entry,
        path: &SkillPath,
        lines: LineRange,
    ) -> Result<FileContent, Error> {
        if entry.is_last_good() && entry.manifest_file == path.as_str() {
            return Ok(FileContent::of(self.get(entry).await?.text.as_bytes(), lines));
        }
        self.read(entry, path, lines).await
    }

    /// Returns the skill's files with their digests.
    pub async fn bundle(&self, entry: &Entry) -> Result<Bundle, Error> {
        self.provider(entry)?.bundle(&entry.locator).await
    }
}
