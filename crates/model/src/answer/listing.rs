//! Answers of `read_skill_file`, `list_skill_files` and `list_skills`.

use crate::{FileKind, SkillName, SkillPath};

/// The files of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileList {
    /// The skill.
    pub skill: SkillName,
    /// The requested directory.
    pub directory: Option<String>,
    /// The files, sorted by path.
    pub files: Vec<ListedFile>,
    /// The number of files that are not listed.
    pub more: usize,
    /// The source of the skill.
    pub source: Option<String>,
}

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFile {
    /// Its path from the skill's directory on.
    pub path: String,
    /// Its size in bytes; `None` for a file of a skill in code that was not read yet.
    pub size: Option<u64>,
    /// Its purpose.
    pub kind: FileKind,
    /// Its first heading or comment, where that says more than its name.
    pub description: Option<String>,
}

/// The skills there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillList {
    /// The filter.
    pub query: Option<String>,
    /// The skills, sorted by name; first skills that hold the query, then skills about it, best first.
    pub skills: Vec<SkillListItem>,
    /// The number of skills that are not listed.
    pub more: usize,
}

/// A skill of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillListItem {
    /// Its name.
    pub name: SkillName,
    /// Its description.
    pub description: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// True if it is active.
    pub loaded: bool,
    /// Its source, if the listed skills have several, or if it hides another of the same name.
    pub source: Option<String>,
}

/// A file of a skill, or some of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    /// The skill.
    pub skill: SkillName,
    /// The source that the skill comes from; empty where it is not known.
    pub source: String,
    /// The file.
    pub path: SkillPath,
    /// The text, cut at `truncation`.
    pub text: String,
    /// The number of the first line in `text`.
    pub first_line: usize,
    /// The number of lines in `text`; 0 for a range past the end.
    pub lines: usize,
    /// The number of lines in the file.
    pub total_lines: usize,
    /// The size of the file, in bytes.
    pub size: u64,
    /// True if only some of the lines were requested.
    pub is_range: bool,
    /// The lines that were left out, if any.
    pub truncation: Option<Truncation>,
}

/// The part of a file that was left out to keep within the cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncation {
    /// The most bytes that are shown.
    pub cap: usize,
    /// The line to go on with; `None` where a single line is longer than the cap and cannot be shown whole.
    pub next_line: Option<usize>,
}
