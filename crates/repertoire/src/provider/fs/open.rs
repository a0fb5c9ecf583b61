//! What a [`super::FsProvider`] does, without the waiting.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use repertoire_model::validate::Reporter;
use repertoire_model::{Bundle, BundleFile, Digest, RuleId, SkillPath};

use super::cache::{Cache, CacheFile, Facts, is_settled, now};
use super::manifest::{self, Care, Manifest};
use super::place::{Home, Place, ROOT_LOCATOR, Root};
use super::provider::{FsOptions, display};
use super::root_entries::{self, RootEntries};
use super::safe_dir::{Fault, SafeDir, Stamp};
use super::scan::{Found, scan};
use super::walk::{Walked, WalkedFile, walk};
use crate::provider::{FileListing, Listing, Locator, Mark, OpenedSkill, Problem, Skill};
use crate::{Error, ErrorKind};

/// A directory of skills, and what the last listing found in it.
#[derive(Debug)]
pub(super) struct Source {
    options: FsOptions,
    /// How many listings were begun.
    listings: AtomicU64,
    /// `None` before the first listing of a root that could be opened.
    known: Mutex<Option<Known>>,
}

/// What the last listing found.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The number of the listing.
    listing: u64,
    /// Sorted by locator.
    skills: Vec<KnownSkill>,
    /// What is remembered about skills, where anything is.
    pub(super) facts: HashMap<Locator, Facts>,
    /// Skills about which more is remembered than the cache holds.
    pub(super) dirty: HashSet<Locator>,
    pub(super) cache: Option<CacheFile>,
}

/// A skill of the last listing.
#[derive(Debug)]
pub(super) struct KnownSkill {
    locator: Locator,
    /// How it is reached.
    pub(super) home: Home,
    /// What its `SKILL.md` was like.
    pub(super) stamp: Option<Stamp>,
}

impl Known {
    /// Returns the skill at `locator`.
    pub(super) fn find(&self, locator: &Locator) -> Option<&KnownSkill> {
        let found = self.skills.binary_search_by(|skill| skill.locator.cmp(locator)).ok()?;
        self.skills.get(found)
    }
}

impl Source {
    pub(super) fn new(options: FsOptions) -> Self {
        Self { options, listings: AtomicU64::new(0), known: Mutex::new(None) }
    }

    pub(super) fn options(&self) -> &FsOptions {
        &self.options
    }

    pub(super) fn known(&self) -> MutexGuard<'_, Option<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns every skill below the root.
    pub(super) fn list(&self) -> Listing {
        let listing = self.listings.fetch_add(1, Ordering::Relaxed) + 1;
        let root = match Root::open(&self.options.root) {
            Ok(root) => root,
            // Skills of the last listing stay known: snapshots that hold them outlive a fault that passes.
            Err(fault) => return self.broken(&fault),
        };
        let file = self.cache_file(&root);
        let started = now();
        let cache = file.as_ref().and_then(CacheFile::load);
        let entries = self.root_entries(&root, cache.as_ref());
        let mut scan = scan(&self.options, &root, &entries, cache.as_ref());
        let mut known = Known { listing, skills: Vec::with_capacity(scan.found.len()), ..Known::default() };
        if let Some(file) = file {
            scan.problems.extend(self.remember(&file, cache.as_ref(), &entries, &scan.found, started));
            known.cache = Some(file);
        }
        // Its memory serves what follows.
        drop(entries);
        drop(cache);
        let mut skills = Vec::with_capacity(scan.found.len());
        for found in scan.found {
            let Found { listed, home, stamp, remembered } = *found;
            if let Some(facts) = remembered.filter(|facts| !facts.is_empty()) {
                known.facts.insert(listed.locator.clone(), facts);
            }
            known.skills.push(KnownSkill { locator: listed.locator.clone(), home, stamp });
            skills.push(listed);
        }
        self.publish(known);
        Listing { skills, problems: scan.problems }
    }

    /// Makes `known` what the last listing found, unless that began later.
    fn publish(&self, known: Known) {
        let mut current = self.known();
        if current.as_ref().is_none_or(|current| current.listing < known.listing) {
            *current = Some(known);
        }
    }

