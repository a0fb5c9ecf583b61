//! What is protected in a directory before a command may write it.
//!
//! First everything is looked at by its name. Then what is protected is looked into: links in it lead to what is obeyed likewise, settings of git name files and directories, and a file may have other names.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::git::obeyed::Obeyed;
use crate::protect::entry::{NeverGranted, ProtectedEntry};
use crate::protect::listing::{Budget, Keep, Listing, Unlisted};
use crate::protect::names;
use crate::verified_path;

/// The most entries that are looked at, in what is granted and in what is protected.
const MAX_ENTRIES: usize = 1 << 21;
/// How far up files are looked for that may have another name in what is granted, where no checkout ends before.
const MAX_ABOVE: usize = 3;
/// Where git keeps what people wrote, by its digest. There may be millions, and git runs none of it.
const OBJECTS: &str = "objects";

/// What is protected in a directory, or would be if it were there.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    pub(crate) protected: BTreeMap<PathBuf, ProtectedEntry>,
    /// What is obeyed for another reason than its name, whether it is there or not.
    pub(crate) obeyed: BTreeSet<PathBuf>,
    /// Protected files, in it and beside it, by device and number.
    pub(crate) files: HashSet<(u64, u64)>,
    /// Something that could not be looked at.
    pub(crate) unseen: Option<PathBuf>,
    /// Whether that is because there is too much.
    pub(crate) is_spent: bool,
}

impl Survey {
    /// Looks at `top`, which lies in `root`; both have no links in them. In `above` is what the repositories around it obey.
    pub(crate) fn of(
        top: &Path,
        root: &Path,
        above: Vec<PathBuf>,
        never: NeverGranted<'_>,
        until: Instant,
    ) -> Self {
        let named = never.own.iter().cloned().chain(above).filter(|path| path.starts_with(top)).collect();
        let mut surveyor = Surveyor {
            top,
            never,
            named,
            everywhere: Obeyed::by_user(never.git),
            budget: Budget::new(MAX_ENTRIES, until),
            survey: Self::default(),
            shared: HashMap::new(),
            pending: Vec::new(),
        };
        surveyor.walk();
        if surveyor.survey.unseen.is_none() {
            surveyor.look_into_all(root);
        }
        surveyor.end()
    }
}

struct Surveyor<'a> {
    top: &'a Path,
    never: NeverGranted<'a>,
    /// What is known to be obeyed, whatever is found.
    named: HashSet<PathBuf>,
    /// What the user tells git in every repository.
    everywhere: Obeyed,
    budget: Budget,
    survey: Survey,
    /// Files of more than one name, by their numbers.
    shared: HashMap<(u64, u64), Vec<PathBuf>>,
    /// What is protected and was not looked into yet.
    pending: Vec<PathBuf>,
}

