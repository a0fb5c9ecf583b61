//! The published view: skills as clients of the extension see them, each an immutable value that is swapped as a whole.
//!
//! A skill is worked out when somebody asks for it, so a large library is served at once, and again when its files are no longer
//! what they were. What is on the shelf is what clients were told; bytes that differ from it are never served.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use repertoire::registry::Publication;
use repertoire::{Diagnostic, Entry, ErrorKind, Registry, Snapshot};
use repertoire_model::validate::Reporter;
use repertoire_model::{Bundle, BundleFile, Digest, Document, Policy, RuleId, document::frontmatter_json};
use serde_json::{Map, Value};

use crate::options::{Notice, Notices};

/// The most reasons that are kept of a skill that is not served.
const MAX_REASONS: usize = 5;

/// A skill as clients see it.
#[derive(Debug)]
pub(crate) struct PublishedSkill {
    /// Its name, the first part of its URIs.
    pub(crate) name: String,
    /// Its description, as the frontmatter has it.
    pub(crate) description: String,
    /// Its frontmatter, typed by the YAML core schema.
    pub(crate) frontmatter: Map<String, Value>,
    /// Its files.
    pub(crate) bundle: Bundle,
}

impl PublishedSkill {
    /// Returns the file at `path`.
    pub(crate) fn file(&self, path: &str) -> Option<&BundleFile> {
        let files = self.bundle.files();
        let index = files.binary_search_by(|file| file.path.as_str().as_bytes().cmp(path.as_bytes())).ok()?;
        files.get(index)
    }
}

/// Why a skill is not served.
#[derive(Debug)]
pub(crate) struct Withheld {
    /// What keeps it back, the first reason first; empty where it is gone.
    pub(crate) reasons: Vec<Diagnostic>,
}

/// What became of a skill.
#[derive(Debug, Clone)]
pub(crate) enum Standing {
    Published(Arc<PublishedSkill>),
    Withheld(Arc<Withheld>),
}

/// What is on the shelf under one name of one source.
#[derive(Debug, Clone)]
struct Slot {
    /// The document of the snapshot that it was worked out for.
    document: Arc<Document>,
    /// What else it was worked out of; none where it is to be worked out again whenever somebody asks.
    inputs: Option<Inputs>,
    standing: Standing,
}

/// What a standing depends on beside the document.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Inputs {
    /// The digest of the files.
    digest: Digest,
    /// What was left out of them, and why.
    left_out: Vec<Diagnostic>,
    /// Where the skill lies; its directory should have its name.
    path: String,
    /// The number of the snapshot, where it matters which other skills there are.
    snapshot: Option<u64>,
}

/// The published view.
pub(crate) struct Shelf {
    registry: Registry,
    notices: Notices,
    slots: RwLock<HashMap<String, Slot>>,
}

impl Shelf {
    pub(crate) fn new(registry: Registry, notices: Notices) -> Self {
        Self { registry, notices, slots: RwLock::default() }
    }

    /// Returns the skill as clients were told of it, working it out if nobody was.
    pub(crate) async fn known(&self, entry: &Entry) -> Standing {
        match self.slot(entry) {
            Some(slot) if is_for(&slot, entry) => slot.standing,
            _ => self.renewed(entry).await.0,
        }
    }

    /// Returns the skill as it is now, and whether clients may have been told otherwise.
    ///
    /// A skill none of whose files changed costs a look at their metadata.
    pub(crate) async fn current(&self, entry: &Entry) -> (Standing, Renewal) {
        if let Some(slot) = self.slot(entry)
            && is_for(&slot, entry)
            && let Some(inputs) = &slot.inputs
            && self.are_inputs(entry, inputs).await
        {
            return (slot.standing, Renewal::Same);
        }
        self.renewed(entry).await
    }

    /// Returns whether `inputs` are what the skill would be worked out of now.
    async fn are_inputs(&self, entry: &Entry, inputs: &Inputs) -> bool {
        let Inputs { digest, left_out, path, snapshot } = inputs;
        *snapshot == self.snapshot_for(entry)
            && *path == *entry.path
            && self.registry.digest(entry).await.is_ok_and(|now| now == *digest)
            && self.registry.files(entry).await.is_ok_and(|now| now.problems == *left_out)
    }

    /// Returns the number of the snapshot, if it matters to the skill which others there are.
    fn snapshot_for(&self, entry: &Entry) -> Option<u64> {
        let is_alone = entry.document.manifest.requires.is_empty();
        (!is_alone).then(|| self.registry.snapshot().number())
    }