    /// Returns what lies directly below `root`: what the cache remembers, if the root did not change since.
    fn root_entries<'a>(&self, root: &Root, cache: Option<&'a Cache>) -> Result<RootEntries<'a>, Fault> {
        let limit = self.options.limits.max_entries;
        let remembered = cache.and_then(Cache::root_entries);
        match remembered.filter(|entries| entries.are_those_at(root_entries::stamp(root), limit)) {
            Some(entries) => Ok(entries),
            None => RootEntries::list(root, limit),
        }
    }

    /// Returns the listing of a root that cannot be opened; one that is not there (yet) is merely empty.
    fn broken(&self, fault: &Fault) -> Listing {
        if let Fault::Missing = fault {
            return Listing::default();
        }
        let mut reporter = Reporter::new(&self.options.policy);
        reporter.report(RuleId::SourceBroken, format!("the directory cannot be read: {}", fault.message()));
        let path = display(&self.options.root, ROOT_LOCATOR);
        let problem = reporter.finish().pop().map(|diagnostic| Problem { path, diagnostic });
        Listing { skills: Vec::new(), problems: problem.into_iter().collect() }
    }

    /// Calls `work` with the place of a skill of the last listing.
    pub(super) fn at<T>(
        &self,
        locator: &Locator,
        work: impl FnOnce(&Place<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let unlisted = self.known().is_none();
        if unlisted {
            self.list();
        }
        let home = self.known().as_ref().and_then(|known| Some(known.find(locator)?.home.clone()));
        let lost = |fault| self.lost(locator, fault);
        let root = Root::open(&self.options.root).map_err(lost)?;
        let home = home.ok_or_else(|| lost(Fault::Missing))?;
        let place = Place::open(&root, locator.as_str(), &home).map_err(lost)?;
        work(&place)
    }

    /// Returns the error of a skill that cannot be reached.
    fn lost(&self, locator: &Locator, fault: Fault) -> Error {
        let error =
            |kind| Error::new(kind).about(locator.as_str()).at(display(&self.options.root, locator.as_str()));
        match fault {
            // Where something else stands by now, the skill is gone too.
            Fault::Missing | Fault::NotDirectory | Fault::Link | Fault::Special | Fault::Outside => {
                error(ErrorKind::SkillNotFound)
            }
            Fault::Io(source) if source.kind() == std::io::ErrorKind::NotFound => {
                error(ErrorKind::SkillNotFound)
            }
            fault => error(ErrorKind::Io).because(fault.into_io()),
        }
    }

    fn manifest(&self, place: &Place<'_>, buffer: &mut Vec<u8>) -> Manifest {
        let cap = self.options.caps.manifest_bytes;
        manifest::read(place, Care::Settled, cap, self.options.limits.max_entries, buffer)
    }

    /// Returns the skill at `locator` as it is now.
    pub(super) fn get(&self, locator: &Locator) -> Result<Option<Skill>, Error> {
        absent_is_none(self.at(locator, |place| Ok(self.skill(place)?.map(|(skill, _)| skill))))
    }

    /// Returns the skill at `locator` as it is now, with its files and the mark of its `SKILL.md`.
    pub(super) fn open(&self, locator: &Locator) -> Result<Option<OpenedSkill>, Error> {
        let started = now();
        absent_is_none(self.at(locator, |place| {
            let Some((skill, stamp)) = self.skill(place)? else { return Ok(None) };
            let (walked, manifest_file) = self.walk(place)?;
            let files = FileListing { files: walked.entries(&manifest_file), problems: walked.problems };
            // A stamp so fresh that a second write could hide behind it marks nothing.
            let settled = stamp.filter(|stamp| is_settled(stamp, started));
            let mark = settled.map(|stamp| mark(place, stamp));
            Ok(Some(OpenedSkill { skill, files, mark }))
        }))
    }

    /// Returns the skill at `place`, and what its `SKILL.md` is like where that is a file of its own.
    fn skill(&self, place: &Place<'_>) -> Result<Option<(Skill, Option<Stamp>)>, Error> {
        let policy = &self.options.policy;
        let mut bytes = Vec::new();
        match self.manifest(place, &mut bytes) {
            Manifest::Read { file_name, stamp } => {
                let document = manifest::parse(place, &file_name, &bytes, stamp, policy);
                let text = String::from_utf8(bytes)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
                let stamp = stamp.filter(|_| file_name == manifest::FILE_NAME);
                Ok(Some((Skill { document, text }, stamp)))
            }
            Manifest::Refused { rule, message, help, .. } => {
                let document = manifest::unreadable(place, rule, &message, help, policy);
                Ok(Some((Skill { document, text: String::new() }, None)))
            }
            Manifest::Absent(_) => Ok(None),
            Manifest::Unreachable(fault) => Err(self.error(place, manifest::FILE_NAME, fault)),
        }
    }

    /// Returns the files of the skill at `locator`.
    pub(super) fn files(&self, locator: &Locator) -> Result<FileListing, Error> {
        self.at(locator, |place| {
            let (walked, manifest_file) = self.walk(place)?;
            Ok(FileListing { files: walked.entries(&manifest_file), problems: walked.problems })
        })
    }

    /// Lists the files of a skill and says how its `SKILL.md` is spelled.
    pub(super) fn walk(&self, place: &Place<'_>) -> Result<(Walked, String), Error> {
        let mut walked = walk(place, &self.options.caps, &self.options.policy)
            .map_err(|fault| self.error(place, "", fault))?;
        let spellings =
            walked.files.iter().map(|file| file.path.as_str()).filter(|p| manifest::is_spelling(p));
        if let Some(name) = spellings.min_by_key(|name| (*name != manifest::FILE_NAME, *name)) {
            let name = name.to_owned();
            return Ok((walked, name));
        }
        // It may be a link to another file of the source, which the walk does not follow.
        let mut bytes = Vec::new();
        if let Manifest::Read { file_name, stamp: None } = self.manifest(place, &mut bytes)
            && let Ok(path) = SkillPath::new(&file_name)
        {
            let is_its_link =
                |rule, file: Option<&str>| rule == RuleId::FileSymlink && file == Some(&*file_name);
            walked.problems.retain(|problem| !is_its_link(problem.rule, problem.file.as_deref()));
            let stamp = Stamp { size: bytes.len() as u64, ..Stamp::default() };
            walked.files.push(WalkedFile { path, stamp });
            walked.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
            return Ok((walked, file_name.into_owned()));
        }
        Ok((walked, manifest::FILE_NAME.to_owned()))
    }

    /// Returns the bytes of the file `path` of the skill at `locator`.
    pub(super) fn read(&self, locator: &Locator, path: &SkillPath) -> Result<Vec<u8>, Error> {
        self.at(locator, |place| self.read_file(place, path))
    }

    fn read_file(&self, place: &Place<'_>, path: &SkillPath) -> Result<Vec<u8>, Error> {
        let forbidden = || self.error(place, path.as_str(), Fault::Link);
        if path.is_hidden() {
            return Err(forbidden());
        }
        let mut bytes = Vec::new();
        match place.read_settled(path.as_str(), self.options.caps.file_bytes, &mut bytes) {
            Ok(_) => Ok(bytes),
            Err(Fault::Link) if manifest::is_spelling(path.as_str()) => {
                match self.manifest(place, &mut bytes) {
                    Manifest::Read { file_name, .. } if file_name == path.as_str() => Ok(bytes),
                    _ => Err(forbidden()),
                }
            }
            Err(fault) => Err(self.error(place, path.as_str(), fault)),
        }
    }

    /// Returns every file of the skill at `locator` with its digest.
    ///
    /// A bundle is all of a skill or nothing: one with too many or too large files has no digest.
    pub(super) fn bundle(&self, locator: &Locator) -> Result<Bundle, Error> {
        self.at(locator, |place| {
            let (walked, _) = self.walk(place)?;
            let mut room = self.options.caps.bundle_bytes;
            if walked.truncated {
                return Err(self.error(place, "", Fault::TooLarge(0)));
            }
            let mut files = Vec::with_capacity(walked.files.len());
            for WalkedFile { path, stamp } in walked.files {
                let bytes = match self.read_file(place, &path) {
                    Ok(bytes) => bytes,
                    // A file that vanished between listing and reading is no longer part of the bundle.
                    Err(error) if error.kind() == ErrorKind::FileNotFound => continue,
                    Err(error) => return Err(error),
                };
                let size = bytes.len() as u64;
                room = room.checked_sub(size).ok_or_else(|| self.error(place, "", Fault::TooLarge(0)))?;
                let executable = stamp.is_executable();
                files.push(BundleFile { path, size, executable, digest: Digest::of(&bytes) });
            }
            Ok(Bundle::new(files))
        })
    }

    fn error(&self, place: &Place<'_>, file: &str, fault: Fault) -> Error {
        let kind = match &fault {
            Fault::Missing | Fault::NotDirectory => ErrorKind::FileNotFound,
            Fault::IsDirectory => ErrorKind::IsDirectory,
            Fault::Link | Fault::Special | Fault::Outside => ErrorKind::Forbidden,
            Fault::TooLarge(_) => ErrorKind::TooLarge,
            Fault::Changed | Fault::Denied(_) | Fault::Io(_) => ErrorKind::Io,
        };
        let path = std::path::Path::new(&display(&self.options.root, place.relative)).join(file);
        let subject = if file.is_empty() { place.relative } else { file };
        let error = Error::new(kind).about(subject).at(path);
        match fault {
            Fault::Denied(source) | Fault::Io(source) => error.because(source),
            Fault::Changed => error.because("the file changed while it was being read"),
            _ => error,
        }
    }
}

/// Returns what tells whether the `SKILL.md` at `place` still has `stamp`.
///
/// The answer decides whether the file is read again, never what may be read, so a look at the path will do.
fn mark(place: &Place<'_>, stamp: Stamp) -> Mark {
    let path = place.resolved().join(manifest::FILE_NAME);
    Mark::new(move || SafeDir::stamp_at(&path) == Some(stamp))
}

/// Returns `None` for a skill that is not there (any more).
fn absent_is_none<T>(outcome: Result<Option<T>, Error>) -> Result<Option<T>, Error> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::SkillNotFound => Ok(None),
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_never_replaces_one_that_began_later() {
        let source = Source::new(FsOptions::new("test", "."));
        let listing = || source.known().as_ref().map(|known| known.listing);
        source.publish(Known { listing: 2, ..Known::default() });
        source.publish(Known { listing: 1, ..Known::default() });
        assert_eq!(listing(), Some(2));
        source.publish(Known { listing: 3, ..Known::default() });
        assert_eq!(listing(), Some(3));
    }
}
