//! Lists the files of a skill.

use repertoire_model::validate::Reporter;
use repertoire_model::{Diagnostic, FileEntry, FileKind, Policy, RuleId, SkillPath};

use super::place::OpenDirectory;
use super::safe_dir::{DirectoryEntry, EntryKind, FsFault, SafeDir, Stamp};
use crate::provider::limits::{FILE_ENTRIES, FileCaps};

#[derive(Debug)]
pub(super) struct WalkedFile {
    pub(super) path: SkillPath,
    pub(super) stamp: Stamp,
}

/// The result of a walk through the files of a skill.
#[derive(Debug)]
pub(super) struct FileWalk {
    /// The files, sorted bytewise by path.
    pub(super) files: Vec<WalkedFile>,
    pub(super) problems: Vec<Diagnostic>,
    /// True if a limit cut the list short.
    pub(super) truncated: bool,
}

impl FileWalk {
    /// Returns the files as they are listed, where `manifest_file` is the spelling of `SKILL.md`.
    pub(super) fn entries(&self, manifest_file: &str) -> Vec<FileEntry> {
        let entry = |file: &WalkedFile| FileEntry {
            path: file.path.clone(),
            size: Some(file.stamp.size),
            kind: FileKind::of(&file.path, manifest_file),
            executable: file.stamp.is_executable(),
        };
        self.files.iter().map(entry).collect()
    }
}

/// Lists the files of the skill at `place`; hidden ones are passed over in silence.
pub(super) fn walk(place: &OpenDirectory<'_>, caps: &FileCaps, policy: &Policy) -> Result<FileWalk, FsFault> {
    let mut walker =
        Walker { caps, files: Vec::new(), reporter: Reporter::new(policy), entries: 0, truncated: false };
    walker.directory(&place.directory()?, "", 1)?;
    let Walker { mut files, mut reporter, truncated, .. } = walker;
    if truncated {
        let message = format!("there are more than {} files, or they lie too deep", caps.files);
        reporter.report(RuleId::FileCount, message).help("split the skill, or pack the files");
    }
    files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    report_hard_links(&files, &mut reporter);
    Ok(FileWalk { files, problems: reporter.finish(), truncated })
}

/// Reports files with more names than one, all of them at once: a package manager may have made hundreds.
fn report_hard_links(files: &[WalkedFile], reporter: &mut Reporter<'_>) {
    let linked: Vec<&WalkedFile> = files.iter().filter(|file| file.stamp.links > 1).collect();
    let [first, ..] = linked.as_slice() else { return };
    let others = match linked.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let message = format!("`{}` is a hard link: the same file has another path{others}", first.path);
    let help = "replace it by a copy, unless a package manager made it";
    reporter.report(RuleId::FileHardLink, message).help(help).in_file(first.path.to_string());
}

struct Walker<'a> {
    caps: &'a FileCaps,
    files: Vec<WalkedFile>,
    reporter: Reporter<'a>,
    entries: usize,
    truncated: bool,
}

impl Walker<'_> {
    fn directory(&mut self, directory: &SafeDir, prefix: &str, depth: usize) -> Result<(), FsFault> {
        let listing = directory.entries(FILE_ENTRIES.saturating_sub(self.entries))?;
        self.entries += listing.entries.len();
        self.truncated |= listing.more;
        let mut entries = listing.entries;
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        for entry in entries.iter().filter(|entry| !entry.name.starts_with('.')) {
            if self.files.len() >= self.caps.files {
                self.truncated = true;
                break;
            }
            self.entry(directory, entry, format!("{prefix}{}", entry.name), depth);
        }
        Ok(())
    }

    fn entry(&mut self, directory: &SafeDir, entry: &DirectoryEntry, path: String, depth: usize) {
        match entry.kind {
            EntryKind::Link => {
                let message = format!("`{path}` is a symbolic link and is not followed");
                self.report(RuleId::FileSymlink, message, "replace the link by the file itself", path);
            }
            EntryKind::Special => {
                let message = format!("`{path}` is a device, socket or pipe and is not read");
                self.report(RuleId::FileSpecial, message, "remove it", path);
            }
            EntryKind::File | EntryKind::Directory => {
                let Some(skill_path) = self.check(entry, &path) else { return };
                if entry.kind == EntryKind::File {
                    self.file(directory, &entry.name, skill_path);
                } else if depth >= self.caps.depth {
                    self.truncated = true;
                } else {
                    let below = directory
                        .open_dir(&entry.name)
                        .and_then(|below| self.directory(&below, &format!("{path}/"), depth + 1));
                    if let Err(fault) = below {
                        self.unreadable(&fault, path);
                    }
                }
            }
        }
    }

    fn file(&mut self, directory: &SafeDir, name: &str, path: SkillPath) {
        match directory.stat(name) {
            Ok((EntryKind::File, stamp)) => self.files.push(WalkedFile { path, stamp }),
            // The entry is gone or has changed its kind; the next listing will show it.
            Ok(_) | Err(FsFault::Missing) => {}
            Err(fault) => self.unreadable(&fault, path.to_string()),
        }
    }

    /// Returns the path if it is one that a skill may have, and reports if not.
    fn check(&mut self, entry: &DirectoryEntry, path: &str) -> Option<SkillPath> {
        let message = match SkillPath::new(path) {
            Ok(skill_path) if entry.decoded => return Some(skill_path),
            Ok(_) => format!("the name of `{path}` is not UTF-8"),
            Err(fault) => format!("the name of `{path}` is not safe everywhere: {fault}"),
        };
        self.report(RuleId::FileName, message, "rename it", path.to_owned());
        None
    }

    fn unreadable(&mut self, fault: &FsFault, path: String) {
        let message = format!("`{path}` cannot be read: {}", fault.message());
        self.report(RuleId::FileUnreadable, message, "let its users read it", path);
    }

    fn report(&mut self, rule: RuleId, message: String, help: &str, file: String) {
        self.reporter.report(rule, message).help(help).in_file(file);
    }
}
