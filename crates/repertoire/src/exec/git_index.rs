//! An index of git that a command left: what of it is carried over, and whether two say the same.
//!
//! Git believes an index, and writes wherever it says. Beside the entries it has things that only save git time, and that git believes as well: trees that are said
//! to hold these entries are committed unseen, tables say where entries begin. So only the entries are carried over, and what else cannot be found out again.

use std::cmp::Ordering;
use std::io;
use std::time::Instant;

use crate::exec::file_name;
use crate::exec::git_objects::Objects;

/// How many bytes of an entry come before its mode: times and numbers.
const BEFORE_MODE: usize = 24;
/// How many bytes come after that, before its object: the owner and the size.
const AFTER_MODE: usize = 12;
/// The bit of an entry's flags that says that there are more flags.
const EXTENDED: u16 = 0x4000;
/// The more flags that there are: the file is not to be in the checkout, or was only announced.
const MORE_FLAGS: u16 = 0x6000;
/// The bits of an entry's flags that say which side of a conflict it is.
const STAGE: u16 = 0x3000;
/// The bits that say how long its path is; all of them where it is longer than they can say.
const PATH_LENGTH: u16 = 0x0fff;

/// What an entry may be: a file, one to run, a link, another repository.
const MODES: &[u32] = &[0o100_644, 0o100_755, 0o120_000, 0o160_000];
/// A directory as a whole, in an index that is sparse.
const DIRECTORY: u32 = 0o040_000;

/// The longest path, in bytes: no system has longer ones.
const MAX_PATH: usize = 4096;
/// How much of a name is looked at, in bytes. Where that does not say what it is, it is nothing that anybody would call a file.
const MAX_LOOKED_AT: usize = 256;
/// After how many entries the clock is looked at.
const CLOCK_INTERVAL: u32 = 1024;

/// Says that there are directories among the entries.
const SPARSE: &[u8] = b"sdir";
/// Says what the sides of conflicts were that are resolved, and is nowhere else.
const RESOLVED: &[u8] = b"REUC";
/// Says that the rest is in another file.
const SPLIT: &[u8] = b"link";
/// Says where the entries end; git looks for it from the end of the file, whatever that belongs to.
const END_OF_ENTRIES: &[u8] = b"EOIE";
/// How long that is, without the sum in it.
const END_TABLE: usize = 12;

/// Returns what is carried over of an index: all entries, which must be such that git can use them and lie in the checkout, outside of directories of git.
pub(crate) fn carried(bytes: &[u8], objects: Objects, until: Instant) -> io::Result<Vec<u8>> {
    if !has_sum(bytes, objects) {
        return Err(unsound("its sum is wrong"));
    }
    let mut entries = Entries::of(bytes, objects)?;
    let mut has_directories = false;
    while entries.advance(until)? {
        entries.expect_usable()?;
        has_directories |= entries.entry.mode == DIRECTORY;
    }
    let end = bytes.len() - objects.length() - entries.rest.len();
    let mut carried = bytes[..end].to_vec();
    let (mut is_sparse, mut is_resolved) = (false, false);
    for (name, content) in entries.extensions()? {
        match name {
            SPARSE if !is_sparse => {
                is_sparse = true;
                add(&mut carried, SPARSE, &[]);
            }
            RESOLVED if !is_resolved => {
                is_resolved = true;
                expect_resolved(content, objects, until)?;
                add(&mut carried, RESOLVED, content);
            }
            SPLIT => return Err(unsound("it is in two parts")),
            // Git can do without those whose names begin so.
            [b'A'..=b'Z', ..] if name != RESOLVED => {}
            _ => return Err(unsound("there is something in it that only some gits know, or twice")),
        }
    }
    if has_directories && !is_sparse {
        return Err(unsound("an entry is a directory"));
    }
    carried.extend(objects.sum(&carried));
    if has_end_table(&carried, objects) {
        return Err(unsound("it says where its entries end where something else is"));
    }
    Ok(carried)
}

