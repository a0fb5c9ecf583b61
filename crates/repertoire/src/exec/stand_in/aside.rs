//! What could not be carried over, kept under names that are nobody's, so that no work is lost.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use super::logs::{MAX_STASH, STASH_LOG, new_in};
use super::{CARRIED, HEAD, MAX_NAMES, SHALLOW, StandIn, invalid};
use crate::exec::allowance::Allowance;
use crate::exec::git_objects::Kind;
use crate::exec::git_refs::{self, BRANCHES, Value};
use crate::exec::mark;
use crate::exec::ref_name::RefName;

/// Where things are kept, those of each run in a directory of their own.
const ASIDE: &str = "refs/repertoire/left";
/// Where those of the stash are among them.
const STASHES: &str = "stash/";
/// How many of a run.
const MAX_ASIDE: usize = 1000;
/// What leads to work and is no ref, and how that is called here: a HEAD on no branch, and what git stashed away by the way.
const ALONE: &[(&str, &str)] = &[
    (HEAD, "detached"),
    ("MERGE_AUTOSTASH", "autostash/merge"),
    ("rebase-merge/autostash", "autostash/rebase"),
    ("rebase-apply/autostash", "autostash/apply"),
];

/// A name below [`ASIDE`], and what is kept there.
type Kept = (Vec<u8>, String);

impl StandIn {
    /// Keeps what refs, a HEAD of its own and the stash stand for. Says why where that cannot be done.
    pub(super) fn keep_aside(&self, allowance: &mut Allowance) -> io::Result<()> {
        let kept = self.left(allowance)?;
        self.keep(&kept, allowance)
    }

    /// Keeps what the command stashed, as [`StandIn::keep_aside`] does.
    pub(super) fn keep_stashes(&self, allowance: &mut Allowance) -> io::Result<()> {
        let mut kept = self.left(allowance)?;
        kept.retain(|(name, _)| name.starts_with(STASHES.as_bytes()));
        self.keep(&kept, allowance)
    }

    fn keep(&self, kept: &[Kept], allowance: &mut Allowance) -> io::Result<()> {
        if kept.is_empty() {
            return Ok(());
        }
        // Without their objects they would be of no use, and where history is cut off otherwise there is more missing than is seen.
        if self.own.read(SHALLOW, super::MAX_BYTES)? != self.shallow {
            return Err(invalid("history was cut off"));
        }
        self.take_objects(allowance)?;
        let kinds = self.kinds(kept.iter().map(|(_, value)| value.as_str()), allowance)?;
        let is_sound = |(name, value): &&Kept| match kinds.get(value) {
            Some(kind) => *kind == Kind::Commit || name.starts_with(b"tags/"),
            None => false,
        };
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let directory = format!("{ASIDE}/{time}-{:08x}/", mark::random() as u32);
        // One that cannot be kept is no reason to lose the others.
        let mut failed = Ok(());
        for (name, value) in kept.iter().filter(is_sound).take(MAX_ASIDE) {
            allowance.go_on()?;
            let line = Value::Object(value.clone()).line();
            let done = match RefName::parse(&[directory.as_bytes(), name].concat()) {
                Some(name) => self.common.write_new(name.path(), &line),
                None => Err(invalid("a name is too long")),
            };
            failed = failed.and(done);
        }
        if kept.len() > MAX_ASIDE { Err(invalid("there is more than can be kept")) } else { failed }
    }

    /// Returns what was in a file of the checkout.
    fn before_of(&self, name: &str) -> Option<&Vec<u8>> {
        let mut all = CARRIED.iter().zip(&self.before);
        all.find(|((own, _), _)| *own == name).and_then(|(_, content)| content.as_ref())
    }

    /// Returns what the command left that is nowhere else.
    fn left(&self, allowance: &mut Allowance) -> io::Result<Vec<Kept>> {
        let mut kept = Vec::new();
        let stash = RefName::stash();
        let (changes, _) = git_refs::changes(&self.refs, &self.refs_made(allowance)?);
        let stashed = changes.iter().find(|change| change.name == stash);
        let stashed = stashed.and_then(|change| change.after.as_ref()).and_then(Value::object);
        let log = self.own.read(STASH_LOG, 2 * MAX_STASH).ok().flatten().unwrap_or_default();
        let mut stashes = new_in(&log, self.stash.as_deref().unwrap_or_default(), self.objects);
        stashes.extend(stashed.filter(|last| !stashes.contains(last)));
        let numbered = stashes.iter().enumerate();
        kept.extend(
            numbered
                .map(|(number, name)| (format!("{STASHES}{}", number + 1).into_bytes(), (*name).to_owned())),
        );
        for (file, name) in ALONE {
            let text = self.own.read(file, MAX_NAMES).ok().flatten();
            let text = text.filter(|text| Some(text) != self.before_of(file));
            if let Some(Value::Object(object)) = text.and_then(|text| Value::parse(&text, self.objects)) {
                kept.push((name.as_bytes().to_vec(), object));
            }
        }
        // Branches first: where there is too much, they are not what is lost.
        let (branches, others): (Vec<_>, Vec<_>) = changes
            .iter()
            .filter(|change| change.name != stash)
            .partition(|change| change.name.starts_with(BRANCHES));
        for change in branches.into_iter().chain(others) {
            if let (Some(Value::Object(object)), Some(name)) =
                (&change.after, change.name.bytes().strip_prefix(b"refs/"))
            {
                kept.push((name.to_vec(), object.clone()));
            }
        }
        Ok(kept)
    }
}
