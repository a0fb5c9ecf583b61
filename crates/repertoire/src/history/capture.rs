//! The whole content of a skill, for versions and proposals.

use std::time::SystemTime;

use repertoire_model::patch::{FileData, SkillFiles, bundle};
use repertoire_model::{Digest, LineRange};

use crate::registry::{Entry, Registry};
use crate::store::{NewVersion, Origin, Store, Version, put_skill};
use crate::{Error, ErrorKind};

/// The most bytes of a skill that has versions; larger ones are not recorded.
pub const MAX_RECORDED_BYTES: u64 = 16 * 1024 * 1024;

/// Returns the files of a skill with their bytes, and the digest of their bundle.
///
/// Fails with [`ErrorKind::TooLarge`] if they are larger than [`MAX_RECORDED_BYTES`], and with
/// [`ErrorKind::SkillChanged`] if the skill changes meanwhile.
pub async fn capture(registry: &Registry, entry: &Entry) -> Result<(SkillFiles, Digest), Error> {
    let before = registry.digest(entry).await?;
    let mut files = SkillFiles::new();
    let mut size = 0;
    for file in registry.files(entry).await?.files {
        let too_large = || Error::new(ErrorKind::TooLarge).about(entry.name().as_str()).at(&*entry.path);
        if file.size.is_some_and(|known| size + known > MAX_RECORDED_BYTES) {
            return Err(too_large());
        }
        let content = registry.read(entry, &file.path, LineRange::default()).await?;
        size += content.size;
        if size > MAX_RECORDED_BYTES {
            return Err(too_large());
        }
        files.insert(file.path, FileData { executable: file.executable, bytes: content.bytes });
    }
    let digest = bundle(&files).digest();
    // The digest of a skill in code does not cover its lazy files.
    if digest != before && registry.digest(entry).await? != before {
        return Err(Error::new(ErrorKind::SkillChanged).about(entry.name().as_str()));
    }
    Ok((files, digest))
}

/// Records `files` as the newest version of the skill with this identity, unless it is that already. Returns
/// it, and `true` if it is new.
pub fn record(
    store: &dyn Store,
    (skill, name): (&str, &str),
    files: &SkillFiles,
    origin: Origin,
    author: Option<&str>,
    time: SystemTime,
) -> Result<(Version, bool), Error> {
    let digest = put_skill(store, files)?;
    store.add_version(&NewVersion {
        skill: skill.to_owned(),
        name: name.to_owned(),
        digest,
        time,
        origin,
        author: author.map(str::to_owned),
    })
}
