//! Scans a root for skills, within limits and on all cores.
//!
//! The root is listed once; then every directory costs one open, one stat, one read and one close, or a
//! single stat where the scan before read the same file. Directories are visited level by level in bytewise
//! order, so that a limit cuts off the same ones every time.

use std::borrow::Cow;
use std::fs::canonicalize;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use repertoire_model::{Document, Policy, RuleId, Standing};

use super::last_good;
use super::limits::{LinkScope, MAX_DEPTH, ScanLimits};
use super::manifest::{self, ManifestFile};
use super::options::FsOptions;
use super::place::{Home, OpenDirectory, ROOT_LOCATOR, ScanRoot, path_text};
use super::safe_dir::{DirectoryEntry, Entries, EntryKind, FsFault, Stamp, now};
use crate::provider::{ListedSkill, Locator, Problem};

/// Below this many directories, starting threads costs more than it saves.
const SEQUENTIAL_BELOW: usize = 32;

/// The most directories in one beyond the last level that are looked at, to report skills that lie too deep.
const MAX_PROBED: usize = 16;

/// Names of files that were probably meant to be a `SKILL.md`, in any case.
const NEAR_MISSES: [&str; 7] =
    ["SKILLS.md", "SKILL", "SKILL.txt", "SKILL.markdown", "SKILL.mdx", "SKILL.md.txt", "SKIL.md"];

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ScannedSkill {
    pub(super) listed: Arc<ListedSkill>,
    /// The way to its directory.
    pub(super) home: Home,
    /// The stamp of its `SKILL.md` when it was read, if it can reveal a later change.
    stamp: Option<Stamp>,
    /// True if the stamp was old enough that any later change changes it.
    is_settled: bool,
    /// The last good version, if that is in force because the file is broken.
    good: Option<Arc<Document>>,
}

impl ScannedSkill {
    /// Returns the last version of the document that was good.
    pub(super) fn last_good(&self) -> Option<&Arc<Document>> {
        let document = &self.listed.document;
        self.good.as_ref().or_else(|| (document.standing == Standing::Sound).then_some(document))
    }

    /// Returns whether a text read from a file with `stamp` may no longer be the last good one.
    pub(super) fn outdates(&self, stamp: Option<Stamp>) -> bool {
        self.good.is_none() && self.stamp != stamp
    }

    /// Returns whether the skill was found where `place` is.
    fn is_at(&self, place: &OpenDirectory<'_>) -> bool {
        self.home == place.home
            || ![&self.home, &place.home].iter().any(|home| matches!(home, Home::Linked(_)))
    }
}

/// The result of a scan, and the memo of the next one.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The root without links.
    pub(super) resolved: PathBuf,
    /// The policy that documents were made under.
    pub(super) policy: Policy,
    /// The skills, sorted by locator.
    pub(super) skills: Vec<Arc<ScannedSkill>>,
    pub(super) problems: Vec<Problem>,
    /// The directories that hold no skill themselves and may become one, or hold others.
    pub(super) others: Vec<OtherDirectory>,
}

/// A directory that was searched and holds no skill itself.
#[derive(Debug)]
pub(super) struct OtherDirectory {
    pub(super) relative: String,
    /// True if directories below it are searched as well.
    pub(super) is_parent: bool,
}

impl Scan {
    pub(super) fn find(&self, locator: &str) -> Option<&Arc<ScannedSkill>> {
        let index = self.skills.binary_search_by(|skill| skill.listed.locator.as_str().cmp(locator)).ok()?;
        self.skills.get(index)
    }

    /// Adds the result for the directory `relative`, and returns the directories below it.
    fn add(&mut self, relative: &str, visit: Visit) -> Vec<String> {
        self.problems.extend(visit.problems);
        match visit.skill {
            Some(skill) => self.skills.push(skill),
            None => {
                let is_parent = !visit.children.is_empty() || visit.entries > 0;
                self.others.push(OtherDirectory { relative: relative.to_owned(), is_parent });
            }
        }
        visit.children
    }
}

