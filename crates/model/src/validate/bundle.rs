//! Rules about the files beside a `SKILL.md`.

use crate::policy::Policy;
use crate::{Diagnostic, Document, FileEntry, SkillPath};

/// What the rules about files need to know of a skill.
#[derive(Debug, Clone, Copy)]
pub struct BundleFacts<'a> {
    /// Its `SKILL.md`, taken apart.
    pub document: &'a Document,
    /// The whole text of its `SKILL.md`.
    pub text: &'a str,
    /// How its `SKILL.md` is spelled.
    pub manifest_file: &'a str,
    /// Its files.
    pub files: &'a [FileEntry],
    /// The texts of its Markdown references.
    pub references: &'a [(SkillPath, String)],
}

/// Returns what is wrong with the files of a skill.
pub fn bundle(_facts: &BundleFacts<'_>, _policy: &Policy) -> Vec<Diagnostic> {
    Vec::new()
}
