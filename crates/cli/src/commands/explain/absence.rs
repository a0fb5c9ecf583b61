//! Why a skill is not there.

use std::fs;
use std::path::Path;

use repertoire::Lookup;
use repertoire::discovery::Presence;
use repertoire_model::{SkillName, text};
use serde::Serialize;

use crate::error::CliError;
use crate::ui::{Style, Ui, escape};
use crate::wire::{Context, Library, Place};

/// The most entries of a directory that are looked at for a hint.
const MAX_ENTRIES: usize = 10_000;

/// What can be said about a skill that is not there.
#[derive(Debug, Serialize)]
pub(crate) struct Absence {
    nearest: Vec<String>,
    places: Vec<Looked>,
    near_misses: Vec<NearMiss>,
}

/// A place that was looked at.
#[derive(Debug, Serialize)]
struct Looked {
    source: String,
    path: String,
    exists: bool,
    skills: usize,
}

/// A directory that looks as if it were meant to be the skill.
#[derive(Debug, Serialize)]
struct NearMiss {
    path: String,
    files: Vec<String>,
}

impl Absence {
    /// Returns what can be said about the absence of `name`.
    pub(crate) fn of(library: &Library, name: &str) -> Self {
        let nearest = match library.snapshot.find(name) {
            Lookup::Unknown(nearest) => nearest.into_iter().map(ToString::to_string).collect(),
            Lookup::Found(_) | Lookup::Quarantined(_) => Vec::new(),
        };
        let entries = library.snapshot.entries();
        let looked = |place: &Place| Looked {
            source: place.label.clone(),
            path: place.path.display().to_string(),
            exists: matches!(place.presence, Presence::Found | Presence::SameAs(_)),
            skills: entries.iter().filter(|entry| *entry.source == *place.label).count(),
        };
        let known = |path: &Path| entries.iter().any(|entry| Path::new(&entry.path) == path);
        let near_misses = library
            .places
            .iter()
            .filter(|place| place.presence == Presence::Found)
            .flat_map(|place| near_misses(&place.path, name))
            .filter(|miss| !known(Path::new(&miss.path)))
            .collect();
        Self { nearest, places: library.places.iter().map(looked).collect(), near_misses }
    }

    /// Writes it for people.
    pub(crate) fn write(&self, ui: &mut Ui, context: &Context, name: &str) -> Result<(), CliError> {
        let heading = ui.paint(Style::Heading, &format!("there is no skill `{}`", escape(name)));
        writeln!(ui.out(), "{heading}")?;
        if !self.nearest.is_empty() {
            writeln!(ui.out(), "\nnear it: {}", self.nearest.join(", "))?;
        }
        for miss in &self.near_misses {
            let path = escape(&context.shown(&miss.path)).into_owned();
            match miss.files.as_slice() {
                [] => writeln!(ui.out(), "\n{path} is there but has no SKILL.md")?,
                files => {
                    let files = escape(&files.join(", ")).into_owned();
                    writeln!(ui.out(), "\n{path} is there but has no SKILL.md, only {files}")?;
                }
            }
        }
        writeln!(ui.out(), "\nlooked at:")?;
        for place in self.places.iter().filter(|place| place.exists) {
            let path = escape(&context.shown(&place.path)).into_owned();
            let plural = if place.skills == 1 { "" } else { "s" };
            let skills = ui.paint(Style::Faint, &format!("{} skill{plural}", place.skills));
            writeln!(ui.out(), "  {path}  {skills}")?;
        }
        let missing = self.places.iter().filter(|place| !place.exists);
        let missing: Vec<String> = missing.map(|place| context.shown(&place.path)).collect();
        if !missing.is_empty() {
            let missing = ui.paint(Style::Faint, &escape(&missing.join(", ")));
            writeln!(ui.out(), "  not there: {missing}")?;
        }
        if self.places.is_empty() {
            writeln!(ui.out(), "  nothing: discovery is off and no roots are configured")?;
        }
        Ok(())
    }
}

/// Returns the directories in `root` that `name` may have been meant to be.
fn near_misses(root: &Path, name: &str) -> Vec<NearMiss> {
    let wanted = SkillName::slug(name).map_or_else(|| name.to_lowercase(), |slug| slug.to_string());
    let entries = fs::read_dir(root).into_iter().flatten().flatten().take(MAX_ENTRIES);
    let mut misses: Vec<NearMiss> = entries
        .filter(|entry| {
            let directory = entry.file_name().to_string_lossy().to_lowercase();
            let is_near = directory == wanted || text::nearest(&wanted, [directory.as_str()]).is_some();
            is_near && entry.path().is_dir()
        })
        .map(|entry| NearMiss {
            files: like_manifest(&entry.path()),
            path: entry.path().display().to_string(),
        })
        .collect();
    misses.sort_by(|a, b| a.path.cmp(&b.path));
    misses
}

/// Returns the files of `directory` that look like a misspelled `SKILL.md`.
fn like_manifest(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().take(MAX_ENTRIES);
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names
        .filter(|name| {
            let folded = name.to_lowercase();
            folded.starts_with("skill")
                || folded.starts_with("readme")
                || text::nearest(&folded, ["skill.md"]).is_some()
        })
        .collect();
    names.sort();
    names
}