/// Returns whether two indices have the same entries, whatever they know of the files by the way.
///
/// Whoever only looks, as with `git status`, makes another index that says the same.
pub(crate) fn is_same(one: &[u8], other: &[u8], objects: Objects, until: Instant) -> bool {
    one == other || has_same_entries(one, other, objects, until).unwrap_or(false)
}

fn has_same_entries(one: &[u8], other: &[u8], objects: Objects, until: Instant) -> io::Result<bool> {
    let (mut one, mut other) = (Entries::of(one, objects)?, Entries::of(other, objects)?);
    if one.left != other.left {
        return Ok(false);
    }
    while one.advance(until)? && other.advance(until)? {
        if one.entry != other.entry || one.path != other.path {
            return Ok(false);
        }
    }
    // Where entries are elsewhere, these are not all.
    let is_whole = |entries: &Entries<'_>| {
        let extensions = entries.extensions()?;
        Ok::<_, io::Error>(extensions.iter().all(|(name, _)| name[0].is_ascii_uppercase() || *name == SPARSE))
    };
    Ok(is_whole(&one)? && is_whole(&other)?)
}

/// Returns whether an index ends in the sum of what is before, or in none at all, as git leaves it where it is told to (`index.skipHash`).
fn has_sum(bytes: &[u8], objects: Objects) -> bool {
    let before = bytes.len().checked_sub(objects.length());
    let Some((content, sum)) = before.and_then(|end| bytes.split_at_checked(end)) else { return false };
    sum.iter().all(|byte| *byte == 0) || sum == objects.sum(content)
}

/// Returns whether git would find a table of ends.
fn has_end_table(bytes: &[u8], objects: Objects) -> bool {
    let place = bytes.len().checked_sub(END_TABLE + 2 * objects.length());
    place.is_some_and(|place| bytes[place..].starts_with(END_OF_ENTRIES))
}

fn add(bytes: &mut Vec<u8>, name: &[u8], content: &[u8]) {
    bytes.extend_from_slice(name);
    // What was read has a length that can be said.
    bytes.extend_from_slice(&u32::try_from(content.len()).unwrap_or_default().to_be_bytes());
    bytes.extend_from_slice(content);
}

/// What an entry says, but for its path and what is known of the file by the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Entry<'a> {
    mode: u32,
    object: &'a [u8],
    /// Without the length of the path, and whether there are more.
    flags: u16,
    more: u16,
}

impl Entry<'_> {
    fn stage(&self) -> u16 {
        self.flags & STAGE
    }
}

/// The entries of an index, read one after the other; what each costs is what it has that the one before has not.
struct Entries<'a> {
    /// What was not read yet, without the sum.
    rest: &'a [u8],
    version: u32,
    /// How many were not read yet.
    left: u32,
    object: usize,
    /// The last one that was read, and its path.
    entry: Entry<'a>,
    path: Vec<u8>,
    /// How its path compares to the one before, how much of the two is the same, and how much of it was looked at with that.
    order: Ordering,
    shared: usize,
    looked_at: usize,
    stage_before: u16,
    /// Where slashes are in the path.
    slashes: Vec<usize>,
    /// How long paths of files are that came before and that this one begins with.
    files: Vec<usize>,
}

impl<'a> Entries<'a> {
    fn of(bytes: &'a [u8], objects: Objects) -> io::Result<Self> {
        let object = objects.length();
        let content = bytes.len().checked_sub(object).map(|end| &bytes[..end]);
        let rest = content.and_then(|content| content.strip_prefix(b"DIRC"));
        let mut rest = rest.ok_or_else(|| unsound("it is none"))?;
        let version = number(&mut rest).filter(|version| (2..=4).contains(version));
        let version = version.ok_or_else(|| unsound("its version is not known"))?;
        let left = number(&mut rest).ok_or_else(cut_short)?;
        Ok(Self {
            rest,
            version,
            left,
            object,
            entry: Entry::default(),
            path: Vec::new(),
            order: Ordering::Less,
            shared: 0,
            looked_at: 0,
            stage_before: 0,
            slashes: Vec::new(),
            files: Vec::new(),
        })
    }

