//! Finds the `SKILL.md` of a directory, however it is spelled, and reads it.

use std::borrow::Cow;
use std::fs::canonicalize;
use std::path::Path;

use repertoire_model::{Document, ManifestSource, Policy, RuleId};

use super::place::{self, OpenDirectory, ROOT_LOCATOR};
use super::safe_dir::{Entries, EntryKind, FsFault, SafeDir, Stamp};

/// The file that makes a directory a skill.
pub(super) const FILE_NAME: &str = "SKILL.md";

/// The spellings of [`FILE_NAME`] that are in use.
pub(super) const SPELLINGS: [&str; 4] = [FILE_NAME, "skill.md", "Skill.md", "SKILL.MD"];

/// The most entries of a root that are looked at for skills beside its own `SKILL.md`.
const MAX_BESIDE: usize = 1_000;

/// The result of looking for a directory's `SKILL.md`.
#[derive(Debug)]
pub(super) enum ManifestFile {
    /// It was read; the stamp is present if the file is in the directory itself.
    Read { file_name: Cow<'static, str>, bytes: Vec<u8>, stamp: Option<Stamp> },
    /// It exists but was not read.
    Refused { file_name: Cow<'static, str>, rule: RuleId, message: String, help: &'static str },
    /// There is no manifest; holds the entries of the directory if they had to be listed.
    Absent(Option<Entries>),
    /// The directory could not be examined.
    Unreachable(FsFault),
}

pub(super) fn is_spelling(name: &str) -> bool {
    name.eq_ignore_ascii_case(FILE_NAME)
}

/// Reads the `SKILL.md` of `place`; at most `max_entries` are read to find another spelling.
pub(super) fn read(place: &OpenDirectory<'_>, cap: u64, max_entries: usize) -> ManifestFile {
    match read_spelling(place, Cow::Borrowed(FILE_NAME), cap) {
        ManifestFile::Absent(_) => {}
        found => return found,
    }
    let entries = match place.directory().and_then(|directory| directory.entries(max_entries)) {
        Ok(entries) => entries,
        Err(FsFault::Missing | FsFault::NotDirectory) => return ManifestFile::Absent(None),
        Err(fault) => return ManifestFile::Unreachable(fault),
    };
    let spelling = entries
        .entries
        .iter()
        .filter(|entry| matches!(entry.kind, EntryKind::File | EntryKind::Link) && is_spelling(&entry.name))
        .map(|entry| entry.name.as_str())
        .min();
    match spelling {
        Some(name) => read_spelling(place, Cow::Owned(name.to_owned()), cap),
        None => ManifestFile::Absent(Some(entries)),
    }
}

fn read_spelling(place: &OpenDirectory<'_>, file_name: Cow<'static, str>, cap: u64) -> ManifestFile {
    match place.read(&file_name, cap) {
        Ok((bytes, stamp)) => ManifestFile::Read { file_name, bytes, stamp: Some(stamp) },
        Err(FsFault::Missing | FsFault::NotDirectory) => ManifestFile::Absent(None),
        Err(FsFault::Outside) => ManifestFile::Unreachable(FsFault::Outside),
        Err(FsFault::Link) => read_link(place, file_name, cap),
        // Without permission for the directory, even the existence of a SKILL.md is unknown.
        Err(FsFault::Denied(error)) if place.stat(&file_name).is_err() => {
            ManifestFile::Unreachable(FsFault::Denied(error))
        }
        Err(fault) => refused(file_name, &fault, cap),
    }
}

/// Reads a `SKILL.md` that is a link to a file of the same skill or of the same source.
fn read_link(place: &OpenDirectory<'_>, file_name: Cow<'static, str>, cap: u64) -> ManifestFile {
    let refuse = |file_name: Cow<'static, str>, message: &str| ManifestFile::Refused {
        message: format!("{file_name} is a symbolic link {message}"),
        file_name,
        rule: RuleId::FileSymlink,
        help: "replace the link by the file itself",
    };
    let directory = place.resolved();
    let Ok(target) = canonicalize(directory.join(&*file_name)) else {
        return refuse(file_name, "that leads nowhere");
    };
    let outcome = if let Ok(relative) = target.strip_prefix(&directory) {
        place.directory().and_then(|handle| read_target(&handle, relative, cap))
    } else if let Ok(relative) = target.strip_prefix(&place.root.resolved) {
        read_target(&place.root.handle, relative, cap)
    } else {
        return refuse(file_name, "that leads out of the source");
    };
    match outcome {
        Ok(bytes) => ManifestFile::Read { file_name, bytes, stamp: None },
        Err(FsFault::Link | FsFault::Outside) => refuse(file_name, "that is not followed"),
        Err(fault) => refused(file_name, &fault, cap),
    }
}

