//! The directories whose events show changes of a root and of its skills.

use std::fs::{canonicalize, metadata, symlink_metadata};
use std::path::{Path, PathBuf};

use super::place::{Home, ROOT_LOCATOR};
use super::scan::Scan;
use super::source::FsSource;
use crate::provider::{WatchPoint, WatchScope};

impl FsSource {
    /// Returns the directories whose events show changes since the last listing.
    ///
    /// These are the root, the directories of links on the way to it, the nearest directory above a root that
    /// does not exist, every skill, and every directory that was searched and may become one.
    pub(super) fn watch_points(&self) -> Vec<WatchPoint> {
        // A path that cannot even be made absolute leads nowhere.
        let Ok(root) = std::path::absolute(&self.options().root) else { return Vec::new() };
        let mut points: Vec<WatchPoint> = links(&root).map(|path| point(path, WatchScope::Path)).collect();
        match canonicalize(&root) {
            Ok(resolved) if is_directory(&resolved) => {
                if let Some(scan) = self.scan().filter(|scan| scan.resolved == resolved) {
                    self.add_directories(&scan, &mut points);
                }
                points.push(point(resolved, WatchScope::Entries));
            }
            _ => points.extend(nearest(&root).map(|path| point(path, WatchScope::Path))),
        }
        points
    }

    /// Adds the directories of skills, and directories that may become skills.
    fn add_directories(&self, scan: &Scan, points: &mut Vec<WatchPoint>) {
        let of_skill = if self.options().limits.nested { WatchScope::Entries } else { WatchScope::Manifest };
        points.reserve(scan.skills.len() + scan.others.len() + 1);
        for skill in scan.skills.iter().filter(|skill| skill.listed.locator.as_str() != ROOT_LOCATOR) {
            let directory = match &skill.home {
                Home::Beneath | Home::Mounted => scan.resolved.join(skill.listed.locator.as_str()),
                Home::Linked(path) => path.clone(),
            };
            points.push(point(directory, of_skill));
        }
        for other in &scan.others {
            let scope = if other.is_parent { WatchScope::Entries } else { WatchScope::Manifest };
            points.push(point(scan.resolved.join(&other.relative), scope));
        }
    }
}

fn point(directory: PathBuf, scope: WatchScope) -> WatchPoint {
    WatchPoint { directory, scope }
}

/// Returns the directories that hold a link on the way to `path`.
fn links(path: &Path) -> impl Iterator<Item = PathBuf> {
    let is_link = |path: &&Path| symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
    path.ancestors().filter(is_link).filter_map(|link| canonicalize(link.parent()?).ok())
}

/// Returns the nearest directory above `path` that exists.
fn nearest(path: &Path) -> Option<PathBuf> {
    path.ancestors().skip(1).filter_map(|above| canonicalize(above).ok()).find(|above| is_directory(above))
}

fn is_directory(path: &Path) -> bool {
    metadata(path).is_ok_and(|metadata| metadata.is_dir())
}