    /// Reads the next entry; returns whether there was one.
    fn advance(&mut self, until: Instant) -> io::Result<bool> {
        if self.left == 0 {
            return Ok(false);
        }
        if self.left.is_multiple_of(CLOCK_INTERVAL) && Instant::now() >= until {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "it has so many entries that it takes too long",
            ));
        }
        self.left -= 1;
        self.stage_before = self.entry.stage();
        let length = self.read().ok_or_else(cut_short)?;
        if length != self.path.len().min(usize::from(PATH_LENGTH)) || self.path.len() > MAX_PATH {
            return Err(unsound("a path is not as long as it says"));
        }
        Ok(true)
    }

    /// Reads an entry and returns how long it says that its path is; nothing where it is cut short, or git would read it otherwise.
    fn read(&mut self) -> Option<usize> {
        let before = self.rest.len();
        take(&mut self.rest, BEFORE_MODE)?;
        let mode = number(&mut self.rest)?;
        take(&mut self.rest, AFTER_MODE)?;
        let object = take(&mut self.rest, self.object)?;
        let flags = short(&mut self.rest)?;
        // The second version has no more, and git reads them all the same.
        let is_extended = flags & EXTENDED != 0;
        let more = if is_extended { short(&mut self.rest).filter(|_| self.version >= 3)? } else { 0 };
        self.entry = Entry { mode, object, flags: flags & !(EXTENDED | PATH_LENGTH), more };
        let is_short = self.version == 4;
        let kept = if is_short { self.path.len().checked_sub(offset(&mut self.rest)?)? } else { 0 };
        let end = self.rest.iter().position(|byte| *byte == 0)?;
        let added = take(&mut self.rest, end)?;
        self.step(kept, added);
        // Entries of earlier versions are filled up to eight bytes, with one at least.
        let length = before - self.rest.len();
        take(&mut self.rest, if is_short { 1 } else { 8 - length % 8 })?;
        Some(usize::from(flags & PATH_LENGTH))
    }

    /// Goes on to the path that has `kept` bytes of this one and then `added`.
    fn step(&mut self, kept: usize, added: &[u8]) {
        let tail = &self.path[kept..];
        self.order = tail.cmp(added);
        self.shared = kept + tail.iter().zip(added).take_while(|(one, other)| one == other).count();
        while self.slashes.pop_if(|slash| *slash >= kept).is_some() {}
        while self.files.pop_if(|length| *length > self.shared).is_some() {}
        // What is kept of the one before was looked at with that, but for a name that goes on.
        self.looked_at = self.slashes.last().map_or(0, |slash| slash + 1);
        self.path.truncate(kept);
        self.path.extend_from_slice(added);
        let slashes = added.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        self.slashes.extend(slashes.map(|(place, _)| kept + place));
    }

    /// Fails if git could not use the entry that was read last, or would write where it must not.
    fn expect_usable(&mut self) -> io::Result<()> {
        let (entry, path) = (self.entry, &self.path);
        let (stage, is_directory) = (entry.stage(), path.ends_with(b"/"));
        let is_next_side =
            self.order == Ordering::Equal && 0 < self.stage_before && self.stage_before < stage;
        if self.order != Ordering::Less && !is_next_side {
            return Err(unsound("its entries are not in their order, or one is there twice"));
        }
        if !self.is_inside() {
            return Err(unsound("an entry lies outside of the checkout, or in a directory of git"));
        }
        let is_known =
            MODES.contains(&entry.mode) && !is_directory || entry.mode == DIRECTORY && is_directory;
        if !is_known || entry.more & !MORE_FLAGS != 0 {
            return Err(unsound("an entry is nothing that git knows"));
        }
        if entry.object.iter().all(|byte| *byte == 0) {
            return Err(unsound("an entry stands for no object"));
        }
        let is_in_file = self.files.last() == Some(&self.shared) && path.get(self.shared) == Some(&b'/');
        if stage == 0 && is_in_file {
            return Err(unsound("an entry lies in another, which is a file"));
        }
        self.files.extend((stage == 0 && !is_directory).then_some(path.len()));
        Ok(())
    }

    /// Returns whether the path that was read last leads into the checkout. Only what is new of it is looked at.
    fn is_inside(&self) -> bool {
        let new = self.slashes.partition_point(|slash| *slash < self.looked_at);
        // That of a directory ends in a slash, where an index is sparse.
        let last = (!self.path.ends_with(b"/")).then_some(self.path.len());
        let mut start = self.looked_at;
        self.slashes[new..].iter().copied().chain(last).all(|end| {
            let name = &self.path[start..end];
            start = end + 1;
            is_plain(name)
        })
    }

    /// Returns what follows the entries, once all are read.
    fn extensions(&self) -> io::Result<Vec<(&'a [u8], &'a [u8])>> {
        let mut rest = self.rest;
        let mut extensions = Vec::new();
        while !rest.is_empty() {
            let name = take(&mut rest, 4).ok_or_else(cut_short)?;
            let length = number(&mut rest).ok_or_else(cut_short)?;
            extensions.push((name, take(&mut rest, length as usize).ok_or_else(cut_short)?));
        }
        Ok(extensions)
    }
}

