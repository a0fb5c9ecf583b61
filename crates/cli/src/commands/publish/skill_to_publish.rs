//! A skill to publish.

use repertoire_model::Digest;
use repertoire_model::patch::SkillFiles;

/// A skill to publish.
pub(super) struct SkillToPublish {
    pub(super) files: SkillFiles,
    pub(super) digest: Digest,
    pub(super) description: String,
    pub(super) version: Option<String>,
}
