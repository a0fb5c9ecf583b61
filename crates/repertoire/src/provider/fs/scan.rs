//! Looks for skills below a root, within bounds and on all cores.
//!
//! The root is listed once, or remembered; then every directory costs one open, one stat, one read and one close. Directories are
//! visited level by level in bytewise order, so that a bound cuts off the same ones every time.

use std::borrow::Cow;
use std::fs::canonicalize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use repertoire_model::validate::Reporter;
use repertoire_model::{Document, RuleId};

use super::cache::{Cache, Facts};
use super::limits::{LinkScope, MAX_DEPTH};
use super::manifest::{self, Care, Manifest};
use super::place::{Home, Place, ROOT_LOCATOR, Root, Shown};
use super::provider::FsOptions;
use super::root_entries::{RootEntries, RootManifest};
use super::safe_dir::{Entries, Entry, Fault, Kind, Stamp};
use crate::provider::{Listed, Locator, Problem};

/// Directories that hold no skills but may hold very many files.
const SKIPPED: [&str; 3] = [".git", "node_modules", "target"];

/// Below this many directories starting threads costs more than it saves.
const SEQUENTIAL_BELOW: usize = 32;

/// A skill that was found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) listed: Listed,
    pub(super) home: Home,
    /// What its `SKILL.md` was like when it was read, where that can tell a later change.
    pub(super) stamp: Option<Stamp>,
    /// What else the cache knows, where the document comes from there.
    pub(super) remembered: Option<Facts>,
}

/// What a scan found.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The skills, sorted by locator; in boxes, so that sorting and handing on move little.
    #[allow(clippy::vec_box)]
    pub(super) found: Vec<Box<Found>>,
    pub(super) problems: Vec<Problem>,
}

/// What came of one directory.
#[derive(Debug, Default)]
struct Visit {
    /// In a box, because most of a scan's memory is these.
    found: Option<Box<Found>>,
    problems: Vec<Problem>,
    children: Vec<String>,
    entries: usize,
}

/// Looks for skills below `root`, which holds `entries`; those that are as `cache` remembers them are not read.
pub(super) fn scan(
    options: &FsOptions,
    root: &Root,
    entries: &Result<RootEntries<'_>, Fault>,
    cache: Option<&Cache>,
) -> Scan {
    let (shown, resolved) = (Shown::new(&options.root), Shown::new(&root.resolved));
    let scanner = Scanner { options, root, shown, resolved, cache };
    let mut scan = Scan::default();
    scanner.run(entries, &mut scan);
    scan.found.sort_unstable_by(|a, b| a.listed.locator.cmp(&b.listed.locator));
    scan
}

struct Scanner<'a> {
    options: &'a FsOptions,
    root: &'a Root,
    /// The root as people see it.
    shown: Shown,
    /// The root without links.
    resolved: Shown,
    cache: Option<&'a Cache>,
}

