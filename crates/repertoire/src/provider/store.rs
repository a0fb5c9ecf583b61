//! The provider of skills that are served from a store.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use repertoire_model::document::MANIFEST_FILE;
use repertoire_model::{
    Bundle, BundleFile, Digest, Document, FileEntry, FileKind, LineRange, ManifestSource, Policy, RuleId,
    SkillPath,
};

use super::limits::{BUNDLE_BYTES, FILE_BYTES, FILES, MANIFEST_BYTES};
use super::{
    BoxFuture, FileContent, FileListing, ListedSkill, Listing, Locator, Problem, Provider, ResultFuture,
    Skill,
};
use crate::store::{LazyStore, ReleasedSkill, Store, blob, bundle};
use crate::{Error, ErrorKind};

/// The start of the labels of these providers.
pub(crate) const LABEL: &str = "store:";

/// The most bytes of files that are kept in memory, so that they can be read while the store is away.
const CACHED_BYTES: usize = 64 * 1024 * 1024;

/// The number of skills that are read with one request to the store.
const READ_AT_ONCE: usize = 200;

/// The skills of one channel of a store.
///
/// Everything that is read is checked against its digest. While the store is away the skills of the last
/// listing stay, with the files that were read recently.
/// [`ReleaseFollower`](crate::registry::ReleaseFollower) makes a registry reload when something is released.
///
/// ```
/// use std::sync::Arc;
/// use repertoire::provider::store::StoreProvider;
/// use repertoire::store::{LazyStore, Store};
/// fn provider(store: Arc<dyn Store>) -> StoreProvider {
///     StoreProvider::new(LazyStore::from(store), "stable")
/// }
/// ```
#[derive(Clone)]
pub struct StoreProvider {
    label: Arc<str>,
    channel: Arc<Channel>,
}

/// State that the copies of a provider share.
struct Channel {
    name: String,
    store: LazyStore,
    /// Held while the skills are listed, so that the last listing is the newest.
    listing: Mutex<()>,
    listed: Mutex<ListedRelease>,
    blobs: Mutex<BlobCache>,
}

#[derive(Default)]
struct ListedRelease {
    policy: Option<Policy>,
    /// The newest release of the store before it was listed; `None` if something in the listing is damaged.
    release: Option<u64>,
    skills: BTreeMap<Locator, StoredSkill>,
}

#[derive(Clone)]
struct StoredSkill {
    digest: Digest,
    skill: Arc<ListedSkill>,
    /// Its files; `None` if they are damaged.
    bundle: Option<Arc<Bundle>>,
}

/// Bytes read recently, in two generations: when the younger one is full, the older one is forgotten.
#[derive(Default)]
struct BlobCache {
    young: HashMap<Digest, Arc<[u8]>>,
    young_bytes: usize,
    old: HashMap<Digest, Arc<[u8]>>,
}

impl BlobCache {
    fn get(&mut self, digest: &Digest) -> Option<Arc<[u8]>> {
        if let Some(bytes) = self.young.get(digest) {
            return Some(Arc::clone(bytes));
        }
        let bytes = self.old.remove(digest)?;
        self.put(*digest, Arc::clone(&bytes));
        Some(bytes)
    }

    fn put(&mut self, digest: Digest, bytes: Arc<[u8]>) {
        if self.young_bytes + bytes.len() > CACHED_BYTES / 2 {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes += bytes.len();
        if let Some(replaced) = self.young.insert(digest, bytes) {
            self.young_bytes -= replaced.len();
        }
    }
}

impl StoreProvider {
    /// Returns the provider of the skills in `channel`; nothing is read yet.
    pub fn new(store: LazyStore, channel: &str) -> Self {
        let shared = Channel {
            name: channel.to_owned(),
            store,
            listing: Mutex::default(),
            listed: Mutex::default(),
            blobs: Mutex::default(),
        };
        Self { label: format!("{LABEL}{channel}").into(), channel: Arc::new(shared) }
    }

    /// Runs `work` on a thread that may block.
    fn unblock<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Channel) -> T + Send + 'static,
    ) -> BoxFuture<'static, T> {
        let channel = Arc::clone(&self.channel);
        Box::pin(blocking::unblock(move || work(&channel)))
    }
}

