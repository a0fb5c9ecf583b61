//! The content of skills in a store, checked against its digests.

use std::collections::{BTreeMap, BTreeSet};

use repertoire_model::bundle::{Bundle, Digest};
use repertoire_model::patch::{self, FileData, SkillFiles};

use super::versions::{Blob, Versions};
use crate::{Error, ErrorKind};

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

/// Returns the files of the bundle stored under `digest`; `None` if they are not stored, or not as they were.
pub fn find_skill_files(
    store: &(impl Versions + ?Sized),
    digest: &Digest,
) -> Result<Option<SkillFiles>, Error> {
    match skill_files(store, digest) {
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
        files => files.map(Some),
    }
}

/// Stores the files of a skill and returns the digest of their bundle. Known content is not written again.
pub fn put_skill(store: &(impl Versions + ?Sized), files: &SkillFiles) -> Result<Digest, Error> {
    put_skills(store, &[files])?;
    Ok(patch::bundle(files).digest())
}

/// Stores the files of skills, as [`put_skill`] those of one.
pub fn put_skills(store: &(impl Versions + ?Sized), skills: &[&SkillFiles]) -> Result<(), Error> {
    let mut blobs = blobs(skills);
    let missing = missing(store, &blobs)?;
    blobs.retain(|digest, _| missing.contains(digest));
    put(store, blobs)
}

/// Stores the files of a skill, so that they can be restored, and returns the digest of their bundle; what is
/// damaged in the store is written again.
pub fn put_skill_safely(store: &(impl Versions + ?Sized), files: &SkillFiles) -> Result<Digest, Error> {
    put_skills_safely(store, &[files])?;
    Ok(patch::bundle(files).digest())
}

/// Stores the files of skills, as [`put_skill_safely`] those of one: all or none.
pub fn put_skills_safely(store: &(impl Versions + ?Sized), skills: &[&SkillFiles]) -> Result<(), Error> {
    let blobs = blobs(skills);
    missing(store, &blobs)?;
    put(store, blobs)
}

/// Stores the files of a skill that only a file outside the store names: garbage collection keeps them.
pub fn keep_skill(store: &(impl Versions + ?Sized), files: &SkillFiles) -> Result<(), Error> {
    put(store, blobs(&[files]))
}

/// Returns the files of skills and the manifests of their bundles, by digest.
fn blobs(skills: &[&SkillFiles]) -> BTreeMap<Digest, Blob> {
    let of_skill = |files: &&SkillFiles| {
        let manifest = Blob::new(patch::bundle(files).manifest());
        let blobs = files.values().map(|file| Blob::new(file.bytes.clone()));
        blobs.chain([manifest]).collect::<Vec<_>>()
    };
    skills.iter().flat_map(of_skill).map(|blob| (blob.digest, blob)).collect()
}

fn missing(
    store: &(impl Versions + ?Sized),
    blobs: &BTreeMap<Digest, Blob>,
) -> Result<BTreeSet<Digest>, Error> {
    let digests: Vec<Digest> = blobs.keys().copied().collect();
    Ok(store.missing_blobs(&digests)?.into_iter().collect())
}

fn put(store: &(impl Versions + ?Sized), blobs: BTreeMap<Digest, Blob>) -> Result<(), Error> {
    if blobs.is_empty() {
        return Ok(());
    }
    store.put_blobs(&blobs.into_values().collect::<Vec<_>>())
}