/// Reads the file at `relative`, a path that was resolved: a link on it now is a trick.
fn read_target(handle: &SafeDir, relative: &Path, cap: u64) -> Result<Vec<u8>, FsFault> {
    let relative = relative.to_str().ok_or(FsFault::Outside)?;
    if relative.split('/').any(|component| component.starts_with('.')) {
        return Err(FsFault::Outside);
    }
    place::read(handle, relative, cap).map(|(bytes, _)| bytes)
}

fn refused(file_name: Cow<'static, str>, fault: &FsFault, cap: u64) -> ManifestFile {
    let (rule, message, help) = match fault {
        FsFault::TooLarge(_) => (
            RuleId::FileTooLarge,
            format!("{file_name} is larger than {cap} bytes"),
            "move details to files below references/",
        ),
        fault => (
            RuleId::FileUnreadable,
            format!("{file_name} cannot be read: {}", fault.message()),
            "make it a regular file that its users may read",
        ),
    };
    ManifestFile::Refused { file_name, rule, message, help }
}

/// Parses the `SKILL.md` in `bytes` with `parse`; without a stamp a link led to it, which is reported.
pub(super) fn parse(
    parse: fn(ManifestSource<'_>, &Policy) -> Document,
    place: &OpenDirectory<'_>,
    file_name: &str,
    bytes: &[u8],
    stamp: Option<Stamp>,
    policy: &Policy,
) -> Document {
    let directory = place.directory_name();
    let mut document = parse(ManifestSource { bytes, directory: directory.as_deref(), file_name }, policy);
    if stamp.is_none() {
        document.report_link(file_name, policy);
    }
    if place.relative == ROOT_LOCATOR {
        advise_own_directory(place, file_name, &mut document);
    }
    document
}

/// Replaces the advice to rename a root that holds other skills.
fn advise_own_directory(root: &OpenDirectory<'_>, file_name: &str, document: &mut Document) {
    let mismatch = document.diagnostics.iter_mut().find(|found| found.rule == RuleId::NameDirectory);
    if let Some(mismatch) = mismatch
        && holds_skills(root)
    {
        let name = &document.name;
        mismatch.help =
            Some(format!("move {file_name} into a directory `{name}`; its directory holds other skills"));
    }
}

fn holds_skills(root: &OpenDirectory<'_>) -> bool {
    let Ok(listed) = root.directory().and_then(|directory| directory.entries(MAX_BESIDE)) else {
        return false;
    };
    let mut directories = listed.entries.iter().filter(|entry| entry.kind == EntryKind::Directory);
    directories.any(|entry| {
        let manifest = format!("{}/{FILE_NAME}", entry.name);
        !entry.name.starts_with('.') && root.stat(&manifest).is_ok_and(|(kind, _)| kind == EntryKind::File)
    })
}

/// Returns the document of a skill whose `SKILL.md` is not read.
pub(super) fn unreadable(
    place: &OpenDirectory<'_>,
    rule: RuleId,
    message: &str,
    help: &str,
    policy: &Policy,
) -> Document {
    let directory = place.directory_name();
    Document::unreadable(directory.as_deref(), rule, message, help, policy)
}