/// The result for one directory.
#[derive(Debug, Default)]
struct Visit {
    skill: Option<Arc<ScannedSkill>>,
    problems: Vec<Problem>,
    /// The directories below it that are searched for skills.
    children: Vec<String>,
    /// The number of entries that were read.
    entries: usize,
    /// The links in it that may lead to skills.
    links: Vec<String>,
    /// A directory below it that holds a skill and is not searched, because it lies too deep.
    too_deep: Option<String>,
    /// True if it is a repository and no skill.
    is_repository: bool,
    /// The directory that a link leads to if it is not a skill, and its skills; empty if it cannot be read.
    group: Option<(PathBuf, Vec<Arc<ScannedSkill>>)>,
}

impl Visit {
    fn of(skill: Arc<ScannedSkill>) -> Self {
        Self { skill: Some(skill), ..Self::default() }
    }

    fn of_problem(problem: Option<Problem>) -> Self {
        Self { problems: problem.into_iter().collect(), ..Self::default() }
    }
}

/// Scans `root`. Files with the same stamp as in the scan `before` are not read again.
pub(super) fn scan(options: &FsOptions, policy: &Policy, root: &ScanRoot, before: Option<&Scan>) -> Scan {
    let mut scan = Scan { resolved: root.resolved.clone(), policy: policy.clone(), ..Scan::default() };
    let group_room = AtomicUsize::new(options.limits.max_directories);
    let scanner = Scanner { options, policy, root, before, started: now(), group_room };
    scanner.run(&mut scan);
    // A limit may be reached on every level, and is reported once.
    let (over_limit, mut is_first) = (scanner.over_limit(), true);
    scan.problems
        .retain(|problem| Some(problem) != over_limit.as_ref() || std::mem::replace(&mut is_first, false));
    scan.skills.sort_unstable_by(|a, b| a.listed.locator.cmp(&b.listed.locator));
    scan
}

struct Scanner<'a> {
    options: &'a FsOptions,
    policy: &'a Policy,
    root: &'a ScanRoot,
    before: Option<&'a Scan>,
    /// When the scan began.
    started: i64,
    /// The number of directories that may still be examined in groups that links lead to.
    group_room: AtomicUsize,
}

