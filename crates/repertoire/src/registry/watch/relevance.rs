//! Distinguishes events that may change a skill from noise.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use notify::EventKind;
use notify::event::{AccessKind, AccessMode, MetadataKind, ModifyKind};
use repertoire_model::document::MANIFEST_FILE;

use crate::provider::WatchScope;

pub(super) type WatchedDirectories = HashMap<PathBuf, WatchScope>;

/// Directories of builds, which hold no skills but change all the time.
const NOISY: [&str; 3] = ["node_modules", "target", "__pycache__"];

/// Returns whether an event of `kind` at `path` may change a skill.
pub(super) fn is_relevant(kind: &EventKind, path: &Path, watched: &WatchedDirectories) -> bool {
    if is_harmless(kind) {
        return false;
    }
    if watched.contains_key(path) {
        return !matches!(kind, EventKind::Access(_) | EventKind::Modify(ModifyKind::Data(_)));
    }
    let (Some(name), Some(scope)) = (path.file_name(), path.parent().and_then(|parent| watched.get(parent)))
    else {
        return false;
    };
    match scope {
        WatchScope::Path => is_about_entries(kind),
        _ if name.eq_ignore_ascii_case(MANIFEST_FILE) => true,
        WatchScope::Entries => is_about_entries(kind) && !is_noisy(name),
        WatchScope::Manifest => false,
    }
}

/// Returns whether a watch on `path` ended or leads elsewhere after an event of `kind` at it.
pub(super) fn ends_watch(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Remove(_) | EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(_)))
}

/// Returns whether the event changes nothing, such as a file that is read.
fn is_harmless(kind: &EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(MetadataKind::AccessTime)) => true,
        _ => false,
    }
}

/// Returns whether an entry came, went or was renamed, or may have become readable or unreadable.
fn is_about_entries(kind: &EventKind) -> bool {
    ends_watch(kind)
        || matches!(kind, EventKind::Any | EventKind::Other | EventKind::Modify(ModifyKind::Metadata(_)))
}

fn is_noisy(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".") || NOISY.iter().any(|noisy| name == *noisy)
}

#[cfg(test)]
mod tests {
    use notify::event::{CreateKind, DataChange, RemoveKind, RenameMode};

    use super::*;

    #[test]
    fn only_events_that_may_change_a_skill_are_relevant() {
        let watched = HashMap::from([
            (PathBuf::from("/skills"), WatchScope::Entries),
            (PathBuf::from("/skills/a"), WatchScope::Manifest),
            (PathBuf::from("/project"), WatchScope::Path),
        ]);
        let create = EventKind::Create(CreateKind::Any);
        let remove = EventKind::Remove(RemoveKind::Any);
        let rename = EventKind::Modify(ModifyKind::Name(RenameMode::Any));
        let write = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        let close = EventKind::Access(AccessKind::Close(AccessMode::Write));
        let chmod = EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any));
        let open = EventKind::Access(AccessKind::Open(AccessMode::Any));
        for (kind, path, expected) in [
            (write, "/skills/a/SKILL.md", true),
            (close, "/skills/a/SKILL.md", true),
            (create, "/skills/a/skill.md", true),
            (remove, "/skills/a/SKILL.MD", true),
            (chmod, "/skills/a/SKILL.md", true),
            (open, "/skills/a/SKILL.md", false),
            (write, "/skills/a/notes.md", false),
            (create, "/skills/a/scripts", false),
            (create, "/skills/a/SKILL.md~", false),
            (remove, "/skills/a", true),
            (rename, "/skills/a", true),
            (chmod, "/skills/a", true),
            (open, "/skills/a", false),
            (create, "/skills/new", true),
            (chmod, "/skills/new", true),
            (chmod, "/skills/target", false),
            (remove, "/skills/old", true),
            (create, "/skills/.git", false),
            (create, "/skills/target", false),
            (write, "/skills/README.md", false),
            (write, "/skills/SKILL.md", true),
            (create, "/project/.agents", true),
            (chmod, "/project/.agents", true),
            (write, "/project/Cargo.lock", false),
            (write, "/project/SKILL.md", false),
            (create, "/elsewhere/a", false),
        ] {
            assert_eq!(is_relevant(&kind, Path::new(path), &watched), expected, "{kind:?} {path}");
        }
    }
}
