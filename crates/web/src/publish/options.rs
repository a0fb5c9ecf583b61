//! Options of publishing over HTTP.

use std::sync::Arc;

use repertoire::proposal::Proposer;
use repertoire_model::patch::SkillFiles;

/// Returns the files of the skill in an archive, or the reason that it is refused. It may block.
pub type Unpack = dyn Fn(&[u8]) -> Result<SkillFiles, String> + Send + Sync;

/// Options of publishing over HTTP.
#[derive(Clone)]
#[non_exhaustive]
pub struct PublishOptions {
    /// Has the store of published versions and the rules of reviews, and tells of versions that wait for one.
    pub proposer: Arc<Proposer>,
    /// The channels that can be published to; the last one is meant where none is named.
    pub channels: Vec<String>,
    /// Unpacks archives.
    pub unpack: Arc<Unpack>,
}

impl PublishOptions {
    /// Returns options for the `channels` of the store of `proposer`.
    pub fn new(
        proposer: Arc<Proposer>,
        channels: Vec<String>,
        unpack: impl Fn(&[u8]) -> Result<SkillFiles, String> + Send + Sync + 'static,
    ) -> Self {
        Self { proposer, channels, unpack: Arc::new(unpack) }
    }
}
