//! The texts of a skill.

/// The texts of a skill that are indexed and embedded.
#[derive(Debug, Clone, Copy, Default)]
pub struct SkillText<'a> {
    /// The name.
    pub name: &'a str,
    /// The description.
    pub description: &'a str,
    /// The tags, the trigger keywords, and the globs of the files that it is about.
    pub keywords: &'a [&'a str],
    /// The instructions.
    pub body: &'a str,
    /// The names and texts of its other files.
    pub files: &'a [&'a str],
}
