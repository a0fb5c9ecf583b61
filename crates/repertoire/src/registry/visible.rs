//! The skills of a snapshot that are within scopes, worked out once for each snapshot.
//!
//! A server for many people answers most requests from the part of a large library that a scope allows.
//! Holding every name against the patterns of the scope for each request would take most of its time.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use repertoire_model::scope::Scope;

use super::snapshot::{Entry, Snapshot};
use super::visible_cache::VisibleIndices;

/// The skills of a snapshot that somebody may see.
#[derive(Debug, Clone)]
pub struct VisibleSkills<'s> {
    snapshot: &'s Snapshot,
    indices: Arc<VisibleIndices>,
}

impl Snapshot {
    /// Returns the skills that are within all of `scopes`.
    pub fn within(&self, scopes: &[Scope]) -> VisibleSkills<'_> {
        if let Some(indices) = self.visible.get(scopes) {
            return VisibleSkills { snapshot: self, indices };
        }
        let visible = self.visible(|entry| scopes.iter().all(|scope| entry.is_within(scope)));
        self.visible.keep(scopes, Arc::clone(&visible.indices));
        visible
    }

    /// Returns the skills that `sees` accepts.
    pub fn visible(&self, sees: impl Fn(&Entry) -> bool) -> VisibleSkills<'_> {
        let indices = self.indices(self.entries().iter().map(sees).collect());
        VisibleSkills { snapshot: self, indices: Arc::new(indices) }
    }

    fn indices(&self, is_seen: Vec<bool>) -> VisibleIndices {
        let seen: Vec<usize> = (0..is_seen.len()).filter(|index| is_seen[*index]).collect();
        let name = |index: usize| self.entries()[index].name();
        let groups = seen.chunk_by(|one, other| name(*one) == name(*other));
        let is_held = |index: &&usize| self.entries()[**index].state.is_reachable();
        let held: Vec<usize> = groups.filter_map(|group| group.iter().find(is_held).copied()).collect();
        let mut hasher = DefaultHasher::new();
        for entry in held.iter().map(|index| &self.entries()[*index]) {
            let (document, body) = (&entry.document, &entry.document.body);
            (entry.source.as_ref(), entry.name().as_str(), &*entry.path).hash(&mut hasher);
            (document.head_checksum, body.checksum, body.length).hash(&mut hasher);
        }
        VisibleIndices { is_seen, held, fingerprint: hasher.finish() }
    }
}

impl<'s> VisibleSkills<'s> {
    /// Returns whether `entry`, one of the snapshot's own, is among them.
    pub fn contains(&self, entry: &Entry) -> bool {
        self.snapshot.index_of(entry).is_some_and(|index| self.indices.is_seen[index])
    }

    /// Returns the skills that hold their names, sorted by name: a skill that cannot be seen shadows nothing.
    pub fn held(&self) -> impl Iterator<Item = &'s Entry> + use<'s> {
        let (snapshot, indices) = (self.snapshot, Arc::clone(&self.indices));
        (0..indices.held.len()).map(move |number| &snapshot.entries()[indices.held[number]])
    }

    /// Returns a number that is the same for two snapshots if these skills are: their names, sources,
    /// frontmatters and instructions.
    pub fn fingerprint(&self) -> u64 {
        self.indices.fingerprint
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use repertoire_model::scope::{Pattern, Scope};

    use crate::{MemoryProvider, Policy, Registry, SkillDefinition};

    fn registry(sources: &[(&str, &[(&str, &str)])]) -> Registry {
        let providers = sources.iter().map(|(label, skills)| {
            let skills = skills.iter().map(|(name, body)| {
                SkillDefinition::new(*name, format!("Does {name}. Use when {name} is needed."), *body)
            });
            Arc::new(MemoryProvider::new(*label, skills.collect())) as Arc<dyn crate::Provider>
        });
        pollster::block_on(Registry::open(providers.collect(), Policy::default())).unwrap()
    }

    fn scope(allow: &str) -> Vec<Scope> {
        vec![Scope { allow: Some(vec![Pattern::new(allow).unwrap()]), deny: Vec::new() }]
    }

    #[test]
    fn a_skill_outside_the_scopes_is_not_visible_and_shadows_nothing() {
        let registry =
            registry(&[("one", &[("a", "# One\n"), ("b", "# B\n")]), ("two", &[("a", "# Two\n")])]);
        let snapshot = registry.snapshot();
        let held = |scopes: &[Scope]| {
            let visible = snapshot.within(scopes);
            assert!(visible.held().all(|entry| visible.contains(entry)));
            visible.held().map(crate::Entry::qualified_name).collect::<Vec<String>>()
        };
        assert_eq!(held(&[]), ["one:a", "one:b"]);
        assert_eq!(held(&scope("two:*")), ["two:a"]);
        assert_eq!(held(&scope("a")), ["one:a"]);
        assert_eq!(held(&scope("two:*")), ["two:a"], "kept ones are the same");
        assert_eq!(held(&[scope("two:*"), scope("b")].concat()), [""; 0]);
        let other = registry.snapshot();
        let foreign = crate::Entry::clone(&other.entries()[0]);
        assert!(!snapshot.within(&[]).contains(&foreign), "it is not one of the snapshot's own");
    }

    #[test]
    fn a_fingerprint_changes_with_visible_skills_only() {
        let before = registry(&[("one", &[("a", "# A\n"), ("b", "# B\n")])]).snapshot();
        let after = registry(&[("one", &[("a", "# A\n"), ("b", "# Better\n")])]).snapshot();
        let fingerprint = |allow: &str| {
            (before.within(&scope(allow)).fingerprint(), after.within(&scope(allow)).fingerprint())
        };
        let (a, b) = (fingerprint("a"), fingerprint("b"));
        assert_eq!(a.0, a.1);
        assert_ne!(b.0, b.1);
    }
}
