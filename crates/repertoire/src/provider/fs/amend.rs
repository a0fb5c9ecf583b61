//! Puts what was touched into what the listing before found, so that one change costs little in a library of any size.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::known::{Known, Recollection, Rest, RootChange, Trust};
use super::limits::MAX_DEPTH;
use super::root_entries::{RootEntries, RootManifest, position};
use super::scan::{SEQUENTIAL_BELOW, Scan, Scanner, Targets, Task, Visit};
use crate::provider::{Changes, Locator};

/// Returns what a scan would find, where `known` is what the one before found and nothing but `changes` happened since; `None`
/// where that takes a scan.
///
/// It is for single changes of skills directly below a root. Whatever is more is left to the scan: further levels, roots that are
/// skills, bounds that cut something off, and so many changes that they are better looked at on all cores.
pub(super) fn amend(task: &Task<'_>, known: &Known, changes: &Changes, change: RootChange) -> Option<Scan> {
    let limits = &task.options.limits;
    let (entries, before) = (task.entries.ok()?, known.entries.as_deref()?);
    let is_whole = |entries: &RootEntries<'_>| {
        let count = entries.directories.len() + entries.links.len();
        entries.manifest == RootManifest::None && !entries.more && count <= limits.max_directories
    };
    let is_simple = limits.max_depth.clamp(1, MAX_DEPTH) == 1 && is_whole(entries) && is_whole(before);
    if change == RootChange::Some || !is_simple {
        return None;
    }
    // A link may lead to where it leads by way of another entry; and one that led nowhere may now, by way of a skill.
    let links = entries.links.iter().map(Cow::as_ref);
    let links: Vec<&str> =
        links.filter(|link| change == RootChange::Told || known.find(link).is_none()).collect();
    // Before anything is cut off: a name may be told as a skill and as an entry of the root.
    if changes.skills.len() + changes.entries.len() + links.len() >= SEQUENTIAL_BELOW {
        return None;
    }
    let touched =
        changes.skills.iter().map(Locator::as_str).chain(changes.entries.iter().map(String::as_str));
    let looked_at: BTreeSet<&str> = touched.chain(links).collect();

    let scanner = Scanner::new(task);
    let targets = if entries.links.is_empty() { Targets::default() } else { scanner.targets() };
    let mut scan = Scan { found: known.skills.clone(), rests: known.rests.clone(), ..Scan::default() };
    let mut buffer = Vec::new();
    for relative in looked_at {
        let trust = if changes.touch(relative) { Trust::Nothing } else { Trust::Stamp };
        let recollection = Recollection { found: known.find(relative), trust };
        if position(&entries.directories, relative).is_ok() {
            scan.put(relative, scanner.look_at(relative, recollection, &mut buffer));
        } else if position(&entries.links, relative).is_ok() {
            scan.put(relative, scanner.follow(relative, recollection, &targets, &mut buffer));
        } else {
            scan.remove(relative);
        }
    }
    // In the order of a scan, which visits the directories first.
    scan.problems.extend(entries.undecoded.iter().flat_map(|name| scanner.undecoded(name)));
    let (links, directories): (Vec<_>, Vec<_>) =
        scan.rests.iter().partition(|(relative, _)| position(&entries.links, relative).is_ok());
    let rests = directories.into_iter().chain(links);
    scan.problems.extend(rests.flat_map(|(_, rest)| rest.problems.iter().cloned()));
    Some(scan)
}

impl Scan {
    /// Puts what came of the directory or link `relative` in the place of what came of it before.
    fn put(&mut self, relative: &str, visit: Visit) {
        self.remove(relative);
        self.fresh += usize::from(visit.is_fresh());
        let Visit { found, rest, .. } = visit;
        if found.is_none() || rest != Rest::default() {
            self.rests.insert(relative.to_owned(), rest);
        }
        if let Some(found) = found {
            let index = self.position(relative).unwrap_or_else(|index| index);
            self.found.insert(index, found);
        }
    }

    /// Removes what came of the directory or link `relative`.
    fn remove(&mut self, relative: &str) {
        self.rests.remove(relative);
        if let Ok(index) = self.position(relative) {
            self.found.remove(index);
        }
    }

    fn position(&self, relative: &str) -> Result<usize, usize> {
        self.found.binary_search_by(|found| found.listed.locator.as_str().cmp(relative))
    }
}
