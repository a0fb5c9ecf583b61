//! Finds protected files in a directory before a command may write it.
//!
//! Every name in the directory is checked. Symbolic links that are protected by name, lie in a protected
//! directory, or are git hooks are followed: their targets are protected too. Git settings name more.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::git::settings_paths::SettingsPaths;
use crate::protect::entry::{ExcludedPaths, ProtectedEntry};
use crate::protect::listing::{Budget, ListingError, ProtectedListing};
use crate::protect::names;
use crate::verified_path;

const MAX_ENTRIES: usize = 1 << 21;
/// The subdirectory of a git directory whose files git runs.
const HOOKS: &str = "hooks";

/// Protected paths in a directory, existing or not.
#[derive(Debug, Default)]
pub(crate) struct ProtectedPaths {
    pub(crate) protected: BTreeMap<PathBuf, ProtectedEntry>,
    /// Paths that are protected for another reason than their name, existing or not.
    pub(crate) also_protected: BTreeSet<PathBuf>,
    /// The directories that are not protected.
    pub(crate) directories: Vec<PathBuf>,
    /// A path that could not be checked.
    pub(crate) unseen: Option<PathBuf>,
    /// `true` if the reason is the limit of entries or time.
    pub(crate) is_spent: bool,
}

impl ProtectedPaths {
    /// Finds the protected paths in `top`, which lies in `root`; neither contains symbolic links. `above` has
    /// the paths that settings of the repositories around `top` point at.
    pub(crate) fn find(
        top: &Path,
        root: &Path,
        above: Vec<PathBuf>,
        never: ExcludedPaths<'_>,
        until: Instant,
    ) -> Self {
        let named = never.own.iter().cloned().chain(above).filter(|path| path.starts_with(top)).collect();
        let mut search = Search {
            top,
            never,
            named,
            everywhere: SettingsPaths::by_user(never.git),
            budget: Budget::new(MAX_ENTRIES, until),
            found: Self::default(),
        };
        search.walk();
        if search.found.unseen.is_none() {
            search.follow_all(root);
        }
        search.found.without_nested()
    }

    /// Leaves out paths in protected directories.
    fn without_nested(mut self) -> Self {
        let directories = self.protected.iter().filter(|(_, entry)| entry.is_directory);
        let directories: HashSet<PathBuf> = directories.map(|(path, _)| path.clone()).collect();
        let is_within = |path: &Path| path.ancestors().skip(1).any(|above| directories.contains(above));
        self.protected.retain(|path, _| !is_within(path));
        self.also_protected.retain(|path| !is_within(path));
        self
    }
}

struct Search<'a> {
    top: &'a Path,
    never: ExcludedPaths<'a>,
    /// Paths that the host or settings of git name, and that are protected whatever is there.
    named: HashSet<PathBuf>,
    /// Paths that the user's git settings point at in every repository.
    everywhere: SettingsPaths,
    budget: Budget,
    found: ProtectedPaths,
}

impl Search<'_> {
    fn protect(&mut self, path: PathBuf, metadata: &Metadata) {
        let entry = ProtectedEntry::of(&path, metadata);
        self.found.protected.insert(path, entry);
    }

    fn give_up(&mut self, path: PathBuf, why: &ListingError) {
        self.found.is_spent = matches!(why, ListingError::Spent);
        self.found.unseen = Some(path);
    }

    /// Checks every name, except those in protected directories.
    fn walk(&mut self) {
        let mut pending = Vec::new();
        if let Ok(metadata) = fs::symlink_metadata(self.top)
            && metadata.is_dir()
        {
            pending.push((self.top.to_owned(), metadata));
        }
        while let Some((directory, metadata)) = pending.pop() {
            let listing = match ProtectedListing::of(&directory, &mut self.budget) {
                Ok(listing) => listing,
                Err(ListingError::Gone) => continue,
                // The command could not list it, but perhaps write to it.
                Err(ListingError::Denied) if directory != self.top => {
                    self.protect(directory, &metadata);
                    continue;
                }
                Err(why) => return self.give_up(directory, &why),
            };
            if directory != self.top && (listing.is_skill || listing.is_git) {
                self.protect(directory, &metadata);
                continue;
            }
            for entry in &listing.entries {
                let path = listing.path(&entry.name);
                if entry.is_protected || self.named.contains(&path) {
                    self.protect(path, &entry.metadata);
                } else if entry.metadata.is_dir() {
                    pending.push((path, entry.metadata.clone()));
                }
            }
            self.found.directories.push(directory);
        }
    }

    /// Follows all protected paths in the directory, and those in its parents within the same project.
    fn follow_all(&mut self, root: &Path) {
        self.named.clone().into_iter().for_each(|path| self.protect_path(path));
        let checkout = self.top.ancestors().skip(1).find(|above| has_git(above));
        let is_near =
            |above: &&Path| above.starts_with(root) || checkout.is_some_and(|top| above.starts_with(top));
        let beside = self.top.ancestors().skip(1).take_while(is_near).flat_map(protected_in);
        let places: Vec<PathBuf> = self.found.protected.keys().cloned().chain(beside).collect();
        places.iter().for_each(|place| self.follow(place));
    }

    /// Adds the paths that a protected file or directory leads to.
    fn follow(&mut self, place: &Path) {
        let Ok(metadata) = fs::symlink_metadata(place) else { return };
        if metadata.is_symlink() {
            verified_path::trail(place).into_iter().skip(1).for_each(|hop| self.protect_path(hop));
        }
        let is_git = place.file_name().is_some_and(names::is_git);
        if is_git {
            let tree = place.parent().unwrap_or(place);
            let own = SettingsPaths::by_repository(place, tree, self.never.git);
            let paths: Vec<PathBuf> = own.in_tree(tree).chain(self.everywhere.in_tree(tree)).collect();
            paths.iter().flat_map(|path| verified_path::trail(path)).for_each(|hop| self.protect_path(hop));
        }
        let inner = metadata.is_dir().then(|| place.to_owned()).into_iter();
        let hooks = is_git.then(|| place.join(HOOKS)).into_iter();
        for directory in inner.chain(hooks) {
            let Ok(entries) = fs::read_dir(&directory) else { continue };
            for entry in
                entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()))
            {
                // A link to a parent is left out: it would protect everything.
                let leads = verified_path::trail(&entry.path()).into_iter().skip(1);
                leads.filter(|hop| !place.starts_with(hop)).for_each(|hop| self.protect_path(hop));
            }
        }
    }

    fn protect_path(&mut self, path: PathBuf) {
        if path.starts_with(self.top)
            && self.found.also_protected.insert(path.clone())
            && let Ok(metadata) = fs::symlink_metadata(&path)
        {
            self.protect(path, &metadata);
        }
    }
}

fn has_git(directory: &Path) -> bool {
    fs::symlink_metadata(directory.join(".git")).is_ok()
}

/// Returns the entries of a directory that are protected by their name.
fn protected_in(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name());
    names
        .filter(|name| names::is_protected_in(directory.file_name(), name))
        .map(|name| directory.join(name))
        .collect()
}
