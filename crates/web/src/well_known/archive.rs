//! Reproducible archives of skills.

use std::collections::HashMap;
use std::io::{Cursor, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use flate2::{Compression, GzBuilder};
use repertoire::serve::PublishedSkill;
use repertoire::{Entry, LineRange, Registry};
use repertoire_model::Digest;
use serde_json::json;
use tokio::sync::OnceCell;
use zip::result::ZipResult;
use zip::write::SimpleFileOptions;
use zip::{DateTime, ZipWriter};

/// Maximum digests in the cache.
const MAX_REMEMBERED: usize = 100_000;

/// The `mtime`, owner and group of all files in an archive.
const NO_OWNER_OR_TIME: u64 = 0;

/// The path of the manifest in the archive of a plugin.
const PLUGIN_MANIFEST: &str = ".claude-plugin/plugin.json";

/// The operating system in the gzip header: unknown.
const UNKNOWN_SYSTEM: u8 = 255;

/// Digests of archives by the digest of their files, so that the index need not pack everything again.
/// Concurrent requests for one digest wait for the same computation.
#[derive(Default)]
pub(crate) struct Archives(Mutex<HashMap<(Digest, ArchiveKind), PendingDigest>>);

/// A digest that is computed once.
type PendingDigest = Arc<OnceCell<Digest>>;

/// The kind of an archive of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ArchiveKind {
    /// The files of the skill, as `.tar.gz`.
    Skill,
    /// A plugin with the skill, as `.zip`.
    Plugin,
}

impl Archives {
    /// Returns the digest of the archive of `skill`, or none if its files have changed.
    pub(crate) async fn digest(
        &self,
        registry: &Registry,
        entry: &Entry,
        skill: &PublishedSkill,
        kind: ArchiveKind,
    ) -> Option<Digest> {
        let digest = {
            let mut remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if remembered.len() >= MAX_REMEMBERED {
                remembered.clear();
            }
            Arc::clone(remembered.entry((skill.digest, kind)).or_default())
        };
        let packed =
            async { pack(registry, entry, skill, kind).await.map(|bytes| Digest::of(&bytes)).ok_or(()) };
        digest.get_or_try_init(|| packed).await.ok().copied()
    }
}

/// Returns the archive of `skill`: its files, sorted, without times and owners.
///
/// Returns none if a file does not have its published digest.
pub(crate) async fn pack(
    registry: &Registry,
    entry: &Entry,
    skill: &PublishedSkill,
    kind: ArchiveKind,
) -> Option<Vec<u8>> {
    let mut files = Vec::with_capacity(skill.bundle.files().len());
    for file in skill.bundle.files() {
        let content = registry.read(entry, &file.path, LineRange::default()).await.ok()?;
        if Digest::of(&content.bytes) != file.digest {
            return None;
        }
        files.push((file.path.as_str().to_owned(), file.executable, content.bytes));
    }
    let manifest = json!({"name": skill.name, "description": skill.description}).to_string();
    let name = skill.name.clone();
    // A skill may have 16 MiB.
    let pack = move || match kind {
        ArchiveKind::Skill => pack_files(&files),
        ArchiveKind::Plugin => pack_plugin(&name, &manifest, &files).map_err(std::io::Error::other),
    };
    tokio::task::spawn_blocking(pack).await.ok()?.ok()
}

/// Returns the zip archive of a plugin with one skill: the same bytes for the same files.
fn pack_plugin(name: &str, manifest: &str, files: &[(String, bool, Vec<u8>)]) -> ZipResult<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().last_modified_time(DateTime::default());
    archive.start_file(PLUGIN_MANIFEST, options.unix_permissions(0o644))?;
    archive.write_all(manifest.as_bytes())?;
    for (path, is_executable, bytes) in files {
        let mode = if *is_executable { 0o755 } else { 0o644 };
        archive.start_file(format!("skills/{name}/{path}"), options.unix_permissions(mode))?;
        archive.write_all(bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}

/// Returns the archive of files: path, whether executable, content. The same files make the same bytes.
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
    fn a_plugin_has_its_manifest_and_the_skill() {
        let files = [("SKILL.md".to_owned(), false, b"# A\n".to_vec()), ("run.sh".to_owned(), true, vec![1])];
        let bytes = pack_plugin("git", "{}", &files).unwrap();
        assert_eq!(bytes, pack_plugin("git", "{}", &files).unwrap());
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
        let entries: Vec<(String, Option<u32>)> = (0..archive.len())
            .map(|index| {
                let entry = archive.by_index(index).unwrap();
                (entry.name().unwrap().into_owned(), entry.unix_mode())
            })
            .collect();
        let expect = [
            (".claude-plugin/plugin.json", 0o100644),
            ("skills/git/SKILL.md", 0o100644),
            ("skills/git/run.sh", 0o100755),
        ];
        assert_eq!(entries, expect.map(|(name, mode)| (name.to_owned(), Some(mode))));
    }

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