impl Scanner<'_> {
    fn run(&self, scan: &mut Scan) {
        let limits = &self.options.limits;
        let entries = match self.root.handle.entries(limits.max_entries) {
            Ok(entries) => entries,
            Err(fault) => {
                let message = format!("the directory cannot be listed: {}", fault.message());
                return scan.problems.extend(self.problem(ROOT_LOCATOR, RuleId::SourceBroken, message));
            }
        };
        let mut read = entries.entries.len();
        let has_manifest = entries.entries.iter().any(|entry| manifest::is_spelling(&entry.name));
        let mut links = links("", &entries.entries, limits);
        let mut level = self.children("", entries, &mut scan.problems);
        let mut room = limits.max_directories;
        let (mut repositories, mut too_deep) = (Vec::new(), None);
        for depth in 1..=limits.max_depth.clamp(1, MAX_DEPTH) {
            if level.len() > room || (depth > 1 && read > limits.max_entries) {
                scan.problems.extend(self.over_limit());
                level.truncate(if read > limits.max_entries { 0 } else { room });
            }
            room -= level.len();
            let visits = each(&level, |relative| self.visit(relative, depth));
            let mut children = Vec::new();
            for (relative, mut visit) in level.iter().zip(visits) {
                read += visit.entries;
                links.append(&mut visit.links);
                too_deep = too_deep.or(visit.too_deep.take());
                if visit.is_repository {
                    repositories.push(relative.clone());
                }
                children.extend(scan.add(relative, visit));
            }
            children.sort_unstable();
            level = children;
        }
        for repository in repositories {
            let is_in_it = |path: &str| {
                path.strip_prefix(repository.as_str()).is_some_and(|below| below.starts_with('/'))
            };
            let is_found = scan.skills.iter().any(|skill| is_in_it(skill.listed.locator.as_str()));
            if !is_found && !too_deep.as_deref().is_some_and(is_in_it) {
                scan.problems.extend(self.empty_repository(&repository));
            }
        }
        scan.problems.extend(too_deep.and_then(|path| self.too_deep(&path)));
        if links.len() > room {
            scan.problems.extend(self.over_limit());
        }
        let links = &links[..links.len().min(room)];
        let targets = if links.is_empty() { None } else { self.targets() };
        let visits = each(links, |relative| self.visit_link(relative, targets.as_deref()));
        for visit in visits {
            scan.problems.extend(visit.problems);
            scan.skills.extend(visit.skill);
            if let Some((directory, skills)) = visit.group {
                let relative = directory.to_string_lossy().into_owned();
                scan.others.push(OtherDirectory { relative, is_parent: true });
                scan.skills.extend(skills);
            }
        }
        if has_manifest {
            self.visit_root(scan);
        }
    }

    /// Examines the `SKILL.md` of the root itself, after everything below it.
    ///
    /// A root that is a skill hides skills inside it, as any skill does; a stray file beside skills does not.
    fn visit_root(&self, scan: &mut Scan) {
        let place = OpenDirectory::beneath(self.root, ROOT_LOCATOR);
        let (visit, _) = self.examine(&place);
        if let Some(skill) = &visit.skill {
            let Document { name, manifest, .. } = &*skill.listed.document;
            let is_bare = manifest.name.is_none() && manifest.description.is_none();
            let is_named_after_root = place.directory_name().as_deref() == Some(name.as_str());
            let is_beside = scan.skills.iter().any(|skill| !skill.listed.locator.as_str().contains('/'));
            if is_bare && is_beside {
                return scan.problems.extend(self.stray(&skill.listed.manifest_file));
            }
            if !self.options.limits.nested && !is_bare && (is_named_after_root || !is_beside) {
                // Hidden directories are not part of a skill.
                scan.skills.retain(|skill| skill.listed.locator.as_str().starts_with('.'));
                scan.problems.clear();
            }
        }
        scan.problems.extend(visit.problems);
        scan.skills.extend(visit.skill);
    }

    /// Returns the problem of a file in the root that makes no skill of a directory of skills.
    fn stray(&self, file: &str) -> Option<Problem> {
        let message =
            "the file has no frontmatter and lies beside skills, so it is ignored; a skill has a directory of its own"
                .to_owned();
        self.problem(file, RuleId::FrontmatterMissing, message)
    }

    fn visit(&self, relative: &str, depth: usize) -> Visit {
        let limits = &self.options.limits;
        let place = OpenDirectory::beneath(self.root, relative);
        let (mut visit, entries) = self.examine(&place);
        if depth >= limits.max_depth.min(MAX_DEPTH) || (visit.skill.is_some() && !limits.nested) {
            if let Some(entries) = entries {
                visit.problems.extend(self.near_miss(relative, &entries));
                visit.too_deep = self.skill_below(relative, entries);
            }
            return visit;
        }
        let entries = match entries {
            Some(entries) => Ok(entries),
            None if visit.skill.is_some() => place.directory().and_then(|d| d.entries(limits.max_entries)),
            None => return visit,
        };
        match entries {
            Ok(entries) => {
                // One at least, because the directory was searched even if there is nothing in it yet.
                visit.entries = entries.entries.len().max(1);
                visit.links = links(relative, &entries.entries, limits);
                if visit.skill.is_none() {
                    visit.problems.extend(self.near_miss(relative, &entries));
                }
                visit.is_repository =
                    visit.skill.is_none() && entries.entries.iter().any(|entry| entry.name == ".git");
                visit.children = self.children(relative, entries, &mut visit.problems);
            }
            Err(fault) => visit.problems.extend(self.unreadable(relative, &fault)),
        }
        visit
    }

    /// Returns the directories that links may lead into, without links themselves; `None` for all.
    fn targets(&self) -> Option<Vec<PathBuf>> {
        match &self.options.links {
            LinkScope::Anywhere => None,
            // A directory that cannot be resolved holds nothing that a link could lead to.
            LinkScope::Within(directories) => {
                let resolved = directories.iter().filter_map(|directory| canonicalize(directory).ok());
                Some(resolved.chain([self.root.resolved.clone()]).collect())
            }
        }
    }

    fn visit_link(&self, relative: &str, targets: Option<&[PathBuf]>) -> Visit {
        let is_target =
            |path: PathBuf| targets.is_none_or(|all| all.iter().any(|target| path.starts_with(target)));
        match OpenDirectory::link(self.root, relative) {
            Ok(place) if is_target(place.resolved()) => {
                let (mut visit, entries) = self.examine(&place);
                match entries {
                    Some(entries) if visit.skill.is_none() => self.visit_group(relative, &place, entries),
                    None if visit.skill.is_none() => {
                        visit.group = Some((place.resolved(), Vec::new()));
                        visit
                    }
                    _ => visit,
                }
            }
            Ok(_) => {
                let message = "the symbolic link leads out of all roots and is not followed".to_owned();
                Visit::of_problem(self.problem(relative, RuleId::FileSymlink, message))
            }
            // A link to a file is a file, and files are ignored.
            Err(FsFault::NotDirectory) => Visit::default(),
            Err(fault) => {
                let message = format!("the symbolic link cannot be followed: {}", fault.message());
                let mut visit = Visit::of_problem(self.problem(relative, RuleId::FileSymlink, message));
                if fault.into_io().kind() == io::ErrorKind::PermissionDenied {
                    visit.group = Some((self.root.resolved.join(relative), Vec::new()));
                }
                visit
            }
        }
    }

    /// Examines the directories of a group of skills that the link `relative` leads to.
    fn visit_group(&self, relative: &str, group: &OpenDirectory<'_>, entries: Entries) -> Visit {
        let (directory, mut visit) = (group.resolved(), Visit::default());
        let mut skills = Vec::new();
        let mut names = self.children("", entries, &mut visit.problems);
        // A link to a directory above the root would make skills of its neighbours.
        if self.root.resolved.starts_with(&directory) {
            names.clear();
        }
        let take = |room: usize| Some(room.saturating_sub(names.len()));
        let room =
            self.group_room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).unwrap_or_default();
        if names.len() > room {
            visit.problems.extend(self.over_limit());
            names.truncate(room);
        }
        for name in names {
            let locator = format!("{relative}/{name}");
            match OpenDirectory::open(self.root, &locator, &Home::Linked(directory.join(&name))) {
                Ok(place) => {
                    let (found, entries) = self.examine(&place);
                    visit.problems.extend(found.problems);
                    visit.problems.extend(entries.and_then(|entries| self.near_miss(&locator, &entries)));
                    skills.extend(found.skill);
                }
                Err(fault) => visit.problems.extend(self.unreadable(&locator, &fault)),
            }
        }
        // In a group a link may lead to a directory of anything, as a directory there may be one.
        if skills.is_empty() && !relative.contains('/') {
            let message =
                "the symbolic link leads neither to a skill nor to a directory of skills".to_owned();
            visit.problems.extend(self.problem(relative, RuleId::FileSymlink, message));
        }
        visit.group = Some((directory, skills));
        visit
    }

    /// Returns the problem of a repository in which no skill was found.
    fn empty_repository(&self, relative: &str) -> Option<Problem> {
        let depth = self.options.limits.max_depth.min(MAX_DEPTH);
        let message = format!(
            "the repository holds no skill within {depth} levels of the root; if there are any, add their directory to `roots`"
        );
        self.problem(relative, RuleId::SourceLimit, message)
    }

    /// Returns a directory directly below `relative` that holds a skill; the first few are looked at.
    fn skill_below(&self, relative: &str, entries: Entries) -> Option<String> {
        let children = self.children(relative, entries, &mut Vec::new());
        let is_skill = |path: &String| {
            matches!(
                OpenDirectory::beneath(self.root, path).stat(manifest::FILE_NAME),
                Ok((EntryKind::File, _))
            )
        };
        children.into_iter().take(MAX_PROBED).find(is_skill)
    }

    /// Returns the problem of skills that lie too deep, of which `relative` is one.
    fn too_deep(&self, relative: &str) -> Option<Problem> {
        let depth = self.options.limits.max_depth.min(MAX_DEPTH);
        let message = format!(
            "this skill lies deeper than {depth} levels below the root, where no skills are searched; add the directory around it to `roots`"
        );
        self.problem(relative, RuleId::SourceLimit, message)
    }

    /// Returns the problem of a directory that is not a skill because of the name of a file.
    fn near_miss(&self, relative: &str, entries: &Entries) -> Option<Problem> {
        let file = entries
            .entries
            .iter()
            .find(|entry| entry.kind == EntryKind::File && is_near_miss(&entry.name))?;
        let message = format!(
            "the directory is not a skill, because the file is called `{}` and not SKILL.md",
            file.name
        );
        self.problem(relative, RuleId::ManifestCase, message)
    }

    /// Examines one directory; its entries come along if they had to be listed.
    fn examine(&self, place: &OpenDirectory<'_>) -> (Visit, Option<Entries>) {
        let before =
            self.before.and_then(|before| before.find(place.relative)).filter(|skill| skill.is_at(place));
        if let Some(skill) = before.filter(|skill| is_unchanged(skill, place)) {
            return (Visit::of(Arc::clone(skill)), None);
        }
        let (limits, cap) = (&self.options.limits, self.options.caps.manifest_bytes);
        let (file_name, document, length, stamp) = match manifest::read(place, cap, limits.max_entries) {
            ManifestFile::Read { file_name, bytes, stamp } => {
                let parse = Document::parse_for_listing;
                let document = manifest::parse(parse, place, &file_name, &bytes, stamp, self.policy);
                (file_name, document, last_good::length_without_blanks(&bytes), stamp)
            }
            ManifestFile::Refused { file_name, rule, message, help } => {
                (file_name, manifest::unreadable(place, rule, &message, help, self.policy), 0, None)
            }
            ManifestFile::Absent(entries) => return (Visit::default(), entries),
            ManifestFile::Unreachable(fault) => return (self.unreachable(place, &fault), None),
        };
        let good = before.and_then(|skill| skill.last_good()).cloned();
        let good = good
            .or_else(|| self.past(place, &document))
            .filter(|good| last_good::is_broken(&document, length, good));
        let document = match &good {
            Some(good) => last_good::in_force(good, &document, self.policy),
            None => document,
        };
        let skill = self.skill(place, file_name, document, stamp, good);
        (Visit::of(shared(skill, before)), None)
    }

    /// Returns the newest recorded version of a skill that is broken on disk.
    fn past(&self, place: &OpenDirectory<'_>, document: &Document) -> Option<Arc<Document>> {
        if document.standing == Standing::Sound {
            return None;
        }
        let (document, _) = last_good::recorded(self.options, place, self.policy)?;
        Some(Arc::new(document))
    }

    fn skill(
        &self,
        place: &OpenDirectory<'_>,
        manifest_file: Cow<'static, str>,
        document: Document,
        stamp: Option<Stamp>,
        good: Option<Arc<Document>>,
    ) -> ScannedSkill {
        let listed = ListedSkill {
            locator: Locator::new(place.relative),
            path: path_text(&self.options.root, place.relative).into(),
            manifest_file,
            identity: Some(place.resolved().to_string_lossy().into()),
            document: Arc::new(document),
        };
        let is_settled = stamp.is_some_and(|stamp| stamp.is_settled(self.started));
        ScannedSkill { listed: Arc::new(listed), home: place.home.clone(), stamp, is_settled, good }
    }

    fn unreachable(&self, place: &OpenDirectory<'_>, fault: &FsFault) -> Visit {
        // A mounted directory is there on purpose; it is read through a handle of its own.
        if let (FsFault::Outside, Home::Beneath) = (fault, &place.home)
            && !place.relative.contains('/')
            && let Ok(mounted) = OpenDirectory::open(place.root, place.relative, &Home::Mounted)
        {
            return self.examine(&mounted).0;
        }
        Visit::of_problem(self.unreadable(place.relative, fault))
    }

    /// Returns the directories among `entries` that are searched for skills, sorted.
    fn children(&self, parent: &str, entries: Entries, problems: &mut Vec<Problem>) -> Vec<String> {
        if entries.more {
            problems.extend(self.over_limit());
        }
        let mut children = Vec::new();
        for entry in entries.entries {
            if entry.kind != EntryKind::Directory || self.options.limits.skips(&entry.name) {
                continue;
            }
            let path = join(parent, &entry.name);
            if entry.decoded {
                children.push(path);
            } else {
                problems.extend(self.undecoded(&path));
            }
        }
        children.sort_unstable();
        children
    }

    /// Returns the problem of a directory whose name is approximated by the end of `path`.
    fn undecoded(&self, path: &str) -> Option<Problem> {
        self.problem(path, RuleId::FileName, "the name of the directory is not UTF-8".to_owned())
    }

    fn unreadable(&self, relative: &str, fault: &FsFault) -> Option<Problem> {
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
        Problem::new(self.policy, rule, path_text(&self.options.root, relative), message)
    }
}

