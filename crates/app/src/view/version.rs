//! The versions of a skill, the difference of two of them, and rollback.

use repertoire::event::jsonl::rfc3339;
use repertoire::store::{Publication, Version};
use schemars::JsonSchema;
use serde::Serialize;

/// A version of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct VersionView {
    /// The number among the versions of the skill, from 1.
    pub number: u64,
    /// The digest of its files.
    pub digest: String,
    /// The time at which it was recorded, in RFC 3339.
    pub time: String,
    /// The way in which it came to be: `edit`, `add`, `update`, `proposal`, `rollback` or `publish`.
    pub origin: &'static str,
    /// The person or agent that changed it, where that is known.
    pub author: Option<String>,
    /// The names under which it was published, such as `1.4.0`; from servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<Vec<String>>,
    /// True if the skill is as in this version; from servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_current: Option<bool>,
    /// True if a reviewer can restore it: the skill has a directory or its channel had it; from servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_restorable: Option<bool>,
}

impl VersionView {
    /// Returns the view of `version`, without what servers add.
    pub fn new(version: &Version) -> Self {
        Self {
            number: version.number,
            digest: version.digest.to_string(),
            time: rfc3339(version.time),
            origin: version.origin.as_str(),
            author: version.author.clone(),
            published: None,
            is_current: None,
            is_restorable: None,
        }
    }
}

/// A version of a skill that was published under a name of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct PublicationView {
    /// The version, such as `1.4.0`.
    pub version: String,
    /// The digest of its files.
    pub digest: String,
    /// The person or agent that published it.
    pub author: Option<String>,
    /// The time at which it was released, in RFC 3339.
    pub time: String,
}

impl PublicationView {
    /// Returns the view of `publication`.
    pub fn new(publication: &Publication) -> Self {
        Self {
            version: publication.version.clone(),
            digest: publication.digest.to_string(),
            author: publication.author.clone(),
            time: rfc3339(publication.time),
        }
    }
}

/// The versions of a skill, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VersionListView {
    /// The name of the skill.
    pub name: String,
    /// The versions.
    pub versions: Vec<VersionView>,
    /// The facts that servers add.
    #[serde(flatten)]
    pub server: Option<ServerVersionsView>,
}

/// The facts about the versions of a skill that servers add.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ServerVersionsView {
    /// The number of all versions; from servers.
    pub total: usize,
    /// The cursor of the next part; `null` for the last one; from servers.
    pub next_cursor: Option<String>,
    /// True if the skill has changes that no version holds; from servers.
    pub has_unrecorded_changes: bool,
    /// The versions that were published under names of their own, the newest first; from servers.
    pub published: Vec<PublicationView>,
}

/// The difference of two versions of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VersionDiffView {
    /// The name of the skill.
    pub name: String,
    /// The number of the older version; `null` without one.
    pub from: Option<u64>,
    /// The number of the newer version; `null` for the files as they are now.
    pub to: Option<u64>,
    /// The unified diff; empty if there is no difference.
    pub diff: String,
}

/// A version of a skill that was restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RollbackView {
    /// The name of the skill.
    pub name: String,
    /// The number of the version that was restored.
    pub restored: u64,
    /// The new version, which has its files.
    pub version: VersionView,
}
