//! The blocking operations of an [`FsProvider`](super::FsProvider).

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use repertoire_model::{Bundle, BundleFile, Digest, Document, Policy, RuleId, SkillPath, Standing};

use super::last_good::{self, GoodText, GoodTexts};
use super::manifest::{self, ManifestFile};
use super::options::FsOptions;
use super::place::{OpenDirectory, ROOT_LOCATOR, ScanRoot, path_text};
use super::safe_dir::{FsFault, Stamp, now};
use super::scan::{Scan, scan};
use super::walk::{FileWalk, WalkedFile, walk};
use crate::provider::{FileListing, Listing, Locator, OpenedSkill, Problem, Skill};
use crate::{Error, ErrorKind};

/// The most waits for a file that became empty to be written, and the length of each.
const MAX_WAITS: usize = 3;
const WAIT: Duration = Duration::from_millis(10);

/// A directory of skills, and the result of the last scan of it.
#[derive(Debug)]
pub(super) struct FsSource {
    options: FsOptions,
    /// Held by the scan in progress: of two scans the second begins after the first.
    scanning: Mutex<()>,
    last: Mutex<LastScan>,
    /// The texts of skills that were opened.
    texts: Mutex<GoodTexts>,
    /// The digests of bundles, each after the fingerprint of the files that it was computed of.
    digests: Mutex<HashMap<Locator, (Digest, Digest)>>,
}

#[derive(Debug, Default)]
struct LastScan {
    /// `None` before the first scan of a root that could be opened.
    scan: Option<Arc<Scan>>,
    /// True if the root could not be opened since: the scan still leads to skills, but is not a memo.
    is_stale: bool,
}

struct SkillOnDisk {
    skill: Skill,
    /// The spelling of its `SKILL.md`.
    file_name: Cow<'static, str>,
    /// The stamp of that file, if it is in the directory itself.
    stamp: Option<Stamp>,
}

impl FsSource {
    pub(super) fn new(options: FsOptions) -> Self {
        Self {
            options,
            scanning: Mutex::default(),
            last: Mutex::default(),
            texts: Mutex::default(),
            digests: Mutex::default(),
        }
    }

    pub(super) fn options(&self) -> &FsOptions {
        &self.options
    }

    fn last(&self) -> MutexGuard<'_, LastScan> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn texts(&self) -> MutexGuard<'_, GoodTexts> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn digests(&self) -> MutexGuard<'_, HashMap<Locator, (Digest, Digest)>> {
        self.digests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the last scan of a root that could be opened.
    pub(super) fn scan(&self) -> Option<Arc<Scan>> {
        self.last().scan.clone()
    }

    /// Returns every skill below the root. Files unchanged since the last listing are not read again.
    pub(super) fn list(&self, policy: &Policy) -> Listing {
        let _scanning = self.scanning.lock().unwrap_or_else(PoisonError::into_inner);
        let root = match ScanRoot::open(&self.options.root) {
            Ok(root) => root,
            // Skills of the last scan can still be read: snapshots that hold them outlive a passing fault.
            Err(fault) => {
                self.last().is_stale = true;
                return self.broken(&fault, policy);
            }
        };
        let before = {
            let last = self.last();
            last.scan.clone().filter(|_| !last.is_stale)
        };
        let before = before.filter(|before| before.resolved == root.resolved && before.policy == *policy);
        let scan = scan(&self.options, policy, &root, before.as_deref());
        let skills = scan.skills.iter().map(|skill| Arc::clone(&skill.listed)).collect();
        let problems = scan.problems.clone();
        self.texts()
            .retain(|locator, stamp| scan.find(locator.as_str()).is_some_and(|skill| !skill.outdates(stamp)));
        self.digests().retain(|locator, _| scan.find(locator.as_str()).is_some());
        *self.last() = LastScan { scan: Some(Arc::new(scan)), is_stale: false };
        Listing { skills, problems }
    }

