//! The logs of refs: what was there, and what a command added.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use super::{HEAD, StandIn, at};
use crate::exec::allowance::Allowance;
use crate::exec::git_dir::GitDir;
use crate::exec::git_objects::Objects;
use crate::exec::git_refs::Change;
use crate::exec::left_out::LeftOut;
use crate::exec::ref_name::RefName;

/// The log of the stash.
pub(super) const STASH_LOG: &str = "logs/refs/stash";
/// The longest one, in bytes.
pub(super) const MAX_STASH: u64 = 16 << 20;
/// The most of all others that is copied, in bytes.
const MAX_COPIED: u64 = 16 << 20;

impl StandIn {
    /// Copies the logs, as far as there is room. That of the stash is no log but a list, and has to be whole.
    pub(super) fn copy_logs(&mut self, allowance: &Allowance) -> io::Result<()> {
        self.stash = at(STASH_LOG, self.common.read(STASH_LOG, MAX_STASH))?;
        if let Some(stash) = &self.stash {
            self.own.write_new(STASH_LOG, stash)?;
        }
        let stash = RefName::stash();
        let refs = self.refs.keys().filter(|name| **name != stash).map(|name| log_of(name.path()));
        let mut room = MAX_COPIED;
        for name in [log_of(Path::new(HEAD))].into_iter().chain(refs) {
            allowance.go_on()?;
            let real = self.real_log(&name);
            // Where the log of `a/b` was, a directory may have stayed behind.
            if real.has_directory(&name) {
                continue;
            }
            let mut is_room = true;
            let read = real.read_from(&name, 0, |length| {
                is_room = length <= room;
                is_room.then_some(()).ok_or_else(|| io::ErrorKind::FileTooLarge.into())
            });
            let Some(content) = (if is_room { at(&name.to_string_lossy(), read)? } else { None }) else {
                continue;
            };
            self.own.write_new(&name, &content)?;
            room -= content.len() as u64;
            self.logs.insert(name, content.len() as u64);
        }
        Ok(())
    }

    /// Returns the directory in which the real log is.
    fn real_log(&self, name: &Path) -> &GitDir {
        if name == log_of(Path::new(HEAD)) { &self.checkout } else { &self.common }
    }

    /// Adds to the logs what the command added. Everything is there without them, so what cannot be added is only told.
    pub(super) fn carry_logs(&self, changes: &[Change], allowance: &mut Allowance, left_out: &mut LeftOut) {
        let stash = RefName::stash();
        let others = changes.iter().filter(|change| change.name != stash);
        let others = others.map(|change| (log_of(change.name.path()), change.after.is_none()));
        for (name, is_gone) in [(log_of(Path::new(HEAD)), false)].into_iter().chain(others) {
            let real = self.real_log(&name);
            if is_gone {
                let _ = real.remove(&name);
                continue;
            }
            // Nothing is read that will not be written.
            let mut is_spent = false;
            let added = self.own.read_from(&name, self.logs.get(&name).copied().unwrap_or(0), |length| {
                allowance.take_log(length).inspect_err(|_| is_spent = true)
            });
            if is_spent || added.is_err() {
                left_out.push(&name.display());
            }
            let Ok(Some(added)) = added else { continue };
            if !added.is_empty() && is_log(&added, self.objects) {
                // Where the log of `a/b` was, a directory may have stayed behind.
                real.remove_empty(&name);
                let _ = real.append(&name, &added);
            }
        }
    }
}

/// Returns where the log of a ref is.
fn log_of(name: &Path) -> PathBuf {
    Path::new("logs").join(name)
}

/// Returns whether all of these are lines of a log.
pub(super) fn is_log(text: &[u8], objects: Objects) -> bool {
    text.split_inclusive(|byte| *byte == b'\n').all(|line| is_log_line(line, objects))
}

/// Returns whether this is a line of a log: two objects, who, when, and why.
fn is_log_line(line: &[u8], objects: Objects) -> bool {
    let digits = 2 * objects.length();
    let is_object = |bytes: Option<&[u8]>| bytes.is_some_and(|bytes| bytes.iter().all(u8::is_ascii_hexdigit));
    let text = line.strip_suffix(b"\n");
    is_object(line.get(..digits))
        && is_object(line.get(digits + 1..2 * digits + 1))
        // Why is what a commit says of itself, with whatever letters.
        && text.is_some_and(|text| !text.contains(&0) && !text.contains(&b'\r'))
}

/// Returns what the lines of a log lead to, in their order.
pub(super) fn objects_in(log: &[u8], objects: Objects) -> impl Iterator<Item = &str> {
    let digits = 2 * objects.length();
    let lines = log.split(|byte| *byte == b'\n');
    let names = lines.filter_map(move |line| str::from_utf8(line.get(digits + 1..2 * digits + 1)?).ok());
    names.filter(move |name| objects.is_name(name))
}

/// Returns what is new in a log, each once, in their order.
pub(super) fn new_in<'a>(after: &'a [u8], before: &'a [u8], objects: Objects) -> Vec<&'a str> {
    let mut seen: HashSet<&str> = objects_in(before, objects).collect();
    objects_in(after, objects).filter(|name| seen.insert(name)).collect()
}
