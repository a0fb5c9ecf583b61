//! Reads skills for the index.

use repertoire::{Entry, Registry};
use repertoire_model::fields::METADATA_FIELDS;
use repertoire_model::{Document, FileKind, LineRange, Manifest};

use crate::index::SkillRecord;
use crate::meaning::{Embedder, Vector};
use crate::parallel::map;
use crate::skill_text::SkillText;

/// The most files beside a skill whose names are indexed.
const MAX_FILE_NAMES: usize = 64;
/// The most references whose beginnings are indexed.
const MAX_REFERENCES: usize = 4;
/// The largest reference that is indexed, in bytes.
const MAX_REFERENCE_BYTES: u64 = 256 * 1024;
/// The number of first lines of a reference that are indexed.
const REFERENCE_LINES: usize = 80;

/// The record of a skill that was just read.
pub(crate) struct NewRecord {
    pub(crate) record: SkillRecord,
    pub(crate) vector: Option<Vector>,
    /// `true` if the listed version was read and its embedding was computed.
    pub(crate) is_complete: bool,
}

/// The texts of a skill beside its manifest.
#[derive(Default)]
struct ReadTexts {
    /// `true` if they belong to the listed version.
    is_current: bool,
    body: String,
    files: Vec<String>,
}

/// Returns the texts in a manifest, beside name and description, that are there for finding the skill.
pub fn keywords(manifest: &Manifest) -> Vec<&str> {
    let Manifest { tags, trigger_keywords, hints, paths, metadata, .. } = manifest;
    // Addresses name places, not tasks.
    let is_text =
        |(key, value): &&(String, String)| !METADATA_FIELDS.contains(&key.as_str()) && !value.contains("://");
    let metadata = metadata.iter().filter(is_text);
    let texts = tags.iter().chain(trigger_keywords).chain(hints).chain(paths);
    texts.chain(metadata.map(|(_, value)| value)).map(String::as_str).collect()
}

/// Reads `entries` and returns their records, in order.
///
/// A skill that cannot be read is indexed by its manifest only; if the embedder fails, by its words only.
pub(crate) fn read_records(
    registry: &Registry,
    embedder: Option<&dyn Embedder>,
    entries: &[&Entry],
) -> Vec<NewRecord> {
    let texts = map(entries, |entry| pollster::block_on(read_texts(registry, entry)));
    let lists: Vec<(Vec<&str>, Vec<&str>)> = entries
        .iter()
        .zip(&texts)
        .map(|(entry, texts)| {
            let manifest = &entry.document.manifest;
            (keywords(manifest), texts.files.iter().map(String::as_str).collect())
        })
        .collect();
    let skills: Vec<SkillText<'_>> = entries
        .iter()
        .zip(&texts)
        .zip(&lists)
        .map(|((entry, texts), (keywords, files))| SkillText {
            name: entry.name().as_str(),
            description: &entry.document.description,
            keywords,
            body: &texts.body,
            files,
        })
        .collect();
    let vectors = embedder.map_or(Ok(Vec::new()), |embedder| pollster::block_on(embedder.skills(&skills)));
    let is_embedded = vectors.is_ok();
    let mut vectors = vectors.unwrap_or_default().into_iter();
    let records = map(&skills, SkillRecord::of).into_iter().zip(&texts);
    let records = records.map(|(record, texts)| NewRecord {
        record,
        vector: vectors.next().flatten(),
        is_complete: is_embedded && texts.is_current,
    });
    records.collect()
}

async fn read_texts(registry: &Registry, entry: &Entry) -> ReadTexts {
    let Ok(mut skill) = registry.get_listed(entry).await else { return ReadTexts::default() };
    // A file edited since the listing is indexed with its new content, but not as the listed version.
    let is_current = is_listed(&skill.document, entry);
    let body = skill.text.split_off(skill.document.body.offset.min(skill.text.len()));
    let listing = registry.files(entry).await;
    let listed = listing.as_ref().map_or(&[][..], |listing| &listing.files);
    let mut files: Vec<String> =
        listed.iter().take(MAX_FILE_NAMES).map(|file| file.path.to_string()).collect();
    let references = listed.iter().filter(|file| {
        file.kind == FileKind::Reference
            && file.size.is_some_and(|size| size <= MAX_REFERENCE_BYTES)
            && file.path.as_str().ends_with(".md")
    });
    for file in references.take(MAX_REFERENCES) {
        let lines = LineRange { start: None, end: Some(REFERENCE_LINES) };
        if let Ok(content) = registry.read(entry, &file.path, lines).await
            && content.binary.is_none()
        {
            files.push(String::from_utf8_lossy(&content.bytes).into_owned());
        }
    }
    ReadTexts { is_current, body, files }
}

/// Returns whether `document` is the version that `entry` lists.
fn is_listed(document: &Document, entry: &Entry) -> bool {
    document.body.checksum == entry.document.body.checksum
        && document.head_checksum == entry.document.head_checksum
}
