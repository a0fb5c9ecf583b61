//! Skills that are served from a store.
//!
//! Every change of a channel is a [`Release`]: some skills get another version, or are removed. Releases are
//! never changed; a rollback is a new release with earlier versions.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use repertoire_model::bundle::Digest;

use crate::Error;

/// A change of one skill of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseChange {
    /// The name of the skill.
    pub name: String,
    /// The digest of the bundle it is served from now on; `None` removes it.
    pub digest: Option<Digest>,
}

/// A skill of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleasedSkill {
    /// Its name.
    pub name: String,
    /// The digest of its bundle.
    pub digest: Digest,
    /// The release that brought it.
    pub release: u64,
}

/// One change of one skill of a channel, as it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// The number of the release; several changes that were made at once share it.
    pub number: u64,
    /// The channel.
    pub channel: String,
    /// The change.
    pub change: ReleaseChange,
    /// When it was made.
    pub time: SystemTime,
    /// The person that made it.
    pub author: Option<String>,
}

/// Channels of skills that servers serve.
pub trait Releases: Send + Sync {
    /// Makes `changes` to `channel` at once, except changes without an effect; of several of one skill the
    /// last one counts. Returns the number of the release, `None` if nothing is left to change.
    ///
    /// Numbers grow over all channels, in the order of visibility. The content is in the store before.
    fn release(
        &self,
        channel: &str,
        changes: &[ReleaseChange],
        author: Option<&str>,
        time: SystemTime,
    ) -> Result<Option<u64>, Error>;

    /// Makes `change` to `channel` if the skill has the digest `base` there, or is not there if it is `None`.
    /// Returns the number of the release, `None` if the skill has another digest, or nothing changes.
    fn release_over(
        &self,
        channel: &str,
        change: &ReleaseChange,
        base: Option<&Digest>,
        author: Option<&str>,
        time: SystemTime,
    ) -> Result<Option<u64>, Error>;

    /// Returns the skills of `channel`, sorted by name.
    fn released(&self, channel: &str) -> Result<Vec<ReleasedSkill>, Error>;

    /// Returns the changes of the skill `name` in `channel`, the newest first.
    fn releases(&self, channel: &str, name: &str) -> Result<Vec<Release>, Error>;

    /// Returns the skills ever released to `channel`, with the time of the first release, sorted by name.
    fn first_releases(&self, channel: &str) -> Result<Vec<(String, SystemTime)>, Error>;

    /// Returns the names of the skills that the newest release of `channel` changed, sorted.
    fn newest_names(&self, channel: &str) -> Result<Vec<String>, Error>;

    /// Returns the channels with skills, sorted.
    fn channels(&self) -> Result<Vec<String>, Error>;

    /// Returns the number of the newest release of any channel, 0 if there is not one.
    fn newest_release(&self) -> Result<u64, Error>;

    /// Waits for a release newer than `after`, at most for `timeout`. Returns the number of the newest.
    fn wait_for_release(&self, after: u64, timeout: Duration) -> Result<u64, Error>;
}

/// Returns the last change of each skill, by name, without changes that the `served` skills already have.
pub fn effective_changes(changes: &[ReleaseChange], served: &BTreeMap<String, Digest>) -> Vec<ReleaseChange> {
    let last: BTreeMap<&str, &ReleaseChange> =
        changes.iter().map(|change| (change.name.as_str(), change)).collect();
    last.into_values().filter(|change| served.get(&change.name) != change.digest.as_ref()).cloned().collect()
}

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
    /// Records `publication`, unless the version exists; returns the recorded one, and `true` if it is new.
    ///
    /// The content is in the store before.
    fn publish(&self, publication: &Publication) -> Result<(Publication, bool), Error>;

    /// Returns the published versions of the skill `name`, the newest first.
    fn publications(&self, name: &str) -> Result<Vec<Publication>, Error>;
}
