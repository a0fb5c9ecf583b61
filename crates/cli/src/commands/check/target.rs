//! The skills that are checked.

use std::collections::BTreeSet;

use repertoire::Entry;
use repertoire::provider::Problem;
use repertoire_model::Diagnostic;

use crate::wire::Library;

/// A library to check, as a whole or some skills of it.
pub(super) struct Target {
    pub(super) library: Library,
    /// The names of the skills; all of them if it is empty.
    pub(super) names: Vec<String>,
    /// The paths of the skills, where `--changed` limits them.
    pub(super) paths: Option<BTreeSet<String>>,
}

impl Target {
    /// Returns the skills to check.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        let is_meant = |entry: &&Entry| {
            (self.names.is_empty() || self.names.iter().any(|name| is_named(entry, name)))
                && self.paths.as_ref().is_none_or(|paths| paths.contains(&*entry.path))
        };
        self.library.snapshot.entries().iter().filter(is_meant)
    }

    /// Returns the problems of its sources, which are not those of single skills.
    pub(super) fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.library.problems.iter().filter(|_| self.names.is_empty())
    }
}

/// Returns whether `name` is the name of `entry`, alone or with its source.
pub(super) fn is_named(entry: &Entry, name: &str) -> bool {
    name == entry.name().as_str() || name == entry.qualified_name()
}

/// A skill with its findings.
pub(super) struct CheckedSkill<'a> {
    pub(super) library: &'a Library,
    pub(super) entry: &'a Entry,
    pub(super) diagnostics: Vec<Diagnostic>,
}
