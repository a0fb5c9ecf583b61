//! Answers of `read_skill_file`.

use crate::{SkillName, SkillPath};

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