    /// Works the skill out anew, and returns it with whether clients may have been told otherwise.
    pub(crate) async fn renewed(&self, entry: &Entry) -> (Standing, Renewal) {
        let snapshot = self.snapshot_for(entry);
        let publication = self.registry.publication(entry).await;
        let inputs = publication.as_ref().ok().map(|publication| Inputs {
            digest: publication.bundle.digest(),
            left_out: publication.left_out.clone(),
            path: entry.path.to_string(),
            snapshot,
        });
        let standing = standing(entry, publication, self.registry.policy());
        // What could not be read may be readable the next time, though nothing looks different.
        let inputs = inputs.filter(|_| !is_unreadable(&standing));
        let slot = Slot { document: Arc::clone(&entry.document), inputs, standing: standing.clone() };
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let before = slots.insert(entry.qualified_name(), slot);
        drop(slots);
        let renewal = match &before {
            Some(before) if is_same(&before.standing, &standing) => Renewal::Same,
            // Where the snapshot has another document, those who follow the library know.
            Some(before) if is_for(before, entry) => Renewal::Changed,
            Some(_) | None => Renewal::New,
        };
        if let Standing::Withheld(withheld) = &standing
            && renewal != Renewal::Same
            && !withheld.reasons.is_empty()
        {
            self.notices.give(&Notice::Withheld {
                skill: entry.name().to_string(),
                path: entry.path.to_string(),
                reasons: withheld.reasons.clone(),
            });
        }
        (standing, renewal)
    }

    /// Forgets skills that `snapshot` does not have.
    pub(crate) fn prune(&self, snapshot: &Snapshot) {
        let names: HashSet<String> = snapshot.entries().iter().map(Entry::qualified_name).collect();
        self.slots.write().unwrap_or_else(PoisonError::into_inner).retain(|name, _| names.contains(name));
    }

    fn slot(&self, entry: &Entry) -> Option<Slot> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        slots.get(&entry.qualified_name()).cloned()
    }
}

/// What working a skill out anew came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Renewal {
    /// It is what it was.
    Same,
    /// Nobody was told of it before, or whoever was knows that it changed.
    New,
    /// Clients may have been told otherwise.
    Changed,
}

fn is_for(slot: &Slot, entry: &Entry) -> bool {
    // Documents are shared by snapshots while they are the same.
    Arc::ptr_eq(&slot.document, &entry.document)
}

/// Returns whether clients are told the same.
fn is_same(before: &Standing, now: &Standing) -> bool {
    match (before, now) {
        (Standing::Published(before), Standing::Published(now)) => before.bundle == now.bundle,
        (Standing::Withheld(before), Standing::Withheld(now)) => before.reasons == now.reasons,
        _ => false,
    }
}

/// Returns whether the skill, or what is in force of it, is not what its files hold.
fn is_unreadable(standing: &Standing) -> bool {
    match standing {
        Standing::Published(_) => false,
        Standing::Withheld(withheld) => {
            let mut reasons = withheld.reasons.iter();
            withheld.reasons.is_empty() || reasons.any(|reason| reason.rule == RuleId::FileUnreadable)
        }
    }
}

/// Returns what becomes of a skill of which `publication` was found out.
fn standing(entry: &Entry, publication: Result<Publication, repertoire::Error>, policy: &Policy) -> Standing {
    let withheld = |mut reasons: Vec<Diagnostic>| {
        // What makes it be worked out again must not be cut off.
        reasons.sort_by_key(|reason| reason.rule != RuleId::FileUnreadable);
        reasons.truncate(MAX_REASONS);
        Standing::Withheld(Arc::new(Withheld { reasons }))
    };
    let Publication { document, text, bundle, objections, .. } = match publication {
        Ok(publication) => publication,
        Err(error) if error.kind() == ErrorKind::SkillNotFound => return withheld(Vec::new()),
        Err(_) => return withheld(unreadable("the skill cannot be read", policy)),
    };
    if !objections.is_empty() {
        return withheld(objections);
    }
    if document.name != *entry.name() {
        // It is another skill; the next snapshot will have it.
        return withheld(unreadable("the skill has another name by now", policy));
    }
    let Some(frontmatter) = frontmatter_json(&text) else {
        return withheld(unreadable("the frontmatter cannot be read", policy));
    };
    let described = frontmatter.get("description").and_then(Value::as_str);
    let description = described.map_or_else(|| document.description.to_string(), str::to_owned);
    let name = document.name.to_string();
    Standing::Published(Arc::new(PublishedSkill { name, description, frontmatter, bundle }))
}

fn unreadable(why: &str, policy: &Policy) -> Vec<Diagnostic> {
    let mut reporter = Reporter::new(policy);
    reporter.report(RuleId::FileUnreadable, why).help("see that whoever serves it may read its files");
    reporter.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use repertoire::{Library, MemoryProvider, SkillDefinition};

    #[test]
    fn only_what_is_gone_is_withheld_without_a_reason() {
        let skill = SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "# Greet\n");
        let provider = Arc::new(MemoryProvider::new("builtin", vec![skill]));
        let library = Library::builder().provider(provider).open_blocking().unwrap();
        let snapshot = library.snapshot();
        let entry = &snapshot.entries()[0];
        let check = |kind: ErrorKind, expect: &[RuleId]| {
            let standing = standing(entry, Err(repertoire::Error::new(kind)), library.registry().policy());
            let Standing::Withheld(withheld) = &standing else { panic!("{kind:?}") };
            let rules: Vec<RuleId> = withheld.reasons.iter().map(|reason| reason.rule).collect();
            assert_eq!(rules, expect, "{kind:?}");
            assert!(is_unreadable(&standing), "it is looked at again");
        };
        check(ErrorKind::SkillNotFound, &[]);
        for kind in [ErrorKind::Io, ErrorKind::Forbidden, ErrorKind::FileNotFound] {
            check(kind, &[RuleId::FileUnreadable]);
        }
    }
}
