//! The parts of a skill in which search finds words.

/// A part of a skill in which search finds words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Field {
    /// The name, with its parts.
    Name,
    /// The description, without the clauses that say what the skill is not for.
    Description,
    /// Tags and trigger keywords.
    Keywords,
    /// The headings of the instructions.
    Headings,
    /// The prose of the instructions.
    Prose,
    /// The code in the instructions.
    Code,
    /// The names and the beginnings of the files beside it.
    Files,
    /// The clauses of the description that say what the skill is not for.
    Excluded,
}

impl Field {
    /// Every field.
    pub const ALL: [Self; 8] = [
        Self::Name,
        Self::Description,
        Self::Keywords,
        Self::Headings,
        Self::Prose,
        Self::Code,
        Self::Files,
        Self::Excluded,
    ];

    /// Returns the field's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Description => "description",
            Self::Keywords => "keywords",
            Self::Headings => "headings",
            Self::Prose => "body",
            Self::Code => "code",
            Self::Files => "files",
            Self::Excluded => "excluded",
        }
    }
}
