//! Publications: versions of skills that were published under a version of their own.

use std::time::SystemTime;

use repertoire_model::bundle::Digest;

use crate::Error;

/// A version of a skill, as its author calls it. It never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publication {
    /// The name of the skill.
    pub name: String,
    /// The version, such as `1.4.0`.
    pub version: String,
    /// The digest of its bundle.
    pub digest: Digest,
    /// The person or program that published it.
    pub author: Option<String>,
    /// When it was published.
    pub time: SystemTime,
}

/// Published versions of skills.
pub trait Publications: Send + Sync {
    /// Records `publication`, unless the skill has such a version already. Returns the recorded one, and `true` if it is new.
    ///
    /// The content is in the store before.
    fn publish(&self, publication: &Publication) -> Result<(Publication, bool), Error>;

    /// Returns the published versions of the skill `name`, the newest first.
    fn publications(&self, name: &str) -> Result<Vec<Publication>, Error>;
}
