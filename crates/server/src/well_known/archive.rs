//! Reproducible archives of skills.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use flate2::{Compression, GzBuilder};
use repertoire::{Entry, LineRange, Registry};
use repertoire_model::Digest;
use tokio::sync::OnceCell;

use crate::published_skills::PublishedSkill;

/// Maximum digests in the cache.
const MAX_REMEMBERED: usize = 100_000;

/// The `mtime`, owner and group of all files in an archive.
const NO_OWNER_OR_TIME: u64 = 0;

/// The operating system in the gzip header: unknown.
const UNKNOWN_SYSTEM: u8 = 255;

/// Digests of archives by the digest of their files, so that the index need not pack everything again. Concurrent requests for
/// one digest wait for the same computation.
#[derive(Default)]
pub(crate) struct Archives(Mutex<HashMap<Digest, Arc<OnceCell<Digest>>>>);

impl Archives {
    /// Returns the digest of the archive of `skill`, or none if its files have changed.
    pub(crate) async fn digest(
        &self,
        registry: &Registry,
        entry: &Entry,
        skill: &PublishedSkill,
    ) -> Option<Digest> {
        let digest = {
            let mut remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if remembered.len() >= MAX_REMEMBERED {
                remembered.clear();
            }
            Arc::clone(remembered.entry(skill.bundle.digest()).or_default())
        };
        let packed = async { pack(registry, entry, skill).await.map(|bytes| Digest::of(&bytes)).ok_or(()) };
        digest.get_or_try_init(|| packed).await.ok().copied()
    }
}

/// Returns the archive of `skill`: its files at the root, sorted, without times and owners.
///
/// Returns none if a file does not have its published digest.
pub(crate) async fn pack(registry: &Registry, entry: &Entry, skill: &PublishedSkill) -> Option<Vec<u8>> {
    let mut files = Vec::with_capacity(skill.bundle.files().len());
    for file in skill.bundle.files() {
        let content = registry.read(entry, &file.path, LineRange::default()).await.ok()?;
        if Digest::of(&content.bytes) != file.digest {
            return None;
        }
        files.push((file.path.as_str().to_owned(), file.executable, content.bytes));
    }
    // A skill may have 16 MiB.
    tokio::task::spawn_blocking(move || pack_files(&files)).await.ok()?.ok()
}

/// Returns the archive of files with these paths, which are executable or not: the same bytes for the same files.
pub fn pack_files(files: &[(String, bool, Vec<u8>)]) -> std::io::Result<Vec<u8>> {
    let gzip = GzBuilder::new().mtime(0).operating_system(UNKNOWN_SYSTEM);
    let mut archive = tar::Builder::new(gzip.write(Vec::new(), Compression::default()));
    archive.mode(tar::HeaderMode::Deterministic);
    for (path, is_executable, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Regular);
        header.set_size(bytes.len() as u64);
        header.set_mode(if *is_executable { 0o755 } else { 0o644 });
        header.set_mtime(NO_OWNER_OR_TIME);
        header.set_uid(NO_OWNER_OR_TIME);
        header.set_gid(NO_OWNER_OR_TIME);
        archive.append_data(&mut header, path, bytes.as_slice())?;
    }
    let mut gzip = archive.into_inner()?;
    gzip.flush()?;
    gzip.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_reproducible() {
        let long = format!("references/{}.md", "x".repeat(150));
        let files = [("SKILL.md".to_owned(), false, b"# A\n".to_vec()), (long.clone(), true, vec![0, 1, 2])];
        let bytes = pack_files(&files).unwrap();
        assert_eq!(bytes, pack_files(&files).unwrap());
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(bytes.as_slice()));
        let read: Vec<(String, u32, u64)> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let path = entry.path().unwrap().to_string_lossy().into_owned();
                (path, entry.header().mode().unwrap(), entry.header().mtime().unwrap())
            })
            .collect();
        assert_eq!(read, [("SKILL.md".to_owned(), 0o644, 0), (long, 0o755, 0)]);
    }
}