/// Returns whether the `SKILL.md` at `place` is still the file that `skill` was read from.
fn is_unchanged(skill: &ScannedSkill, place: &OpenDirectory<'_>) -> bool {
    let Some(stamp) = skill.stamp.filter(|_| skill.is_settled) else { return false };
    let file_name = &*skill.listed.manifest_file;
    // The exact spelling may have appeared beside another.
    (file_name == manifest::FILE_NAME || matches!(place.stat(manifest::FILE_NAME), Err(FsFault::Missing)))
        && matches!(place.stat(file_name), Ok((EntryKind::File, now)) if now == stamp)
}

/// Returns `skill`, sharing equal parts with the skill `before`.
fn shared(mut skill: ScannedSkill, before: Option<&Arc<ScannedSkill>>) -> Arc<ScannedSkill> {
    match before {
        Some(before) if skill == **before => Arc::clone(before),
        Some(before) if skill.listed == before.listed => {
            skill.listed = Arc::clone(&before.listed);
            Arc::new(skill)
        }
        _ => Arc::new(skill),
    }
}

/// Applies `visit` to every path, in order, on all cores if that is worth it.
fn each(paths: &[String], visit: impl Fn(&str) -> Visit + Sync) -> Vec<Visit> {
    if paths.len() < SEQUENTIAL_BELOW {
        return paths.iter().map(|path| visit(path)).collect();
    }
    paths.par_iter().map(|path| visit(path)).collect()
}

/// Returns whether a file called `name` was probably meant to be a `SKILL.md`.
fn is_near_miss(name: &str) -> bool {
    NEAR_MISSES.iter().any(|near| name.eq_ignore_ascii_case(near))
}

/// Returns the links among the `entries` of `parent` that may lead to skills, sorted.
fn links(parent: &str, entries: &[DirectoryEntry], limits: &ScanLimits) -> Vec<String> {
    let is_link = |entry: &&DirectoryEntry| {
        entry.kind == EntryKind::Link && entry.decoded && !limits.skips(&entry.name)
    };
    let links = entries.iter().filter(is_link).map(|entry| join(parent, &entry.name));
    let mut links: Vec<String> = links.collect();
    links.sort_unstable();
    links
}

/// Returns the path of `name` in `parent`, which is empty for the root.
fn join(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}/{name}") }
}

/// Returns whether a directory or link like this is searched for skills.
pub(super) fn may_be_skill(entry: &DirectoryEntry, limits: &ScanLimits) -> bool {
    matches!(entry.kind, EntryKind::Directory | EntryKind::Link)
        && entry.decoded
        && !limits.skips(&entry.name)
}
