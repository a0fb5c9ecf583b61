//! Published skills: the skills as clients of the Skills extension see them.
//!
//! A skill is published when a client first asks for it, so a large library is served at once, and again when
//! its files changed. Clients verify files by digest, so other bytes than the published are never served.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use repertoire_model::validate::Reporter;
use repertoire_model::{
    Bundle, BundleFile, Diagnostic, Digest, Document, Policy, RuleId, document::frontmatter_json,
};
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::notice::{Notice, Notices};
use crate::error::{Error, ErrorKind};
use crate::registry::{Entry, Publication, Registry, Snapshot};

/// Maximum reasons that are kept for a withheld skill.
const MAX_REASONS: usize = 5;

/// A skill as clients see it.
#[derive(Debug)]
pub struct PublishedSkill {
    /// Its name, the first part of its URIs.
    pub name: String,
    /// The source that it comes from, as models are told it.
    pub source: String,
    /// The description in the frontmatter.
    pub description: String,
    /// The frontmatter, typed by the YAML core schema.
    pub frontmatter: Map<String, Value>,
    /// Its files.
    pub bundle: Bundle,
    /// The digest of the bundle.
    pub digest: Digest,
}

impl PublishedSkill {
    /// Returns the file at `path`.
    pub fn file(&self, path: &str) -> Option<&BundleFile> {
        let files = self.bundle.files();
        let index = files.binary_search_by(|file| file.path.as_str().as_bytes().cmp(path.as_bytes())).ok()?;
        files.get(index)
    }
}

/// The result of publishing a skill.
#[derive(Debug, Clone)]
pub enum PublishResult {
    /// It is served.
    Published(Arc<PublishedSkill>),
    /// It is not served for these reasons, the most important first; empty if the skill is gone.
    Withheld(Arc<Vec<Diagnostic>>),
}

impl PublishResult {
    /// Returns whether clients see the same in both results.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Published(one), Self::Published(other)) => one.digest == other.digest,
            (Self::Withheld(one), Self::Withheld(other)) => one == other,
            _ => false,
        }
    }

    /// Returns whether the skill was gone or could not be read.
    fn is_unreadable(&self) -> bool {
        match self {
            Self::Published(_) => false,
            Self::Withheld(reasons) => {
                reasons.is_empty() || reasons.iter().any(|reason| reason.rule == RuleId::FileUnreadable)
            }
        }
    }
}

/// A result with everything it depends on.
#[derive(Debug, Clone)]
struct CachedResult {
    /// The document of the snapshot.
    document: Arc<Document>,
    /// The other inputs; none if the skill is to be published again on every request.
    inputs: Option<PublishInputs>,
    result: PublishResult,
}

impl CachedResult {
    fn is_for(&self, entry: &Entry) -> bool {
        // Snapshots share documents that did not change.
        Arc::ptr_eq(&self.document, &entry.document)
    }
}

/// The inputs of a result besides the document.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PublishInputs {
    digest: Digest,
    /// Files that were left out, and why.
    left_out: Vec<Diagnostic>,
    /// The directory, whose name should be the skill's.
    path: String,
    /// The snapshot number, if the result depends on other skills.
    snapshot: Option<u64>,
}

/// The change that publishing a skill again brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Renewal {
    /// Clients see the same.
    Same,
    /// It is published for the first time, or the snapshot changed, of which clients are notified anyway.
    New,
    /// Clients may have seen another version.
    Changed,
}

/// A cache of published skills by qualified name.
pub struct PublishedSkills {
    registry: Registry,
    notices: Notices,
    cache: RwLock<HashMap<String, CachedResult>>,
    /// The number of the snapshot that the cache was last pruned for.
    pruned: AtomicU64,
    /// Counts published skills whose files changed after clients saw them.
    changes: watch::Sender<u64>,
}

impl PublishedSkills {
    /// Returns the published skills of `registry`. `notices` tell of the skills that are withheld.
    pub fn new(registry: Registry, notices: Notices) -> Self {
        Self {
            registry,
            notices,
            cache: RwLock::default(),
            pruned: AtomicU64::default(),
            changes: watch::Sender::default(),
        }
    }

    /// Returns the number of published skills that changed after clients saw them, to wait for changes.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Returns the skill as clients have seen it, publishing it if none has.
    pub async fn known(&self, entry: &Entry) -> PublishResult {
        match self.cached(entry) {
            Some(cached) => cached.result,
            None => self.renew(entry).await,
        }
    }

    /// Returns the skill as it is now, and tells clients of a change; without one only metadata is read.
    pub async fn current(&self, entry: &Entry) -> PublishResult {
        if let Some(cached) = self.cached(entry)
            && let Some(inputs) = &cached.inputs
            && self.is_unchanged(entry, inputs).await
        {
            return cached.result;
        }
        self.renew(entry).await
    }

    async fn is_unchanged(&self, entry: &Entry, inputs: &PublishInputs) -> bool {
        let PublishInputs { digest, left_out, path, snapshot } = inputs;
        *snapshot == self.relevant_snapshot(entry)
            && *path == *entry.path
            && self.registry.digest(entry).await.is_ok_and(|now| now == *digest)
            && self.registry.files(entry).await.is_ok_and(|now| now.problems == *left_out)
    }

