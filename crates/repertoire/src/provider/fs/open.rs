//! What a [`super::FsProvider`] does, without the waiting.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use repertoire_model::{Bundle, BundleFile, Digest, RuleId, SkillPath, Standing};

use super::cache::{Facts, is_settled, now};
use super::known::Known;
use super::last_good::{self, Text, Texts};
use super::manifest::{self, Care, Manifest};
use super::memo::CacheState;
use super::place::{Place, Root};
use super::provider::{FsOptions, display};
use super::safe_dir::{Fault, SafeDir, Stamp};
use super::turn::Turns;
use super::walk::{Walked, WalkedFile, walk};
use crate::provider::{FileListing, Locator, Mark, OpenedSkill, Skill};
use crate::{Error, ErrorKind};

/// How often a file that is empty and was not is looked at again, and after how long.
const MAX_WAITS: usize = 3;
const WAIT: Duration = Duration::from_millis(10);

/// A directory of skills, and what the last listing found in it.
#[derive(Debug)]
pub(super) struct Source {
    options: FsOptions,
    pub(super) turns: Turns,
    state: Mutex<State>,
    /// The texts of skills that were opened.
    texts: Mutex<Texts>,
}

/// What is known of a source, and of what is kept of that for the next process.
#[derive(Debug, Default)]
pub(super) struct State {
    /// `None` before the first listing of a root that could be opened.
    pub(super) known: Option<Arc<Known>>,
    /// Whether the root was lost since: what is known still leads to skills, but tells nothing about them.
    pub(super) is_stale: bool,
    /// How often there were other directories to watch.
    pub(super) watch_epoch: u64,
    /// What is remembered about skills, where anything is.
    pub(super) facts: HashMap<Locator, Facts>,
    /// Skills about which more is remembered than the cache holds.
    pub(super) dirty: HashSet<Locator>,
    pub(super) cache: CacheState,
}

/// A skill as it is on disk.
struct OnDisk {
    skill: Skill,
    /// How its `SKILL.md` is spelled.
    file_name: Cow<'static, str>,
    /// What that is like, where it is a file of its own.
    stamp: Option<Stamp>,
}

impl Source {
    pub(super) fn new(options: FsOptions) -> Self {
        Self { options, turns: Turns::default(), state: Mutex::default(), texts: Mutex::default() }
    }

    pub(super) fn options(&self) -> &FsOptions {
        &self.options
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn texts(&self) -> MutexGuard<'_, Texts> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what the last listing found.
    pub(super) fn known(&self) -> Option<Arc<Known>> {
        self.state().known.clone()
    }

    /// Calls `work` with the place of a skill of the last listing.
    pub(super) fn at<T>(
        &self,
        locator: &Locator,
        work: impl FnOnce(&Place<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let unlisted = self.known().is_none();
        if unlisted {
            self.list(&self.turns.begin());
        }
        let home = self.known().and_then(|known| Some(known.find(locator.as_str())?.home.clone()));
        let lost = |fault| self.lost(locator, fault);
        let root = Root::open(&self.options.root).map_err(lost)?;
        let home = home.ok_or_else(|| lost(Fault::Missing))?;
        let place = Place::open(&root, locator.as_str(), &home).map_err(lost)?;
        work(&place).map_err(|error| {
            // A file may not be there because its skill is not there any more.
            let is_gone = error.kind() == ErrorKind::FileNotFound
                && matches!(place.directory(), Err(Fault::Missing | Fault::NotDirectory));
            if is_gone { lost(Fault::Missing) } else { error }
        })
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
        absent_is_none(self.at(locator, |place| Ok(self.skill(locator, place)?.map(|(skill, _)| skill))))
    }

    /// Returns the skill at `locator` as it is now, with its files and the mark of its `SKILL.md`.
    pub(super) fn open(&self, locator: &Locator) -> Result<Option<OpenedSkill>, Error> {
        let started = now();
        absent_is_none(self.at(locator, |place| {
            let Some((skill, stamp)) = self.skill(locator, place)? else { return Ok(None) };
            let (walked, manifest_file) = self.walk(place)?;
            let files = FileListing { files: walked.entries(&manifest_file), problems: walked.problems };
            // A stamp so fresh that a second write could hide behind it marks nothing.
            let settled = stamp.filter(|stamp| is_settled(stamp, started));
            let mark = settled.map(|stamp| mark(place, stamp));
            Ok(Some(OpenedSkill { skill, files, mark }))
        }))
    }

    /// Returns the skill at `locator`, which is at `place`, and what its `SKILL.md` is like where that is a file of its own.
    ///
    /// Of one that broke since it was opened it is the last good version.
    fn skill(&self, locator: &Locator, place: &Place<'_>) -> Result<Option<(Skill, Option<Stamp>)>, Error> {
        let Some(OnDisk { skill, file_name, stamp }) = self.skill_when_written(locator, place)? else {
            return Ok(None);
        };
        let mut texts = self.texts();
        let length = last_good::length_without_blanks(skill.text.as_bytes());
        if last_good::may_be_broken(&skill.document, length)
            && let Some(Text { text, file_name, stamp }) = texts.find(locator)
        {
            let policy = &self.options.policy;
            let good = manifest::parse(place, &file_name, text.as_bytes(), stamp, policy);
            if last_good::is_broken(&skill.document, length, &good) {
                let document = last_good::in_force(&good, &skill.document, policy);
                return Ok(Some((Skill { document, text: text.to_string() }, None)));
            }
        }
        let is_exact = file_name == manifest::FILE_NAME;
        if skill.document.standing == Standing::Sound {
            texts.keep(locator, &skill.text, file_name, stamp);
        }
        Ok(Some((skill, stamp.filter(|_| is_exact))))
    }

    /// Returns the skill at `locator` as it is on disk; one that is about to be written is waited for, though not for long.
    ///
    /// An empty file is sound. But one that was not empty is being written, and where its text was not kept there is nothing
    /// to put in its place: an agent must not be told that its instructions are now none.
    fn skill_when_written(&self, locator: &Locator, place: &Place<'_>) -> Result<Option<OnDisk>, Error> {
        for attempt in 0..=MAX_WAITS {
            let Some(found) = self.skill_on_disk(place)? else { return Ok(None) };
            let length = last_good::length_without_blanks(found.skill.text.as_bytes());
            let is_whole = length > 0 || found.skill.document.standing != Standing::Sound;
            if is_whole || self.texts().find(locator).is_some() {
                return Ok(Some(found));
            }
            let known = self.known();
            let good = known.as_ref().and_then(|known| known.find(locator.as_str())?.last_good());
            if !good.is_some_and(|good| last_good::is_broken(&found.skill.document, length, good)) {
                return Ok(Some(found));
            }
            if attempt < MAX_WAITS {
                std::thread::sleep(WAIT);
            }
        }
        Err(self.error(place, manifest::FILE_NAME, Fault::Changed))
    }

    fn skill_on_disk(&self, place: &Place<'_>) -> Result<Option<OnDisk>, Error> {
        let policy = &self.options.policy;
        let mut bytes = Vec::new();
        match self.manifest(place, &mut bytes) {
            Manifest::Read { file_name, stamp } => {
                let document = manifest::parse(place, &file_name, &bytes, stamp, policy);
                let text = String::from_utf8(bytes)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
                Ok(Some(OnDisk { skill: Skill { document, text }, file_name, stamp }))
            }
            Manifest::Refused { file_name, rule, message, help } => {
                let document = manifest::unreadable(place, rule, &message, help, policy);
                let skill = Skill { document, text: String::new() };
                Ok(Some(OnDisk { skill, file_name, stamp: None }))
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
