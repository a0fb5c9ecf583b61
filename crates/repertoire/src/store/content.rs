//! The content of skills in a store, checked against its digests.

use repertoire_model::SkillPath;
use repertoire_model::bundle::{Bundle, BundleFile, Digest};

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
pub fn skill_files(
    store: &(impl Versions + ?Sized),
    digest: &Digest,
) -> Result<Vec<(BundleFile, Vec<u8>)>, Error> {
    let files = bundle(store, digest)?.files().to_vec();
    files.into_iter().map(|file| blob(store, &file.digest).map(|bytes| (file, bytes))).collect()
}

/// Stores the files of a skill, with `true` for executable ones, and returns the digest of their bundle.
pub fn put_skill(
    store: &(impl Versions + ?Sized),
    files: Vec<(SkillPath, bool, Vec<u8>)>,
) -> Result<Digest, Error> {
    let mut listed = Vec::with_capacity(files.len());
    let mut blobs = Vec::with_capacity(files.len() + 1);
    for (path, executable, bytes) in files {
        let size = bytes.len() as u64;
        let blob = Blob::new(bytes);
        listed.push(BundleFile { path, size, executable, digest: blob.digest });
        blobs.push(blob);
    }
    let manifest = Blob::new(Bundle::new(listed).manifest());
    let digest = manifest.digest;
    blobs.push(manifest);
    let digests: Vec<Digest> = blobs.iter().map(|blob| blob.digest).collect();
    let mut missing = Vec::new();
    for some in digests.chunks(BATCH) {
        missing.extend(store.missing_blobs(some)?);
    }
    blobs.retain(|blob| missing.contains(&blob.digest));
    blobs.dedup_by(|a, b| a.digest == b.digest);
    store.put_blobs(&blobs)?;
    Ok(digest)
}