    /// Returns the number of the snapshot if the skill requires other skills.
    fn relevant_snapshot(&self, entry: &Entry) -> Option<u64> {
        let is_alone = entry.document.manifest.requires.is_empty();
        (!is_alone).then(|| self.registry.snapshot().number())
    }

    /// Publishes the skill again, and tells clients if they may have seen another version.
    pub async fn renew(&self, entry: &Entry) -> PublishResult {
        let snapshot = self.relevant_snapshot(entry);
        let digest = self.registry.digest(entry).await.ok();
        let publication = self.registry.publication(entry).await;
        let inputs = publication.as_ref().ok().zip(digest).map(|(publication, digest)| PublishInputs {
            digest,
            left_out: publication.left_out.clone(),
            path: entry.path.to_string(),
            snapshot,
        });
        let result = publish(entry, publication, self.registry.policy());
        // An unreadable file may become readable without a visible change.
        let inputs = inputs.filter(|_| !result.is_unreadable());
        let cached = CachedResult { document: Arc::clone(&entry.document), inputs, result: result.clone() };
        let mut cache = self.cache.write().unwrap_or_else(PoisonError::into_inner);
        let before = cache.insert(entry.qualified_name(), cached);
        drop(cache);
        let renewal = match &before {
            Some(before) if before.result.is_same(&result) => Renewal::Same,
            Some(before) if before.is_for(entry) => Renewal::Changed,
            Some(_) | None => Renewal::New,
        };
        if renewal == Renewal::Changed {
            self.changes.send_modify(|count| *count += 1);
        }
        if let PublishResult::Withheld(reasons) = &result
            && renewal != Renewal::Same
            && !reasons.is_empty()
        {
            self.notices.give(&Notice::Withheld {
                skill: entry.name().to_string(),
                path: entry.path.to_string(),
                reasons: reasons.to_vec(),
            });
        }
        result
    }

    /// Removes skills that are not in `snapshot`. All views call it for each snapshot; the first removes.
    pub fn prune(&self, snapshot: &Snapshot) {
        if self.pruned.swap(snapshot.number(), Ordering::Relaxed) == snapshot.number() {
            return;
        }
        let names: HashSet<String> = snapshot.entries().iter().map(Entry::qualified_name).collect();
        self.cache.write().unwrap_or_else(PoisonError::into_inner).retain(|name, _| names.contains(name));
    }

    fn cached(&self, entry: &Entry) -> Option<CachedResult> {
        let cache = self.cache.read().unwrap_or_else(PoisonError::into_inner);
        cache.get(&entry.qualified_name()).filter(|cached| cached.is_for(entry)).cloned()
    }
}

/// Returns the published skill, or the reasons for withholding it.
fn publish(entry: &Entry, publication: Result<Publication, Error>, policy: &Policy) -> PublishResult {
    let Publication { document, text, bundle, objections, .. } = match publication {
        Ok(publication) => publication,
        Err(error) if error.kind() == ErrorKind::SkillNotFound => return withheld(Vec::new()),
        Err(_) => return unreadable("the skill cannot be read", policy),
    };
    if !objections.is_empty() {
        return withheld(objections);
    }
    if document.name != *entry.name() {
        // The next snapshot will have it under its new name.
        return unreadable("the skill has another name by now", policy);
    }
    let Some(frontmatter) = frontmatter_json(&text) else {
        return unreadable("the frontmatter cannot be read", policy);
    };
    let described = frontmatter.get("description").and_then(Value::as_str);
    let description = described.map_or_else(|| document.description.to_string(), str::to_owned);
    let (name, source) = (document.name.to_string(), entry.told_source());
    let digest = bundle.digest();
    let skill = PublishedSkill { name, source, description, frontmatter, bundle, digest };
    PublishResult::Published(Arc::new(skill))
}

fn withheld(mut reasons: Vec<Diagnostic>) -> PublishResult {
    // `is_unreadable` must still find this reason.
    reasons.sort_by_key(|reason| reason.rule != RuleId::FileUnreadable);
    reasons.truncate(MAX_REASONS);
    PublishResult::Withheld(Arc::new(reasons))
}

fn unreadable(why: &str, policy: &Policy) -> PublishResult {
    let mut reporter = Reporter::new(policy);
    reporter.report(RuleId::FileUnreadable, why).help("give the server permission to read its files");
    withheld(reporter.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Library, MemoryProvider, SkillDefinition};

    #[test]
    fn a_skill_is_withheld_without_a_reason_only_if_it_is_gone() {
        let skill = SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "# Greet\n");
        let provider = Arc::new(MemoryProvider::new("builtin", vec![skill]));
        let library = pollster::block_on(Library::builder().provider(provider).open()).unwrap();
        let snapshot = library.snapshot();
        let entry = &snapshot.entries()[0];
        let check = |kind: ErrorKind, expect: &[RuleId]| {
            let result = publish(entry, Err(Error::new(kind)), library.registry().policy());
            let PublishResult::Withheld(reasons) = &result else { panic!("{kind:?}") };
            let rules: Vec<RuleId> = reasons.iter().map(|reason| reason.rule).collect();
            assert_eq!(rules, expect, "{kind:?}");
            assert!(result.is_unreadable(), "it is published again on the next request");
        };
        check(ErrorKind::SkillNotFound, &[]);
        for kind in [ErrorKind::Io, ErrorKind::Forbidden, ErrorKind::FileNotFound] {
            check(kind, &[RuleId::FileUnreadable]);
        }
    }
}