impl Scanner<'_> {
    fn run(&self, entries: &Result<RootEntries<'_>, Fault>, scan: &mut Scan) {
        let limits = &self.options.limits;
        let entries = match entries {
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
            let visits = each(&level, |visited, buffer| self.visit(visited, depth, buffer));
            let mut children = Vec::new();
            for visit in visits {
                read += visit.entries;
                scan.found.extend(visit.found);
                scan.problems.extend(visit.problems);
                children.extend(visit.children.into_iter().map(Cow::Owned));
            }
            children.sort_unstable();
            level = Cow::Owned(children);
        }

        if entries.links.len() > room {
            scan.problems.extend(self.over_limit());
        }
        let links = &entries.links[..entries.links.len().min(room)];
        let targets = if links.is_empty() { Targets::default() } else { self.targets() };
        for visit in each(links, |visited, buffer| self.visit_link(visited.relative, &targets, buffer)) {
            scan.found.extend(visit.found);
            scan.problems.extend(visit.problems);
        }
        // A stray file such as `Skill.md` beside skills does not make all of them one skill.
        if scan.found.is_empty() && entries.manifest != RootManifest::None {
            self.visit_root(scan);
        }
    }

    fn visit_root(&self, scan: &mut Scan) {
        let visit = self.look(&Place::beneath(self.root, ROOT_LOCATOR), 0, &mut Vec::new());
        scan.found.extend(visit.found);
        scan.problems.extend(visit.problems);
    }

    fn visit(&self, visited: Visited<'_>, depth: usize, buffer: &mut Vec<u8>) -> Visit {
        let limits = &self.options.limits;
        let relative = visited.relative;
        let place = Place::beneath(self.root, relative);
        let (mut visit, entries) = self.look_into(&place, visited.position, buffer);
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
                visit.entries = entries.entries.len();
                for link in self.links(&entries.entries) {
                    let message = "a symbolic link this deep is not followed".to_owned();
                    let path = format!("{relative}/{link}");
                    visit.problems.extend(self.problem(&path, RuleId::FileSymlink, message));
                }
                visit.children = self.children(relative, entries, &mut visit.problems);
            }
            Err(fault) => visit.problems.extend(self.unreadable(relative, &fault)),
        }
        visit
    }

    /// Returns where links may lead.
    fn targets(&self) -> Targets {
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
        match Place::link(self.root, relative) {
            Ok(place) if targets.include(&place.resolved()) => self.look(&place, 0, buffer),
            Ok(_) => {
                let message = "the symbolic link leads out of all roots and is not followed".to_owned();
                let problems = self.problem(relative, RuleId::FileSymlink, message).into_iter().collect();
                Visit { problems, ..Visit::default() }
            }
            // A link to a file is a file, and files are not looked at.
            Err(Fault::NotDirectory) => Visit::default(),
            Err(fault) => {
                let message = format!("the symbolic link cannot be followed: {}", fault.message());
                let problems = self.problem(relative, RuleId::FileSymlink, message).into_iter().collect();
                Visit { problems, ..Visit::default() }
            }
        }
    }

    fn look(&self, place: &Place<'_>, position: usize, buffer: &mut Vec<u8>) -> Visit {
        self.look_into(place, position, buffer).0
    }

    /// Looks at one directory; its entries come along if they had to be listed.
    fn look_into(
        &self,
        place: &Place<'_>,
        position: usize,
        buffer: &mut Vec<u8>,
    ) -> (Visit, Option<Entries>) {
        if let Some(found) = self.recall(place, position) {
            return (Visit { found: Some(Box::new(found)), ..Visit::default() }, None);
        }
        let policy = &self.options.policy;
        let limits = &self.options.limits;
        let cap = self.options.caps.manifest_bytes;
        let (file_name, document, stamp) =
            match manifest::read(place, Care::Once, cap, limits.max_entries, buffer) {
                Manifest::Read { file_name, stamp } => {
                    let document = manifest::parse(place, &file_name, buffer, stamp, policy);
                    (file_name, document, stamp)
                }
                Manifest::Refused { file_name, rule, message, help } => {
                    (file_name, manifest::unreadable(place, rule, &message, help, policy), None)
                }
                Manifest::Absent(entries) => return (Visit::default(), entries),
                Manifest::Unreachable(fault) => return (self.unreachable(place, &fault, buffer), None),
            };
        (
            Visit {
                found: Some(Box::new(self.found(place, file_name, document, stamp))),
                ..Visit::default()
            },
            None,
        )
    }

    /// Returns the skill as the cache remembers it, likely at `position`, if its `SKILL.md` did not change since.
    fn recall(&self, place: &Place<'_>, position: usize) -> Option<Found> {
        let remembered = self.cache?.find_at(position, place.relative)?;
        let file_name = remembered.manifest_file();
        let is_exact = file_name == manifest::FILE_NAME;
        if !is_exact && !matches!(place.stat(manifest::FILE_NAME), Err(Fault::Missing)) {
            return None;
        }
        let (kind, stamp) = place.stat(file_name).ok()?;
        if kind != Kind::File || stamp != *remembered.stamp() {
            return None;
        }
        let document = remembered.document()?;
        let file_name =
            if is_exact { Cow::Borrowed(manifest::FILE_NAME) } else { Cow::Owned(file_name.to_owned()) };
        Some(Found {
            remembered: Some(remembered.facts()),
            ..self.found(place, file_name, document, Some(stamp))
        })
    }

    fn found(
        &self,
        place: &Place<'_>,
        manifest_file: Cow<'static, str>,
        document: Document,
        stamp: Option<Stamp>,
    ) -> Found {
        let identity = match &place.home {
            Home::Beneath | Home::Mounted => self.resolved.join(place.relative),
            Home::Linked(path) => Shown::new(path).join(ROOT_LOCATOR),
        };
        let listed = Listed {
            locator: Locator::new(place.relative),
            path: self.shown.join(place.relative).into(),
            manifest_file,
            identity: Some(identity.into()),
            document: Arc::new(document),
        };
        Found { listed, home: place.home.clone(), stamp, remembered: None }
    }

    fn unreachable(&self, place: &Place<'_>, fault: &Fault, buffer: &mut Vec<u8>) -> Visit {
        // Whoever mounts a directory into a source wants it there; it is read through a handle of its own.
        if let (Fault::Outside, Home::Beneath) = (fault, &place.home)
            && !place.relative.contains('/')
            && let Ok(mounted) = Place::open(place.root, place.relative, &Home::Mounted)
        {
            return self.look(&mounted, 0, buffer);
        }
        let problems = self.unreadable(place.relative, fault).into_iter().collect();
        Visit { problems, ..Visit::default() }
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

    fn undecoded(&self, path: &str) -> Option<Problem> {
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

/// The directories that links may lead into, without links themselves; `None` for all.
#[derive(Default)]
struct Targets(Option<Vec<PathBuf>>);

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

/// Applies `visit` to every path, in order, on all cores; the buffer is one per core.
fn each(paths: &[Cow<'_, str>], visit: impl Fn(Visited<'_>, &mut Vec<u8>) -> Visit + Sync) -> Vec<Visit> {
    if paths.len() < SEQUENTIAL_BELOW {
        let mut buffer = Vec::new();
        let visited =
            |(position, relative): (usize, &Cow<'_, str>)| visit(Visited { position, relative }, &mut buffer);
        return paths.iter().enumerate().map(visited).collect();
    }
    let visited = |buffer: &mut Vec<u8>, (position, relative): (usize, &Cow<'_, str>)| {
        visit(Visited { position, relative }, buffer)
    };
    paths.par_iter().enumerate().map_init(Vec::new, visited).collect()
}
