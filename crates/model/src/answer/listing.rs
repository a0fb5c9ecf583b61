//! Answers of `list_skill_files` and `list_skills`.

use crate::{FileKind, SkillName};

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
    /// Its size in bytes.
    pub size: u64,
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
    /// The skills, sorted by name; first skills that hold the query, then skills that are about it, best first.
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
