//! Explains why a skill is missing.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use repertoire::Lookup;
use repertoire::discovery::{Place, Presence, Tier};
use repertoire::provider::fs::ScanLimits;
use repertoire::provider::fs::limits::MAX_DEPTH;
use repertoire_model::plugin::{MANIFEST_FILE, SKILLS};
use repertoire_model::{SkillName, text};

use crate::view::{AbsenceView, NearMissReason, NearMissView, SearchedPlaceView};
use crate::workspace::{Library, Workspace};

/// The most skills of a group that are named.
const MAX_NAMED: usize = 20;

/// The most entries of a directory that are read for a hint.
const MAX_ENTRIES: usize = 10_000;

/// The most directories that are searched for a skill that the scan did not reach.
const MAX_DIRECTORIES: usize = 20_000;

impl NearMissView {
    /// Returns it as a group, if it has no `SKILL.md` and skills of `library` lie below it.
    fn or_group(self, library: &Library) -> Self {
        let below =
            library.snapshot.entries().iter().filter(|entry| Path::new(&*entry.path).starts_with(&self.path));
        let names: Vec<String> = below.map(|entry| entry.name().to_string()).take(MAX_NAMED).collect();
        if self.reason != NearMissReason::NoManifest || names.is_empty() {
            return self;
        }
        Self { reason: NearMissReason::Group, files: names, ..self }
    }
}

impl AbsenceView {
    /// Returns the explanation of the absence of `name`.
    pub(super) fn of(workspace: &Workspace, library: &Library, name: &str) -> Self {
        let nearest = match library.snapshot.find(name) {
            Lookup::Unknown(nearest) => nearest.into_iter().map(ToString::to_string).collect(),
            Lookup::Found(_) | Lookup::Disabled(_) | Lookup::Quarantined(_) => Vec::new(),
        };
        let entries = library.snapshot.entries();
        let looked = |place: &Place| SearchedPlaceView {
            source: place.root.label.clone(),
            path: place.root.path.display().to_string(),
            exists: matches!(place.presence, Presence::Found | Presence::SameAs(_)),
            skills: entries.iter().filter(|entry| *entry.source == *place.root.label).count(),
        };
        let known = |path: &Path| entries.iter().any(|entry| Path::new(&*entry.path) == path);
        // A place may lie below another one.
        let mut seen = HashSet::new();
        let mut near_misses: Vec<NearMissView> = library
            .places
            .iter()
            .filter(|place| place.presence == Presence::Found)
            .flat_map(|place| near_misses(place, name))
            .filter(|miss| !known(Path::new(&miss.path)) && seen.insert(miss.path.clone()))
            .map(|mut miss| {
                if miss.reason == NearMissReason::TooDeep && Path::new(&miss.path).ancestors().any(known) {
                    miss.reason = NearMissReason::Inside;
                }
                miss.or_group(library)
            })
            .collect();
        let in_plugins = plugin_misses(workspace, library, name).into_iter();
        near_misses.extend(in_plugins.filter(|miss| !known(Path::new(&miss.path))));
        Self { nearest, places: library.places.iter().map(looked).collect(), near_misses }
    }
}

/// Returns the `most` first of `names`, and how many `others` there are.
pub fn first_of(names: &[String], most: usize, others: &str) -> String {
    let first = names[..names.len().min(most)].join(", ");
    match names.len().saturating_sub(most) {
        0 => first,
        more => format!("{first}, and {more} {others}"),
    }
}

/// Returns the directories below `place` that `name` may have been meant to be.
fn near_misses(place: &Place, name: &str) -> Vec<NearMissView> {
    let mut limits = ScanLimits::default();
    limits.hidden = place.root.tier == Tier::Given;
    let wanted = SkillName::slug(name).map_or_else(|| name.to_lowercase(), |slug| slug.to_string());
    let mut misses = Vec::new();
    let mut pending = vec![(place.root.path.clone(), 1, false)];
    let mut visited = 0;
    while let Some((parent, depth, is_skipped)) = pending.pop() {
        visited += 1;
        let entries = fs::read_dir(&parent).into_iter().flatten().flatten().take(MAX_ENTRIES);
        // The file type is that of the entry itself, so links are not followed in circles.
        let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        for entry in directories.take(MAX_DIRECTORIES.saturating_sub(visited)) {
            let directory = entry.file_name().to_string_lossy().to_lowercase();
            let is_skipped = is_skipped || limits.skips(&directory);
            let bare = directory.trim_start_matches('.');
            let is_near = bare == wanted || (depth == 1 && text::nearest(&wanted, [bare]).is_some());
            let path = entry.path();
            let files = if is_near { like_manifest(&path) } else { Vec::new() };
            let has_manifest = files.iter().any(|file| file.eq_ignore_ascii_case("SKILL.md"));
            let reason = match (has_manifest, is_skipped) {
                (false, _) => NearMissReason::NoManifest,
                (true, true) => NearMissReason::Skipped,
                (true, false) => NearMissReason::TooDeep,
            };
            if is_near && (has_manifest || depth == 1) {
                misses.push(NearMissView { path: path.display().to_string(), reason, files });
            }
            if depth < MAX_DEPTH && visited + pending.len() < MAX_DIRECTORIES {
                pending.push((path, depth + 1, is_skipped));
            }
        }
    }
    misses.sort_by(|a, b| a.path.cmp(&b.path));
    misses
}

/// Returns the directories called `name` in plugins that are not enabled or were rejected.
fn plugin_misses(workspace: &Workspace, library: &Library, name: &str) -> Vec<NearMissView> {
    let miss = |skills: &Path, reason: NearMissReason, text: &str| {
        let path = skills.join(SkillName::new(name)?.as_str());
        let is_skill = path.join("SKILL.md").is_file();
        is_skill.then(|| NearMissView {
            path: path.display().to_string(),
            reason,
            files: vec![text.to_owned()],
        })
    };
    let disabled = workspace.disabled_plugins();
    let disabled = disabled.iter().filter_map(|root| {
        let plugin = root.label.strip_prefix("plugin:").unwrap_or(&root.label);
        miss(&root.path, NearMissReason::DisabledPlugin, plugin)
    });
    let rejected = library.problems.iter().filter_map(|problem| {
        let manifest = Path::new(&problem.path).file_name() == Some(OsStr::new(MANIFEST_FILE));
        let skills = Path::new(&problem.path).parent().filter(|_| manifest)?.join(SKILLS);
        miss(&skills, NearMissReason::RejectedPlugin, &problem.diagnostic.message)
    });
    disabled.chain(rejected).collect()
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