impl Surveyor<'_> {
    fn protect(&mut self, path: PathBuf, metadata: &Metadata) {
        let entry = ProtectedEntry::of(&path, metadata);
        if self.survey.protected.insert(path.clone(), entry).is_none() {
            self.pending.push(path);
        }
    }

    fn give_up(&mut self, path: PathBuf, why: &Unlisted) {
        self.survey.is_spent = matches!(why, Unlisted::Spent);
        self.survey.unseen = Some(path);
    }

    /// Looks at every name. What is in a protected directory is not looked at here.
    fn walk(&mut self) {
        let mut pending = Vec::new();
        match fs::symlink_metadata(self.top) {
            Ok(metadata) if metadata.is_dir() => pending.push((self.top.to_owned(), metadata)),
            Ok(metadata) => self.note_shared(self.top.to_owned(), &metadata),
            Err(_) => {}
        }
        while let Some((directory, metadata)) = pending.pop() {
            let listing = match Listing::of(&directory, Keep::Notable, &mut self.budget) {
                Ok(listing) => listing,
                Err(Unlisted::Gone) => continue,
                // Its owner may not look into it, though perhaps write.
                Err(Unlisted::Shut) if directory != self.top => {
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
                } else {
                    self.note_shared(path, &entry.metadata);
                }
            }
        }
    }

    fn note_shared(&mut self, path: PathBuf, metadata: &Metadata) {
        if metadata.is_file() && metadata.nlink() > 1 {
            self.shared.entry((metadata.dev(), metadata.ino())).or_default().push(path);
        }
    }

    fn look_into_all(&mut self, root: &Path) {
        self.named.clone().into_iter().for_each(|path| self.obey(path));
        let around = self.around(root);
        self.pending.extend(around);
        while let Some(place) = self.pending.pop() {
            if self.survey.unseen.is_some() {
                return;
            }
            self.look_into(&place);
        }
    }

    /// Returns what is protected beside the granted directory, in the same project.
    fn around(&self, root: &Path) -> Vec<PathBuf> {
        let above = || self.top.ancestors().skip(1);
        let checkout = above().find(|above| fs::symlink_metadata(above.join(".git")).is_ok());
        let is_near =
            |above: &Path| above.starts_with(root) || checkout.is_some_and(|top| above.starts_with(top));
        let near = above().take_while(|above| is_near(above)).count();
        let near = if self.shared.is_empty() { near } else { near.max(MAX_ABOVE) };
        above().take(near).flat_map(protected_in).collect()
    }

    /// Finds what is obeyed because of something that is protected.
    fn look_into(&mut self, place: &Path) {
        let Ok(metadata) = fs::symlink_metadata(place) else { return };
        if metadata.is_symlink() {
            verified_path::trail(place).into_iter().skip(1).for_each(|hop| self.obey(hop));
        }
        self.survey.files.extend(metadata.is_file().then_some((metadata.dev(), metadata.ino())));
        let is_git = place.file_name().is_some_and(names::is_git);
        if is_git {
            self.obey_settings(place, place.parent().unwrap_or(place));
        }
        let mut pending = if metadata.is_dir() { vec![place.to_owned()] } else { Vec::new() };
        while let Some(directory) = pending.pop() {
            let listing = match Listing::of(&directory, Keep::Everything, &mut self.budget) {
                Ok(listing) => listing,
                Err(why @ Unlisted::Spent) => return self.give_up(directory, &why),
                Err(_) => continue,
            };
            if listing.is_git && !is_git {
                self.obey_settings(&directory, &directory);
            }
            let is_objects = |name: &OsStr| (is_git || listing.is_git) && names::is_named(name, OBJECTS);
            for entry in listing.entries.iter().filter(|entry| !is_objects(&entry.name)) {
                let path = listing.path(&entry.name);
                if names::is_git(&entry.name) {
                    self.obey_settings(&path, &directory);
                }
                if entry.metadata.is_dir() {
                    pending.push(path);
                } else if entry.metadata.is_symlink() {
                    self.follow(&path, place);
                } else if entry.metadata.is_file() {
                    self.survey.files.insert((entry.metadata.dev(), entry.metadata.ino()));
                }
            }
        }
    }

    /// Notes where a link in a protected place leads to.
    fn follow(&mut self, link: &Path, place: &Path) {
        // What is in the place itself is looked at anyway. One that leads up tells nobody what to do: otherwise it would protect all there is.
        let leads = verified_path::trail(link).into_iter().skip(1);
        let leads = leads.filter(|hop| !hop.starts_with(place) && !place.starts_with(hop));
        leads.for_each(|hop| self.obey(hop));
    }

    fn obey_settings(&mut self, inner: &Path, tree: &Path) {
        let own = Obeyed::by_repository(inner, tree, self.never.git);
        let paths: Vec<PathBuf> = own.in_tree(tree).chain(self.everywhere.in_tree(tree)).collect();
        paths.iter().flat_map(|path| verified_path::trail(path)).for_each(|hop| self.obey(hop));
    }

    fn obey(&mut self, path: PathBuf) {
        if path.starts_with(self.top)
            && self.survey.obeyed.insert(path.clone())
            && let Ok(metadata) = fs::symlink_metadata(&path)
        {
            self.protect(path, &metadata);
        }
    }

    /// Adds other names of what is protected, and leaves out what is within something else that is.
    fn end(mut self) -> Survey {
        for (file, paths) in std::mem::take(&mut self.shared) {
            if self.survey.files.contains(&file) {
                for path in paths {
                    if let Ok(metadata) = fs::symlink_metadata(&path) {
                        self.protect(path, &metadata);
                    }
                }
            }
        }
        let mut survey = self.survey;
        let directories = survey.protected.iter().filter(|(_, entry)| entry.is_directory);
        let directories: HashSet<PathBuf> = directories.map(|(path, _)| path.clone()).collect();
        let is_within = |path: &Path| path.ancestors().skip(1).any(|above| directories.contains(above));
        survey.protected.retain(|path, _| !is_within(path));
        survey.obeyed.retain(|path| !is_within(path));
        survey
    }
}

/// Returns what is protected by its name in a directory itself.
fn protected_in(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name());
    names
        .filter(|name| names::is_protected_in(directory.file_name(), name))
        .map(|name| directory.join(name))
        .collect()
}