/// Fails unless this tells of conflicts that were resolved: a path, what each side was, and the objects of those that there were.
fn expect_resolved(mut bytes: &[u8], objects: Objects, until: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        if Instant::now() >= until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let path = text(&mut bytes).ok_or_else(cut_short)?;
        let mut sides = 0;
        for _ in 0..3 {
            let mode = text(&mut bytes).and_then(|mode| str::from_utf8(mode).ok());
            let mode = mode.and_then(|mode| u32::from_str_radix(mode, 8).ok());
            let mode = mode.filter(|mode| *mode == 0 || MODES.contains(mode));
            sides += usize::from(
                mode.ok_or_else(|| unsound("a resolved conflict is nothing that git knows"))? != 0,
            );
        }
        take(&mut bytes, sides * objects.length()).ok_or_else(cut_short)?;
        if path.len() > MAX_PATH || !path.split(|byte| *byte == b'/').all(is_plain) {
            return Err(unsound("a resolved conflict lies outside of the checkout"));
        }
    }
    Ok(())
}

/// Returns whether a name on a path leads further into the checkout, and not into a directory of git there, on any file system.
fn is_plain(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b"..") && !stands_for(name, ".git") && !stands_for(name, "git~1")
}

/// Returns whether a name is `own` to some file system. One of Windows does not look at blanks and dots at its end, nor at what is behind a colon.
fn stands_for(name: &[u8], own: &str) -> bool {
    let looked_at = &name[..name.len().min(MAX_LOOKED_AT)];
    let mut letters = file_name::seen(looked_at);
    for expected in own.chars() {
        match letters.next() {
            Some(letter) if letter == expected => {}
            // Nothing was decided until there.
            None | Some(char::REPLACEMENT_CHARACTER) => return looked_at.len() < name.len(),
            Some(_) => return false,
        }
    }
    !letters.take_while(|letter| !matches!(letter, ':' | '\\')).any(|letter| !matches!(letter, ' ' | '.'))
}

fn unsound(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

fn cut_short() -> io::Error {
    unsound("it is not whole")
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

fn number(bytes: &mut &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(take(bytes, 4)?.try_into().ok()?))
}

fn short(bytes: &mut &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes(take(bytes, 2)?.try_into().ok()?))
}

/// Reads up to a zero, and that.
fn text<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    let text = take(bytes, end)?;
    take(bytes, 1)?;
    Some(text)
}

/// Reads how many bytes of the path before are cut off, as git writes offsets.
fn offset(bytes: &mut &[u8]) -> Option<usize> {
    let mut value = 0usize;
    for round in 0.. {
        let byte = take(bytes, 1)?[0];
        let more = usize::from(round > 0);
        value = value.checked_add(more)?.checked_mul(if round > 0 { 128 } else { 1 })?;
        value = value.checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests;