impl Channel {
    fn listed(&self) -> MutexGuard<'_, ListedRelease> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn list(&self, policy: &Policy) -> Result<Listing, Error> {
        let _listing = self.listing.lock().unwrap_or_else(PoisonError::into_inner);
        let problem = match self.refresh(policy) {
            Ok(()) => None,
            // The former list stays, unless there is nothing yet.
            Err(error) if self.listed().policy.as_ref() == Some(policy) => {
                let source = format!("{LABEL}{}", self.name);
                let message = format!(
                    "source `{source}` cannot be read, its skills stay as they are: {}",
                    error.chain()
                );
                Problem::new(policy, RuleId::SourceBroken, source, message)
            }
            Err(error) => return Err(error),
        };
        let skills = self.listed().skills.values().map(|held| Arc::clone(&held.skill)).collect();
        Ok(Listing { skills, problems: problem.into_iter().collect() })
    }

    /// Returns whether nothing was released since the last listing, and nothing in it is damaged.
    fn is_unchanged(&self, policy: &Policy) -> bool {
        let Ok(release) = self.store.get().and_then(|store| store.newest_release()) else { return false };
        let listed = self.listed();
        listed.release == Some(release) && listed.policy.as_ref() == Some(policy)
    }

    /// Reads the skills that changed since the last listing.
    fn refresh(&self, policy: &Policy) -> Result<(), Error> {
        let store = self.store.get()?;
        let release = store.newest_release()?;
        let released = store.released(&self.name)?;
        let known = {
            let listed = self.listed();
            if listed.policy.as_ref() == Some(policy) { listed.skills.clone() } else { BTreeMap::new() }
        };
        let mut skills = BTreeMap::new();
        let mut missing = Vec::new();
        for skill in released {
            let locator = Locator::new(skill.name.as_str());
            let is_same = |held: &&StoredSkill| held.digest == skill.digest && held.bundle.is_some();
            match known.get(&locator).filter(is_same) {
                Some(held) => drop(skills.insert(locator, held.clone())),
                None => missing.push((locator, skill)),
            }
        }
        for some in missing.chunks(READ_AT_ONCE) {
            self.prefetch(&*store, some.iter().map(|(_, skill)| skill))?;
            for (locator, skill) in some {
                skills.insert(locator.clone(), self.load(&*store, skill, policy)?);
            }
        }
        let is_whole = skills.values().all(|held| held.bundle.is_some());
        let release = is_whole.then_some(release);
        *self.listed() = ListedRelease { policy: Some(policy.clone()), release, skills };
        Ok(())
    }

    /// Reads the lists of files of `skills`, and then each `SKILL.md`, with one request to the store for
    /// many: a large library would take minutes with a request for each.
    fn prefetch<'a>(
        &self,
        store: &dyn Store,
        skills: impl Iterator<Item = &'a ReleasedSkill> + Clone,
    ) -> Result<(), Error> {
        self.fetch(store, skills.clone().map(|skill| skill.digest))?;
        let manifests = skills.filter_map(|skill| {
            let bundle = self.stored_bundle(store, &skill.digest).ok()?;
            manifest_file(&bundle).filter(|file| file.size <= MANIFEST_BYTES).map(|file| file.digest)
        });
        self.fetch(store, manifests)
    }

    /// Reads blobs into memory. Damaged ones are left to the readers that need them.
    fn fetch(&self, store: &dyn Store, digests: impl Iterator<Item = Digest>) -> Result<(), Error> {
        let found = store.raw_blobs(&digests.collect::<Vec<Digest>>())?;
        for (digest, bytes) in found.into_iter().filter(|(digest, bytes)| Digest::of(bytes) == *digest) {
            self.blobs().put(digest, bytes.into());
        }
        Ok(())
    }

    /// Returns the list of files of a skill, from memory or from the store.
    fn stored_bundle(&self, store: &dyn Store, digest: &Digest) -> Result<Bundle, Error> {
        let known = self.blobs().get(digest);
        known.and_then(|bytes| Bundle::parse(&bytes)).map_or_else(|| bundle(store, digest), Ok)
    }

    fn blobs(&self) -> MutexGuard<'_, BlobCache> {
        self.blobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads one skill. A damaged skill is set aside; other errors of the store fail the whole listing.
    fn load(&self, store: &dyn Store, skill: &ReleasedSkill, policy: &Policy) -> Result<StoredSkill, Error> {
        let name = skill.name.as_str();
        let set_aside = |rule, message: &str, help| {
            (
                Document::unreadable(Some(name), rule, message, help, policy),
                Cow::Borrowed(MANIFEST_FILE),
                None,
            )
        };
        let (document, manifest_file, bundle) = match self.read_skill(store, &skill.digest) {
            Ok((bundle, file, bytes)) => {
                let source =
                    ManifestSource { bytes: &bytes, directory: Some(name), file_name: file.as_str() };
                let file_name = Cow::Owned(file.to_string());
                (Document::parse_for_listing(source, policy), file_name, Some(Arc::new(bundle)))
            }
            Err(error) => match error.kind() {
                ErrorKind::Corrupt => {
                    let message = format!("its content in the store is damaged: {}", error.chain());
                    set_aside(RuleId::FileUnreadable, &message, "publish it again")
                }
                ErrorKind::TooLarge => {
                    let message = "it has more or larger files than a skill may have";
                    set_aside(RuleId::FileTooLarge, message, "publish a smaller version of it")
                }
                ErrorKind::FileNotFound => {
                    let message = "its content in the store has no SKILL.md";
                    set_aside(RuleId::ManifestMissing, message, "publish it again")
                }
                _ => return Err(error),
            },
        };
        let listed = ListedSkill {
            locator: Locator::new(name),
            path: format!("{LABEL}{}/{name}", self.name).into(),
            manifest_file,
            identity: None,
            document: Arc::new(document),
        };
        Ok(StoredSkill { digest: skill.digest, skill: Arc::new(listed), bundle })
    }

    /// Returns the files of a skill, and its `SKILL.md`.
    fn read_skill(
        &self,
        store: &dyn Store,
        digest: &Digest,
    ) -> Result<(Bundle, SkillPath, Arc<[u8]>), Error> {
        let bundle = self.stored_bundle(store, digest)?;
        let total = bundle.files().iter().fold(0_u64, |sum, file| sum.saturating_add(file.size));
        if bundle.files().len() > FILES || total > BUNDLE_BYTES {
            return Err(Error::new(ErrorKind::TooLarge));
        }
        let Some(file) = manifest_file(&bundle) else { return Err(Error::new(ErrorKind::FileNotFound)) };
        if file.size > MANIFEST_BYTES {
            return Err(Error::new(ErrorKind::TooLarge));
        }
        let (path, bytes) = (file.path.clone(), self.bytes(file)?);
        Ok((bundle, path, bytes))
    }

    /// Returns the content of a file, from memory or from the store.
    fn bytes(&self, file: &BundleFile) -> Result<Arc<[u8]>, Error> {
        if let Some(bytes) = self.blobs().get(&file.digest) {
            return Ok(bytes);
        }
        let bytes: Arc<[u8]> = blob(&*self.store.get()?, &file.digest)?.into();
        self.blobs().put(file.digest, Arc::clone(&bytes));
        Ok(bytes)
    }

    fn held(&self, locator: &Locator) -> Result<StoredSkill, Error> {
        let missing = || Error::new(ErrorKind::SkillNotFound).about(locator.as_str());
        self.listed().skills.get(locator).cloned().ok_or_else(missing)
    }

    /// Returns the files of a skill with their digests.
    fn bundle(&self, locator: &Locator) -> Result<(StoredSkill, Arc<Bundle>), Error> {
        let held = self.held(locator)?;
        let damaged = || {
            Error::new(ErrorKind::Corrupt)
                .about(locator.as_str())
                .because("its content in the store is damaged")
        };
        let bundle = held.bundle.clone().ok_or_else(damaged)?;
        Ok((held, bundle))
    }

    fn get(&self, locator: &Locator, policy: &Policy) -> Result<Option<Skill>, Error> {
        let Ok(held) = self.held(locator) else { return Ok(None) };
        let manifest = &*held.skill.manifest_file;
        let files = held.bundle.iter().flat_map(|bundle| bundle.files());
        let Some(file) = files.into_iter().find(|file| file.path.as_str() == manifest) else {
            let document = (*held.skill.document).clone();
            return Ok(Some(Skill { document, text: String::new() }));
        };
        let bytes = self.bytes(file)?;
        let source = ManifestSource { bytes: &bytes, directory: Some(locator.as_str()), file_name: manifest };
        let document = Document::parse(source, policy);
        Ok(Some(Skill { document, text: String::from_utf8_lossy(&bytes).into_owned() }))
    }

    fn files(&self, locator: &Locator) -> Result<FileListing, Error> {
        let (held, bundle) = self.bundle(locator)?;
        let entry = |file: &BundleFile| FileEntry {
            path: file.path.clone(),
            size: Some(file.size),
            kind: FileKind::of(&file.path, &held.skill.manifest_file),
            executable: file.executable,
        };
        let files = bundle.files().iter().filter(|file| !file.path.is_hidden()).map(entry).collect();
        Ok(FileListing { files, problems: Vec::new() })
    }

    fn read(&self, locator: &Locator, path: &SkillPath) -> Result<Arc<[u8]>, Error> {
        let fail = |kind| Error::new(kind).about(path.as_str());
        let (_, bundle) = self.bundle(locator)?;
        if path.is_hidden() {
            return Err(fail(ErrorKind::Forbidden));
        }
        let Some(file) = bundle.files().iter().find(|file| file.path == *path) else {
            let is_below = |file: &BundleFile| {
                file.path.as_str().strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with('/'))
            };
            let is_directory = bundle.files().iter().any(is_below);
            return Err(fail(if is_directory { ErrorKind::IsDirectory } else { ErrorKind::FileNotFound }));
        };
        if file.size > FILE_BYTES {
            return Err(fail(ErrorKind::TooLarge));
        }
        self.bytes(file)
    }
}

