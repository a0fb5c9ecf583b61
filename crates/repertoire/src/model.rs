//! Types of skills that occur in signatures of this crate, from the pure crate `repertoire-model`.

pub use repertoire_model::answer::{Answer, Field, MatchedWord, Render, Score, SearchResult, Section};
pub use repertoire_model::prompt::Fragment;
pub use repertoire_model::scope::{Pattern, Scope};
pub use repertoire_model::{
    Bundle, Catalog, CatalogError, CatalogOptions, Diagnostic, Digest, Document, FileEntry, FileKind,
    LineRange, Manifest, ManifestSource, Policy, Profile, RuleId, Severity, SkillName, SkillPath, Standing,
    State,
};
