//! The record of changes that were carried out, from which they are taken back.
//!
//! Of a file it holds digests and the pieces that the change put in or took out, never the rest. The content
//! of skills is in the store; a removed skill lies beside the journals with all that was in its directory.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use repertoire_model::Digest;
use repertoire_model::patch::bundle;
use serde::{Deserialize, Serialize};

use super::installed::{InstalledSkill, read_installed};
use super::journal::{Journal, JournalSkill};
use super::leftovers::remove_oldest;
use super::path_step::{FileStep, PathStep, move_directory};
use super::pieces::{Piece, pieces};
use super::place::ChangePlace;
use super::replace_file::{MAX_FILE_BYTES, read_file};
use super::steps::{discard_removed, removed_directory};
use crate::Error;
use crate::record::{Record, RecordKind, RecordPlace};

/// The time for which changes are recorded.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

const MOST: usize = 50;

/// The most bytes of their records, roughly.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// The commands whose changes stay recorded until they are taken back: they changed files of other programs.
const STANDING: [&str; 4] = ["rep connect", "rep link", "rep adopt", "rep disable"];

/// The command that takes changes back.
pub const UNDO: &str = "rep undo";

/// A change that was carried out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoneChange {
    /// When it began, in milliseconds since 1970, which tells the changes of a place apart.
    pub time: u64,
    /// The name of the journal of the place.
    pub place: String,
    /// The root of the place.
    pub base: PathBuf,
    /// The command that made it.
    pub command: String,
    /// The skills, clients or patterns that it is about.
    pub about: Vec<String>,
    /// The time of the change that it took back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
    /// The command that takes it back, where that is done elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
    /// The skills that it changed.
    pub skills: Vec<JournalSkill>,
    /// The other steps, in the order in which they were taken, with digests in place of texts.
    pub steps: Vec<PathStep>,
    /// The directories around what it changed that were not there before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<PathBuf>,
    /// The pieces by which the texts of files differ, for all that do not differ in too much.
    pub pieces: BTreeMap<PathBuf, Vec<Piece>>,
}

/// The state of what a change was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DoneState {
    /// It is as the change left it.
    Made,
    /// It is as it was before the change.
    Back,
    /// It was changed since.
    Changed,
}

impl DoneState {
    fn of<D: PartialEq>(found: Option<D>, before: &Option<D>, after: &Option<D>) -> Self {
        match found {
            found if found == *before => Self::Back,
            found if found == *after => Self::Made,
            _ => Self::Changed,
        }
    }

    /// Returns the state of `skill`, where its directory is `found`.
    pub(super) fn of_skill(skill: &JournalSkill, found: Option<&InstalledSkill>) -> Self {
        Self::of(found.map(|found| bundle(&found.files).digest()), &skill.before, &skill.after)
    }

    /// Returns the state of what `step`, which has digests, is about.
    pub(super) fn of_step(step: &PathStep) -> Self {
        match step {
            PathStep::Record(file) | PathStep::UserFile(file) => {
                let found = read_file(&file.path, MAX_FILE_BYTES).ok().flatten();
                Self::of(found.map(|bytes| Digest::of(&bytes).to_string()), &file.before, &file.after)
            }
            // A link may stand where it was.
            PathStep::Move { to, .. } if is_directory(to) => Self::Made,
            step if step.reversed().is_ready().unwrap_or_default() => Self::Made,
            step if step.is_ready().unwrap_or_default() => Self::Back,
            _ => Self::Changed,
        }
    }
}

