//! What the system tells of a watched directory, and how much that means.

use std::ffi::OsStr;

use repertoire_model::document::MANIFEST_FILE;

use crate::provider::Subject;

/// The system's number of a watch.
pub(super) type WatchId = i32;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Happening {
    /// An entry of the directory is there that was not, or under another name.
    Appeared,
    /// An entry of the directory is no longer there.
    Vanished,
    /// A file in the directory was written and closed.
    Written,
    /// A file in the directory is being written, or was cut without being opened.
    Modified,
    /// The rights or times of an entry, or of the directory itself, changed.
    Touched,
    /// The directory itself was moved; its watch goes with it.
    Moved,
    /// The directory is no more, nor is its watch.
    Ended,
}

/// What kind of thing an entry is, as far as the system told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    Directory,
    /// A file or a link, or something that is not told.
    Other,
}

/// What the system tells of a watched directory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Notice<'a> {
    pub(super) watch: WatchId,
    pub(super) happening: Happening,
    /// The entry it is about; `None` for the directory itself.
    pub(super) name: Option<&'a OsStr>,
    pub(super) kind: EntryKind,
}

/// How much a notice means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// Nothing: it changes no skill.
    None,
    /// A skill is changing; mostly the end of it is told of as well.
    Begun,
    /// It may be something; it keeps nobody waiting.
    Faint,
    /// A skill came, went or was changed.
    Firm,
}

/// Directories of builds and of version control, which hold no skills but are touched all the time.
const NOISY: [&str; 3] = ["node_modules", "target", "__pycache__"];

/// Returns how much `notice` means for what is watched as `subject`.
pub(super) fn weigh(notice: &Notice<'_>, subject: &Subject) -> Weight {
    let Some(name) = notice.name else {
        return match notice.happening {
            Happening::Moved | Happening::Ended => Weight::Firm,
            Happening::Touched => Weight::Faint,
            Happening::Appeared | Happening::Vanished | Happening::Written | Happening::Modified => {
                Weight::None
            }
        };
    };
    let is_about_names = matches!(notice.happening, Happening::Appeared | Happening::Vanished);
    let is_directory = notice.kind == EntryKind::Directory;
    match subject {
        _ if is_manifest(name) && *subject != Subject::Above => match notice.happening {
            Happening::Modified => Weight::Begun,
            _ => Weight::Firm,
        },
        // The way to a root often lies through directories with a dot.
        Subject::Above if is_about_names => {
            if is_directory {
                Weight::Firm
            } else {
                Weight::Faint
            }
        }
        _ if !is_about_names || is_noisy(name) => Weight::None,
        Subject::Root if is_directory => Weight::Firm,
        // It may be a link to a skill, or have been one.
        Subject::Root => Weight::Faint,
        Subject::Skill(_) if is_directory => Weight::Faint,
        Subject::Skill(_) | Subject::Above => Weight::None,
    }
}

/// Returns whether `name` is a spelling of `SKILL.md`.
pub(super) fn is_manifest(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(MANIFEST_FILE)
}

fn is_noisy(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".") || NOISY.iter().any(|noisy| name == *noisy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::Locator;

    #[test]
    fn only_what_may_change_a_skill_counts() {
        use EntryKind::{Directory, Other};
        use Happening::{Appeared, Ended, Modified, Moved, Touched, Vanished, Written};
        let skill = Subject::Skill(Locator::new("a"));
        let (root, above) = (Subject::Root, Subject::Above);
        let cases = [
            (&skill, Written, Some("SKILL.md"), Other, Weight::Firm),
            (&skill, Appeared, Some("skill.md"), Other, Weight::Firm),
            (&skill, Vanished, Some("SKILL.MD"), Other, Weight::Firm),
            (&skill, Touched, Some("SKILL.md"), Other, Weight::Firm),
            (&skill, Modified, Some("SKILL.md"), Other, Weight::Begun),
            (&skill, Modified, Some("notes.md"), Other, Weight::None),
            (&skill, Written, Some("notes.md"), Other, Weight::None),
            (&skill, Appeared, Some("SKILL.md~"), Other, Weight::None),
            (&skill, Appeared, Some("a.o"), Other, Weight::None),
            (&skill, Appeared, Some("target"), Directory, Weight::None),
            (&skill, Vanished, Some("__pycache__"), Directory, Weight::None),
            (&skill, Appeared, Some("scripts"), Directory, Weight::Faint),
            (&skill, Moved, None, Directory, Weight::Firm),
            (&skill, Ended, None, Directory, Weight::Firm),
            (&skill, Touched, None, Directory, Weight::Faint),
            (&root, Appeared, Some("new-skill"), Directory, Weight::Firm),
            (&root, Vanished, Some("old-skill"), Directory, Weight::Firm),
            (&root, Appeared, Some("link"), Other, Weight::Faint),
            (&root, Appeared, Some(".git"), Directory, Weight::None),
            (&root, Written, Some("README.md"), Other, Weight::None),
            (&root, Written, Some("SKILL.md"), Other, Weight::Firm),
            (&above, Appeared, Some(".agents"), Directory, Weight::Firm),
            (&above, Appeared, Some("skills"), Other, Weight::Faint),
            (&above, Written, Some("Cargo.lock"), Other, Weight::None),
            (&above, Written, Some("SKILL.md"), Other, Weight::None),
            (&above, Modified, Some("SKILL.md"), Other, Weight::None),
        ];
        for (subject, happening, name, kind, expect) in cases {
            let notice = Notice { watch: 1, happening, name: name.map(OsStr::new), kind };
            assert_eq!(weigh(&notice, subject), expect, "{notice:?} {subject:?}");
        }
    }
}
