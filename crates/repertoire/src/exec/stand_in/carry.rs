//! Carries over what a command left in its repository.

use std::collections::{HashMap, HashSet};
use std::io;
use std::time::Duration;

use super::logs::{MAX_STASH, STASH_LOG, is_log, new_in, objects_in};
use super::{
    CARRIED, Content, HEAD, INDEX, LINKED, MAX_BYTES, SETTINGS_FILE, SHALLOW, StandIn, at, branch_of, invalid,
};
use crate::exec::Cancel;
use crate::exec::allowance::Allowance;
use crate::exec::git_lock::{Lock, patiently};
use crate::exec::git_objects::{self, Kind};
use crate::exec::git_refs::{self, BRANCHES, Change, Found, Locked, Value};
use crate::exec::git_stores;
use crate::exec::left_out::LeftOut;
use crate::exec::outcome::Aftermath;
use crate::exec::ref_name::RefName;

/// How long what a command made is looked at and carried over; less once somebody wants it ended.
const CARRY_TIME: Duration = Duration::from_secs(30);
/// How long it takes at most to keep its work where it cannot be carried over.
const KEEP_TIME: Duration = Duration::from_secs(15);
/// The most files and directories that a command may have made in its repository.
const MAX_MADE: usize = 1 << 20;
/// What is under way here cannot be carried over.
const UNDER_WAY: &[&str] = &["rebase-merge", "rebase-apply", "sequencer"];
/// Says that somebody looks for the commit that broke something.
pub(super) const BISECTING: &str = "BISECT_LOG";

/// A file of the checkout that the command made or changed, and what is in it unless it removed it.
struct Made {
    name: &'static str,
    content: Content,
    after: Option<Vec<u8>>,
}

/// What the command made that is to be carried over.
struct Work {
    files: Vec<Made>,
    changes: Vec<Change>,
    /// The log of the stash, if that was changed.
    stash: Option<Option<Vec<u8>>>,
}

/// What came of carrying over.
enum Carried {
    All,
    /// All but this.
    But(Vec<String>),
    /// Nothing, because somebody else had changed something.
    Nothing,
}

impl StandIn {
    /// Carries over what the command left, once nothing of it runs any more.
    pub(crate) fn carry_over(&self, cancel: Option<&Cancel>) -> Option<Aftermath> {
        self.carry_over_within(CARRY_TIME, cancel)
    }

    pub(super) fn carry_over_within(&self, time: Duration, cancel: Option<&Cancel>) -> Option<Aftermath> {
        let directory = || self.checkout.path().to_owned();
        let carried = self.try_carry_over(&mut Allowance::new(time, cancel, MAX_MADE));
        match carried {
            Ok(Carried::All) => return None,
            Ok(Carried::But(what)) => return Some(Aftermath::RepositoryLeftOut(directory(), what)),
            Ok(Carried::Nothing) | Err(_) => {}
        }
        // What is committed or stashed there is nowhere else any more.
        let kept = self.keep_aside(&mut Allowance::new(time.min(KEEP_TIME), cancel, MAX_MADE));
        let not_kept =
            |error: io::Error| format!("nor could all be kept that it committed or stashed: {error}");
        Some(match (carried, kept.map_err(not_kept)) {
            (Err(error), Ok(())) => Aftermath::RepositoryNotWritten(directory(), error.to_string()),
            (Err(error), Err(not)) => Aftermath::RepositoryNotWritten(directory(), format!("{error}; {not}")),
            (Ok(_), Ok(())) => Aftermath::RepositoryChanged(directory()),
            (Ok(_), Err(not)) => {
                let text = format!("somebody else changed the index, HEAD or a branch meanwhile; {not}");
                Aftermath::RepositoryNotWritten(directory(), text)
            }
        })
    }

    pub(super) fn take_objects(&self, allowance: &mut Allowance) -> io::Result<()> {
        git_objects::take_over(&self.own, &self.common, self.objects, allowance)
    }

    /// Returns the refs as the command left them.
    pub(super) fn refs_made(&self, allowance: &mut Allowance) -> io::Result<Found> {
        git_refs::read(&self.own, self.objects, allowance)
    }

