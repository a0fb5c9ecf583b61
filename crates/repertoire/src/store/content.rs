//! The content of skills in a store, checked against its digests.

use std::collections::{BTreeMap, BTreeSet};

use repertoire_model::bundle::{Bundle, Digest};
use repertoire_model::patch::{self, FileData, SkillFiles};

use super::versions::{Blob, Versions};
use crate::{Error, ErrorKind};

/// The most digests that are looked up at once.
const BATCH: usize = 500;

/// Returns the bytes stored under `digest`.
///
/// Fails with [`ErrorKind::Corrupt`] if they are missing or do not have that digest.
pub fn blob(store: &(impl Versions + ?Sized), digest: &Digest) -> Result<Vec<u8>, Error> {
    let corrupt = |why: &str| Error::new(ErrorKind::Corrupt).about(digest.to_string()).because(why);
    match store.raw_blob(digest)? {
        Some(bytes) if Digest::of(&bytes) == *digest => Ok(bytes),
        Some(_) => Err(corrupt("its bytes were changed")),
        None => Err(corrupt("it is missing")),
    }
}

/// Returns the bundle stored under `digest`: the files of a version, without their bytes.
///
/// Fails with [`ErrorKind::Corrupt`] if it is missing or was changed.
pub fn bundle(store: &(impl Versions + ?Sized), digest: &Digest) -> Result<Bundle, Error> {
    let manifest = blob(store, digest)?;
    Bundle::parse(&manifest).ok_or_else(|| {
        Error::new(ErrorKind::Corrupt).about(digest.to_string()).because("it is not the manifest of a bundle")
    })
}

/// Returns the files of the bundle stored under `digest` with their bytes.
///
/// Fails with [`ErrorKind::Corrupt`] if a part of it is missing or was changed.
pub fn skill_files(store: &(impl Versions + ?Sized), digest: &Digest) -> Result<SkillFiles, Error> {
    let mut files = SkillFiles::new();
    for file in bundle(store, digest)?.files() {
        let bytes = blob(store, &file.digest)?;
        files.insert(file.path.clone(), FileData { executable: file.executable, bytes });
    }
    Ok(files)
}

/// Stores the files of a skill and reads them back, so that they can be restored; what is damaged in the store is written again.
pub fn put_skill_safely(store: &(impl Versions + ?Sized), files: &SkillFiles) -> Result<Digest, Error> {
    let digest = put_skill(store, files)?;
    match skill_files(store, &digest) {
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            store.put_blobs(&blobs(files).into_values().collect::<Vec<_>>())?;
            skill_files(store, &digest)?;
        }
        outcome => drop(outcome?),
    }
    Ok(digest)
}

/// Returns the files of a skill and the manifest of their bundle, by digest.
fn blobs(files: &SkillFiles) -> BTreeMap<Digest, Blob> {
    let manifest = Blob::new(patch::bundle(files).manifest());
    let blobs = files.values().map(|file| Blob::new(file.bytes.clone()));
    blobs.chain([manifest]).map(|blob| (blob.digest, blob)).collect()
}

/// Stores the files of a skill and returns the digest of their bundle. Content that is there already is not written again.
pub fn put_skill(store: &(impl Versions + ?Sized), files: &SkillFiles) -> Result<Digest, Error> {
    let digest = patch::bundle(files).digest();
    let blobs = blobs(files);
    let digests: Vec<Digest> = blobs.keys().copied().collect();
    let mut missing = BTreeSet::new();
    for some in digests.chunks(BATCH) {
        missing.extend(store.missing_blobs(some)?);
    }
    let blobs: Vec<Blob> = blobs.into_values().filter(|blob| missing.contains(&blob.digest)).collect();
    if !blobs.is_empty() {
        store.put_blobs(&blobs)?;
    }
    Ok(digest)
}
