//! The texts of a skill.

/// The texts of a skill that are indexed and embedded.
#[derive(Debug, Clone, Copy, Default)]
pub struct SkillText<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its description.
    pub description: &'a str,
    /// Its tags and trigger keywords.
    pub keywords: &'a [&'a str],
    /// Its instructions.
    pub body: &'a str,
    /// The names and the texts of files beside it.
    pub files: &'a [&'a str],
}
