//! Reads what is indexed of a skill.

use repertoire_model::search::{Record, SkillText, Vector};
use repertoire_model::{FileKind, LineRange};

use super::embedder::Embedder;
use crate::registry::{Entry, Registry};

/// The most files beside a skill whose names are indexed.
const MAX_FILE_NAMES: usize = 64;
/// The most references whose beginnings are indexed.
const MAX_REFERENCES: usize = 4;
/// The most bytes of a reference that is indexed.
const MAX_REFERENCE_BYTES: u64 = 256 * 1024;
/// The lines of a reference that are indexed.
const REFERENCE_LINES: usize = 80;

/// How many skills are read by whoever asks.
const FEW: usize = 4;

/// What the index keeps of a skill.
pub(super) struct Known {
    pub(super) record: Record,
    pub(super) vector: Option<Vector>,
    /// Whether the record is complete: the skill was read as it was listed, and its embedding was computed.
    pub(super) is_whole: bool,
}

/// What was read of a skill.
#[derive(Default)]
struct Texts {
    is_read: bool,
    body: String,
    files: Vec<String>,
}

/// Returns what the index keeps of each of `entries`, in their order.
///
/// A skill that cannot be read is indexed by what its listing says, and where what they mean cannot be had, words must do.
pub(super) fn records(
    registry: &Registry,
    embedder: Option<&dyn Embedder>,
    entries: &[&Entry],
) -> Vec<Known> {
    let texts: Vec<Texts> = of_each(entries, |entry| pollster::block_on(texts(registry, entry)));
    let all: Vec<(Vec<&str>, Vec<&str>)> = entries
        .iter()
        .zip(&texts)
        .map(|(entry, texts)| {
            let manifest = &entry.document.manifest;
            let keywords =
                manifest.tags.iter().chain(&manifest.trigger_keywords).map(String::as_str).collect();
            (keywords, texts.files.iter().map(String::as_str).collect())
        })
        .collect();
    let skills: Vec<SkillText<'_>> = entries
        .iter()
        .zip(&texts)
        .zip(&all)
        .map(|((entry, texts), (keywords, files))| SkillText {
            name: entry.name().as_str(),
            description: &entry.document.description,
            keywords,
            body: &texts.body,
            files,
        })
        .collect();
    let vectors = embedder.map(|embedder| pollster::block_on(embedder.skills(&skills)));
    let has_meanings = !matches!(vectors, Some(Err(_)));
    let mut vectors = vectors.and_then(Result::ok).unwrap_or_default().into_iter();
    let records: Vec<Record> = of_each(&skills, Record::of);
    let known = records.into_iter().zip(&texts).map(|(record, texts)| Known {
        record,
        vector: vectors.next().flatten(),
        is_whole: has_meanings && texts.is_read,
    });
    known.collect()
}

/// Returns what `make` makes of each item, in their order: on all cores, unless they are so few that waking others takes longer.
pub(super) fn of_each<T: Sync, R: Send>(items: &[T], make: impl Fn(&T) -> R + Send + Sync) -> Vec<R> {
    use rayon::prelude::*;
    if items.len() <= FEW { items.iter().map(make).collect() } else { items.par_iter().map(make).collect() }
}

async fn texts(registry: &Registry, entry: &Entry) -> Texts {
    let Ok(opened) = registry.open_skill(entry).await else { return Texts::default() };
    let body = opened.skill.body().to_owned();
    let listed = &opened.files.files;
    let mut files: Vec<String> =
        listed.iter().take(MAX_FILE_NAMES).map(|file| file.path.to_string()).collect();
    let references = listed.iter().filter(|file| {
        file.kind == FileKind::Reference
            && file.size <= MAX_REFERENCE_BYTES
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
    // A file that was edited since the listing is indexed as it is now, but not under the version that was listed.
    let document = &opened.skill.document;
    let is_read = document.body.checksum == entry.document.body.checksum
        && document.head_checksum == entry.document.head_checksum;
    Texts { is_read, body, files }
}
