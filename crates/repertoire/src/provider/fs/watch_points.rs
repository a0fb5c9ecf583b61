//! Where changes of a root and of its skills show.

use std::fs::{canonicalize, metadata, symlink_metadata};
use std::path::{Path, PathBuf};

use super::known::Known;
use super::open::Source;
use super::place::{Home, ROOT_LOCATOR, join};
use crate::provider::{Locator, Subject, WatchPoint};

impl Source {
    /// Returns the directories whose entries tell of changes since the last listing.
    ///
    /// These are the root, what leads to it by a link or would lead to it if it were there, every skill, and every directory
    /// that was looked into and may become one.
    pub(super) fn watch_points(&self) -> Vec<WatchPoint> {
        // A path that cannot even be made absolute leads nowhere.
        let Ok(root) = std::path::absolute(&self.options().root) else { return Vec::new() };
        let mut points = Vec::new();
        let above = |directory: PathBuf| WatchPoint { directory: directory.into(), subject: Subject::Above };
        points.extend(links(&root).map(above));
        match canonicalize(&root) {
            Ok(resolved) if is_directory(&resolved) => {
                points.push(WatchPoint { directory: resolved.as_path().into(), subject: Subject::Root });
                if let Some(known) = self.known().filter(|known| known.resolved == resolved) {
                    points.reserve(known.skills.len() + known.rests.len());
                    points.extend(skills(&known));
                }
            }
            _ => points.extend(nearest(&root).map(above)),
        }
        points
    }
}

/// Returns the directories that hold a link on the way to `path`.
fn links(path: &Path) -> impl Iterator<Item = PathBuf> {
    let is_link = |path: &&Path| symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
    path.ancestors().filter(is_link).filter_map(|link| canonicalize(link.parent()?).ok())
}

/// Returns the nearest directory above `path` that is there.
fn nearest(path: &Path) -> Option<PathBuf> {
    path.ancestors().skip(1).filter_map(|above| canonicalize(above).ok()).find(|above| is_directory(above))
}

fn is_directory(path: &Path) -> bool {
    metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

/// Returns the directories of the skills that are `known`, and those that may become skills.
fn skills(known: &Known) -> impl Iterator<Item = WatchPoint> {
    let skills = known.skills.iter().map(|found| {
        let directory = match &found.home {
            Home::Beneath | Home::Mounted => join(&known.resolved, found.listed.locator.as_str()),
            Home::Linked(path) => path.clone(),
        };
        (directory, found.listed.locator.clone())
    });
    let rests = known.rests.keys().filter(|relative| known.find(relative).is_none());
    let rests = rests.map(|relative| (join(&known.resolved, relative), Locator::new(relative.as_str())));
    // Links that lead to no skill lead out of the source, or nowhere.
    let rests = rests.filter(|(path, _)| symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()));
    // The root itself has a point of its own.
    let points = skills.chain(rests).filter(|(_, locator)| locator.as_str() != ROOT_LOCATOR);
    points.map(|(directory, locator)| WatchPoint {
        directory: directory.into(),
        subject: Subject::Skill(locator),
    })
}