impl DoneChange {
    /// Returns the paths of everything that it is about; of a move, the one that it led to.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let skills = self.skills.iter().map(|skill| skill.directory.as_path());
        skills.chain(self.steps.iter().map(PathStep::path))
    }

    /// Returns `true` if a file or link is as it left it.
    pub fn is_made(&self) -> bool {
        self.steps.iter().any(|step| DoneState::of_step(step) == DoneState::Made)
    }

    /// Returns `true` if nothing of it is left to take back.
    pub fn is_back(&self) -> bool {
        let (back, others): (Vec<&PathStep>, Vec<&PathStep>) =
            self.steps.iter().partition(|step| DoneState::of_step(step) == DoneState::Back);
        // A directory that is back stands where a link to it was.
        let is_place =
            |path: &Path| back.iter().any(|step| matches!(step, PathStep::Move { from, .. } if from == path));
        let is_back = |skill: &JournalSkill| {
            let found = read_installed(&skill.directory).ok().flatten();
            DoneState::of_skill(skill, found.as_ref()) == DoneState::Back
        };
        self.instead.is_none()
            && others.iter().all(|step| is_place(step.path()))
            && self.skills.iter().all(is_back)
    }

    /// Returns roughly how many bytes the record of it has.
    fn size(&self) -> usize {
        let pieces = self.pieces.values().flatten().map(Piece::size);
        512 * (1 + self.skills.len() + self.steps.len()) + pieces.sum::<usize>()
    }

    fn stands(&self) -> bool {
        STANDING.iter().any(|command| self.command.starts_with(command))
    }

    /// Adds `step`, with digests in place of texts.
    fn add(&mut self, step: &PathStep) {
        let mut step = step.clone();
        let is_record = matches!(step, PathStep::Record(_));
        if let PathStep::Record(FileStep { path, before, after })
        | PathStep::UserFile(FileStep { path, before, after }) = &mut step
        {
            let [was, now] = [&*before, &*after].map(|text| text.as_deref().unwrap_or_default());
            // The files of this program may be recorded whole, and one that it made only goes.
            if !is_record || before.is_some() {
                let found = pieces(was, now).or_else(|| is_record.then(|| vec![Piece::whole(was, now)]));
                self.pieces.extend(found.map(|pieces| (path.clone(), pieces)));
            }
            for text in [before, after].into_iter().flatten() {
                *text = Digest::of(text.as_bytes()).to_string();
            }
        }
        self.steps.push(step);
    }
}

/// Returns the changes that are recorded for the place and all others of the same user, the newest first.
pub fn done_changes(place: &ChangePlace) -> Result<Vec<DoneChange>, Error> {
    Ok(Record::read(&record_place(place.journal.parent().unwrap_or(&place.journal)))?.entries)
}

/// Records `change` of `place`, and removes the records that are too many or too old, with what they kept.
pub fn record_change(place: &ChangePlace, change: DoneChange) -> Result<(), Error> {
    let directory = place.journal.parent().unwrap_or(&place.journal);
    // Earlier versions kept whole texts of other programs there.
    remove_oldest(directory, ".done", 0);
    let mut expired = Vec::new();
    let now = milliseconds(SystemTime::now());
    Record::change(&record_place(directory), |changes: &mut Vec<DoneChange>| {
        let change = DoneChange { place: place.name(), base: place.base.clone(), ..change };
        changes.retain(|other| (&other.place, other.time) != (&change.place, change.time));
        changes.push(change);
        expired = expire(changes, now);
    })?;
    for change in expired {
        let _ = fs::remove_dir_all(directory.join(format!("{}.{}.kept", change.place, change.time)));
    }
    Ok(())
}

/// Takes out and returns the changes that are too many or too old at `now`. Sorts the others, newest first.
fn expire(changes: &mut Vec<DoneChange>, now: u64) -> Vec<DoneChange> {
    changes.sort_by_key(|change| Reverse(change.time));
    let undone = undone(changes);
    let (mut number, mut size) = (0, 0);
    let (kept, expired) = std::mem::take(changes).into_iter().partition(|change| {
        if change.stands() && !undone.contains(&(change.place.clone(), change.time)) && !change.is_back() {
            return true;
        }
        (number, size) = (number + 1, size + change.size());
        number <= MOST && size <= MAX_BYTES && now.saturating_sub(change.time) <= KEPT.as_millis() as u64
    });
    *changes = kept;
    expired
}

/// Returns the places and times of those of `changes` that were taken back.
pub fn undone(changes: &[DoneChange]) -> BTreeSet<(String, u64)> {
    changes.iter().filter_map(|change| Some((change.place.clone(), change.undoes?))).collect()
}

/// Returns `true` if a directory is at `path`, and not a link to one.
fn is_directory(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
}

/// Returns where the directory of the skill at `index` lies since a change at `time` removed it.
pub(super) fn kept(place: &ChangePlace, time: u64, index: usize) -> PathBuf {
    place.file(&format!("{time}.kept")).join(index.to_string())
}

