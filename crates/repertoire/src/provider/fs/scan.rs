//! Looks for skills below a root, within bounds and on all cores.
//!
//! The root is listed once, or remembered; then every directory costs one open, one stat, one read and one close. Directories are
//! visited level by level in bytewise order, so that a bound cuts off the same ones every time.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::canonicalize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use repertoire_model::validate::Reporter;
use repertoire_model::{Document, RuleId};

use super::cache::{Cache, Facts, is_settled};
use super::known::{Found, Memory, Recollection, Rest, Trust};
use super::last_good;
use super::limits::{LinkScope, MAX_DEPTH};
use super::manifest::{self, Care, Manifest};
use super::place::{Home, Place, ROOT_LOCATOR, Root, Shown};
use super::provider::FsOptions;
use super::root_entries::{RootEntries, RootManifest};
use super::safe_dir::{Entries, Entry, Fault, Kind, Stamp};
use crate::provider::{Listed, Locator, Problem};

/// Directories that hold no skills but may hold very many files.
const SKIPPED: [&str; 3] = [".git", "node_modules", "target"];

/// Below this many directories that have to be read starting threads costs more than it saves.
pub(super) const SEQUENTIAL_BELOW: usize = 32;

/// Below this many that are remembered one look at each takes a few milliseconds. Threads would save some of these, and keep
/// their memory for as long as the process lasts.
const SEQUENTIAL_LOOKS_BELOW: usize = 1_024;

/// What a scan found.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The skills, sorted by locator.
    pub(super) found: Vec<Arc<Found>>,
    pub(super) problems: Vec<Problem>,
    /// The directories that are no skill or hold more than one, by their paths.
    pub(super) rests: BTreeMap<String, Rest>,
    /// What else the cache knows of skills whose documents come from there.
    pub(super) facts: Vec<(Locator, Facts)>,
    /// How many skills were read that need not be read the next time.
    pub(super) fresh: usize,
}

/// What came of one directory.
#[derive(Debug, Default)]
pub(super) struct Visit {
    pub(super) found: Option<Arc<Found>>,
    pub(super) rest: Rest,
    origin: Origin,
}

/// Where a skill comes from.
#[derive(Debug, Default)]
enum Origin {
    /// Its file was read.
    #[default]
    File,
    /// The cache remembers it, with this if with anything; in a box, because most of a scan's memory are visits.
    Cache(Option<Box<Facts>>),
    /// The listing before found it.
    Memory,
}

impl Visit {
    fn of(found: Arc<Found>, origin: Origin) -> Self {
        Self { found: Some(found), rest: Rest::default(), origin }
    }

    /// Returns whether it is about a skill that was read and need not be read the next time.
    pub(super) fn is_fresh(&self) -> bool {
        let is_read = matches!(self.origin, Origin::File);
        is_read && self.found.as_ref().is_some_and(|found| found.may_be_remembered())
    }

    fn problems(problems: impl IntoIterator<Item = Problem>) -> Self {
        let rest = Rest { problems: problems.into_iter().collect(), ..Rest::default() };
        Self { rest, ..Self::default() }
    }
}

/// What a scan looks at, and what it need not look at.
pub(super) struct Task<'a> {
    pub(super) options: &'a FsOptions,
    pub(super) root: &'a Root,
    /// What lies directly below the root.
    pub(super) entries: Result<&'a RootEntries<'a>, &'a Fault>,
    /// Skills that are as it remembers them are not read.
    pub(super) cache: Option<&'a Cache>,
    /// The same, of the listing before.
    pub(super) memory: Option<Memory<'a>>,
    /// When the listing began.
    pub(super) started: i64,
}

/// Looks for skills below a root.
pub(super) fn scan(task: &Task<'_>) -> Scan {
    let mut scan = Scan::default();
    Scanner::new(task).run(&mut scan);
    scan.found.sort_unstable_by(|a, b| a.listed.locator.cmp(&b.listed.locator));
    scan
}

impl Scan {
    /// Adds what came of the directory `relative`, and returns the directories below it.
    fn add(&mut self, relative: &str, visit: Visit) -> Vec<String> {
        self.fresh += usize::from(visit.is_fresh());
        let Visit { found, rest, origin } = visit;
        self.problems.extend(rest.problems.iter().cloned());
        let children = rest.children.clone();
        if found.is_none() || rest != Rest::default() {
            self.rests.insert(relative.to_owned(), rest);
        }
        if let Some(found) = found {
            if let Origin::Cache(Some(facts)) = origin {
                self.facts.push((found.listed.locator.clone(), *facts));
            }
            self.found.push(found);
        }
        children
    }
}

