//! Answers of `list_skill_files` and `list_skills`.

use crate::{FileKind, SkillName};

/// The files of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileList {
    /// The skill.
    pub skill: SkillName,
    /// The directory that was asked for.
    pub directory: Option<String>,
    /// The files, sorted by path.
    pub files: Vec<ListedFile>,
    /// How many files are not listed.
    pub more: usize,
}

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFile {
    /// Its path from the skill's directory on.
    pub path: String,
    /// How many bytes it has.
    pub size: u64,
    /// What it is for.
    pub kind: FileKind,
}

/// The skills there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillList {
    /// What they were filtered by.
    pub query: Option<String>,
    /// The skills, sorted by name; behind those that hold the query those that are about it, best first.
    pub skills: Vec<ListedSkill>,
    /// How many skills are not listed.
    pub more: usize,
}

/// A skill of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSkill {
    /// Its name.
    pub name: SkillName,
    /// What it does and when to use it.
    pub description: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Whether it is active.
    pub loaded: bool,
}