    /// Returns which of these objects the real repository has, and what they are.
    pub(super) fn kinds<'a>(
        &self,
        names: impl Iterator<Item = &'a str>,
        allowance: &Allowance,
    ) -> io::Result<HashMap<String, Kind>> {
        git_stores::kinds(&self.stores, names, self.objects, allowance)
    }

    fn try_carry_over(&self, allowance: &mut Allowance) -> io::Result<Carried> {
        if !self.own.is_in_place() {
            return Err(invalid("its repository is none any more"));
        }
        if !self.checkout.is_in_place() || !self.common.is_in_place() {
            return Err(invalid("the repository was replaced by something else meanwhile"));
        }
        // Half of it would leave the checkout in a state that nothing leads out of.
        if let Some(name) = UNDER_WAY.iter().find(|name| !matches!(self.own.kind(name), Ok(None))) {
            return Err(invalid(&format!("something is under way there: {name}")));
        }
        if at(SHALLOW, self.own.read(SHALLOW, MAX_BYTES))? != self.shallow {
            return Err(invalid(
                "history was cut off, or what was cut off was fetched, which is not carried over",
            ));
        }
        let (changes, mut left_out) = git_refs::changes(&self.refs, &self.refs_made(allowance)?);
        let files = self.files_made(allowance, &mut left_out)?;
        if self.own.has_directory(LINKED) {
            left_out.push(LINKED);
        }
        self.leave_out_states(&mut left_out);
        let stash = at(STASH_LOG, self.own.read(STASH_LOG, 2 * MAX_STASH))?;
        let stash = Some(stash).filter(|stash| *stash != self.stash);
        let mut work = Work { files, changes, stash };
        self.expect_allowed(&work)?;
        if !work.files.is_empty() || !work.changes.is_empty() || work.stash.is_some() {
            self.take_objects(allowance)?;
            let has_stashed = work.stash.is_some();
            self.take_out_unsound(&mut work, allowance, &mut left_out)?;
            if !self.write(&work, allowance)? {
                return Ok(Carried::Nothing);
            }
            if has_stashed && work.stash.is_none() {
                // What was stashed is not in the files any more, and nothing else leads to it.
                self.keep_stashes(allowance)?;
            }
            self.carry_logs(&work.changes, allowance, &mut left_out);
        }
        Ok(if left_out.is_empty() { Carried::All } else { Carried::But(left_out.told()) })
    }

    /// Leaves out what the command made that is for this run alone. Without it the checkout is still whole: one that looks for a commit has
    /// one out, and no branch.
    fn leave_out_states(&self, left_out: &mut LeftOut) {
        let settings = self.own.read(SETTINGS_FILE, MAX_BYTES).ok().flatten();
        if settings.as_deref() != Some(self.settings.as_bytes()) {
            left_out.push(SETTINGS_FILE);
        }
        if !matches!(self.own.kind(BISECTING), Ok(None)) {
            left_out.push(BISECTING);
        }
    }

    /// Returns what the command made of the files of the checkout, each of which is what it has to be.
    fn files_made(&self, allowance: &Allowance, left_out: &mut LeftOut) -> io::Result<Vec<Made>> {
        let mut files = Vec::new();
        for ((name, content), before) in CARRIED.iter().zip(&self.before) {
            // One that was too long before is no worse now.
            let most = before.as_ref().map_or(0, |before| before.len() as u64).max(content.most());
            let after = match self.own.read(name, most) {
                // Nothing needs such a text.
                Err(error) if error.kind() == io::ErrorKind::FileTooLarge && *content == Content::Text => {
                    left_out.push(name);
                    continue;
                }
                after => at(name, after)?,
            };
            let until = allowance.until();
            if content.is_same(after.as_deref(), before.as_deref(), self.objects, until) {
                continue;
            }
            let after = after.map(|after| content.carried(after, self.objects, until)).transpose();
            let after = at(name, after)?;
            if after.is_none() && *name == HEAD {
                return Err(invalid("there is no HEAD any more"));
            }
            files.push(Made { name, content: *content, after });
        }
        Ok(files)
    }

    /// Fails if these changes are not for a command to make.
    fn expect_allowed(&self, work: &Work) -> io::Result<()> {
        if work.changes.len() > git_refs::MAX_CHANGES {
            return Err(invalid("too many refs were changed"));
        }
        if git_refs::has_clash(&work.changes, &self.refs) {
            return Err(invalid("a ref would lie where a directory of refs is"));
        }
        let elsewhere = self.repository.other_branches(&self.common);
        let head = work.head().and_then(|head| branch_of(head, self.objects));
        if work.changes.iter().map(|change| &change.name).chain(&head).any(|name| elsewhere.contains(name)) {
            return Err(invalid("another checkout is on one of the branches"));
        }
        Ok(())
    }

    /// Takes out what leads to objects that are not there, or not what they have to be: it would break the repository.
    fn take_out_unsound(
        &self,
        work: &mut Work,
        allowance: &Allowance,
        left_out: &mut LeftOut,
    ) -> io::Result<()> {
        let after = |change: &Change| change.after.as_ref().and_then(Value::object).map(str::to_owned);
        let leads: Vec<(&str, Vec<(String, Kind)>)> =
            work.files.iter().map(|made| (made.name, made.leads_to(self.objects))).collect();
        let before = self.stash.as_deref().unwrap_or_default();
        let stashed = work.stash.iter().flatten().flat_map(|log| new_in(log, before, self.objects));
        let names: HashSet<String> = work
            .changes
            .iter()
            .filter_map(after)
            .chain(leads.iter().flat_map(|(_, objects)| objects.iter().map(|(name, _)| name.clone())))
            .chain(stashed.map(str::to_owned))
            .collect();
        let kinds = self.kinds(names.iter().map(String::as_str), allowance)?;
        let is_unsound = |change: &mut Change| {
            let is_of_commits = change.name.starts_with(BRANCHES) || change.name == RefName::stash();
            after(change).is_some_and(|object| match kinds.get(&object) {
                Some(kind) => is_of_commits && *kind != Kind::Commit,
                None => true,
            })
        };
        let without: Vec<RefName> =
            work.changes.extract_if(.., is_unsound).map(|change| change.name).collect();
        without.iter().for_each(|name| left_out.push(name));
        for (name, objects) in &leads {
            if objects.iter().any(|(object, kind)| kinds.get(object) != Some(kind)) {
                return Err(invalid(&format!(
                    "{name} leads to an object that is not there, or not what it has to be"
                )));
            }
        }
        if work
            .head()
            .and_then(|head| branch_of(head, self.objects))
            .is_some_and(|head| without.contains(&head))
        {
            return Err(invalid("HEAD leads to an object that is not there, or not what it has to be"));
        }
        if without.contains(&RefName::stash()) {
            work.stash = None;
        }
        self.take_out_stash(work, &kinds, left_out);
        Ok(())
    }

    /// Takes out a stash that is not whole, or of which the log and the ref say something else.
    fn take_out_stash(&self, work: &mut Work, kinds: &HashMap<String, Kind>, left_out: &mut LeftOut) {
        let Some(log) = &work.stash else { return };
        let name = RefName::stash();
        let change = work.changes.iter().find(|change| change.name == name);
        let value = change.map_or_else(|| self.refs.get(&name), |change| change.after.as_ref());
        let log = log.as_deref().unwrap_or_default();
        let is_sound = is_log(log, self.objects)
            && objects_in(log, self.objects).last() == value.and_then(Value::object)
            && new_in(log, self.stash.as_deref().unwrap_or_default(), self.objects)
                .iter()
                .all(|object| kinds.get(*object) == Some(&Kind::Commit));
        if !is_sound {
            work.stash = None;
            work.changes.retain(|change| change.name != name);
            left_out.push(&name);
        }
    }

    /// Writes files and refs under git's locks; returns whether nobody else had changed any meanwhile.
    ///
    /// Everything is written into the locks first, so that nothing is left to be done then but to put them in their places.
    fn write(&self, work: &Work, allowance: &Allowance) -> io::Result<bool> {
        let checkout = &self.checkout;
        let mut locks = Vec::new();
        let index = work.files.iter().find(|made| made.name == INDEX);
        let index = patiently(allowance, || match index {
            Some(made) => {
                let time = self.own.time(INDEX);
                Lock::take_to_write_dated(checkout, INDEX, made.after.as_deref(), time)
            }
            None => Lock::take(checkout, INDEX),
        })?;
        let Some(index) = index else { return Ok(false) };
        for made in work.files.iter().filter(|made| made.name != INDEX) {
            let lock =
                patiently(allowance, || Lock::take_to_write(checkout, made.name, made.after.as_deref()))?;
            let Some(lock) = lock else { return Ok(false) };
            locks.push(lock);
        }
        let is_of_checkout =
            !work.files.is_empty() || work.changes.iter().any(|change| change.name.starts_with(BRANCHES));
        for ((name, content), before) in CARRIED.iter().zip(&self.before).filter(|_| is_of_checkout) {
            let now = at(name, checkout.read(name, MAX_BYTES))?;
            if !content.is_same(now.as_deref(), before.as_deref(), self.objects, allowance.until()) {
                return Ok(false);
            }
        }
        let stash = RefName::stash();
        let held = work.stash.as_ref().map(|_| &stash);
        let refs = patiently(allowance, || Locked::lock(&self.common, &work.changes, held, self.objects))?;
        let Some(refs) = refs else { return Ok(false) };
        if let Some(log) = &work.stash {
            // Somebody may have stashed something, or taken something out, with the same last one.
            if at(STASH_LOG, self.common.read(STASH_LOG, MAX_BYTES))? != self.stash {
                return Ok(false);
            }
            let Some(lock) = Lock::take_to_write(&self.common, STASH_LOG, log.as_deref())? else {
                return Ok(false);
            };
            lock.commit()?;
        }
        refs.commit()?;
        for lock in locks {
            lock.commit()?;
        }
        index.commit()?;
        Ok(true)
    }
}

impl Made {
    fn leads_to(&self, objects: git_objects::Objects) -> Vec<(String, Kind)> {
        self.after.as_deref().map(|after| self.content.leads_to(after, objects)).unwrap_or_default()
    }
}

impl Work {
    /// Returns what HEAD says, if that was changed.
    fn head(&self) -> Option<&[u8]> {
        self.files.iter().find(|made| made.name == HEAD).and_then(|made| made.after.as_deref())
    }
}