/// Returns the `SKILL.md` of a skill with these files.
fn manifest_file(bundle: &Bundle) -> Option<&BundleFile> {
    let files = || bundle.files().iter();
    files()
        .find(|file| file.path.as_str() == MANIFEST_FILE)
        .or_else(|| files().find(|file| file.path.as_str().eq_ignore_ascii_case(MANIFEST_FILE)))
}

impl Provider for StoreProvider {
    fn label(&self) -> &str {
        &self.label
    }

    fn list<'a>(&'a self, policy: &'a Policy) -> ResultFuture<'a, Listing> {
        let policy = policy.clone();
        self.unblock(move |channel| channel.list(&policy))
    }

    fn tells_changes(&self) -> bool {
        true
    }

    fn is_unchanged<'a>(&'a self, policy: &'a Policy) -> BoxFuture<'a, bool> {
        let policy = policy.clone();
        self.unblock(move |channel| channel.is_unchanged(&policy))
    }

    fn get<'a>(&'a self, locator: &'a Locator, policy: &'a Policy) -> ResultFuture<'a, Option<Skill>> {
        let (locator, policy) = (locator.clone(), policy.clone());
        self.unblock(move |channel| channel.get(&locator, &policy))
    }

    fn files<'a>(&'a self, locator: &'a Locator, _: &'a Policy) -> ResultFuture<'a, FileListing> {
        Box::pin(std::future::ready(self.channel.files(locator)))
    }

    fn read<'a>(
        &'a self,
        locator: &'a Locator,
        path: &'a SkillPath,
        lines: LineRange,
    ) -> ResultFuture<'a, FileContent> {
        let (locator, path) = (locator.clone(), path.clone());
        self.unblock(move |channel| Ok(FileContent::of(&channel.read(&locator, &path)?, lines)))
    }

    fn bundle<'a>(&'a self, locator: &'a Locator) -> ResultFuture<'a, Bundle> {
        let bundle = self.channel.bundle(locator).map(|(_, bundle)| (*bundle).clone());
        Box::pin(std::future::ready(bundle))
    }

    fn digest<'a>(&'a self, locator: &'a Locator) -> ResultFuture<'a, Digest> {
        let digest = self.channel.bundle(locator).map(|(held, _)| held.digest);
        Box::pin(std::future::ready(digest))
    }
}

#[cfg(test)]
mod tests;
