//! The change that takes another one back.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use repertoire_model::Digest;

use super::apply::{ChangeSteps, SkillStep};
use super::done::{DoneChange, DoneState, UNDO, done_changes, kept};
use super::installed::read_installed;
use super::path_step::{FileStep, PathStep};
use super::pieces::without;
use super::place::ChangePlace;
use super::replace_file::{MAX_FILE_BYTES, read_file};
use crate::Error;
use crate::store::{LazyStore, skill_files};

/// The reason that what was changed since is left alone.
const CHANGED: &str = "was changed since";

/// The change that takes another one back.
#[derive(Debug, Default)]
pub struct TakenBack {
    /// Its steps, for all that is as the other change left it.
    pub change: ChangeSteps<'static>,
    /// The files and directories that are left alone, with the reasons.
    pub changed: Vec<(PathBuf, String)>,
}

/// Plans to take back `done`, a change of `place`. The content of skills comes from `store`. What is as
/// before the change stays as it is.
pub fn take_back(place: &ChangePlace, store: &LazyStore, done: &DoneChange) -> Result<TakenBack, Error> {
    let mut back = TakenBack::default();
    back.change.command = UNDO;
    back.change.undoes = Some(done.time);
    back.change.about = [std::slice::from_ref(&done.command), &*done.about].concat();
    for step in done.steps.iter().rev() {
        let planned = match (DoneState::of_step(step), step) {
            (DoneState::Back, _) => continue,
            (DoneState::Changed, _) => None,
            (DoneState::Made, PathStep::Record(file)) => with_old_text(done, file)?.map(PathStep::Record),
            (DoneState::Made, PathStep::UserFile(file)) => with_old_text(done, file)?.map(PathStep::UserFile),
            (DoneState::Made, step) => Some(step.reversed()),
        };
        match planned {
            Some(step) => back.change.steps.push(step),
            None => back.changed.push((step.path().to_owned(), CHANGED.to_owned())),
        }
    }
    for (index, skill) in done.skills.iter().enumerate() {
        let directory = &skill.directory;
        let found = read_installed(directory)?;
        match DoneState::of_skill(skill, found.as_ref()) {
            DoneState::Back => continue,
            // Files that others have put beside those of an added skill are not removed with it.
            DoneState::Made
                if skill.before.is_some() || found.as_ref().is_some_and(|it| it.others.is_empty()) => {}
            DoneState::Made | DoneState::Changed => {
                back.changed.push((directory.clone(), CHANGED.to_owned()));
                continue;
            }
        }
        let kept = kept(place, done.time, index);
        if kept.is_dir() {
            back.change.steps.push(PathStep::Move { from: kept, to: directory.clone() });
            continue;
        }
        let after = match &skill.before {
            Some(digest) => Some(Cow::Owned(skill_files(&*store.get()?, digest)?)),
            None => None,
        };
        let (directory, before) = (directory.clone(), found.map(|found| Cow::Owned(found.files)));
        back.change.skills.push(SkillStep { directory, before, after, others: Cow::Borrowed(&[]) });
    }
    Ok(back)
}

/// Removes the directories around what `back` removed that changes of `place` made and that are empty now. A
/// directory of a client, even an empty one, is a sign of the client; one that was there before stays.
pub fn remove_made(place: &ChangePlace, back: &ChangeSteps<'_>) -> Result<(), Error> {
    let name = place.name();
    let changes = done_changes(place)?.into_iter().filter(|change| change.place == name);
    let made: BTreeSet<PathBuf> = changes.flat_map(|change| change.made).collect();
    let removed = back.steps.iter().filter_map(|step| match step {
        PathStep::Link { path, after: None, .. } | PathStep::Move { from: path, .. } => Some(path),
        PathStep::Record(file) | PathStep::UserFile(file) if file.after.is_none() => Some(&file.path),
        _ => None,
    });
    let skills = back.skills.iter().filter(|skill| skill.after.is_none());
    for path in removed.chain(skills.map(|skill| &skill.directory)) {
        let mut above = path.ancestors().skip(1).take_while(|above| made.contains(*above));
        let _ = above.try_for_each(fs::remove_dir);
    }
    Ok(())
}

/// Returns the step that gives the file of the step `done_file` its old text, if that can be made of the one
/// that it has.
fn with_old_text(done: &DoneChange, done_file: &FileStep) -> Result<Option<FileStep>, Error> {
    let path = done_file.path.clone();
    let before = read_file(&path, MAX_FILE_BYTES)?.and_then(|bytes| String::from_utf8(bytes).ok());
    let Some(digest) = &done_file.before else { return Ok(Some(FileStep { path, before, after: None })) };
    let pieces = done.pieces.get(&path);
    let after = pieces.and_then(|pieces| without(before.as_deref().unwrap_or_default(), pieces));
    let after = after.filter(|after| Digest::of(after.as_bytes()).to_string() == *digest);
    Ok(after.map(|after| FileStep { path, before, after: Some(after) }))
}