/// A scan under way.
pub(super) struct Scanner<'a> {
    task: &'a Task<'a>,
    options: &'a FsOptions,
    root: &'a Root,
    /// The root as people see it.
    shown: Shown,
    /// The root without links.
    resolved: Shown,
}

impl<'a> Scanner<'a> {
    /// Returns what does `task`.
    pub(super) fn new(task: &'a Task<'a>) -> Self {
        let Task { options, root, .. } = *task;
        let (shown, resolved) = (Shown::new(&options.root), Shown::new(&root.resolved));
        Self { task, options, root, shown, resolved }
    }

    fn run(&self, scan: &mut Scan) {
        let limits = &self.options.limits;
        let entries = match self.task.entries {
            Ok(entries) => entries,
            Err(fault) => {
                return scan.problems.extend(self.problem(
                    ROOT_LOCATOR,
                    RuleId::SourceBroken,
                    format!("the directory cannot be listed: {}", fault.message()),
                ));
            }
        };
        let mut read = entries.count;
        if entries.manifest == RootManifest::Exact {
            self.visit_root(scan);
            if !limits.nested {
                return;
            }
        }
        if entries.more {
            scan.problems.extend(self.over_limit());
        }
        scan.problems.extend(entries.undecoded.iter().flat_map(|name| self.undecoded(name)));

        let mut level = Cow::Borrowed(entries.directories.as_slice());
        let mut room = limits.max_directories;
        for depth in 1..=limits.max_depth.clamp(1, MAX_DEPTH) {
            if level.len() > room || (depth > 1 && read > limits.max_entries) {
                scan.problems.extend(self.over_limit());
                level.to_mut().truncate(if read > limits.max_entries { 0 } else { room });
            }
            room -= level.len();
            let visits = self.each(&level, |visited, buffer| self.visit(visited, depth, buffer));
            let mut children = Vec::new();
            for (relative, visit) in level.iter().zip(visits) {
                read += visit.rest.entries;
                children.extend(scan.add(relative, visit).into_iter().map(Cow::Owned));
            }
            children.sort_unstable();
            level = Cow::Owned(children);
        }

        if entries.links.len() > room {
            scan.problems.extend(self.over_limit());
        }
        let links = &entries.links[..entries.links.len().min(room)];
        let targets = if links.is_empty() { Targets::default() } else { self.targets() };
        let visits = self.each(links, |visited, buffer| self.visit_link(visited.relative, &targets, buffer));
        for (relative, visit) in links.iter().zip(visits) {
            scan.add(relative, visit);
        }
        // A stray file such as `Skill.md` beside skills does not make all of them one skill.
        if scan.found.is_empty() && entries.manifest != RootManifest::None {
            self.visit_root(scan);
        }
    }

