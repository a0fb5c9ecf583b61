//! Options of publishing over HTTP.

use std::fmt;
use std::sync::Arc;

use repertoire::store::{LazyStore, ProposalLimits};
use repertoire_model::patch::SkillFiles;

/// Returns the files of the skill in an archive, or the reason that it is refused. It may block.
pub type Unpack = dyn Fn(&[u8]) -> Result<SkillFiles, String> + Send + Sync;

/// Options of publishing over HTTP.
#[derive(Clone)]
#[non_exhaustive]
pub struct PublishOptions {
    /// The store that versions are published to.
    pub store: LazyStore,
    /// The channels that can be published to; the last one is meant where none is named.
    pub channels: Vec<String>,
    /// Unpacks archives.
    pub unpack: Arc<Unpack>,
    /// The most proposals that may be pending.
    pub limits: ProposalLimits,
}

impl PublishOptions {
    /// Returns options for the `channels` of `store`.
    pub fn new(
        store: LazyStore,
        channels: Vec<String>,
        unpack: impl Fn(&[u8]) -> Result<SkillFiles, String> + Send + Sync + 'static,
        limits: ProposalLimits,
    ) -> Self {
        Self { store, channels, unpack: Arc::new(unpack), limits }
    }
}

impl fmt::Debug for PublishOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublishOptions").field("channels", &self.channels).finish_non_exhaustive()
    }
}
