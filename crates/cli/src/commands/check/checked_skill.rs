//! A skill with its findings.

use repertoire::Entry;
use repertoire_model::Diagnostic;

use crate::wire::Library;

/// A skill with its findings.
pub(super) struct CheckedSkill<'a> {
    pub(super) library: &'a Library,
    pub(super) entry: &'a Entry,
    pub(super) diagnostics: Vec<Diagnostic>,
}
