//! The published view: skills as clients of the extension see them, each an immutable value that is swapped as a whole.
//!
//! A skill is worked out when somebody asks for it, so a large library is served at once, and again when its files are no longer
//! what they were. What is on the shelf is what clients were told; bytes that differ from it are never served.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use repertoire::registry::Publication;
use repertoire::{Diagnostic, Entry, Registry, Snapshot};
use repertoire_model::{Bundle, BundleFile, Digest, Document, document::frontmatter_json};
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
    /// The digest of the bundle; none where there is none.
    identity: Option<Digest>,
    standing: Standing,
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
            && slot.identity.is_some()
            && slot.identity == self.registry.digest(entry).await.ok()
        {
            return (slot.standing, Renewal::Same);
        }
        self.renewed(entry).await
    }

    /// Works the skill out anew, and returns it with whether clients may have been told otherwise.
    pub(crate) async fn renewed(&self, entry: &Entry) -> (Standing, Renewal) {
        let (identity, standing) = match self.registry.publication(entry).await {
            Ok(publication) => {
                let identity =
                    Some(publication.bundle.digest()).filter(|_| !publication.bundle.files().is_empty());
                (identity, standing(entry, publication))
            }
            Err(_) => (None, Standing::Withheld(Arc::new(Withheld { reasons: Vec::new() }))),
        };
        let slot = Slot { document: Arc::clone(&entry.document), identity, standing: standing.clone() };
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let before = slots.insert(entry.qualified_name(), slot);
        drop(slots);
        let renewal = match &before {
            Some(before) if before.identity == identity => Renewal::Same,
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

fn standing(entry: &Entry, publication: Publication) -> Standing {
    let Publication { document, text, bundle, mut objections } = publication;
    // One that was renamed meanwhile is another skill; the next snapshot will have it.
    let frontmatter = frontmatter_json(&text).filter(|_| document.name == *entry.name());
    match frontmatter {
        Some(frontmatter) if objections.is_empty() => {
            let described = frontmatter.get("description").and_then(Value::as_str);
            let description = described.map_or_else(|| document.description.to_string(), str::to_owned);
            let name = document.name.to_string();
            Standing::Published(Arc::new(PublishedSkill { name, description, frontmatter, bundle }))
        }
        _ => {
            objections.truncate(MAX_REASONS);
            Standing::Withheld(Arc::new(Withheld { reasons: objections }))
        }
    }
}