/// Moves the directories of the skills that the change of `journal` removed to where they are kept: all of
/// them, or none. After a crash some lie there already.
pub(super) fn keep_removed(place: &ChangePlace, journal: &Journal) -> Result<(), Error> {
    // What takes a change back is not taken back itself.
    if journal.command == UNDO {
        return Ok(());
    }
    let removed = journal.skills.iter().enumerate().filter(|(_, skill)| skill.after.is_none());
    let paths = removed.map(|(index, skill)| {
        (removed_directory(&skill.directory), kept(place, journal.time, index), &skill.directory)
    });
    let mut moved: Vec<(PathBuf, PathBuf)> = Vec::new();
    for (aside, kept, directory) in paths.filter(|(aside, ..)| aside.symlink_metadata().is_ok()) {
        match move_directory(&aside, &kept) {
            // A copy to another file system is there as a whole, even if the original cannot be deleted.
            Err(error) if !is_directory(&kept) => {
                for (aside, kept) in moved {
                    // Of one that cannot be moved back, the files come from the store.
                    let _ = move_directory(&kept, &aside);
                }
                return Err(Error::io("keep", directory, error));
            }
            _ => moved.push((aside, kept)),
        }
    }
    Ok(())
}

/// Records the change of `journal`, which was carried out.
pub(super) fn record(place: &ChangePlace, journal: &Journal) -> Result<(), Error> {
    let Journal { time, command, about, undoes, .. } = journal.clone();
    let mut change = DoneChange { time, command, about, undoes, ..DoneChange::default() };
    if journal.command != UNDO {
        change.skills.clone_from(&journal.skills);
        change.made.clone_from(&journal.made);
        journal.steps.iter().for_each(|step| change.add(step));
    }
    record_change(place, change)
}

/// Ends the change of `journal`: what it removed is deleted, unless it is kept, and so is the journal.
pub(super) fn end(place: &ChangePlace, journal: &Journal) -> Result<(), Error> {
    discard_removed(&journal.skills);
    Journal::remove(place)
}

/// Returns the digests of all bundles that the record beside `directory` names; `None` if it cannot be read.
pub(super) fn recorded_bundles(directory: &Path) -> Option<BTreeSet<Digest>> {
    let record: Record<Vec<DoneChange>> = Record::read(&record_place(directory)).ok()?;
    let skills = record.entries.iter().flat_map(|change| &change.skills);
    Some(skills.flat_map(|skill| [skill.before, skill.after]).flatten().collect())
}

fn record_place(directory: &Path) -> RecordPlace {
    RecordPlace::of_user(RecordKind::Changes, directory.parent().unwrap_or(directory))
}

/// Returns `time` in milliseconds since 1970.
pub fn milliseconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(time: u64, command: &str) -> DoneChange {
        // That of a connection is not as before, whatever is there.
        let before = (command == "rep connect").then(String::new);
        let file = FileStep { path: PathBuf::from("/nowhere/file"), before, after: Some("made".to_owned()) };
        let steps = vec![PathStep::UserFile(file)];
        DoneChange {
            time,
            place: "p".to_owned(),
            command: command.to_owned(),
            steps,
            ..DoneChange::default()
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_not_the_directory_that_was_moved_there() {
        let base = tempfile::tempdir().unwrap();
        let (from, to) = (base.path().join("from"), base.path().join("to"));
        std::os::unix::fs::symlink(base.path(), &to).unwrap();
        let step = PathStep::Move { from, to: to.clone() };
        assert_eq!(DoneState::of_step(&step), DoneState::Changed);
        fs::remove_file(&to).unwrap();
        fs::create_dir(&to).unwrap();
        assert_eq!(DoneState::of_step(&step), DoneState::Made);
    }

    #[test]
    fn what_stands_in_files_of_clients_stays_and_the_rest_grows_old() {
        let day = 24 * 60 * 60 * 1000;
        let mut changes = vec![change(1, "rep connect"), change(2, "rep add"), change(40 * day, "rep add")];
        let expired = expire(&mut changes, 60 * day);
        let times = |changes: &[DoneChange]| changes.iter().map(|change| change.time).collect::<Vec<_>>();
        assert_eq!((times(&changes), times(&expired)), (vec![40 * day, 1], vec![2]));
        // One that was taken back grows old, too.
        changes.push(DoneChange { undoes: Some(1), ..change(60 * day, UNDO) });
        expire(&mut changes, 60 * day);
        assert_eq!(times(&changes), [60 * day, 40 * day]);

        let mut changes: Vec<DoneChange> = (0..60).map(|time| change(time, "rep add")).collect();
        changes.push(change(0, "rep connect"));
        expire(&mut changes, 60);
        assert_eq!(changes.len(), 51);
        assert_eq!((changes[0].time, changes[49].time, &*changes[50].command), (59, 10, "rep connect"));
    }
}
