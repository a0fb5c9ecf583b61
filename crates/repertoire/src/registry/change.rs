//! The difference between two snapshots.

use std::sync::Arc;
use std::time::Duration;

use repertoire_model::{Document, SkillName};

use super::snapshot::{Entry, Snapshot};

repertoire_model::words! {
    /// A part of a skill that changed.
    #[derive(PartialOrd, Ord)]
    #[non_exhaustive]
    Aspect {
        /// Its description, by which agents choose it.
        Description "description",
        /// Its instructions.
        Instructions "instructions",
        /// Another field of its frontmatter.
        Frontmatter "frontmatter",
        /// Its diagnostics.
        Diagnostics "diagnostics",
        /// Its source or path.
        Source "source",
    }
}

/// The changes of a new snapshot.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Change {
    /// The snapshot before.
    pub before: Arc<Snapshot>,
    /// The snapshot that was published.
    pub after: Arc<Snapshot>,
    /// The skills that hold their name now and did not before.
    pub added: Vec<SkillName>,
    /// The skills that held their name before and no longer do.
    pub removed: Vec<SkillName>,
    /// The skills that hold their name and were changed.
    pub changed: Vec<(SkillName, Vec<Aspect>)>,
    /// The time that the reload took.
    pub took: Duration,
}

impl Change {
    /// Returns the changes from `before` to `after`.
    pub fn between(before: Arc<Snapshot>, after: Arc<Snapshot>, took: Duration) -> Self {
        let (mut added, mut removed, mut changed) = (Vec::new(), Vec::new(), Vec::new());
        // Both are sorted by name, and no name is held twice.
        let mut old = before.active().peekable();
        for new in after.active() {
            let is_earlier = |old: &&Entry| !is_same(old, new) && old.name() < new.name();
            while let Some(old) = old.next_if(is_earlier) {
                removed.push(old.name().clone());
            }
            match old.next_if(|old| is_same(old, new) || old.name() == new.name()) {
                None => added.push(new.name().clone()),
                Some(old) if is_same(old, new) => {}
                Some(old) => {
                    let aspects = aspects(old, new);
                    if !aspects.is_empty() {
                        changed.push((new.name().clone(), aspects));
                    }
                }
            }
        }
        removed.extend(old.map(|old| old.name().clone()));
        Self { before, after, added, removed, changed, took }
    }

    /// Returns `true` if the catalog is affected: a name or a description changed.
    pub fn is_of_catalog(&self) -> bool {
        let described = |(_, aspects): &(SkillName, Vec<Aspect>)| aspects.contains(&Aspect::Description);
        !self.added.is_empty() || !self.removed.is_empty() || self.changed.iter().any(described)
    }
}

/// Returns `true` if two entries share the skill and its state, which is checked without comparing the skill.
fn is_same(before: &Entry, after: &Entry) -> bool {
    Arc::ptr_eq(&before.document, &after.document)
        && before.path == after.path
        && before.collision == after.collision
        && before.source == after.source
}

fn aspects(before: &Entry, after: &Entry) -> Vec<Aspect> {
    let mut aspects = Vec::new();
    let (old, new) = (&before.document, &after.document);
    // Documents are shared while they are the same, so most need not be compared.
    if !Arc::ptr_eq(old, new) {
        aspects.extend((old.description != new.description).then_some(Aspect::Description));
        // The position of the instructions in the file does not count.
        let instructions = |document: &Document| (document.body.length, document.body.checksum);
        aspects.extend((instructions(old) != instructions(new)).then_some(Aspect::Instructions));
        aspects.extend(
            (old.head_checksum != new.head_checksum && old.description == new.description)
                .then_some(Aspect::Frontmatter),
        );
    }
    let is_same = before.diagnostics().eq(after.diagnostics());
    aspects.extend((!is_same).then_some(Aspect::Diagnostics));
    let is_moved = before.source != after.source || before.path != after.path;
    aspects.extend(is_moved.then_some(Aspect::Source));
    aspects
}