    /// Applies `visit` to every path, in order, on as many cores as are worth it.
    fn each(
        &self,
        paths: &[Cow<'_, str>],
        visit: impl Fn(Visited<'_>, &mut Vec<u8>) -> Visit + Sync,
    ) -> Vec<Visit> {
        let is_remembered =
            self.task.memory.is_some() || self.task.cache.is_some_and(|cache| cache.len() >= paths.len());
        let few = if is_remembered { SEQUENTIAL_LOOKS_BELOW } else { SEQUENTIAL_BELOW };
        if paths.len() < few { one_by_one(paths, visit) } else { on_all_cores(paths, visit) }
    }

    fn visit_root(&self, scan: &mut Scan) {
        let known = self.recollection(|memory| memory.of(ROOT_LOCATOR));
        let visit = match self.take_over(ROOT_LOCATOR, known) {
            Some(visit) => visit,
            None => self.look(&Place::beneath(self.root, ROOT_LOCATOR), 0, known, &mut Vec::new()),
        };
        scan.add(ROOT_LOCATOR, visit);
    }

    fn recollection<'s>(&'s self, of: impl FnOnce(&'s Memory<'_>) -> Recollection<'s>) -> Recollection<'s> {
        self.task.memory.as_ref().map_or(Recollection::NONE, of)
    }

    /// Returns what came of the directory `relative` the last time, if it is sure to be what it was.
    fn take_over(&self, relative: &str, known: Recollection<'_>) -> Option<Visit> {
        if known.trust != Trust::Whole {
            return None;
        }
        let rest = self.task.memory.as_ref()?.rest(relative, known.found)?;
        Some(Visit { found: known.found.map(Arc::clone), rest, origin: Origin::Memory })
    }

    fn visit(&self, visited: Visited<'_>, depth: usize, buffer: &mut Vec<u8>) -> Visit {
        let limits = &self.options.limits;
        let Visited { position, relative } = visited;
        let known = self.recollection(|memory| match depth {
            1 => memory.at(position, relative),
            _ => memory.of(relative),
        });
        if let Some(visit) = self.take_over(relative, known) {
            return visit;
        }
        let place = Place::beneath(self.root, relative);
        let (mut visit, entries) = self.look_into(&place, position, known, buffer);
        if depth >= limits.max_depth.min(MAX_DEPTH) || (visit.found.is_some() && !limits.nested) {
            return visit;
        }
        let entries = match entries {
            Some(entries) => Ok(entries),
            None if visit.found.is_some() => place.directory().and_then(|d| d.entries(limits.max_entries)),
            None => return visit,
        };
        match entries {
            Ok(entries) => {
                visit.rest.entries = entries.entries.len();
                for link in self.links(&entries.entries) {
                    let message = "a symbolic link this deep is not followed".to_owned();
                    let path = format!("{relative}/{link}");
                    visit.rest.problems.extend(self.problem(&path, RuleId::FileSymlink, message));
                }
                visit.rest.children = self.children(relative, entries, &mut visit.rest.problems);
            }
            Err(fault) => visit.rest.problems.extend(self.unreadable(relative, &fault)),
        }
        visit
    }

    /// Returns what comes of the directory `relative` itself, one below the root, of which `known` is known.
    pub(super) fn look_at(&self, relative: &str, known: Recollection<'_>, buffer: &mut Vec<u8>) -> Visit {
        self.look(&Place::beneath(self.root, relative), 0, known, buffer)
    }

    /// Returns where links may lead.
    pub(super) fn targets(&self) -> Targets {
        match &self.options.links {
            LinkScope::Anywhere => Targets(None),
            // A directory that cannot be resolved holds nothing that a link could lead to.
            LinkScope::Within(directories) => {
                let resolved = directories.iter().filter_map(|directory| canonicalize(directory).ok());
                Targets(Some(resolved.chain([self.root.resolved.clone()]).collect()))
            }
        }
    }

    fn visit_link(&self, relative: &str, targets: &Targets, buffer: &mut Vec<u8>) -> Visit {
        let known = self.recollection(|memory| memory.of_link(relative));
        match self.take_over(relative, known) {
            Some(visit) => visit,
            None => self.follow(relative, known, targets, buffer),
        }
    }

    /// Returns what comes of the link `relative`, of which `known` is known.
    pub(super) fn follow(
        &self,
        relative: &str,
        known: Recollection<'_>,
        targets: &Targets,
        buffer: &mut Vec<u8>,
    ) -> Visit {
        match Place::link(self.root, relative) {
            Ok(place) if targets.include(&place.resolved()) => self.look(&place, 0, known, buffer),
            Ok(_) => {
                let message = "the symbolic link leads out of all roots and is not followed".to_owned();
                Visit::problems(self.problem(relative, RuleId::FileSymlink, message))
            }
            // A link to a file is a file, and files are not looked at.
            Err(Fault::NotDirectory) => Visit::default(),
            Err(fault) => {
                let message = format!("the symbolic link cannot be followed: {}", fault.message());
                Visit::problems(self.problem(relative, RuleId::FileSymlink, message))
            }
        }
    }

    fn look(
        &self,
        place: &Place<'_>,
        position: usize,
        known: Recollection<'_>,
        buffer: &mut Vec<u8>,
    ) -> Visit {
        self.look_into(place, position, known, buffer).0
    }

    /// Looks at one directory; its entries come along if they had to be listed.
    fn look_into(
        &self,
        place: &Place<'_>,
        position: usize,
        known: Recollection<'_>,
        buffer: &mut Vec<u8>,
    ) -> (Visit, Option<Entries>) {
        if let Some(visit) = self.recall(place, known).or_else(|| self.recall_cached(place, position)) {
            return (visit, None);
        }
        let policy = &self.options.policy;
        let limits = &self.options.limits;
        let cap = self.options.caps.manifest_bytes;
        let (file_name, document, length, stamp) =
            match manifest::read(place, Care::Once, cap, limits.max_entries, buffer) {
                Manifest::Read { file_name, stamp } => {
                    let document = manifest::parse(place, &file_name, buffer, stamp, policy);
                    (file_name, document, last_good::length_without_blanks(buffer), stamp)
                }
                Manifest::Refused { file_name, rule, message, help } => {
                    (file_name, manifest::unreadable(place, rule, &message, help, policy), 0, None)
                }
                Manifest::Absent(entries) => return (Visit::default(), entries),
                Manifest::Unreachable(fault) => {
                    return (self.unreachable(place, &fault, known, buffer), None);
                }
            };
        let good = known.found.filter(|found| found.is_reached_as(place)).and_then(|found| found.last_good());
        let good = good.filter(|good| last_good::is_broken(&document, length, good));
        let document = match good {
            Some(good) => last_good::in_force(good, &document, policy),
            None => document,
        };
        let found = self.found(place, file_name, document, stamp);
        let found = Found { good: good.map(Arc::clone), ..found };
        (Visit::of(shared(found, known.found), Origin::File), None)
    }

    /// Returns the skill as the listing before found it, if its `SKILL.md` did not change since.
    fn recall(&self, place: &Place<'_>, known: Recollection<'_>) -> Option<Visit> {
        let found = known.found.filter(|_| known.trust == Trust::Stamp)?;
        let stamp = found.stamp.filter(|_| found.is_settled && found.is_reached_as(place))?;
        let is_same = has_stamp(place, &found.listed.manifest_file, &stamp);
        is_same.then(|| Visit::of(Arc::clone(found), Origin::Memory))
    }

    /// Returns the skill as the cache remembers it, likely at `position`, if its `SKILL.md` did not change since.
    fn recall_cached(&self, place: &Place<'_>, position: usize) -> Option<Visit> {
        let remembered = self.task.cache?.find_at(position, place.relative)?;
        let (file_name, stamp) = (remembered.manifest_file(), remembered.stamp());
        if !has_stamp(place, file_name, stamp) {
            return None;
        }
        let document = remembered.document()?;
        let file_name = if file_name == manifest::FILE_NAME {
            Cow::Borrowed(manifest::FILE_NAME)
        } else {
            Cow::Owned(file_name.to_owned())
        };
        let found = Found { is_settled: true, ..self.found(place, file_name, document, Some(*stamp)) };
        let facts = Some(remembered.facts()).filter(|facts| !facts.is_empty());
        Some(Visit::of(Arc::new(found), Origin::Cache(facts.map(Box::new))))
    }

    fn found(
        &self,
        place: &Place<'_>,
        manifest_file: Cow<'static, str>,
        document: Document,
        stamp: Option<Stamp>,
    ) -> Found {
        let path: Arc<str> = self.shown.join(place.relative).into();
        let identity = match &place.home {
            // One text serves both, where no link leads to the root.
            Home::Beneath | Home::Mounted if self.shown == self.resolved => Arc::clone(&path),
            Home::Beneath | Home::Mounted => self.resolved.join(place.relative).into(),
            Home::Linked(path) => Shown::new(path).join(ROOT_LOCATOR).into(),
        };
        // Most skills are called like their directories, and one text serves both.
        let name = document.name.as_shared();
        let locator = if **name == *place.relative {
            Locator::new(Arc::clone(name))
        } else {
            Locator::new(place.relative)
        };
        let listed =
            Listed { locator, path, manifest_file, identity: Some(identity), document: Arc::new(document) };
        let is_settled = stamp.is_some_and(|stamp| is_settled(&stamp, self.task.started));
        let listed = Arc::new(listed);
        Found { listed, home: place.home.clone(), stamp, is_settled, good: None }
    }

    fn unreachable(
        &self,
        place: &Place<'_>,
        fault: &Fault,
        known: Recollection<'_>,
        buffer: &mut Vec<u8>,
    ) -> Visit {
        // Whoever mounts a directory into a source wants it there; it is read through a handle of its own.
        if let (Fault::Outside, Home::Beneath) = (fault, &place.home)
            && !place.relative.contains('/')
            && let Ok(mounted) = Place::open(place.root, place.relative, &Home::Mounted)
        {
            return self.look(&mounted, 0, known, buffer);
        }
        Visit::problems(self.unreadable(place.relative, fault))
    }

    /// Returns the directories among `entries` that skills are looked for in, sorted.
    fn children(&self, parent: &str, entries: Entries, problems: &mut Vec<Problem>) -> Vec<String> {
        if entries.more {
            problems.extend(self.over_limit());
        }
        let mut children = Vec::new();
        for entry in entries.entries {
            if entry.kind != Kind::Directory || is_skipped(&entry.name) {
                continue;
            }
            let path = format!("{parent}/{}", entry.name);
            if entry.decoded {
                children.push(path);
            } else {
                problems.extend(self.undecoded(&path));
            }
        }
        children.sort_unstable();
        children
    }

    fn links(&self, entries: &[Entry]) -> Vec<String> {
        let is_link = |entry: &&Entry| entry.kind == Kind::Link && entry.decoded && !is_skipped(&entry.name);
        let mut links: Vec<String> = entries.iter().filter(is_link).map(|entry| entry.name.clone()).collect();
        links.sort_unstable();
        links
    }

    /// Returns what is wrong with a directory whose name is approximated by the end of `path`.
    pub(super) fn undecoded(&self, path: &str) -> Option<Problem> {
        self.problem(path, RuleId::FileName, "the name of the directory is not UTF-8".to_owned())
    }

    fn unreadable(&self, relative: &str, fault: &Fault) -> Option<Problem> {
        let message = format!("the directory cannot be read: {}", fault.message());
        self.problem(relative, RuleId::FileUnreadable, message)
    }

    fn over_limit(&self) -> Option<Problem> {
        let message = format!(
            "there are more than {} directories or {} entries; the rest is not looked at",
            self.options.limits.max_directories, self.options.limits.max_entries
        );
        self.problem(ROOT_LOCATOR, RuleId::SourceLimit, message)
    }

    fn problem(&self, relative: &str, rule: RuleId, message: String) -> Option<Problem> {
        let mut reporter = Reporter::new(&self.options.policy);
        reporter.report(rule, message);
        let path = self.shown.join(relative);
        reporter.finish().pop().map(|diagnostic| Problem { path, diagnostic })
    }
}

impl Found {
    /// Returns whether the skill was found where `place` is.
    fn is_reached_as(&self, place: &Place<'_>) -> bool {
        match (&self.home, &place.home) {
            (Home::Linked(before), Home::Linked(now)) => before == now,
            (Home::Linked(_), _) | (_, Home::Linked(_)) => false,
            _ => true,
        }
    }
}

/// Returns whether the `SKILL.md` at `place` is spelled `file_name` and has `stamp`.
fn has_stamp(place: &Place<'_>, file_name: &str, stamp: &Stamp) -> bool {
    // The exact spelling may have come to stand beside another.
    (file_name == manifest::FILE_NAME || matches!(place.stat(manifest::FILE_NAME), Err(Fault::Missing)))
        && matches!(place.stat(file_name), Ok((Kind::File, now)) if now == *stamp)
}

/// Returns `found`, sharing with `known` what is the same.
fn shared(mut found: Found, known: Option<&Arc<Found>>) -> Arc<Found> {
    match known {
        Some(known) if found == **known => Arc::clone(known),
        Some(known) if found.listed == known.listed => {
            found.listed = Arc::clone(&known.listed);
            Arc::new(found)
        }
        _ => Arc::new(found),
    }
}

/// The directories that links may lead into, without links themselves; `None` for all.
#[derive(Default)]
pub(super) struct Targets(Option<Vec<PathBuf>>);

impl Targets {
    fn include(&self, path: &Path) -> bool {
        self.0
            .as_ref()
            .is_none_or(|directories| directories.iter().any(|directory| path.starts_with(directory)))
    }
}

/// Returns whether skills are looked for in a directory or behind a link like this.
pub(super) fn may_be_skill(entry: &Entry) -> bool {
    matches!(entry.kind, Kind::Directory | Kind::Link) && entry.decoded && !is_skipped(&entry.name)
}

pub(super) fn is_skipped(name: &str) -> bool {
    name.starts_with('.') || SKIPPED.contains(&name)
}

/// A directory that is visited, and which of its level it is.
#[derive(Clone, Copy)]
struct Visited<'a> {
    position: usize,
    relative: &'a str,
}

/// Applies `visit` to every path, in order.
fn one_by_one(paths: &[Cow<'_, str>], visit: impl Fn(Visited<'_>, &mut Vec<u8>) -> Visit) -> Vec<Visit> {
    let mut buffer = Vec::new();
    let visited =
        |(position, relative): (usize, &Cow<'_, str>)| visit(Visited { position, relative }, &mut buffer);
    paths.iter().enumerate().map(visited).collect()
}

/// Applies `visit` to every path, in order, on all cores; the buffer is one per core.
fn on_all_cores(
    paths: &[Cow<'_, str>],
    visit: impl Fn(Visited<'_>, &mut Vec<u8>) -> Visit + Sync,
) -> Vec<Visit> {
    let visited = |buffer: &mut Vec<u8>, (position, relative): (usize, &Cow<'_, str>)| {
        visit(Visited { position, relative }, buffer)
    };
    paths.par_iter().enumerate().map_init(Vec::new, visited).collect()
}
