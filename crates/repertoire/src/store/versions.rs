//! Versions of skills, and the content they are made of.

use std::collections::BTreeSet;
use std::time::SystemTime;

use repertoire_model::bundle::Digest;
use repertoire_model::words;

use crate::Error;

/// Bytes that are addressed by their digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// The digest of the bytes.
    pub digest: Digest,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Blob {
    /// Returns the blob of `bytes`.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { digest: Digest::of(&bytes), bytes }
    }
}

words! {
    /// The way in which a version came to be.
    #[non_exhaustive]
    Origin {
        /// Somebody changed the files.
        Edit "edit",
        /// The skill was installed.
        Add "add",
        /// The skill was updated from its source.
        Update "update",
        /// A proposal was approved.
        Proposal "proposal",
        /// An earlier version was restored.
        Rollback "rollback",
        /// The skill was published to a store.
        Publish "publish",
    }
}

/// A version to record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewVersion {
    /// The identity of the skill: the same for all its versions, and for no other skill of the store.
    pub skill: String,
    /// Its name.
    pub name: String,
    /// The digest of its bundle.
    pub digest: Digest,
    /// When it was recorded.
    pub time: SystemTime,
    /// The way in which it came to be.
    pub origin: Origin,
    /// The person or agent that changed it, where that is known.
    pub author: Option<String>,
}

/// An immutable past state of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Its number among the versions of the skill, from 1.
    pub number: u64,
    /// The identity of the skill.
    pub skill: String,
    /// The name it had.
    pub name: String,
    /// The digest of its bundle.
    pub digest: Digest,
    /// When it was recorded.
    pub time: SystemTime,
    /// The way in which it came to be.
    pub origin: Origin,
    /// The person or agent that changed it, where that is known.
    pub author: Option<String>,
}

/// Versions of skills and content-addressed blobs.
pub trait Versions: Send + Sync {
    /// Stores `blobs`, all or none; blobs that exist already stay as they are, except that bytes that no
    /// longer have their digest are replaced.
    fn put_blobs(&self, blobs: &[Blob]) -> Result<(), Error>;

    /// Returns the bytes stored under `digest`, unchecked; see [`super::blob`].
    fn raw_blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, Error>;

    /// Returns the bytes stored under those of `digests` that there are, unchecked and in any order.
    fn raw_blobs(&self, digests: &[Digest]) -> Result<Vec<(Digest, Vec<u8>)>, Error> {
        let found = digests.iter().map(|digest| Ok(self.raw_blob(digest)?.map(|bytes| (*digest, bytes))));
        found.filter_map(Result::transpose).collect()
    }

    /// Returns those of `digests` that no blob has. From now on [`collect_garbage`](Self::collect_garbage)
    /// takes all of them for just used, so that the blobs that are there still are when something names them.
    fn missing_blobs(&self, digests: &[Digest]) -> Result<Vec<Digest>, Error>;

    /// Records `version` as the newest of its skill, unless the newest has the same digest. Returns the
    /// newest, and `true` if it is new.
    ///
    /// Writers at the same time get different numbers.
    fn add_version(&self, version: &NewVersion) -> Result<(Version, bool), Error>;

    /// Records versions as [`add_version`](Self::add_version) does, all or none, in this order.
    fn add_versions(&self, versions: &[NewVersion]) -> Result<(), Error>;

    /// Returns the versions of the skill with this identity, the newest first.
    fn versions(&self, skill: &str) -> Result<Vec<Version>, Error>;

    /// Returns the newest version of the skill with this identity.
    fn latest_version(&self, skill: &str) -> Result<Option<Version>, Error>;

    /// Returns the identities of all skills with versions, sorted, and the digest of the newest one of each.
    fn latest_digests(&self) -> Result<Vec<(String, Digest)>, Error>;

    /// Removes the blobs that were last looked for before `time` and that no bundle needs which a version, a
    /// proposal, a release or a publication names, or the caller in `named`.
    fn collect_garbage(&self, named: &BTreeSet<Digest>, time: SystemTime) -> Result<(), Error>;
}