    /// Returns the listing of a root that cannot be opened: empty if it is missing and not expected.
    fn broken(&self, fault: &FsFault, policy: &Policy) -> Listing {
        let (rule, message) = match fault {
            FsFault::Missing if !self.options.is_expected => return Listing::default(),
            FsFault::Missing => (RuleId::SourceMissing, "the configured directory does not exist".to_owned()),
            fault => (RuleId::SourceBroken, format!("the directory cannot be read: {}", fault.message())),
        };
        let problem = Problem::new(policy, rule, self.shown(ROOT_LOCATOR), message);
        Listing { skills: Vec::new(), problems: problem.into_iter().collect() }
    }

    /// Returns the path of `relative` below the root as people see it.
    fn shown(&self, relative: &str) -> String {
        path_text(&self.options.root, relative)
    }

    /// Calls `work` with the place of a skill of the last listing.
    pub(super) fn at<T>(
        &self,
        locator: &Locator,
        work: impl FnOnce(&OpenDirectory<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.scan().is_none() {
            self.list(&Policy::default());
        }
        let home = self.scan().and_then(|scan| Some(scan.find(locator.as_str())?.home.clone()));
        let lost = |fault| self.lost(locator, fault);
        let root = ScanRoot::open(&self.options.root).map_err(lost)?;
        let home = home.ok_or_else(|| lost(FsFault::Missing))?;
        let place = OpenDirectory::open(&root, locator.as_str(), &home).map_err(lost)?;
        work(&place).map_err(|error| {
            // A file may not be there because its skill is not there any more.
            let is_gone = error.kind() == ErrorKind::FileNotFound
                && matches!(place.directory(), Err(FsFault::Missing | FsFault::NotDirectory));
            if is_gone { lost(FsFault::Missing) } else { error }
        })
    }

    /// Returns the error of a skill that cannot be reached.
    fn lost(&self, locator: &Locator, fault: FsFault) -> Error {
        let error = |kind| Error::new(kind).about(locator.as_str()).at(self.shown(locator.as_str()));
        match fault {
            // If something else has taken its place, the skill is gone too.
            FsFault::Missing
            | FsFault::NotDirectory
            | FsFault::Link
            | FsFault::Special
            | FsFault::Outside => error(ErrorKind::SkillNotFound),
            FsFault::Io(source) if source.kind() == std::io::ErrorKind::NotFound => {
                error(ErrorKind::SkillNotFound)
            }
            fault => error(ErrorKind::Io).because(fault.into_io()),
        }
    }

    fn manifest(&self, place: &OpenDirectory<'_>) -> ManifestFile {
        manifest::read(place, self.options.caps.manifest_bytes, self.options.limits.max_entries)
    }

    /// Returns the skill at `locator` as it is now.
    pub(super) fn get(&self, locator: &Locator, policy: &Policy) -> Result<Option<Skill>, Error> {
        absent_is_none(self.at(locator, |place| self.skill(locator, place, policy)))
    }

    /// Returns the skill at `locator` as it is now, with its files.
    pub(super) fn open(&self, locator: &Locator, policy: &Policy) -> Result<Option<OpenedSkill>, Error> {
        absent_is_none(self.at(locator, |place| {
            let Some(skill) = self.skill(locator, place, policy)? else { return Ok(None) };
            let (walked, manifest_file) = self.walk(place, policy)?;
            let files = FileListing { files: walked.entries(&manifest_file), problems: walked.problems };
            Ok(Some(OpenedSkill { skill, files }))
        }))
    }

    /// Returns the skill at `locator`, at `place`; if it broke since it was opened, the last good version.
    fn skill(
        &self,
        locator: &Locator,
        place: &OpenDirectory<'_>,
        policy: &Policy,
    ) -> Result<Option<Skill>, Error> {
        let Some(SkillOnDisk { skill, file_name, stamp }) =
            self.skill_when_written(locator, place, policy)?
        else {
            return Ok(None);
        };
        let mut texts = self.texts();
        let length = last_good::length_without_blanks(skill.text.as_bytes());
        if last_good::may_be_broken(&skill.document, length)
            && let Some((good, text)) = self.good(&texts, locator, place, policy)
            && last_good::is_broken(&skill.document, length, &good)
        {
            let document = last_good::in_force(&good, &skill.document, policy);
            return Ok(Some(Skill { document, text: text.to_string() }));
        }
        if skill.document.standing == Standing::Sound {
            texts.keep(locator, GoodText { text: skill.text.as_str().into(), file_name, stamp });
        }
        Ok(Some(skill))
    }

    /// Returns the last good version of the skill at `locator` with its text, as read here or as recorded.
    fn good(
        &self,
        texts: &GoodTexts,
        locator: &Locator,
        place: &OpenDirectory<'_>,
        policy: &Policy,
    ) -> Option<(Document, Arc<str>)> {
        if let Some(GoodText { text, file_name, stamp }) = texts.find(locator) {
            let good = manifest::parse(Document::parse, place, &file_name, text.as_bytes(), stamp, policy);
            return Some((good, text));
        }
        last_good::recorded(&self.options, place, policy).map(|(good, found)| (good, found.text))
    }

    /// Returns the skill at `locator` as it is on disk; waits a moment for a file that is being written.
    ///
    /// An empty file is valid. But one that was not empty before is being written, and if its text was not
    /// kept there is no replacement: an agent must not get empty instructions.
    fn skill_when_written(
        &self,
        locator: &Locator,
        place: &OpenDirectory<'_>,
        policy: &Policy,
    ) -> Result<Option<SkillOnDisk>, Error> {
        for attempt in 0..=MAX_WAITS {
            let Some(found) = self.skill_on_disk(place, policy)? else { return Ok(None) };
            let length = last_good::length_without_blanks(found.skill.text.as_bytes());
            let is_whole = length > 0 || found.skill.document.standing != Standing::Sound;
            if is_whole || self.texts().find(locator).is_some() {
                return Ok(Some(found));
            }
            let scan = self.scan();
            let good = scan.as_ref().and_then(|scan| scan.find(locator.as_str())?.last_good());
            if !good.is_some_and(|good| last_good::is_broken(&found.skill.document, length, good)) {
                return Ok(Some(found));
            }
            if attempt < MAX_WAITS {
                std::thread::sleep(WAIT);
            }
        }
        Err(self.error(place, manifest::FILE_NAME, FsFault::Changed))
    }

    fn skill_on_disk(
        &self,
        place: &OpenDirectory<'_>,
        policy: &Policy,
    ) -> Result<Option<SkillOnDisk>, Error> {
        match self.manifest(place) {
            ManifestFile::Read { file_name, bytes, stamp } => {
                let document = manifest::parse(Document::parse, place, &file_name, &bytes, stamp, policy);
                let text = String::from_utf8(bytes)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
                Ok(Some(SkillOnDisk { skill: Skill { document, text }, file_name, stamp }))
            }
            ManifestFile::Refused { file_name, rule, message, help } => {
                let document = manifest::unreadable(place, rule, &message, help, policy);
                let skill = Skill { document, text: String::new() };
                Ok(Some(SkillOnDisk { skill, file_name, stamp: None }))
            }
            ManifestFile::Absent(_) => Ok(None),
            ManifestFile::Unreachable(fault) => Err(self.error(place, manifest::FILE_NAME, fault)),
        }
    }

    pub(super) fn files(&self, locator: &Locator, policy: &Policy) -> Result<FileListing, Error> {
        self.at(locator, |place| {
            let (walked, manifest_file) = self.walk(place, policy)?;
            Ok(FileListing { files: walked.entries(&manifest_file), problems: walked.problems })
        })
    }

    /// Lists the files of a skill; returns the spelling of its `SKILL.md` as well.
    fn walk(&self, place: &OpenDirectory<'_>, policy: &Policy) -> Result<(FileWalk, String), Error> {
        let mut walked =
            walk(place, &self.options.caps, policy).map_err(|fault| self.error(place, "", fault))?;
        let spellings =
            walked.files.iter().map(|file| file.path.as_str()).filter(|p| manifest::is_spelling(p));
        if let Some(name) = spellings.min_by_key(|name| (*name != manifest::FILE_NAME, *name)) {
            let name = name.to_owned();
            return Ok((walked, name));
        }
        // It may be a link to another file of the source, which the walk does not follow.
        if let ManifestFile::Read { file_name, bytes, stamp: None } = self.manifest(place)
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

    fn read_file(&self, place: &OpenDirectory<'_>, path: &SkillPath) -> Result<Vec<u8>, Error> {
        let forbidden = || self.error(place, path.as_str(), FsFault::Link);
        if path.is_hidden() {
            return Err(forbidden());
        }
        match place.read(path.as_str(), self.options.caps.file_bytes) {
            Ok((bytes, _)) => Ok(bytes),
            Err(FsFault::Link) if manifest::is_spelling(path.as_str()) => match self.manifest(place) {
                ManifestFile::Read { file_name, bytes, .. } if file_name == path.as_str() => Ok(bytes),
                _ => Err(forbidden()),
            },
            Err(fault) => Err(self.error(place, path.as_str(), fault)),
        }
    }

    /// Returns every file of the skill at `locator` with its digest.
    ///
    /// A bundle is all of a skill or nothing: one with too many or too large files has no digest.
    pub(super) fn bundle(&self, locator: &Locator) -> Result<Bundle, Error> {
        self.at(locator, |place| {
            let (walked, _) = self.walk(place, &Policy::default())?;
            self.bundle_of(place, walked)
        })
    }

    fn bundle_of(&self, place: &OpenDirectory<'_>, walked: FileWalk) -> Result<Bundle, Error> {
        let mut room = self.options.caps.bundle_bytes;
        if walked.truncated {
            return Err(self.error(place, "", FsFault::TooLarge(0)));
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
            room = room.checked_sub(size).ok_or_else(|| self.error(place, "", FsFault::TooLarge(0)))?;
            let executable = stamp.is_executable();
            files.push(BundleFile { path, size, executable, digest: Digest::of(&bytes) });
        }
        Ok(Bundle::new(files))
    }

    /// Returns the digest of the bundle of the skill at `locator`; reads files only if one has changed.
    pub(super) fn digest(&self, locator: &Locator) -> Result<Digest, Error> {
        let started = now();
        self.at(locator, |place| {
            let (walked, _) = self.walk(place, &Policy::default())?;
            let fingerprint = fingerprint(&walked.files, started);
            let last = self.digests().get(locator).copied();
            if let Some((_, digest)) = last.filter(|(of, _)| Some(*of) == fingerprint) {
                return Ok(digest);
            }
            let digest = self.bundle_of(place, walked)?.digest();
            // A file that changes after the walk gets another stamp: the fingerprint never matches again.
            self.digests().extend(fingerprint.map(|fingerprint| (locator.clone(), (fingerprint, digest))));
            Ok(digest)
        })
    }

    fn error(&self, place: &OpenDirectory<'_>, file: &str, fault: FsFault) -> Error {
        let kind = match &fault {
            FsFault::Missing | FsFault::NotDirectory => ErrorKind::FileNotFound,
            FsFault::IsDirectory => ErrorKind::IsDirectory,
            FsFault::Link | FsFault::Special | FsFault::Outside => ErrorKind::Forbidden,
            FsFault::TooLarge(_) => ErrorKind::TooLarge,
            FsFault::Changed | FsFault::Denied(_) | FsFault::Io(_) => ErrorKind::Io,
        };
        let path = std::path::Path::new(&self.shown(place.relative)).join(file);
        let subject = if file.is_empty() { place.relative } else { file };
        let error = Error::new(kind).about(subject).at(path);
        match fault {
            FsFault::Denied(source) | FsFault::Io(source) => error.because(source),
            FsFault::Changed => error.because("the file changed while it was being read"),
            _ => error,
        }
    }
}

/// Returns a digest that changes with each of `files`, or `None` if a change after `now` might not show.
fn fingerprint(files: &[WalkedFile], now: i64) -> Option<Digest> {
    let mut text = String::with_capacity(files.len() * 96);
    for WalkedFile { path, stamp } in files {
        if stamp.inode == 0 || !stamp.is_settled(now) {
            return None;
        }
        let Stamp { size, modified, changed, inode, device, mode, links: _ } = stamp;
        text += &format!("{path}\0{size} {modified} {changed} {inode} {device} {mode}\n");
    }
    Some(Digest::of(text.as_bytes()))
}

/// Returns `None` for a skill that is not there (any more).
fn absent_is_none<T>(outcome: Result<Option<T>, Error>) -> Result<Option<T>, Error> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::SkillNotFound => Ok(None),
        outcome => outcome,
    }
}
